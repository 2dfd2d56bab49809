import type { Profile } from "@rnode/eth-api";
import { type RpcError, rpcErrorOf } from "@rnode/jsonrpc";
import { CodedError, isCodedError } from "@rnode/primitives";
import {
  type BlobSidecar,
  decodeBlobTransactionWithSidecar,
  decodeTransaction,
  isDepositTransaction,
  isPostExecTransaction,
  isSigned,
  recoverSender,
  type SignedTransaction,
  type TransactionErrorCode,
} from "@rnode/protocol";
import { feeCap } from "@rnode/txpool";

/** A transaction that a user sent, decoded. */
export interface Submission {
  readonly transaction: SignedTransaction;
  readonly sender: Uint8Array;
  /** set for a blob transaction */
  readonly sidecar?: BlobSidecar | undefined;
}

/**
 * Decodes a raw transaction and makes all checks that need neither the pool nor other threads: the proofs of blobs do.
 *
 * @param feeCapWei the most that its gas may cost; 0: no cap
 * @param sidecarVersions for the pool of an Ethereum chain: blob transactions arrive with their blobs, in the format that the next
 * block's fork requires, which is the first, or one that can be turned into it
 * @param knownSender set if the signature has been checked. PERF: recovering the sender is most of the work
 * @throws {RpcError} in the profile's words
 */
export function readSubmission(
  raw: Uint8Array,
  profile: Profile,
  feeCapWei: bigint,
  knownSender?: Uint8Array,
  sidecarVersions?: readonly BlobSidecar["version"][],
): Submission {
  const refuse = (...[fault]: Parameters<Profile["errors"]["submission"]>): RpcError =>
    rpcErrorOf(profile.errors.submission(fault));
  if (raw.length === 0) throw refuse({ kind: "empty" });
  const isUnsigned = isDepositTransaction(raw) || isPostExecTransaction(raw);
  if (isUnsigned || (raw[0] === 0x03 && sidecarVersions === undefined)) throw refuse({ kind: "type-not-supported" });
  let transaction: SignedTransaction;
  let sidecar: BlobSidecar | undefined;
  try {
    if (raw[0] === 0x03) ({ transaction, sidecar } = decodeBlobTransactionWithSidecar(raw));
    else transaction = decodeSigned(raw);
  } catch (error) {
    if (isCodedError(error)) throw refuse({ kind: "undecodable", raw, error });
    throw error;
  }
  if (transaction.type === 0x00 && transaction.chainId === undefined && !profile.rpc.acceptsUnprotected)
    throw refuse({ kind: "unprotected" });
  const feeWei = feeCap(transaction) * transaction.gasLimit;
  if (feeCapWei > 0n && feeWei > feeCapWei) throw refuse({ kind: "fee-above-cap", feeWei, capWei: feeCapWei });
  if (sidecar !== undefined && sidecarVersions?.includes(sidecar.version) === false)
    throw refuse({ kind: "bad-blobs", reason: `blob sidecar of version ${sidecar.version}, expected ${sidecarVersions[0]}` });
  if (knownSender !== undefined) return { transaction, sender: knownSender, sidecar };
  try {
    return { transaction, sender: recoverSender(transaction), sidecar };
  } catch (error) {
    if (isCodedError(error, "tx/")) throw refuse({ kind: "bad-signature" });
    throw error;
  }
}

/** @throws {CodedError} tx/*, rlp/* */
function decodeSigned(raw: Uint8Array): SignedTransaction {
  const decoded = decodeTransaction(raw);
  if (!isSigned(decoded)) throw new CodedError<TransactionErrorCode>("tx/unknown-type", { type: decoded.type });
  return decoded;
}
