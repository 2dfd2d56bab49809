import type { Hex } from "@rnode/primitives";
import type { BlockId, L1BlockRef } from "@rnode/protocol";

/** Who decides, beside L1, which blocks of this chain are safe: the verifier of the set of chains that it belongs to. */
export interface CrossSafety {
  /** Whether a block of this time is safe only when it was verified. */
  decidesAt(timestamp: number): boolean;
  /** The newest verified block of this chain; `undefined`: none so far. */
  verified(): BlockId | undefined;
  /** The newest verified block that rests on L1 blocks up to a number only, and the highest of those L1 blocks, which L1 may have replaced since. */
  verifiedBy(l1Number: number): { readonly block: BlockId; readonly l1: BlockId } | undefined;
  /** Whether a block was found invalid, or any of a height. Its deposits-only form takes its place. */
  isDenied(number: number, hash?: Hex): boolean;
  /** Grows with each verdict. */
  readonly verdicts: number;
  /** All blocks that were found invalid, by ascending number. */
  denied(): Iterable<BlockId>;
  /** The block above which all has to be derived again, because a verdict lost its ground; `undefined`: none. */
  rederivedAfter(): number | undefined;
  /** Derivation has started over at or below that block. */
  rederives(): void;
  /** L1 has a new head. */
  onL1Head(block: L1BlockRef): void;
}
