import type { L1Client } from "@rnode/l1";
import { type Logger, parseLogLevel } from "@rnode/observe";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import type { AdminStateFile } from "../common/admin-state.ts";
import type { Driver } from "../driver.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { RnodeOptions } from "../options.ts";
import type { SequencerConductor } from "../sequencing/leadership.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";
import type { ExecutionLayerSync } from "../unsafe/execution-layer-sync.ts";
import { checkUnsafePayload, type Offered } from "../unsafe/unsafe-inbox.ts";
import { replaceUnsafeHead } from "../unsafe/unsafe-replacement.ts";
import type { NodeAdminApi, StartRefusal } from "./rpc-methods.ts";

export interface NodeAdminDeps {
  readonly config: RollupConfig;
  readonly driver: Pick<Driver, "run" | "requestReset">;
  readonly sequencer: Pick<Sequencer, "isActive" | "checkStart" | "start" | "stop" | "fence" | "setRecoverMode">;
  /** undefined: this node is the only sequencer, or does not sequence */
  readonly conductor: SequencerConductor | undefined;
  readonly control: EngineControl;
  readonly engineSync: Pick<ExecutionLayerSync, "description"> | undefined;
  readonly adminState: Pick<AdminStateFile, "save">;
  readonly l1: Pick<L1Client, "blockByNumber">;
  readonly offer: (envelope: ExecutionPayloadEnvelope) => Offered;
  readonly log: Logger;
}

/** What operators and conductors may do to a running node. Whatever touches the sequencer runs between two turns of the driver. */
export function nodeAdminApi({ sequencer: { enabled } }: Pick<RnodeOptions, "sequencer">, deps: NodeAdminDeps): NodeAdminApi {
  const { config, driver, sequencer, conductor, control, engineSync, adminState, l1, offer, log } = deps;
  return {
    hasSequencer: enabled,
    isSequencerActive: () => sequencer.isActive,
    conductor,
    startSequencer: async (expectedHead) => {
      // first, as the driver need not wait for a conductor; each block will need its consent anyway
      const notLeading = conductor && (await whyNotLeading(conductor));
      if (notLeading !== undefined) return notLeading;
      return driver.run(() => {
        const description = engineSync?.description;
        if (description !== undefined) return { kind: "engine-syncing", description };
        const refusal = sequencer.checkStart(expectedHead);
        if (refusal !== undefined) return refusal;
        adminState.save({ sequencerStarted: true });
        sequencer.start();
        return undefined;
      });
    },
    stopSequencer: () => {
      sequencer.fence(); // the turn in progress may take long
      return driver.run(async () => {
        if (!sequencer.isActive) return { kind: "not-running" as const };
        adminState.save({ sequencerStarted: false });
        await sequencer.stop();
        return { kind: "stopped" as const, head: control.headsIfKnown?.unsafe.hash };
      });
    },
    setRecoverMode: (isOn) => driver.run(() => sequencer.setRecoverMode(isOn)),
    resetDerivationPipeline: () => driver.requestReset("asked for by admin_resetDerivationPipeline"),
    postUnsafePayload: offer,
    replaceUnsafePayload: async (envelope) => {
      const checked = checkUnsafePayload(config, envelope);
      if (checked.kind !== "valid") return checked;
      const reason = await driver.run(() => replaceUnsafeHead(envelope, checked.ref, { control, sequencer, log }));
      return reason === undefined ? { kind: "replaced" } : { kind: "refused", reason };
    },
    l1BlockRef: (number) => l1.blockByNumber(number),
    parseLogLevel,
    setLogLevel: (level) => {
      log.level = level;
    },
  };
}

/** @returns why sequencing must not start; undefined: this node leads */
async function whyNotLeading(conductor: SequencerConductor): Promise<StartRefusal | undefined> {
  try {
    return (await conductor.isLeader()) ? undefined : { kind: "not-leader" };
  } catch (error) {
    return { kind: "leader-check-failed", reason: error instanceof Error ? error.message : String(error) };
  }
}
