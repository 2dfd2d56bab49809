import { concatBytes, keccak256 } from "@rnode/primitives";
import { CELLS_PER_EXTENDED_BLOB } from "@rnode/protocol";
import type { BlobProver } from "../blob-prover.ts";

/** Commitments that only distinguish blobs, and empty proofs: for simulations without verification. */
export const simProver: BlobProver = {
  sidecar: (blobs, version) => {
    const commitments = blobs.map((blob) => concatBytes(new Uint8Array(16), keccak256(blob)));
    const proofs = Array.from({ length: blobs.length * (version === 0 ? 1 : CELLS_PER_EXTENDED_BLOB) }, () => new Uint8Array(48));
    return Promise.resolve({ version, blobs, commitments, proofs });
  },
};
