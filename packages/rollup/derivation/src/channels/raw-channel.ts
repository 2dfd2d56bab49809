import type { Hex } from "@rnode/primitives";

/** A complete channel, still compressed. */
export interface RawChannel {
  readonly id: Hex;
  readonly content: Uint8Array;
}
