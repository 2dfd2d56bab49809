import { signingLimitMs } from "@rnode/signer";
import type { AdminStateFile } from "../common/admin-state.ts";
import { SequencingTime } from "../common/sequencing-time.ts";
import type { NodeBase } from "../node-base.ts";
import type { RnodeOptions } from "../options.ts";
import type { BlockGossip } from "./block-gossip.ts";
import { BlockOutlet } from "./block-outlet.ts";
import { L1OriginSelector } from "./l1-origin-selector.ts";
import type { Leadership, SequencerConductor } from "./leadership.ts";
import { type PrepareAttributes, Sequencer } from "./sequencer.ts";

export interface SequencingDeps {
  readonly prepareAttributes: PrepareAttributes;
  /** how the blocks reach other nodes */
  readonly gossip: BlockGossip;
  /** who decides whether this node sequences */
  readonly leadership: Leadership;
}

/** The sequencer, with the outlet of its blocks. It is idle without `--sequencer.enabled`. */
export function createSequencer(
  options: Pick<RnodeOptions, "sequencer" | "signer">,
  { prepareAttributes, gossip, leadership }: SequencingDeps,
  { config, clock, log, metrics, control, l1View, connections: { l1 } }: NodeBase,
): Sequencer {
  const l1Head = () => l1View.head;
  const outlet = new BlockOutlet({
    leadership,
    gossip,
    control,
    clock,
    signLimitMs: signingLimitMs(options.signer.timeoutMs),
    log,
    metrics,
  });
  return new Sequencer(options.sequencer, {
    config,
    control,
    origins: new L1OriginSelector(options.sequencer, { config, l1, l1Head, clock, log }),
    prepareAttributes,
    outlet,
    leadership,
    clock,
    time: new SequencingTime({ clock, l1Head, log }),
    log,
    metrics: metrics.sequencer,
  });
}

/** Starts sequencing at the start of the node, as the options and the stored admin state say. */
export function startSequencing(
  { sequencer: { stopped }, rpc: { enableAdmin } }: Pick<RnodeOptions, "sequencer" | "rpc">,
  sequencer: Sequencer,
  {
    conductor,
    isEngineSyncing,
    adminState,
    log,
  }: {
    /** `undefined`: this node is the only sequencer */
    readonly conductor: SequencerConductor | undefined;
    /** whether an execution-layer sync comes first */
    readonly isEngineSyncing: boolean;
    readonly adminState: Pick<AdminStateFile, "load" | "save">;
    readonly log: NodeBase["log"];
  },
): void {
  if (conductor !== undefined) {
    log.info("sequencing is stopped until the conductor starts it");
    if (!enableAdmin) log.warn("no conductor can start sequencing without --rpc.enable-admin");
    return;
  }
  const stored = adminState.load();
  const isStopped = stored === undefined ? stopped : !stored.sequencerStarted;
  if (stored !== undefined && isStopped !== stopped) {
    log.warn("the stored admin state overrides --sequencer.stopped", { stopped: isStopped });
  }
  adminState.save({ sequencerStarted: !isStopped });
  if (isStopped) return;
  sequencer.start();
  if (isEngineSyncing) {
    log.warn(
      "sequencing waits for the execution-layer sync, which needs an unsafe block of another sequencer: without one, start with --syncmode=consensus-layer",
    );
  }
}
