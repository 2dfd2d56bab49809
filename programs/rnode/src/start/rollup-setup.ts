import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DerivationConfig, maxSequencerDriftSec } from "@rnode/derivation";
import { findNetwork, registryAt, registryRetriesIn } from "@rnode/networks";
import type { Logger } from "@rnode/observe";
import { type Clock, CodedError, isCodedError, isSystemError } from "@rnode/primitives";
import {
  type BlobScheduleEntry,
  type ChainConfig,
  type DependencySet,
  dependencySetOf,
  expectNetwork,
  FORK_FACTS,
  isNetworksTableOld,
  L1_INFO_LAYOUTS,
  l1ChainConfig,
  lastDerivationFacts,
  NETWORKS_SOURCE,
  type OpFork,
  oldForkKeysIn,
  parseChainConfig,
  type RollupConfig,
  rollupConfigFromJson,
  rollupConfigOf,
  rollupConfigToJson,
  upgradeArtifactsFromFiles,
  whyNoClientFollows,
} from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import type { RnodeOptions } from "../options.ts";
import { chooseDependencySet, isCluster } from "./dependency-set.ts";

type SetupErrorCode =
  /** a configuration file, or the value given in its place, is not JSON */
  "config/not-json";

export interface SetupDeps {
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: Pick<Clock, "unixMs">;
}

type RollupChoice = Pick<RnodeOptions, "rollup" | "override"> & { readonly files: Pick<RnodeOptions["files"], "registry"> };

/** The rollup that the options select, with overrides applied. @throws {StartError} */
export async function loadRollup(options: RollupChoice, deps: SetupDeps): Promise<RollupConfig> {
  return (await loadChosenRollup(options, deps)).rollup;
}

interface ChosenRollup {
  readonly rollup: RollupConfig;
  /** undefined: no network of the table, and no option, has one */
  readonly dependencySet: DependencySet | undefined;
}

async function loadChosenRollup(options: RollupChoice, deps: SetupDeps): Promise<ChosenRollup> {
  const { rollup, dependencySet } = await loadRollupConfig(options, deps);
  const reason = whyNoClientFollows(rollup.l2ChainId);
  if (reason !== undefined) deps.log.warn("this chain left the OP Stack, and the node will stop or fork there", { reason });
  return { rollup: withOverrides(rollup, options.override), dependencySet };
}

/** The same, with everything that derivation needs to know of L1, of upgrades and of other chains. @throws {StartError} */
export async function loadDerivationConfig(options: RnodeOptions, deps: SetupDeps): Promise<DerivationConfig & ChosenRollup> {
  const { rollup, dependencySet: named } = await loadChosenRollup(options, deps);
  const dependencySet = chooseDependencySet(options.interopCluster, rollup, named, deps.log, options.l2.followSource);
  const upgradesDir = options.rollup.upgradesDir;
  return {
    rollup,
    dependencySet,
    isInCluster: isCluster(dependencySet),
    l1BlobSchedule: loadL1BlobSchedule(rollup, options.rollup.l1ChainConfig),
    upgradeArtifact: upgradesDir === undefined ? undefined : loadUpgrades(upgradesDir),
  };
}

/** The options that the fork times come from, for error messages. */
export function forksFrom({ rollup: { network, config }, override }: Pick<RnodeOptions, "rollup" | "override">): string {
  const overrides = Object.entries(override).flatMap(([name, value]) =>
    typeof value === "number" ? [`--override.${name}=${value}`] : [],
  );
  if (overrides.length > 0) return overrides.join(", ");
  if (network !== undefined) return `--network=${network}`;
  return config === undefined || isInline(config) ? "--rollup.config" : `--rollup.config=${config}`;
}

/** Seconds between two blocks of a public L1. */
const L1_SLOT_SEC = 12;

/**
 * A sequencer that stays further behind L1 than its blocks may be ahead of their L1 origin could include no transactions.
 *
 * @throws {StartError} start/bad-config
 */
