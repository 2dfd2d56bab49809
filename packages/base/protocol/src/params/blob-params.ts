/** Blob limits of one era (EIP-7840, EIP-7892). */
export interface BlobParams {
  readonly target: number;
  readonly max: number;
  readonly baseFeeUpdateFraction: bigint;
}
