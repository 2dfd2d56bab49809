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
  /** what came back is not the signature that was asked for: by another key, or of something else. It is never used. */
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
   * The EIP-2718 encoding of the transaction with its signature. Blobs travel beside the transaction and do not concern
   * the signer.
   *
   * @param transaction a signature it may already have is ignored
   * @throws {SignerError} signer/unavailable, signer/refused, signer/wrong-answer
   */
  signTransaction(transaction: SignedTransaction): Promise<Uint8Array>;
  /**
   * Signs a block that is sent to peers.
   *
   * @param signal aborted when nobody waits for the signature any more
   * @throws {SignerError} signer/unavailable, signer/refused, signer/wrong-answer
   */
  signBlock(request: BlockSigningRequest, signal?: AbortSignal): Promise<Signature>;
}