export function assertConfirmations({ sequencer }: RnodeOptions, rollup: RollupConfig, nowSec: number): void {
  if (!sequencer.enabled) return;
  const driftSec = maxSequencerDriftSec(rollup, nowSec);
  const most = Math.floor(driftSec / L1_SLOT_SEC);
  if (sequencer.l1Confs <= most) return;
  throw new StartError(
    "start/bad-config",
    `--sequencer.l1-confs=${sequencer.l1Confs} must not exceed ${most}: ${L1_SLOT_SEC} s an L1 block, that many are the sequencer drift of ${driftSec} s, beyond which blocks may hold no transactions`,
  );
}

/**
 * Where the rollup keeps its data, and where the options look for it, must be the same. A light node reads no data.
 *
 * @throws {StartError} start/bad-config
 */
export function assertAltDa({ altda, l2 }: Pick<RnodeOptions, "altda" | "l2">, { altDa }: RollupConfig): void {
  const refuse = (text: string): never => {
    throw new StartError("start/bad-config", text);
  };
  if (altDa === undefined) {
    if (altda.enabled) refuse("--altda.enabled: the rollup's configuration has no alt_da, so all of its data is on L1");
    return;
  }
  if (!altda.enabled) {
    if (l2.followSource !== undefined) return; // nothing is derived
    refuse("--altda.enabled is required: the rollup's configuration has alt_da, so its data is on a DA server (--altda.da-server)");
  }
  const isGeneric = altDa.daCommitmentType === "GenericCommitment";
  if (altda.daService !== isGeneric) {
    refuse(
      `--altda.da-service=${altda.daService}: the rollup has commitments of type ${altDa.daCommitmentType}, which need ${isGeneric}`,
    );
  }
}

const isInline = (config: string): boolean => config.trimStart().startsWith("{");

async function loadRollupConfig({ rollup, files }: Pick<RollupChoice, "rollup" | "files">, deps: SetupDeps): Promise<ChosenRollup> {
  const { network, config } = rollup;
  if (network !== undefined) return await loadNetwork(network, files.registry, deps);
  if (config === undefined) {
    throw new StartError(
      "start/bad-config",
      "--network or --rollup.config is required: the name of a network or a rollup configuration file",
    );
  }
  const text = isInline(config) ? config : readText("--rollup.config", config);
  const file = isInline(config) ? undefined : config;
  const unknownKeys = (key: string): void => deps.log.warn("the rollup configuration has a key that is not known", { file, key });
  const source = `--rollup.config${file === undefined ? "" : ` ${file}`}`;
  const json = orBadConfig(source, () => parseJson(text));
  const parsed = orBadConfig(source, () => rollupConfigFromJson(json, { unknownKeys }));
  for (const old of oldForkKeysIn(json)) deps.log.warn("the rollup configuration has a key under its old name", { file, ...old });
  return { rollup: parsed, dependencySet: undefined };
}

async function loadNetwork(name: string, registry: string | undefined, { log, clock }: SetupDeps): Promise<ChosenRollup> {
  try {
    const source = registry === undefined ? undefined : registryAt(registry, registryRetriesIn(log));
    const { network, from } = (await findNetwork(name, source)) ?? {
      network: expectNetwork(name),
      from: undefined,
    };
    if (from !== undefined) log.info("the network's configuration is read from a registry", { network: network.name, from });
    else if (isNetworksTableOld(clock.unixMs() / 1_000)) {
      const remedy = "update rnode, or give --registry: forks may have been scheduled since";
      log.warn("the table of networks is older than six months", { network: network.name, day: NETWORKS_SOURCE.day, remedy });
    }
    for (const old of network.oldForkKeys ?? [])
      log.warn("the network's configuration has a key under its old name", { network: network.name, ...old });
    return { rollup: rollupConfigOf(network), dependencySet: dependencySetOf(network) };
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw new StartError("start/bad-config", `--network: ${cause.message}`, { cause });
  }
}

