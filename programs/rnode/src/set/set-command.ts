import { join } from "node:path";
import { openDashboard } from "@rnode/dashboard";
import { createRpcClientMetrics, createRpcServer, withModules } from "@rnode/jsonrpc";
import { createBeaconMetrics, createL1Metrics } from "@rnode/l1";
import { defaultDataFolder } from "@rnode/networks";
import { networkThreads } from "@rnode/p2p";
import {
  assertPortIsFree,
  type Command,
  connectionBudget,
  namingPorts,
  type ProgramContext,
  parseOptions,
  Readiness,
  runProgram,
  type Started,
  UserError,
} from "@rnode/program";
import { type BlockId, type DependencySet, networkByName, type RollupConfig } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import { CanonicalL1 } from "../follow/canonical-l1.ts";
import { METRICS_PREFIX, opNodeNames } from "../metrics.ts";
import { type RnodeOptions, rnodeOptions } from "../options.ts";
import { MAX_REQUEST_BYTES } from "../rpc/node-server.ts";
import { BEFORE_ANY_L1 } from "../rpc/superroot-methods.ts";
import { connectBeacon } from "../start/beacon.ts";
import { configChecks } from "../start/config-checks.ts";
import { connectL1, type L1Connections } from "../start/connections.ts";
import { type OpenedNode, openNode } from "../start/open-node.ts";
import { loadRollup } from "../start/rollup-setup.ts";
import { VERSION } from "../version.ts";
import { AccessListFilter } from "./access-list-filter.ts";
import { chainMetrics } from "./chain-metrics.ts";
import { hasOption, optionsOfChain, readSetArguments, type SetArguments } from "./chain-options.ts";
import { chainSafety } from "./chain-safety.ts";
import { CrossUnsafe } from "./cross-unsafe.ts";
import { filterMethods } from "./filter-methods.ts";
import { NodeChain } from "./node-chain.ts";
import { SetDatabase } from "./set-database.ts";
import { feedSet } from "./set-feed.ts";
import { runSet } from "./set-loop.ts";
import { setMethods } from "./set-methods.ts";
import { observeSet } from "./set-metrics.ts";
import { setRules, startOfSet } from "./set-rules.ts";
import { SetStatus } from "./set-status.ts";
import { SetVerifier } from "./set-verifier.ts";
import { SharedHeads } from "./shared-heads.ts";

const SUMMARY = "Derives several chains of a dependency set, verifies their messages, and serves light nodes.";
const STATUS_INTERVAL_MS = 10_000;
const HELP = `Usage: rnode set --chain=NAME --chain=NAME … [options]
  ${SUMMARY}

  --chain=NAME           a chain, once for each; a named network is one of its registry, another name needs --NAME.rollup.config
  --set.datadir=FOLDER   folder of the set, and of each chain below it. Default: that of the first chain
  --NAME.OPTION=VALUE    an option of rnode for one chain: --op-sepolia.l2=http://127.0.0.1:8551
  --OPTION=VALUE         an option of rnode for all chains: --l1=URL

Each chain's methods are at /CHAIN-ID of the RPC port, those of the set at /. The network of peers is on for chains with an option --NAME.p2p.…
rnode --help lists the options.`;

/** `rnode set`: several rollup nodes in one process, which verify each other's messages. */
export const setCommand: Command = Object.assign(
  async (args: readonly string[], env: NodeJS.ProcessEnv, io: { out(line: string): void }): Promise<number> => {
    if (args.includes("--help") || args.includes("-h")) {
      io.out(HELP);
      return 0;
    }
    const given = readSetArguments(args);
    const [first] = given.names;
    const start = (options: RnodeOptions, context: ProgramContext): Promise<Started> => startSet(given, options, env, context);
    const program = {
      name: "rnode set",
      version: VERSION,
      table: rnodeOptions,
      metricsPrefix: METRICS_PREFIX,
      metricAliases: opNodeNames,
    };
    return runProgram({ ...program, checks: configChecks, start }, argumentsOf(given, first!), env);
  },
  { summary: SUMMARY },
);

