import { kzgContext } from "@rnode/kzg";
import { type BlobSidecar, CELLS_PER_EXTENDED_BLOB } from "@rnode/protocol";

/** The only KZG operation of the EVM: whether `y` is the value at `z` of the polynomial behind `commitment`. */
export interface KzgVerifier {
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean;
}

/**
 * Creates the verifier for the point evaluation precompile. The native library and its trusted setup (2 s) are loaded at the first
 * proof, because most chains never see one. A malformed point or field element counts as an invalid proof.
 */
export function createKzgVerifier(): KzgVerifier {
  return {
    verifyKzgProof(commitment, z, y, proof) {
      const kzg = kzgContext();
      try {
        return kzg.verifyKzgProof(commitment, z, y, proof);
      } catch {
        return false; // the library throws on bytes that are not a curve point or not a canonical field element
      }
    },
  };
}

/** Whether the blobs match the commitments. Spec: EIP-4844 verify_blob_kzg_proof_batch, EIP-7594 */
export function verifyBlobSidecar({ version, blobs, commitments, proofs }: BlobSidecar): boolean {
  const kzg = kzgContext();
  try {
    if (version === 0) return kzg.verifyBlobKzgProofBatch(blobs, commitments, proofs);
    const indices = Array.from({ length: CELLS_PER_EXTENDED_BLOB }, (_, index) => index);
    const perCell = <T>(items: readonly T[]): T[] => items.flatMap((item) => indices.map(() => item));
    const cells = blobs.flatMap((blob) => kzg.computeCells(blob));
    return kzg.verifyCellKzgProofBatch(
      perCell(commitments),
      blobs.flatMap(() => indices),
      cells,
      proofs,
    );
  } catch {
    return false; // as above
  }
}
