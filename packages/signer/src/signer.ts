import { CodedError, type Signature } from "@rnode/primitives";
import type { SignedTransaction } from "@rnode/protocol";
import type { BlockSigningRequest } from "./block-signing.ts";

export type SignerErrorCode =
  /** 32 bytes that are no key of the curve */
  | "signer/bad-key"
  /** whoever has the key does not answer: try again later */
  | "signer/unavailable"
  /** whoever has the key will not sign this; `reason` is his word */
  | "signer/refused";

export class SignerError extends CodedError<SignerErrorCode> {}

/**
 * Signs for one address. Where the key is, only the signer knows: it may be another machine, so that every signature is waited for and
 * can fail.
 */
export interface Signer {
  /** 20 bytes */
  readonly address: Uint8Array;
  /**
   * The EIP-2718 encoding of the transaction with its signature; blobs travel beside it and are not the signer's business.
   *
   * @param transaction a signature that it may have is not looked at
   * @throws {SignerError} signer/unavailable, signer/refused
   */
  signTransaction(transaction: SignedTransaction): Promise<Uint8Array>;
  /**
   * The signature of a block that is sent to peers.
   *
   * @throws {SignerError} signer/unavailable, signer/refused
   */
  signBlock(request: BlockSigningRequest): Promise<Signature>;
}
