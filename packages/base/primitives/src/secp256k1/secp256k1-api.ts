/** Size of a signed hash: hash 32 ‖ r 32 ‖ s 32 ‖ 1 if y is odd. */
export const SIGNED_BYTES = 97;
/** Size of an uncompressed key: 4 ‖ x 32 ‖ y 32. */
export const PUBLIC_KEY_BYTES = 65;

/** Arguments have the right length. */
export interface Secp256k1Backend {
  /**
   * Recovers the keys of signed hashes, one after the other in `signed`. With AVX-512, native code takes a
   * fifth of the time per key if it gets several.
   *
   * @param keys as many uncompressed keys; the first byte is 0 if no key can be recovered
   */
  recover(signed: Uint8Array, keys: Uint8Array): void;
  /** Deterministic nonce (RFC 6979), low s; `signature` is r ‖ s */
  sign(hash: Uint8Array, privateKey: Uint8Array): { readonly signature: Uint8Array; readonly yParity: number };
  /** @returns 65 bytes, uncompressed */
  publicKey(privateKey: Uint8Array): Uint8Array;
}

/** The operations of a third-party library. */
export interface Secp256k1Library extends Omit<Secp256k1Backend, "recover"> {
  readonly name: "native" | "wasm";
  /**
   * @param signature r ‖ s, 64 bytes
   * @returns uncompressed, valid until the next call
   * @throws if no key can be recovered
   */
  recover(hash: Uint8Array, signature: Uint8Array, yParity: 0 | 1): Uint8Array;
}
