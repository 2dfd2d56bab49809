import { codedErrors, type Signature } from "@rnode/primitives";
import type { SignedTransaction } from "@rnode/protocol";
import type { BlockSigningRequest } from "./block-signing.ts";

export type SignerErrorCode =
  /** not a valid private key: wrong length, or outside 1 to n − 1 */
  | "signer/bad-key"
  /** the holder of the key does not answer: try again later */
  | "signer/unavailable"
  /** the holder of the key refuses to sign this; `reason` is its explanation */
  | "signer/refused"
  /** the signature is by another key, or of other data. It is never used. */
  | "signer/wrong-answer";

export class SignerError extends codedErrors<SignerErrorCode>({
  "signer/bad-key": "not a private key: expected 32 bytes, from 1 to the order of secp256k1 less 1",
  "signer/unavailable": "the signer at {endpoint} does not answer",
  "signer/refused": "the signer at {endpoint} refuses to sign",
  "signer/wrong-answer": "the signer at {endpoint} gave a wrong answer, which is not used",
}) {}

/**
 * Signs for one address. Only the signer knows where the key is. It may be on another machine, so every signature is
 * awaited and can fail.
 */
export interface Signer {
  /** 20 bytes */
  readonly address: Uint8Array;
  /**
   * The EIP-2718 encoding of the transaction with its signature. Blobs are not part of the signed transaction.
   *
   * @param transaction an existing signature is ignored
   * @throws {SignerError} signer/unavailable, signer/refused, signer/wrong-answer
   */
  signTransaction(transaction: SignedTransaction): Promise<Uint8Array>;
  /**
   * Signs a block for peers.
   *
   * @param signal aborted when the signature is no longer needed
   * @throws {SignerError} signer/unavailable, signer/refused, signer/wrong-answer
   */
  signBlock(request: BlockSigningRequest, signal?: AbortSignal): Promise<Signature>;
}
