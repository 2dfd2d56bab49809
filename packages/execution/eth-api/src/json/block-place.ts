import type { ExactInteger } from "@rnode/primitives";

/** The block that a transaction or log is in. */
export interface BlockPlace {
  readonly hash: Uint8Array;
  /** `hash` as hex, for callers that show it many times */
  readonly hashHex?: string | undefined;
  readonly number: ExactInteger;
  /** seconds */
  readonly timestamp: ExactInteger;
  readonly baseFeePerGas: bigint | undefined;
}
