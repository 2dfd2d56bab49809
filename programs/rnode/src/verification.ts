import type { LogFields } from "@rnode/observe";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import type { FoundHeads } from "./common/found-heads.ts";
import type { Progress, Trouble } from "./common/progress.ts";

export type Start = Extract<FoundHeads, { readonly kind: "found" }>;

/** A part of the driver's loop. */
export interface DriverPart {
  readonly name: string;
  readonly turn: () => Promise<Progress>;
  /** Milliseconds until it is due by the clock. Absent, or `undefined`: it only waits for something to arrive. */
  readonly dueInMs?: () => number | undefined;
}

/** Decides which blocks are safe and final: derivation from L1, or another node that derives (`--l2.follow.source`). */
export interface Verification {
  /** in their order */
  readonly parts: readonly DriverPart[];
  /** Starts over from these heads. @returns what went wrong; `undefined`: nothing */
  reset(start: Start): Promise<Trouble | undefined>;
  /** Whether the engine is on its way to another branch. No block may be made or inserted meanwhile. */
  readonly holdsBack: boolean;
  onL1Head(block: L1BlockRef): void;
  onL1Finalized(block: L1BlockRef): void;
  /** the block that the engine lacks and fetches from its peers, as it was named; `undefined`: none */
  readonly target?: L2BlockRef | undefined;
  /** Reasons why the safe head cannot be expected to follow; empty if it can. */
  readonly faults: readonly string[];
  /** fields of the status line */
  readonly status: LogFields;
  /** derived from L1, but perhaps not safe, as messages of other chains are not checked; `undefined`: the safe block */
  readonly localSafe: L2BlockRef | undefined;
}
