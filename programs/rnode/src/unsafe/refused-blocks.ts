import type { Logger } from "@rnode/observe";
import type { Clock, Hex } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import type { UnsafeBlockFault } from "./unsafe-block-check.ts";

/** Why an unsafe block of another node was not taken. */
export type RefusalCause = UnsafeBlockFault | "sequencing" | "engine" | "timeout" | "denied";

/** A refused block, as `rnode_refusedUnsafeBlocks` says it. */
export interface RefusedBlock {
  readonly block: L2BlockRef;
  readonly cause: RefusalCause;
  readonly reason: string;
  /** seconds since 1970 */
  readonly time: number;
}

export interface RefusedBlocksDeps {
  readonly clock: Pick<Clock, "unixMs">;
  readonly log: Logger;
  readonly metrics?: { refusedUnsafe(cause: RefusalCause): void } | undefined;
}

const KEPT = 32;
/** An engine may say much. */
const MAX_REASON_CHARS = 500;

/** The newest unsafe blocks that this node refused: each was signed by the sequencer's key. */
export class RefusedBlocks {
  private readonly deps: RefusedBlocksDeps;
  private readonly blocks: RefusedBlock[] = [];
  private readonly hashes: Hex[] = [];

  constructor(deps: RefusedBlocksDeps) {
    this.deps = deps;
  }

  /** The oldest first. */
  get list(): readonly RefusedBlock[] {
    return this.blocks;
  }

  add(block: L2BlockRef, cause: RefusalCause, reason: string): void {
    const { clock, log, metrics } = this.deps;
    metrics?.refusedUnsafe(cause);
    const { number, hash, l1Origin } = block;
    const isNew = !this.hashes.includes(hash);
    log[isNew ? "warn" : "debug"]("unsafe block of another node refused", {
      number,
      hash,
      l1Origin: l1Origin.number,
      cause,
      reason,
    });
    if (!isNew) return;
    this.blocks.push({ block, cause, reason: reason.slice(0, MAX_REASON_CHARS), time: Math.floor(clock.unixMs() / 1000) });
    this.hashes.push(hash);
    if (this.blocks.length <= KEPT) return;
    this.blocks.shift();
    this.hashes.shift();
  }
}