/** What `rnode` would be started with for one chain. */
function argumentsOf(given: SetArguments, name: string): string[] {
  const args = optionsOfChain(given, name);
  const own = given.own.get(name)!;
  if (!hasOption(args, "network", "rollup.config") && networkByName(name) !== undefined) args.push(`--network=${name}`);
  if (!hasOption(own, "p2p")) args.push("--p2p.disable");
  if (given.datadir !== undefined && !hasOption(own, "datadir")) args.push(`--datadir=${join(given.datadir, name)}`);
  return args;
}

/** The options of each chain; the first ones are read already. @throws {UserError} */
function optionsOf(given: SetArguments, first: RnodeOptions, env: NodeJS.ProcessEnv): RnodeOptions[] {
  return given.names.map((name, index) => {
    if (index === 0) return first;
    const parsed = parseOptions(rnodeOptions, argumentsOf(given, name), env);
    if (parsed.kind !== "options")
      throw new UserError(`chain ${name}: ${parsed.kind === "error" ? parsed.faults.join("; ") : parsed.kind}`);
    for (const check of configChecks) check(parsed.options);
    return parsed.options;
  });
}

async function startSet(
  given: SetArguments,
  first: RnodeOptions,
  env: NodeJS.ProcessEnv,
  context: ProgramContext,
): Promise<Started> {
  const { scope, log, clock, metrics, health, readiness } = context;
  await assertPortIsFree("rpc.port", first.rpc);
  const dashboard = await openDashboard(first.dashboard, { name: "rnode-set", version: VERSION, scope, log, clock, readiness });
  const all = optionsOf(given, first, env);
  const rollups: RollupConfig[] = [];
  for (const options of all) rollups.push(await loadRollup(options, { log, clock }));
  assertOneSet(rollups);
  const folder = join(given.datadir ?? first.files.datadir ?? defaultDataFolder(rollups[0]!.l2ChainId), "set");
  const chainIds = rollups.map(({ l2ChainId }) => l2ChainId).sort((a, b) => (a < b ? -1 : 1));
  const database = await scope.use(
    "database of the set",
    () => SetDatabase.open(folder, chainIds, log),
    (opened) => opened.close(),
  );
  const l1 = connectSharedL1(first, rollups, context);
  scope.onClose("L1", async () => {
    await Promise.all([l1.l1.close(), l1.beacon.close()]);
  });
  const canonicalL1 = new CanonicalL1(l1.l1.l1);
  const heads = new SharedHeads(first.l1, { l1: l1.l1.l1, clock, log });
  const networks = networkThreads();
  const startSec = startOfSet(rollups);
  const opened: OpenedNode[] = [];
  for (const [index, options] of all.entries()) {
    const name = given.names[index]!;
    const safedb = options.safedb.path ?? join(folder, `safe-heads-${name}`);
    const chainReadiness = new Readiness(VERSION);
    readiness.expect(() => chainReadiness.reasons.map((reason) => `chain ${name}: ${reason}`));
    const own = {
      ...context,
      log: log.child({ chain: name }),
      metrics: chainMetrics(metrics, first.metrics.enabled, rollups[index]!.l2ChainId),
      readiness: chainReadiness,
    };
    const set = {
      l1,
      followL1Heads: heads.follow,
      networks,
      crossSafety: (config: RollupConfig) =>
        chainSafety({ database, config, startSec, onL1Head: (block) => void canonicalL1.onHead(block) }),
    };
    opened.push(await openNode({ ...options, safedb: { ...options.safedb, path: safedb } }, own, { set }));
  }
  const window = windowOf(opened, chainIds);
  const chains = opened
    .map(({ node, rollup }) => new NodeChain(node, rollup, database.messageLog(rollup.l2ChainId)))
    .sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
  const checkL1 = async (block: BlockId): Promise<"canonical" | "replaced" | "missing"> =>
    block.hash === BEFORE_ANY_L1.hash ? "canonical" : (await canonicalL1.check([block])).kind;
  const verifier = new SetVerifier({ chains, expiryWindowSec: window, database, checkL1, log: log.child({ part: "set" }) });
  const rules = setRules(chains, window);
  const crossUnsafe = new CrossUnsafe({ chains, rules, database, startSec });
  const filter = new AccessListFilter({ chains, rules, database, crossUnsafe });
  const status = new SetStatus({ chains, database, crossUnsafe, filter });
  observeSet(metrics, status);
  feedSet(dashboard.feed, status, database);
  readiness.expect(() => status.faults);
  const { enableAdmin } = first.rpc;
  const server = createRpcServer({
    http: { ...first.rpc, paths: new Map(chains.map(({ chainId, node }) => [`/${chainId}`, node.methods])) },
    limits: { maxRequestBytes: MAX_REQUEST_BYTES },
    maxOpenFiles: connectionBudget(),
    methods: withModules({
      ...setMethods({ chains, database, startSec }),
      ...filterMethods({ filter, database, chainIds, enableAdmin }),
    }),
    log: log.child({ part: "rpc" }),
    metrics,
    healthz: health,
    readyz: (query) => readiness.healthWithin(query),
  });
  const { httpPort } = await scope.use(
    "RPC server",
    () => namingPorts({ "rpc.port": first.rpc.port }, () => server.listen()),
    () => server.close(),
  );
  const started = await Promise.all(opened.map(({ node }) => node.startWithoutServer(scope)));
  log.info("rnode runs a set of chains", {
    version: VERSION,
    chains: chainIds.join(","),
    rpcPort: httpPort,
    verifiedFrom: startSec,
  });
  const loop = runSet({ verifier, crossUnsafe, status, clock, log: log.child({ part: "set" }) }, scope.signal);
  scope.onClose("verification of the set", () => loop.catch(() => {}));
  const print = (): void => {
    dashboard.sample();
    for (const { node, rollup } of opened) log.info("status", { chain: String(rollup.l2ChainId), ...node.status() });
  };
  const failure = Promise.race([loop, ...started.map(({ ended }) => ended)]);
  return { failure, status: { everyMs: STATUS_INTERVAL_MS, print } };
}

