import type { EngineClient } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { isCodedError, isZeroBytes } from "@rnode/primitives";
import { Halt } from "@rnode/program";
import {
  compareProtocolVersions,
  formatProtocolVersion,
  LOCAL_PROTOCOL_VERSION,
  type RollupConfig,
  type SignalledVersions,
  VERSION_DELTA,
} from "@rnode/protocol";

/** How far behind what L1 requires the node may be: `--rollup.halt`. */
export type HaltLevel = "none" | "major" | "minor" | "patch";

export interface ProtocolVersionMetrics {
  /** a value of `VERSION_DELTA` */
  distance(type: "local_recommended" | "local_required" | "engine_recommended" | "engine_required", distance: number): void;
  versions(versions: Readonly<Record<"local" | "engine" | "recommended" | "required", string>>): void;
}

export interface ProtocolVersionWatchDeps {
  readonly engine: Pick<EngineClient, "signalSuperchain">;
  readonly log: Logger;
  readonly metrics: ProtocolVersionMetrics;
}

/** As op-node: the process stays alive, because a supervisor would restart it without effect. */
const IDLE_AFTER_HALT_MS = 5 * 60_000;

/** For each halt level, the version lags that halt the node. */
const HALTS_AT: Readonly<Record<HaltLevel, readonly number[]>> = {
  none: [],
  major: [VERSION_DELTA.outdatedMajor],
  minor: [VERSION_DELTA.outdatedMajor, VERSION_DELTA.outdatedMinor],
  patch: [VERSION_DELTA.outdatedMajor, VERSION_DELTA.outdatedMinor, VERSION_DELTA.outdatedPatch],
};

/** Whether the node reads protocol versions: the operator wants it, and the configuration names the contract that has them. */
export function readsProtocolVersions(
  { halt, loadProtocolVersions }: { readonly halt: HaltLevel; readonly loadProtocolVersions: boolean },
  { protocolVersionsAddress }: Pick<RollupConfig, "protocolVersionsAddress">,
  log: Logger,
): boolean {
  if (halt === "none" && !loadProtocolVersions) return false;
  if (!isZeroBytes(protocolVersionsAddress)) return true;
  const option = halt === "none" ? "--rollup.load-protocol-versions" : `--rollup.halt=${halt}`;
  log.warn(
    `${option} does nothing: the rollup configuration has no protocol_versions_address, from which L1's versions could be read`,
  );
  return false;
}

/**
 * Compares the protocol version of this node and of its execution client with those that L1 signals, tells the execution client of them,
 * and halts the node where the operator wants that.
 *
 * Spec: docs/protocol/05-services.md#runtime-config-protocol-versions
 */
export class ProtocolVersionWatch {
  private readonly halt: HaltLevel;
  private readonly deps: ProtocolVersionWatchDeps;
  private told = "";

  constructor({ halt }: { readonly halt: HaltLevel }, deps: ProtocolVersionWatchDeps) {
    this.halt = halt;
    this.deps = deps;
  }

  /** @throws {Halt} L1 requires a version that is too far ahead */
  async take(signalled: SignalledVersions): Promise<void> {
    const { recommended, required } = signalled;
    if (isZeroBytes(recommended) && isZeroBytes(required)) return; // L1 signals nothing
    const engine = await this.tellEngine(signalled);
    const versions = {
      local: formatProtocolVersion(LOCAL_PROTOCOL_VERSION),
      engine: engine === undefined ? "" : formatProtocolVersion(engine),
      recommended: formatProtocolVersion(recommended),
      required: formatProtocolVersion(required),
    };
    const { metrics } = this.deps;
    metrics.versions(versions);
    const behind = {
      local_required: compareProtocolVersions(LOCAL_PROTOCOL_VERSION, required),
      local_recommended: compareProtocolVersions(LOCAL_PROTOCOL_VERSION, recommended),
      ...(engine && {
        engine_required: compareProtocolVersions(engine, required),
        engine_recommended: compareProtocolVersions(engine, recommended),
      }),
    };
    for (const [type, distance] of Object.entries(behind)) metrics.distance(type as keyof typeof behind, distance);
    this.log(versions, behind);
    if (!HALTS_AT[this.halt].includes(behind.local_required)) return;
    this.deps.log.error("Opted to halt, unprepared for protocol change", { required: versions.required, local: versions.local });
    throw new Halt(
      `--rollup.halt=${this.halt}: L1 requires protocol ${versions.required}, and this node implements ${versions.local}: install a release that implements it`,
      IDLE_AFTER_HALT_MS,
    );
  }

  /** @returns the execution client's version; undefined: it does not report it */
  private async tellEngine(signalled: SignalledVersions): Promise<Uint8Array | undefined> {
    const { engine, log } = this.deps;
    try {
      return await engine.signalSuperchain(signalled);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      log.warn("the execution client cannot be told of the protocol versions on L1", { reason: error.message });
      return undefined;
    }
  }

  /** Logs unchanged versions only once. */
  private log(versions: Readonly<Record<string, string>>, behind: Readonly<Record<string, number>>): void {
    const { log } = this.deps;
    const text = JSON.stringify(versions);
    if (text === this.told) {
      log.debug("protocol versions on L1 are the same", versions);
      return;
    }
    this.told = text;
    const isOutdated = (distance: number | undefined): boolean => distance !== undefined && distance < 0;
    const { local_required, engine_required, local_recommended, engine_recommended } = behind;
    if (isOutdated(local_required) || isOutdated(engine_required)) {
      log.error("L1 requires a newer protocol version: update rnode and its execution client", versions);
    } else if (isOutdated(local_recommended) || isOutdated(engine_recommended)) {
      log.warn("L1 recommends a newer protocol version: update rnode and its execution client", versions);
    } else log.info("protocol versions on L1", versions);
  }
}
