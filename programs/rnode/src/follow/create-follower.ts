import { isCodedError } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";
import type { NodeBase } from "../node-base.ts";
import type { SafeParts } from "../safe/create-safe.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";
import type { Verification } from "../verification.ts";
import { CanonicalL1 } from "./canonical-l1.ts";
import type { FollowSource } from "./follow-source.ts";
import { Follower } from "./follower.ts";

export interface FollowingDeps {
  readonly source: FollowSource;
  readonly safe: Pick<SafeParts, "safeChain">;
  readonly sequencer: Sequencer;
}

/** The parts that take safe blocks from another node, instead of derivation and finality. */
export function createFollower({ source, safe: { safeChain }, sequencer }: FollowingDeps, base: NodeBase): Verification {
  const { config, clock, log, metrics, control, l1View, progress, signals, connections } = base;
  const { l1, l2 } = connections;
  /** Derivation would have read them: the sequencer needs the deposits of each L1 block. */
  const readAhead = async ({ hash }: L1BlockRef): Promise<void> => {
    if (!sequencer.isActive) return;
    try {
      await l1.blockByHash(hash);
      await l1.receipts(hash);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      log.debug("cannot read an L1 block ahead", { reason: error.message });
    }
  };
  const follower = new Follower({
    config,
    source,
    control,
    l2,
    l1: new CanonicalL1(l1),
    l1Finalized: () => l1View.finalized,
    readAhead,
    sequencer,
    onCurrentL1: (block) => progress.onIdle(block),
    onLocalSafe: (block, derivedFrom) => safeChain.onSafe(block, derivedFrom),
    onBase: (block) => safeChain.onReset(block, block),
    wake: () => signals.wake(),
    clock,
    log,
    metrics: metrics.followSource,
  });
  metrics.observeSource(() => follower.stalledSec);
  return follower;
}
