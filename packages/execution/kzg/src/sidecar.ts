import { type BlobSidecar, CELLS_PER_EXTENDED_BLOB } from "@rnode/protocol";
import type { Kzg } from "./kzg.ts";

/**
 * Whether the blobs match the commitments. Checks one blob at a time, so other requests can run in between. Spec: EIP-4844
 * verify_blob_kzg_proof_batch, EIP-7594
 *
 * @throws {KzgError} kzg/busy, kzg/unavailable, kzg/closed
 */
export async function verifySidecar(
  kzg: Pick<Kzg, "verifyBlobProof" | "verifyBlobCells">,
  { version, blobs, commitments, proofs }: BlobSidecar,
): Promise<boolean> {
  const verdicts = blobs.map((blob, index) => {
    const commitment = commitments[index]!;
    if (version === 0) return kzg.verifyBlobProof(blob, commitment, proofs[index]!);
    return kzg.verifyBlobCells(
      blob,
      commitment,
      proofs.slice(index * CELLS_PER_EXTENDED_BLOB, (index + 1) * CELLS_PER_EXTENDED_BLOB),
    );
  });
  return (await Promise.all(verdicts)).every(Boolean);
}

/** The same blobs with a proof for each cell. @throws {KzgError} kzg/not-a-blob and the temporary ones */
export async function withCellProofs(kzg: Pick<Kzg, "cellsAndProofs">, sidecar: BlobSidecar): Promise<BlobSidecar> {
  if (sidecar.version === 1) return sidecar;
  const proved = await Promise.all(sidecar.blobs.map((blob) => kzg.cellsAndProofs(blob)));
  return { ...sidecar, version: 1, proofs: proved.flatMap(({ proofs }) => proofs) };
}
