import type { Hex } from "@rnode/primitives";
import type { BlobSidecar, SignedTransaction } from "@rnode/protocol";

/** What a chain that makes its own blocks needs of the transaction pool. */
export interface DevPool {
  /** Whether some transaction pays this base fee and can be executed now. */
  hasExecutable(baseFeeWei: bigint): boolean;
  /** What a transaction offers that waits for a block only; `undefined` if it waits for an earlier one of its sender, or is not there. */
  offerOf(hash: Uint8Array): { readonly gasLimit: bigint; readonly maxFeeWei: bigint } | undefined;
  /** Those that wait for a block only. */
  pending(): Iterable<{ readonly transaction: SignedTransaction; readonly sender: Uint8Array }>;
  /** The blobs of its transactions. */
  sidecars(): Iterable<{ readonly versionedHashes: readonly Uint8Array[]; readonly sidecar: BlobSidecar }>;
  /** Takes in a transaction whose signature nobody has checked. @throws {RpcError} */
  insert(transaction: SignedTransaction, sender: Uint8Array): void;
  /** @returns whether it was there */
  remove(hash: Uint8Array): boolean;
  /** Removes the transactions of a sender, or all. */
  clear(sender?: Uint8Array): void;
  hashes(): readonly Hex[];
}
