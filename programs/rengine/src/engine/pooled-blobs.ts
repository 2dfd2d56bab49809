import type { JsonObject, PooledSidecar } from "@rnode/eth-api";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type BlobSidecar, CELLS_PER_EXTENDED_BLOB } from "@rnode/protocol";

/**
 * Looks up blobs in the pool by versioned hash, in the order requested; null for a blob that no sidecar of the version contains.
 * Spec: execution-apis src/engine/cancun.md#blobandproofv1 (version 0), osaka.md#blobandproofv2 (version 1)
 */
export function pooledBlobs(
  sidecars: Iterable<PooledSidecar>,
  version: BlobSidecar["version"],
  asked: readonly Uint8Array[],
): (JsonObject | null)[] {
  const wanted = asked.map(bytesToHex);
  const found = new Map<Hex, JsonObject | undefined>(wanted.map((hash) => [hash, undefined]));
  for (const { versionedHashes, sidecar } of sidecars) {
    if (sidecar.version !== version) continue;
    for (const [index, hash] of versionedHashes.entries()) {
      const key = bytesToHex(hash);
      if (found.has(key) && found.get(key) === undefined) found.set(key, blobAndProof(sidecar, index));
    }
  }
  return wanted.map((hash) => found.get(hash) ?? null);
}

function blobAndProof({ version, blobs, proofs }: BlobSidecar, index: number): JsonObject {
  const blob = bytesToHex(blobs[index]!);
  if (version === 0) return { blob, proof: bytesToHex(proofs[index]!) };
  const first = index * CELLS_PER_EXTENDED_BLOB;
  return { blob, proofs: proofs.slice(first, first + CELLS_PER_EXTENDED_BLOB).map(bytesToHex) };
}
