import { bytesToHex } from "@rnode/primitives";
import { type BlobSidecar, type Block, hashTransaction } from "@rnode/protocol";
import type { JsonObject } from "./transaction-json.ts";

/** A source of the blobs of transactions that are not in a block yet. */
export interface SidecarSource {
  sidecarOf?(hash: Uint8Array): BlobSidecar | undefined;
  /** all sidecars in the source */
  sidecars?(): Iterable<PooledSidecar>;
}

export interface PooledSidecar {
  /** the hashes by which the transaction refers to its blobs, in the same order */
  readonly versionedHashes: readonly Uint8Array[];
  readonly sidecar: BlobSidecar;
}

/** The blobs of a block's transactions, in order, as the consensus client forwards them. Spec: Engine API, BlobsBundleV1 and V2 */
export function blobsBundle({ transactions }: Block, source: SidecarSource): JsonObject {
  const sidecars = transactions.flatMap((transaction) => {
    const sidecar = transaction.type === 0x03 ? source.sidecarOf?.(hashTransaction(transaction)) : undefined;
    return sidecar === undefined ? [] : [sidecar];
  });
  const all = (field: "commitments" | "proofs" | "blobs"): string[] =>
    sidecars.flatMap((sidecar) => sidecar[field].map(bytesToHex));
  return { commitments: all("commitments"), proofs: all("proofs"), blobs: all("blobs") };
}