function withOverrides(config: RollupConfig, overrides: RnodeOptions["override"]): RollupConfig {
  const forkTimes: Partial<Record<OpFork, number>> = { ...config.forkTimes };
  const given: string[] = [];
  for (const fork of Object.keys(FORK_FACTS) as (keyof typeof FORK_FACTS)[]) {
    const name = FORK_FACTS[fork].override;
    const time = name && overrides[name];
    if (time === undefined) continue;
    forkTimes[fork] = time;
    given.push(`--override.${name}`);
  }
  const { pectrablobschedule, keepKarstUpgradeGas } = overrides;
  if (pectrablobschedule !== undefined) given.push("--override.pectrablobschedule");
  if (keepKarstUpgradeGas !== undefined) given.push("--override.keep-karst-upgrade-gas");
  if (given.length === 0) return config;
  const overridden = {
    ...config,
    forkTimes,
    pectraBlobScheduleTime: pectrablobschedule ?? config.pectraBlobScheduleTime,
    keepKarstUpgradeGas: keepKarstUpgradeGas ?? config.keepKarstUpgradeGas,
  };
  // applies the checks of a configuration file: forks in order, none left out
  return orBadConfig(given.join(", "), () => rollupConfigFromJson(rollupConfigToJson(overridden)));
}

/** L1's blob base fee parameters: built in for public L1s, otherwise read from a file. */
function loadL1BlobSchedule(rollup: RollupConfig, path: string | undefined): readonly BlobScheduleEntry[] {
  const known = l1ChainConfig(rollup.l1ChainId);
  if (known !== undefined) return blobScheduleOf(known);
  if (path === undefined) {
    if (!L1_INFO_LAYOUTS[lastDerivationFacts(rollup.forkTimes).l1InfoLayout].isPacked) return []; // no blob base fee
    throw new StartError(
      "start/bad-config",
      `--rollup.l1-chain-config is required: L1 chain ${rollup.l1ChainId} is not a public one, and its blob schedule is needed`,
    );
  }
  const config = orBadConfig(`--rollup.l1-chain-config ${path}`, () => {
    const json = parseJson(readText("--rollup.l1-chain-config", path));
    const inner = (json as { config?: unknown } | null)?.config;
    return inner === undefined ? parseChainConfig(json, "") : parseChainConfig(inner);
  });
  if (config.chainId !== rollup.l1ChainId) {
    throw new StartError(
      "start/wrong-chain",
      `--rollup.l1-chain-config ${path} is of chain ${config.chainId}, but the rollup's L1 is chain ${rollup.l1ChainId}`,
    );
  }
  return blobScheduleOf(config);
}

const blobScheduleOf = ({ blobSchedule }: ChainConfig): readonly BlobScheduleEntry[] =>
  blobSchedule.map(({ timeSec, params }) => ({ timeSec, baseFeeUpdateFraction: params.baseFeeUpdateFraction }));

function loadUpgrades(folder: string): DerivationConfig["upgradeArtifact"] {
  return orBadConfig(`--rollup.upgrades-dir ${folder}`, () => {
    const names = readdirSync(folder).sort();
    return upgradeArtifactsFromFiles(names.map((name) => ({ name, content: readFileSync(join(folder, name)) })));
  });
}

function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (!isSystemError(cause)) throw cause;
    throw new StartError("start/bad-config", `${flag}: cannot read ${path}: ${cause.message}`, { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CodedError<SetupErrorCode>(
      "config/not-json",
      { reason: (cause as Error).message },
      { cause, sentence: "not JSON: {reason}" },
    );
  }
}

function orBadConfig<T>(what: string, load: () => T): T {
  try {
    return load();
  } catch (cause) {
    if (cause instanceof StartError) throw cause;
    if (!isCodedError(cause) && !isSystemError(cause)) throw cause;
    throw new StartError("start/bad-config", `${what}: ${cause.message}`, { cause });
  }
}
