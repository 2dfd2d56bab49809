import type { NodeBase } from "../node-base.ts";
import type { SafeParts } from "../safe/create-safe.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";
import type { Verification } from "../verification.ts";
import { CanonicalL1 } from "./canonical-l1.ts";
import type { FollowSource } from "./follow-source.ts";
import { Follower } from "./follower.ts";
import { readAhead } from "./read-ahead.ts";

export interface FollowingDeps {
  readonly source: FollowSource;
  readonly safe: Pick<SafeParts, "safeChain">;
  readonly sequencer: Sequencer;
}

/** The parts that take safe blocks from another node, instead of derivation and finality. */
export function createFollower({ source, safe: { safeChain }, sequencer }: FollowingDeps, base: NodeBase): Verification {
  const { config, clock, log, metrics, control, l1View, progress, signals, connections } = base;
  const { l1, l2 } = connections;
  const follower = new Follower({
    config,
    source,
    control,
    l2,
    l1: new CanonicalL1(l1),
    l1Finalized: () => l1View.finalized,
    readAhead: (l1Head) => readAhead(l1Head, { l1, sequencer, log }),
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
