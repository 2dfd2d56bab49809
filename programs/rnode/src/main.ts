import { join } from "node:path";
import { openDashboard } from "@rnode/dashboard";
import { defaultDataFolder, UPGRADES_FOLDER, UpgradeFiles } from "@rnode/networks";
import type { Logger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { assertPortIsFree, type Program, type ProgramContext, runProgram, type Started } from "@rnode/program";
import { openSigner } from "@rnode/signer";
import { AdminStateFile } from "./common/admin-state.ts";
import { readEngineSecret } from "./engine/engine-secret.ts";
import { warnOfUnusedOptions } from "./follow/unused-options.ts";
import { opNodeNames } from "./metrics.ts";
import { RollupNode } from "./node.ts";
import { SnapshotLog } from "./operate/snapshot-log.ts";
import { type RnodeOptions, rnodeOptions } from "./options.ts";
import { p2pConfig } from "./p2p/p2p-setup.ts";
import { PeerNetwork } from "./p2p/peer-network.ts";
import type { SafeHeadDatabase } from "./safe/safe-head-database.ts";
import { configChecks } from "./start/config-checks.ts";
import { Connections } from "./start/connections.ts";
import { assertAltDa, assertConfirmations, loadDerivationConfig } from "./start/rollup-setup.ts";
import { upgradeSourceFor } from "./start/upgrades.ts";
import { TimedOutPayloads } from "./unsafe/timed-out-payloads.ts";
import { VERSION } from "./version.ts";

const STATUS_INTERVAL_MS = 10_000;
/** in the data folder: unsafe payloads that the engine did not finish in time */
const TIMED_OUT_FILE = "timed-out-payloads.json";
const METRICS_PREFIX = "rnode_default_";

const rnode: Program<(typeof rnodeOptions)["groups"]> = {
  name: "rnode",
  version: VERSION,
  table: rnodeOptions,
  metricsPrefix: METRICS_PREFIX,
  metricAliases: opNodeNames,
  checks: configChecks,
  subcommands: {
    networks: async () => (await import("./commands/networks-command.ts")).networksCommand,
    peers: async () => (await import("./commands/peers-command.ts")).peersCommand,
    derive: async () => (await import("./commands/derive-command.ts")).deriveCommand,
    resync: async () => (await import("./commands/resync-command.ts")).resyncCommand,
  },
  start,
};

/** `rnode`: runs the node itself, or a subcommand. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(rnode, args, env);
}

async function start(options: RnodeOptions, { scope, log, clock, metrics, health, readiness }: ProgramContext): Promise<Started> {
  const { disable, listenIp, listenTcp } = options.p2p;
  // at once: peers are heard after the endpoints, which may be waited for
  if (!disable) await assertPortIsFree("p2p.listen.tcp", { host: listenIp, port: listenTcp });
  const dashboard = await openDashboard(options.dashboard, { name: "rnode", version: VERSION, scope, log, clock, readiness });
  const loaded = await loadDerivationConfig(options, { log, clock });
  const isPublic = (options.rollup.network ?? options.files.registry) !== undefined;
  const derives = options.l2.followSource === undefined;
  const sequences = options.sequencer.enabled;
  const fetches = isPublic && (derives || sequences) && loaded.upgradeArtifact === undefined;
  const upgrades = fetches ? upgradeFilesOf(options, loaded.rollup.l2ChainId, { log, clock }) : undefined;
  scope.onClose("upgrade files", () => upgrades?.close());
  const { dependencySet, ...config } = loaded;
  const derivation = {
    ...config,
    upgradeArtifact: upgradeSourceFor(config.rollup, loaded.upgradeArtifact ?? upgrades?.source, { derives, sequences }, log),
  };
  assertAltDa(options, derivation.rollup);
  assertConfirmations(options, derivation.rollup, Math.floor(clock.unixMs() / 1000));
  const adminState = new AdminStateFile(options.rpc.adminState);
  if (options.sequencer.enabled) adminState.load(); // a bad file stops the start
  const engineSecret = readEngineSecret(options, derivation.rollup.l2ChainId, log);
  const { path: safeHeadsPath } = options.safedb;
  warnOfUnusedOptions(options, log);
  const safeHeads = derives && safeHeadsPath && (await openSafeHeads(safeHeadsPath, derivation.rollup.genesis.l2.hash, log));
  if (safeHeads) scope.onClose("safe-head database", () => safeHeads.close());

  const { file: snapshotFile } = options.snapshotlog;
  const snapshots =
    snapshotFile === undefined
      ? undefined
      : await scope.use(
          "snapshot log",
          () => new SnapshotLog(snapshotFile, () => clock.unixMs()),
          (opened) => opened.close(),
        );

  const signer = options.p2p.disable
    ? undefined
    : await scope.use(
        "block signer",
        () => openSigner(options.p2p.sequencerKey, options.signer, { clock, log: log.child({ part: "signer" }), metrics }),
        (opened) => opened?.close(),
      );
  const peers = options.p2p.disable
    ? undefined
    : new PeerNetwork(
        { config: p2pConfig(options.p2p, derivation.rollup, log) },
        {
          signer,
          clock,
          random: Math.random,
          log: log.child({ part: "p2p" }),
          metrics,
          threadMetrics: options.metrics.enabled
            ? { prefix: METRICS_PREFIX, include: (collect) => metrics.include(collect) }
            : undefined,
        },
      );
  const node = new RollupNode(options, {
    derivation,
    upgrades,
    peers,
    publishSigned: peers && ((envelope, signature) => peers.publishSigned(envelope, signature)),
    snapshots,
    dependencySet,
    safeHeads: safeHeads || undefined,
    timeouts: new TimedOutPayloads(join(dataFolder(options, derivation.rollup.l2ChainId), TIMED_OUT_FILE), log),
    connect: (deps) => new Connections(options, { ...deps, engineSecret }),
    adminState,
    clock,
    random: Math.random,
    log,
    metrics,
    health,
    readiness,
    feed: dashboard.feed,
  });
  const { rpcPort, ended } = await node.start(scope);
  const { rollup } = derivation;
  log.info("rnode is running", {
    version: VERSION,
    l2ChainId: rollup.l2ChainId,
    l1ChainId: rollup.l1ChainId,
    rpcPort,
    sequencer: options.sequencer.enabled,
  });
  const print = (): void => {
    dashboard.sample();
    log.info("status", node.status());
  };
  return { failure: ended, status: { everyMs: STATUS_INTERVAL_MS, print } };
}

const dataFolder = ({ files: { datadir } }: RnodeOptions, l2ChainId: bigint): string => datadir ?? defaultDataFolder(l2ChainId);

/** The files of network upgrades of a public chain, or of any that a mirror is named for. */
function upgradeFilesOf(options: RnodeOptions, l2ChainId: bigint, deps: Pick<ProgramContext, "log" | "clock">): UpgradeFiles {
  const { registry, offline } = options.files;
  return new UpgradeFiles({ folder: join(dataFolder(options, l2ChainId), UPGRADES_FOLDER), registry, offline, ...deps });
}

/** The database engine is loaded only by those who want it. */
async function openSafeHeads(folder: string, genesis: Hex, log: Logger): Promise<SafeHeadDatabase> {
  const { SafeHeadDatabase } = await import("./safe/safe-head-database.ts");
  return SafeHeadDatabase.open(folder, genesis, log);
}
