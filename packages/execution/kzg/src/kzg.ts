/** The extended blob in 128 cells with a proof each. Spec: EIP-7594 compute_cells_and_kzg_proofs */
export interface CellsAndProofs {
  /** 2048 bytes each */
  readonly cells: readonly Uint8Array[];
  /** 48 bytes each */
  readonly proofs: readonly Uint8Array[];
}

/** A cell of an extended blob, for sampling. Its proof is checked against the commitment of the blob. */
export interface ProvedCell {
  readonly commitment: Uint8Array;
  /** 0 to 127 */
  readonly index: number;
  readonly cell: Uint8Array;
  readonly proof: Uint8Array;
}

/**
 * Commitments and proofs of blobs (131,072 bytes each; commitments and proofs have 48 bytes). Spec: EIP-4844, EIP-7594.
 *
 * Each method rejects with kzg/busy, kzg/unavailable or kzg/closed, of which the first two are temporary.
 */
export interface Kzg {
  /**
   * Loads the trusted setup in the background, which takes two seconds, so that the first commitment does not wait. Blob proofs
   * do not need it.
   */
  load(): void;
  /** @returns `undefined` if the bytes are not a blob: an element is not below the modulus, or the length is wrong */
  commitment(blob: Uint8Array): Promise<Uint8Array | undefined>;
  /** Whether `proof` shows that `commitment` is that of `blob`. Bytes that are no blob or no points prove nothing. */
  verifyBlobProof(blob: Uint8Array, commitment: Uint8Array, proof: Uint8Array): Promise<boolean>;
  /** @throws {KzgError} kzg/not-a-blob */
  blobProof(blob: Uint8Array, commitment: Uint8Array): Promise<Uint8Array>;
  /** @throws {KzgError} kzg/not-a-blob */
  cellsAndProofs(blob: Uint8Array): Promise<CellsAndProofs>;
  /** Whether `proofs` prove that the 128 cells of `blob` match `commitment`. */
  verifyBlobCells(blob: Uint8Array, commitment: Uint8Array, proofs: readonly Uint8Array[]): Promise<boolean>;
  /** Whether all cells belong to their commitments. */
  verifyCellProofs(cells: readonly ProvedCell[]): Promise<boolean>;
  close(): Promise<void>;
}
