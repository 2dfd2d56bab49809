import type { Kzg } from "@rnode/kzg";
import type { BlobSidecar } from "@rnode/protocol";
import { TxManagerError } from "./tx-manager-error.ts";

/** Creates the sidecar of a blob transaction. */
export interface BlobProver {
  /**
   * @param blobs 131,072 bytes each
   * @param version 0: a proof for each blob; 1: a proof for each cell (EIP-7594)
   */
  sidecar(blobs: readonly Uint8Array[], version: 0 | 1): Promise<BlobSidecar>;
}

/** Commitments and proofs by `@rnode/kzg`. The prover rejects with kzg/busy or kzg/unavailable, which are temporary. */
export function kzgBlobProver(kzg: Pick<Kzg, "commitment" | "blobProof" | "cellsAndProofs">): BlobProver {
  return {
    async sidecar(blobs, version) {
      const commitments: Uint8Array[] = [];
      const proofs: Uint8Array[] = [];
      for (const [index, blob] of blobs.entries()) {
        const commitment = await kzg.commitment(blob);
        if (commitment === undefined) throw new TxManagerError("tx-manager/not-a-blob", { index });
        commitments.push(commitment);
        if (version === 0) proofs.push(await kzg.blobProof(blob, commitment));
        else proofs.push(...(await kzg.cellsAndProofs(blob)).proofs);
      }
      return { version, blobs, commitments, proofs };
    },
  };
}
