import type { Hex } from "@rnode/primitives";
import type { BlobSidecar, SignedTransaction } from "@rnode/protocol";

/** The part of the transaction pool that a chain with its own block production uses. */
export interface DevPool {
  /** Whether some transaction pays this base fee and can be executed now. */
  hasExecutable(baseFeeWei: bigint): boolean;
  /**
   * The offer of a transaction that is ready for a block; `undefined` if it waits for an earlier one of its sender, or is
   * unknown.
   */
  offerOf(hash: Uint8Array): { readonly gasLimit: bigint; readonly maxFeeWei: bigint } | undefined;
  /** Those that wait for a block only. */
  pending(): Iterable<{ readonly transaction: SignedTransaction; readonly sender: Uint8Array }>;
  /** The blobs of its transactions. */
  sidecars(): Iterable<{ readonly versionedHashes: readonly Uint8Array[]; readonly sidecar: BlobSidecar }>;
  /** Adds a transaction without a signature check. @throws {RpcError} */
  insert(transaction: SignedTransaction, sender: Uint8Array): void;
  /** @returns whether it was there */
  remove(hash: Uint8Array): boolean;
  /** Removes the transactions of a sender, or all. */
  clear(sender?: Uint8Array): void;
  hashes(): readonly Hex[];
}