/** L1 as all chains read it. */
function connectSharedL1(
  options: RnodeOptions,
  rollups: readonly RollupConfig[],
  { log, clock, metrics }: ProgramContext,
): L1Connections {
  const config = rollups.reduce((a, b) => (b.seqWindowSize > a.seqWindowSize ? b : a));
  return {
    l1: connectL1(options.l1, {
      ...{ config, clock, log },
      metrics: createL1Metrics(metrics),
      rpcMetrics: createRpcClientMetrics(metrics),
    }),
    beacon: connectBeacon(options.l1, { config, clock, log, metrics: createBeaconMetrics(metrics) }),
  };
}

function assertOneSet(rollups: readonly RollupConfig[]): void {
  const ids = rollups.map(({ l2ChainId }) => String(l2ChainId));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new StartError("start/bad-config", `chain ${twice} is in the set twice: name each chain once`);
  const l1s = new Set(rollups.map(({ l1ChainId }) => l1ChainId));
  if (l1s.size > 1) {
    throw new StartError("start/bad-config", `the chains are on different L1s (${[...l1s].join(", ")}): a set has one L1`);
  }
}

/** The expiry window on which all chains agree. @throws {StartError} if a dependency set has other chains than are derived here */
function windowOf(opened: readonly OpenedNode[], chainIds: readonly bigint[]): number {
  const sets = opened.map(({ rollup, dependencySet }) => ({ chainId: rollup.l2ChainId, set: dependencySet }));
  const known = sets.flatMap(({ chainId, set }) => (set === undefined ? [] : [{ chainId, set }]));
  for (const { chainId, set } of known) {
    if (set.chainIds.join() !== chainIds.join()) {
      throw new StartError(
        "start/bad-config",
        `the dependency set of chain ${chainId} is ${set.chainIds.join(", ")}, and the chains derived here are ${chainIds.join(", ")}: give each chain of the set with --chain`,
      );
    }
  }
  const windows = new Set(known.map(({ set }: { readonly set: DependencySet }) => set.expiryWindowSec));
  if (windows.size === 1) return [...windows][0]!;
  throw new StartError(
    "start/bad-config",
    windows.size === 0
      ? "no chain has a dependency set: give one with --interop.dependency-set"
      : `the chains' dependency sets have different expiry windows (${[...windows].join(", ")} s)`,
  );
}
