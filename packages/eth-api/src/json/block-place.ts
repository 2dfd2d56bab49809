/** Where a transaction or log stands. */
export interface BlockPlace {
  readonly hash: Uint8Array;
  /** the same, for whoever shows it many times */
  readonly hashHex?: string | undefined;
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  readonly baseFeePerGas: bigint | undefined;
}
