/** Size of a record of `recoverAll`. */
export const SIGNED_BYTES = 97;
export const PUBLIC_KEY_BYTES = 65;

/** The operations with a native and a portable implementation. Arguments have the right length; errors are the library's own. */
export interface Secp256k1Backend {
  readonly name: "native" | "wasm";
  /**
   * @param signature r ‖ s, 64 bytes
   * @returns 65 bytes, uncompressed, valid until the next call
   * @throws if no key can be recovered
   */
  recover(hash: Uint8Array, signature: Uint8Array, yParity: number): Uint8Array;
  /**
   * Recovers several keys. Native code takes a fifth less time per key than with single calls.
   *
   * @param signed 97 bytes each: hash 32 ‖ r ‖ s 64 ‖ parity of y 1
   * @returns 65 bytes each; the first byte is 0 if no key can be recovered; valid until the next call
   */
  recoverAll(signed: Uint8Array): Uint8Array;
  /** Deterministic nonce (RFC 6979), low s; `signature` is r ‖ s */
  sign(hash: Uint8Array, privateKey: Uint8Array): { readonly signature: Uint8Array; readonly yParity: number };
  /** @returns 65 bytes, uncompressed */
  publicKey(privateKey: Uint8Array): Uint8Array;
}

/** The operations of a third-party library. */
export type LibraryBackend = Omit<Secp256k1Backend, "recoverAll">;
