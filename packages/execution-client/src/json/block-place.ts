/** Where a transaction or log stands. */
export interface BlockPlace {
  readonly hash: Uint8Array;
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  readonly baseFeePerGas: bigint | undefined;
}
