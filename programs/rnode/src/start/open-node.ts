import { join } from "node:path";
import { defaultDataFolder, UPGRADES_FOLDER, UpgradeFiles } from "@rnode/networks";
import { type Feed, type Logger, noMetrics } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { assertPortIsFree, type ProgramContext } from "@rnode/program";
import type { DependencySet, RollupConfig } from "@rnode/protocol";
import { openSigner } from "@rnode/signer";
import { AdminStateFile } from "../common/admin-state.ts";
import type { CrossSafety } from "../common/cross-safety.ts";
import { readEngineSecret } from "../engine/engine-secret.ts";
import { warnOfUnusedOptions } from "../follow/unused-options.ts";
import { METRICS_PREFIX } from "../metrics.ts";
import { RollupNode } from "../node.ts";
import type { NodeDeps } from "../node-deps.ts";
import { SnapshotLog } from "../operate/snapshot-log.ts";
import type { RnodeOptions } from "../options.ts";
import { p2pConfig } from "../p2p/p2p-setup.ts";
import { PeerNetwork, type PeerNetworkDeps } from "../p2p/peer-network.ts";
import type { SafeHeadDatabase } from "../safe/safe-head-database.ts";
import { TimedOutPayloads } from "../unsafe/timed-out-payloads.ts";
import { Connections, type L1Connections } from "./connections.ts";
import { assertAltDa, assertConfirmations, loadDerivationConfig } from "./rollup-setup.ts";

/** in the data folder: unsafe payloads that the engine did not finish in time */
const TIMED_OUT_FILE = "timed-out-payloads.json";

export interface OpenedNode {
  readonly node: RollupNode;
  readonly rollup: RollupConfig;
  readonly dependencySet: DependencySet | undefined;
}

/** What a node of a set gets from the others' process. */
export interface NodeOfSet {
  /** of all chains of the set */
  readonly l1: L1Connections;
  readonly crossSafety: (rollup: RollupConfig) => CrossSafety;
  readonly followL1Heads: NodeDeps["followL1Heads"];
  /** the thread of all chains' networks */
  readonly networks: PeerNetworkDeps["host"];
}

/** Opens everything of a rollup node: files, keys, the network of peers. Nothing is asked of L1 or the engine before it starts. */
export async function openNode(
  options: RnodeOptions,
  { scope, log, clock, metrics, health, readiness }: ProgramContext,
  { feed, set }: { readonly feed?: Feed | undefined; readonly set?: NodeOfSet | undefined } = {},
): Promise<OpenedNode> {
  const { disable, listenIp, listenTcp } = options.p2p;
  // at once: peers are heard after the endpoints, which may be waited for
  if (!disable) await assertPortIsFree("p2p.listen.tcp", { host: listenIp, port: listenTcp });
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
    upgradeArtifact: loaded.upgradeArtifact ?? upgrades?.source,
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
          host: set?.networks,
          threadMetrics: options.metrics.enabled
            ? { prefix: METRICS_PREFIX, include: (collect) => metrics.include(collect) }
            : undefined,
        },
      );
  const node = new RollupNode(options, {
    derivation,
    crossSafety: set?.crossSafety(derivation.rollup),
    followL1Heads: set?.followL1Heads,
    upgrades,
    peers,
    publishSigned: peers && ((envelope, signature) => peers.publishSigned(envelope, signature)),
    snapshots,
    dependencySet,
    safeHeads: safeHeads || undefined,
    timeouts: new TimedOutPayloads(join(dataFolder(options, derivation.rollup.l2ChainId), TIMED_OUT_FILE), log),
    connect: (deps) => new Connections(options, { ...deps, engineSecret, shared: set?.l1 }),
    adminState,
    clock,
    random: Math.random,
    log,
    metrics,
    l1Metrics: set && noMetrics, // the set counts
    health,
    readiness,
    feed,
  });
  return { node, rollup: derivation.rollup, dependencySet };
}

const dataFolder = ({ files: { datadir } }: RnodeOptions, l2ChainId: bigint): string => datadir ?? defaultDataFolder(l2ChainId);

/** The files of network upgrades of a public chain, or of any that a mirror is named for. */
function upgradeFilesOf(options: RnodeOptions, l2ChainId: bigint, deps: Pick<ProgramContext, "log" | "clock">): UpgradeFiles {
  const { registry, offline } = options.files;
  return new UpgradeFiles({ folder: join(dataFolder(options, l2ChainId), UPGRADES_FOLDER), registry, offline, ...deps });
}

/** The database engine is loaded only by those who want it. */
async function openSafeHeads(folder: string, genesis: Hex, log: Logger): Promise<SafeHeadDatabase> {
  const { SafeHeadDatabase } = await import("../safe/safe-head-database.ts");
  return SafeHeadDatabase.open(folder, genesis, log);
}
