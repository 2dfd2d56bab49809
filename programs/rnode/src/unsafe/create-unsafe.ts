import type { CrossSafety } from "../common/cross-safety.ts";
import type { NodeBase } from "../node-base.ts";
import type { RnodeOptions } from "../options.ts";
import type { SafeHeadDatabase } from "../safe/safe-head-database.ts";
import type { PrepareAttributes, Sequencer } from "../sequencing/sequencer.ts";
import { ExecutionLayerSync } from "./execution-layer-sync.ts";
import { RefusedBlocks } from "./refused-blocks.ts";
import { TimedOutPayloads } from "./timed-out-payloads.ts";
import { UnsafeBlockCheck } from "./unsafe-block-check.ts";
import { type MissingBlocks, UnsafeGap } from "./unsafe-gap.ts";
import { UnsafeInbox } from "./unsafe-inbox.ts";
import { UnsafeInserter } from "./unsafe-inserter.ts";

export interface UnsafeDeps {
  readonly sequencer: Sequencer;
  /** `undefined`: unsafe blocks are compared with headers of L1 only */
  readonly prepareAttributes: PrepareAttributes | undefined;
  /** asks other nodes for missing blocks; `undefined`: there are none to ask */
  readonly requestGap: ((missing: MissingBlocks) => void) | undefined;
  /** payloads that the engine did not finish. `undefined`: a list in memory */
  readonly timeouts: TimedOutPayloads | undefined;
  readonly crossSafety: CrossSafety | undefined;
  /** the record of safe heads, if the start may go by it */
  readonly record: Pick<SafeHeadDatabase, "last"> | undefined;
}

export interface UnsafeParts {
  readonly inbox: UnsafeInbox;
  readonly gap: UnsafeGap;
  readonly refused: RefusedBlocks;
  readonly inserter: UnsafeInserter;
  /** `undefined`: all blocks are derived */
  readonly engineSync: ExecutionLayerSync | undefined;
}

/** The parts for blocks that other nodes made. */
export function createUnsafe(
  { l2: { enginekind }, rollup: { syncmode, offsetElSafeMs } }: Pick<RnodeOptions, "l2" | "rollup">,
  deps: UnsafeDeps,
  { config, clock, log, metrics, control, engine, l1View, signals, connections: { l1, l2 } }: NodeBase,
): UnsafeParts {
  const { sequencer, prepareAttributes, requestGap, timeouts = new TimedOutPayloads(undefined, log), crossSafety, record } = deps;
  const inbox = new UnsafeInbox({
    config,
    headNumber: () => control.headsIfKnown?.unsafe.number,
    onQueued: () => {
      metrics.unsafePayload();
      signals.wake();
    },
  });
  metrics.observeInbox(inbox);
  const gap = new UnsafeGap({ config, control, inbox, request: requestGap, clock, log });
  const refused = new RefusedBlocks({ clock, log, metrics });
  const check = new UnsafeBlockCheck({ config, l1, l1Head: () => l1View.head, l2, prepareAttributes, clock });
  const inserter = new UnsafeInserter({
    inbox,
    control,
    l2,
    gap,
    check,
    timeouts,
    sequencer,
    refused,
    clock,
    log,
    isDenied: (number, hash) => crossSafety?.isDenied(number, hash) === true,
  });
  const engineSync =
    syncmode === "execution-layer"
      ? new ExecutionLayerSync(
          { kind: enginekind, offsetMs: offsetElSafeMs },
          { config, inbox, engine, l2, control, lastRecorded: () => record?.last, clock, log },
        )
      : undefined;
  return { inbox, gap, refused, inserter, engineSync };
}
