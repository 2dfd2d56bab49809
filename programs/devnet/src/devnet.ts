import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { type Scope, systemClock, UserError } from "@rnode/program";
import { derivationFactsAt } from "@rnode/protocol";
import type { Hex } from "viem";
import { type DevAccount, devAccounts, devRoles, isMnemonic } from "./accounts.ts";
import {
  clearDatadir,
  DatadirLock,
  type DevnetInfo,
  type DevnetPaths,
  devnetPaths,
  type L1Kind,
  LOCAL_L1_KINDS,
  type NodeEndpoints,
  type NodeRole,
  readDevnetInfo,
  SECRET_MODE,
  writeJson,
  writeSecret,
} from "./files.ts";
import { anvilArgs, anvilBinary } from "./l1/anvil.ts";
import { loadContracts } from "./l1/contracts.ts";
import { type ExternalL1, type ExternalL1Facts, inspectExternalL1, requireSameL1 } from "./l1/external-l1.ts";
import { GameResolver } from "./l1/game-resolver.ts";
import { l1ChainConfig } from "./l1/l1-chain-config.ts";
import { planL1Deployment } from "./l1/l1-contracts.ts";
import { deployL1, deployToRunningL1, type L1Genesis } from "./l1/l1-deploy.ts";
import { requireFunds } from "./l1/l1-funds.ts";
import { constructorRunner, createL2Genesis } from "./l2/l2-genesis.ts";
import { predeployAddresses } from "./l2/predeploys.ts";
import { dependencySet, rollupConfig } from "./l2/rollup-config.ts";
import { type ChainParameters, DEFAULT_PARAMETERS, l2ForkTimes, needsDependencySet } from "./parameters.ts";
import { choosePorts, type Ports } from "./ports.ts";
import { accepts, untilAccepts } from "./processes/accepts.ts";
import {
  devL1Args,
  rbatcherArgs,
  rdaServerArgs,
  rengineArgs,
  rengineInitArgs,
  rnodeArgs,
  rproposerArgs,
  type SyncMode,
  verifierOfSetArgs,
} from "./processes/commands.ts";
import { openDevnetDashboard, type ShownProgram, shownPrograms } from "./processes/devnet-dashboard.ts";
import { peeringOf } from "./processes/engine-peers.ts";
import { PeerAddresses } from "./processes/peer-addresses.ts";
import { Program, type ProgramSpec } from "./processes/program.ts";
import { PROGRAM_NAMES, type ProgramName } from "./processes/program-names.ts";
import { forgetCommits, SequencerCluster } from "./processes/sequencers.ts";
import { Supervisor } from "./processes/supervisor.ts";
import { warmReaders } from "./processes/warm-readers.ts";
import { rpcCall } from "./rpc.ts";
import type { SetMembership } from "./set/membership.ts";
import { type DevnetStatus, StatusReader } from "./status.ts";

/** Only with three nodes. */
type FollowerProgram = "followerEngine" | "followerNode";
/** `l1`: unless it is external */
type OptionalProgram = FollowerProgram | "daServer" | "l1";

export interface DevnetOptions {
  readonly datadir: string;
  /** first of the consecutive ports; 0: any free ones */
  readonly basePort: number;
  /** for a new chain; an existing chain keeps its own, except for the L1 block time */
  readonly parameters: { readonly [K in keyof ChainParameters]?: ChainParameters[K] | undefined };
  /** 2: a sequencer and a verifier, which knows only L1; 3: a follower too, and P2P among them, sequencer – verifier – follower */
  readonly nodes: number;
  /** more than one: of which one leads, on an etcd that is started here; needs three nodes */
  readonly sequencers: number;
  /** `rengine`, `anvil`, or the URL of a running L1; undefined: that of an existing chain, or `DEFAULT_L1` */
  readonly l1: string | undefined;
  /** of an L1 given by its URL */
  readonly l1Beacon: string | undefined;
  /** key of the account that funds the others on an external L1 */
  readonly l1FunderKeyFile: string | undefined;
  /** undefined: the test mnemonic */
  readonly mnemonicFile: string | undefined;
  /** whether batches are published as blobs; undefined: if possible */
  readonly blobs: boolean | undefined;
  /** discard the chain of the data directory */
  readonly fresh: boolean;
  /** restart a program that ends by itself */
  readonly supervise: boolean;
  readonly sequencerL1Confs: number;
  /** of verifier and follower; `execution-layer` needs three nodes */
  readonly syncmode: SyncMode;
  /** the follower derives nothing: it takes safe blocks from the verifier; needs three nodes */
  readonly isLight: boolean;
  /** serve one page for all programs */
  readonly dashboard: boolean;
  /** the sequencer publishes its blocks in parts, which its peers follow; always with several sequencers */
  readonly subblocks: boolean;
  /** what it shares with the other chains of a set; `undefined`: it is in none that is verified here */
  readonly set: SetMembership | undefined;
  /** how often anvil writes its chain to disk */
  readonly l1StateIntervalSec: number;
  /** changes the command line of a program each time it starts: other options, or a proxy in between */
  readonly changeArgs: (program: ProgramName, args: readonly string[]) => readonly string[];
  /** is called with one line for each step and each event */
  readonly log: (line: string) => void;
}

/** Where L1 is, and whose. */
interface L1InEffect extends ExternalL1 {
  readonly kind: L1Kind;
}

const ACCOUNTS = 10;

/** The L1 of a new chain. */
export const DEFAULT_L1 = "rengine";

export const DEFAULT_OPTIONS: Omit<DevnetOptions, "datadir"> = {
  basePort: 8545,
  parameters: {},
  nodes: 2,
  sequencers: 1,
  l1: undefined,
  l1Beacon: undefined,
  l1FunderKeyFile: undefined,
  mnemonicFile: undefined,
  blobs: undefined,
  fresh: false,
  supervise: true,
  sequencerL1Confs: 0,
  syncmode: "consensus-layer",
  isLight: false,
  dashboard: false,
  subblocks: true,
  set: undefined,
  l1StateIntervalSec: 10,
  changeArgs: (_, args) => args,
  log: () => {},
};

export interface Devnet {
  /** as in devnet.json */
  readonly info: DevnetInfo;
  readonly isNew: boolean;
  /** address of its page; undefined: none */
  readonly dashboard: string | undefined;
  /** with several sequencers */
  readonly cluster: SequencerCluster | undefined;
  /** In a set, `verifierNode` is `rnode set`, the same for all chains. */
  readonly programs: Readonly<Record<Exclude<ProgramName, OptionalProgram>, Program> & Partial<Record<OptionalProgram, Program>>>;
  /** its programs as they are on a page */
  readonly shown: readonly ShownProgram[];
  /** rejects when a program cannot be kept running; never resolves */
  readonly failure: Promise<never>;
  status(): Promise<DevnetStatus>;
}

interface OptionsInEffect extends Omit<DevnetOptions, "l1" | "blobs"> {
  readonly l1: L1InEffect;
  readonly blobs: boolean;
  readonly accounts: readonly DevAccount[];
}

export const READY_TIMEOUT_MS = 60_000;
export const STOP_TIMEOUT_MS = 15_000;
/** A killed program takes a moment to disappear. */
const CLOSE_LIMIT_MS = STOP_TIMEOUT_MS + 5_000;
const runFile = promisify(execFile);

/**
 * Starts everything and returns when all programs answer. Closing the scope stops all of them, the last one first.
 *
 * @throws {UserError} with what to do: a taken port or data directory, or a program that ended, with the last lines of its log
 */
export async function startDevnet(scope: Scope, given: Partial<DevnetOptions> & { readonly datadir: string }): Promise<Devnet> {
  const options: DevnetOptions = { ...DEFAULT_OPTIONS, ...given };
  const paths = devnetPaths(options.datadir);
  const lock = await scope.use(
    "data directory",
    () => DatadirLock.acquire(options.datadir, paths),
    (held) => held.release(),
  );
  const started: Program[] = [];
  const killAll = (): void => {
    for (const program of started) program.killNow();
  };
  // For the last moment of the process, when nothing can be awaited.
  const onExit = (): void => {
    killAll();
    lock.release();
  };
  process.once("exit", onExit);
  scope.onClose("exit", () => process.off("exit", onExit));
  // Programs that are still starting are killed, as a clean stop is not worth the wait.
  scope.signal.addEventListener("abort", killAll);
  const ports = await choosePorts(options.basePort);
  if (options.fresh) clearDatadir(options.datadir, paths);
  const existing = readDevnetInfo(paths);
  if (!existing) clearDatadir(options.datadir, paths); // the remains of a start that was interrupted
  const l1 = l1Of(existing, options, ports);
  const facts = l1.kind === "external" && !existing ? await inspectExternalL1(l1) : undefined;
  if (l1.kind === "external" && existing) await requireSameL1(l1, existing);
  const ofL1 = facts && { l1ChainId: facts.chainId, l1BlockTimeSec: facts.blockTimeSec };
  const parameters = existing
    ? parametersOfExisting(existing, options)
    : { ...DEFAULT_PARAMETERS, ...ofL1, ...chosen(options.parameters) };
  checkParameters(parameters);
  const accounts = existing?.accounts ?? devAccounts(ACCOUNTS, readMnemonic(options.mnemonicFile), options.set?.firstRole);
  const inEffect: OptionsInEffect = { ...options, l1, accounts, blobs: usesBlobs(options, l1, parameters) };
  const { set } = options;
  const network = set ? new PeerAddresses(["verifier", "sequencer"]) : options.nodes > 2 ? new PeerAddresses() : undefined;
  const planned = programSpecs(inEffect, ports, parameters, network);
  const cluster = await clusterOf(inEffect, ports, parameters);
  const specOf = (name: ProgramName): ProgramSpec => ({
    ...planned[name],
    args: () => options.changeArgs(name, cluster?.changeArgs(name, planned[name].args()) ?? planned[name].args()),
  });
  const further = (): ShownProgram[] => [...(cluster?.programs ?? []), ...(set?.further?.() ?? [])];
  const shown = (): ShownProgram[] =>
    set === undefined
      ? shownPrograms(ports, programs)
      : shownPrograms(ports, programs, `${parameters.l2ChainId}-`).filter(({ program }) => program !== set.program);
  const isPageHere = options.dashboard && (set === undefined || set.further !== undefined);
  const dashboard = isPageHere ? await openDevnetDashboard(scope, ports, () => [...shown(), ...further()]) : undefined;
  const isThere = (name: ProgramName): boolean =>
    name.startsWith("follower")
      ? options.nodes > 2
      : name === "l1"
        ? l1.kind !== "external"
        : name !== "daServer" || parameters.altDa !== undefined;
  const names = PROGRAM_NAMES.filter(isThere);
  const programOf = (name: ProgramName): Program => (name === "verifierNode" && set?.program) || new Program(specOf(name));
  const programs = Object.fromEntries(names.map((name) => [name, programOf(name)])) as Devnet["programs"];
  const start = (name: ProgramName): Promise<void> => startProgram(programs[name]!);
  const startProgram = async (program: Program): Promise<void> => {
    scope.signal.throwIfAborted();
    started.push(program);
    scope.onClose(program.spec.name, () => program.stop(), { closeLimitMs: CLOSE_LIMIT_MS });
    program.onLaunch = () => lock.setPrograms(started.flatMap(({ pid }) => pid ?? []));
    await program.start();
    options.log(`${program.spec.name} is up`);
  };

  if (l1.kind !== "external") await start("l1");
  if (parameters.altDa !== undefined) await start("daServer");
  const created = existing ? undefined : await createChain(inEffect, ports, parameters, facts, scope.signal);
  const leader = cluster && { leader: cluster.url };
  const endpoints = { ...endpointsOf(inEffect, ports, parameters), ...leader };
  let info: DevnetInfo = { ...(created ?? { ...existing!, parameters }), endpoints, p2p: undefined };
  // The sequencer starts first, a step ahead of the verifier: users wait for the first block, and starting is CPU-bound.
  const engine = start("sequencerEngine");
  await Promise.all([untilAccepts(ports.sequencerAuth, engine), created && initFurther(options.datadir, "verifier", created)]);
  writeJson(paths.info, info, 2, SECRET_MODE);
  const { sequencer, verifier, follower } = endpoints;
  if (set !== undefined) {
    await start("verifierEngine");
    await set.join(info, verifierOfSetArgs(paths, ports, parameters));
    await network?.read("verifier", verifier.node);
  }
  // The node needs only the Engine API; the processes that serve users start a moment later. The batcher waits for the node and
  // meanwhile loads the KZG setup for blobs.
  const batcher = start("batcher");
  batcher.catch(() => {}); // awaited below, unless something else fails first
  await Promise.all([engine, start("sequencerNode"), set === undefined && start("verifierEngine")]);
  const warm = [
    warmReaders("sequencer rengine", sequencer.http, options.log),
    warmReaders("verifier rengine", verifier.http, options.log),
  ];
  await network?.read("sequencer", sequencer.node);
  await Promise.all([batcher, set === undefined && start("verifierNode")]);
  await start("proposer"); // the first output is due some time later
  if (follower !== undefined) {
    // The last node need not be awaited: the sequencer has its blocks, and the verifier runs.
    await network?.read("verifier", verifier.node);
    if (!existsSync(paths.jwt("follower"))) writeJwtSecret(paths, "follower"); // the chain began with two nodes
    if (!existsSync(paths.engine("follower"))) await initFurther(options.datadir, "follower", info);
    await start("followerEngine");
    warm.push(warmReaders("follower rengine", follower.http, options.log));
    await start("followerNode");
    await network?.read("follower", follower.node);
  }
  if (network !== undefined) {
    info = { ...info, p2p: network.addresses };
    writeJson(paths.info, info, 2, SECRET_MODE);
  }
  if (cluster !== undefined) {
    const { sequencerEngine: engine, sequencerNode: node } = programs;
    const initEngineOf = async (own: DevnetPaths, role: NodeRole): Promise<void> =>
      requireGenesis(info, await initEngine(own, role));
    await cluster.start({ engine, node }, Object.values(network?.addresses ?? {}), {
      start: startProgram,
      initEngine: initEngineOf,
    });
  }

  await Promise.all(warm);
  scope.signal.removeEventListener("abort", killAll);
  const supervisor = new Supervisor({ isOn: options.supervise, log: options.log });
  for (const program of started) supervisor.watch(program);
  scope.onClose("supervisor", () => supervisor.close());
  if (parameters.proofs === "games") {
    const resolver = new GameResolver(info, options.log);
    scope.onClose("dispute games", () => resolver.close());
  }
  const reader = new StatusReader(info);
  return {
    info,
    isNew: existing === undefined,
    dashboard,
    cluster,
    programs,
    shown: shown(),
    failure: supervisor.failure,
    status: () => reader.read(),
  };
}

/** Creates the L1 contracts, the two genesis files, and the first block of the sequencer's engine. */
async function createChain(
  options: OptionsInEffect,
  ports: Ports,
  parameters: ChainParameters,
  facts: ExternalL1Facts | undefined,
  signal: AbortSignal,
): Promise<DevnetInfo> {
  const { accounts, l1 } = options;
  const paths = devnetPaths(options.datadir);
  const roles = devRoles(accounts);
  const bundle = loadContracts();
  const l1Url = l1.url;

  let firstNonce = 0;
  if (l1.kind === "external") {
    await requireFunds(l1, roles, parameters, options.l1FunderKeyFile);
    firstNonce = Number(await rpcCall<Hex>(l1Url, "eth_getTransactionCount", [roles.owner.address, "pending"]));
  }
  const plan = planL1Deployment(bundle, roles, parameters, firstNonce);
  let l1Genesis: L1Genesis;
  if (l1.kind === "external") {
    l1Genesis = await deployToRunningL1(l1Url, plan, roles, parameters, { firstNonce, signal, log: options.log });
  } else {
    l1Genesis = await deployL1(l1Url, plan, roles, parameters, bundle.preinstalls.MultiCall3);
    await rpcCall(l1Url, "evm_setIntervalMining", [parameters.l1BlockTimeSec]);
  }
  options.log(`bridge contracts deployed in L1 block ${l1Genesis.number}`);

  const genesis = await createL2Genesis({
    bundle,
    parameters,
    roles,
    accounts,
    l1: plan.addresses,
    genesisTimeSec: l1Genesis.timestampSec,
    runConstructor: constructorRunner(l1Url),
  });
  writeJson(paths.genesis, genesis);
  writeJson(paths.l1ChainConfig, l1ChainConfig(parameters, facts?.blobSchedule), 2);
  for (const role of ["sequencer", "verifier"] as const) writeJwtSecret(paths, role);
  const l2Genesis = await initEngine(paths, "sequencer");
  writeJson(paths.rollupConfig, rollupConfig(parameters, roles, plan.addresses, l1Genesis, l2Genesis), 2);
  if (needsDependencySet(parameters)) writeJson(paths.dependencySet, dependencySet(parameters), 2);
  options.log(`L2 genesis ${l2Genesis}`);

  return {
    version: 1,
    l1: l1.kind,
    l1ChainId: parameters.l1ChainId,
    l2ChainId: parameters.l2ChainId,
    endpoints: endpointsOf(options, ports, parameters),
    accounts,
    roles: { owner: 0, proposer: 1, batcher: 2, sequencer: 3, challenger: 4 },
    contracts: { l1: plan.addresses, l2: predeployAddresses() },
    genesis: { l1: { hash: l1Genesis.hash, number: l1Genesis.number }, l2: l2Genesis, l2TimeSec: l1Genesis.timestampSec },
    paths: {
      genesis: paths.genesis,
      rollupConfig: paths.rollupConfig,
      l1ChainConfig: paths.l1ChainConfig,
      sequencerJwt: paths.jwt("sequencer"),
      verifierJwt: paths.jwt("verifier"),
      logs: paths.logs,
    },
    parameters,
  };
}

function writeJwtSecret(paths: DevnetPaths, role: NodeRole): void {
  mkdirSync(dirname(paths.jwt(role)), { recursive: true });
  writeSecret(paths.jwt(role), randomBytes(32).toString("hex"));
}

/** Several sequencers, where they are wanted. */
async function clusterOf(
  options: OptionsInEffect,
  ports: Ports,
  parameters: ChainParameters,
): Promise<SequencerCluster | undefined> {
  const { datadir, sequencers, sequencerL1Confs, syncmode, dashboard: hasDashboard, l1 } = options;
  if (sequencers === 1) {
    forgetCommits(datadir);
    return undefined;
  }
  const common = { command: process.execPath, readyTimeoutMs: READY_TIMEOUT_MS, stopTimeoutMs: STOP_TIMEOUT_MS };
  const tuning = { sequencerL1Confs, syncmode, hasDashboard, l1 };
  return SequencerCluster.create({ sequencers, datadir, paths: devnetPaths(datadir), ports, parameters, tuning, common });
}

/** Every node creates its own first block from the same file. */
async function initFurther(datadir: string, role: NodeRole, info: DevnetInfo): Promise<void> {
  requireGenesis(info, await initEngine(devnetPaths(datadir), role));
}

function requireGenesis({ genesis }: DevnetInfo, hash: Hex): void {
  if (hash !== genesis.l2) throw new Error(`two genesis hashes from one file: ${genesis.l2}, ${hash}`);
}

/** `rengine init`: prints `genesis 0x<block hash> state 0x<state root>`. */
async function initEngine(paths: DevnetPaths, role: NodeRole): Promise<Hex> {
  const args = rengineInitArgs(paths, role);
  try {
    const { stdout } = await runFile(process.execPath, args, { maxBuffer: 1 << 20 });
    const hash = /genesis (0x[0-9a-f]{64})/.exec(stdout)?.[1];
    if (hash) return hash as Hex;
    throw new Error(`rengine init did not print the genesis hash: ${stdout.trim()}`);
  } catch (error) {
    const output = (error as { stderr?: string }).stderr?.trim();
    throw new UserError(`rengine init (${role}) failed${output ? `: ${output}` : ""}`, { cause: error });
  }
}

function programSpecs(
  options: OptionsInEffect,
  ports: Ports,
  parameters: ChainParameters,
  network: PeerAddresses | undefined,
): Record<ProgramName, ProgramSpec> {
  const paths = devnetPaths(options.datadir);
  const roles = devRoles(options.accounts);
  const common = { command: process.execPath, readyTimeoutMs: READY_TIMEOUT_MS, stopTimeoutMs: STOP_TIMEOUT_MS };
  const { set } = options;
  const logOf = (name: string): string => join(paths.logs, `${name}.log`);
  const nameOf = (name: string): string => (set === undefined ? name : `${parameters.l2ChainId} ${name}`);
  const engine = (role: NodeRole, port: number): ProgramSpec => ({
    ...common,
    name: nameOf(`${role} rengine`),
    args: () =>
      rengineArgs(paths, ports, role, {
        hasDashboard: options.dashboard,
        // A verifier without peers is behind the sequencer, so that no part fits on its head.
        hasSubblocks: options.sequencers > 1 || (options.subblocks && (role === "sequencer" || network !== undefined)),
        peering: network && peeringOf(paths, ports, role),
        interopFilter: set?.url,
      }),
    logPath: logOf(`${role}-rengine`),
    isReady: async () => Number(await rpcCall<Hex>(urlOf(port), "eth_chainId", [], 1000)) === parameters.l2ChainId,
  });
  const node = (role: NodeRole, port: number): ProgramSpec => ({
    ...common,
    name: nameOf(`${role} rnode`),
    args: () => {
      if (role === "sequencer" && network) writeSecret(paths.sequencerKey, roles.sequencer.privateKey);
      const staticPeers = network?.neighboursOf(role);
      return rnodeArgs(paths, ports, parameters, role, {
        sequencerL1Confs: options.sequencerL1Confs,
        staticPeers,
        syncmode: options.syncmode,
        source:
          set !== undefined
            ? `${set.url}/${parameters.l2ChainId}`
            : options.isLight && role === "follower"
              ? urlOf(ports.verifierNode)
              : undefined,
        upgradesDir: set?.upgradesDir,
        hasDashboard: options.dashboard,
        l1: options.l1,
      });
    },
    logPath: logOf(`${role}-rnode`),
    isReady: async () => (await rpcCall(urlOf(port), "rnode_syncStatus", [], 1000)) !== undefined,
  });
  return {
    l1: {
      ...common,
      ...l1Program(options, ports, parameters, paths),
      logPath: logOf(`l1-${options.l1.kind}`),
      isReady: async () => Number(await rpcCall<Hex>(urlOf(ports.l1), "eth_chainId", [], 1000)) === parameters.l1ChainId,
    },
    sequencerEngine: engine("sequencer", ports.sequencerHttp),
    verifierEngine: engine("verifier", ports.verifierHttp),
    sequencerNode: node("sequencer", ports.sequencerNode),
    verifierNode: node("verifier", ports.verifierNode),
    followerEngine: engine("follower", ports.followerHttp),
    followerNode: node("follower", ports.followerNode),
    batcher: {
      ...common,
      name: nameOf("rbatcher"),
      args: () => {
        writeSecret(paths.batcherKey, roles.batcher.privateKey);
        return rbatcherArgs(paths, ports, parameters, {
          l1Url: options.l1.url,
          usesBlobs: options.blobs,
          hasDashboard: options.dashboard,
        });
      },
      logPath: logOf("rbatcher"),
      isReady: () => accepts(ports.batcher),
    },
    daServer: {
      ...common,
      name: nameOf("rda-server"),
      args: () => rdaServerArgs(paths, ports, parameters),
      logPath: logOf("rda-server"),
      isReady: () => accepts(ports.daServer),
    },
    proposer: {
      ...common,
      name: nameOf("rproposer"),
      args: () => {
        writeSecret(paths.proposerKey, roles.proposer.privateKey);
        return rproposerArgs(paths, ports, parameters, { l1Url: options.l1.url, hasDashboard: options.dashboard });
      },
      logPath: logOf("rproposer"),
      isReady: () => accepts(ports.proposer),
    },
  };
}

/** The L1 of the chain. @throws {UserError} an existing chain has another one, or options are of another kind of L1 */
function l1Of(
  existing: DevnetInfo | undefined,
  { l1: given, l1Beacon, l1FunderKeyFile, mnemonicFile, datadir }: DevnetOptions,
  ports: Ports,
): L1InEffect {
  const kind = given === undefined ? (existing?.l1 ?? DEFAULT_L1) : kindOfL1(given);
  const has = existing?.l1;
  if (has !== undefined && kind !== has)
    throw new UserError(`the chain in ${datadir} has --l1 ${has}, not ${given}: start with --fresh for a new chain`);
  if (kind === "external") {
    const url = given ?? existing!.endpoints.l1;
    return { kind, url, beacon: l1Beacon ?? (given === undefined ? existing!.endpoints.l1Beacon : undefined) };
  }
  for (const [flag, value] of [
    ["--l1-beacon", l1Beacon],
    ["--l1-funder-key-file", l1FunderKeyFile],
    ["--mnemonic-file", mnemonicFile],
  ] as const)
    if (value !== undefined)
      throw new UserError(`${flag} ${value}: only for an L1 given by its URL (--l1=http://…); the devnet's own needs none`);
  const url = urlOf(ports.l1);
  return { kind, url, beacon: kind === "rengine" ? url : undefined };
}

const kindOfL1 = (given: string): L1Kind => LOCAL_L1_KINDS.find((kind) => kind === given) ?? "external";

/** @throws {UserError} */
function readMnemonic(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    const words = readFileSync(path, "utf8").trim().split(/\s+/).join(" ");
    if (!isMnemonic(words)) throw new Error("it holds no valid mnemonic of English words");
    return words;
  } catch (error) {
    throw new UserError(`--mnemonic-file ${path}: ${(error as Error).message}`);
  }
}

/** Uses blobs unless they are impossible. @throws {UserError} they are required, and impossible */
function usesBlobs({ blobs }: DevnetOptions, l1: L1InEffect, parameters: ChainParameters): boolean {
  const remedy = l1.kind === "external" ? "give one with --l1-beacon" : "use --l1=rengine";
  const obstacle =
    l1.beacon === undefined
      ? `${l1.kind === "external" ? l1.url : l1.kind} has no beacon endpoint to read them from; ${remedy}`
      : parameters.altDa !== undefined
        ? "the chain keeps its batches on a DA server (--altda), and commitments to them are calldata"
        : !derivationFactsAt(l2ForkTimes(parameters, 1), 1).readsBlobs
          ? "the chain begins with forks before Ecotone, which read none"
          : undefined;
  if (blobs === true && obstacle !== undefined) throw new UserError(`--blobs: ${obstacle}`);
  return blobs ?? obstacle === undefined;
}

function l1Program(
  { l1, l1StateIntervalSec }: OptionsInEffect,
  { l1: port }: Ports,
  parameters: ChainParameters,
  paths: DevnetPaths,
): Pick<ProgramSpec, "name" | "command" | "args"> {
  const nowSec = (): number => Math.floor(systemClock.unixMs() / 1000);
  // Without devnet.json the deployment was not completed.
  const isNew = (): boolean => !existsSync(paths.info);
  if (l1.kind === "anvil") {
    const anvil = { port, parameters, statePath: paths.l1State, stateIntervalSec: l1StateIntervalSec };
    return { name: "L1 anvil", command: anvilBinary(), args: () => anvilArgs(anvil, isNew(), nowSec()) };
  }
  const chain = { port, parameters, datadir: paths.l1Chain };
  return { name: "L1 rengine", command: process.execPath, args: () => devL1Args(chain, isNew(), nowSec()) };
}

/** The parameters that are not left open. */
const chosen = (parameters: DevnetOptions["parameters"]): Partial<ChainParameters> =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));

/** The options that set the parameters fixed at genesis. */
const FLAGS_OF_PARAMETERS: { readonly [K in keyof ChainParameters]?: string } = {
  l2BlockTimeSec: "--block-time",
  proofs: "--withdrawals",
  altDa: "--altda",
  otherChains: "other chains (--chains)",
  finalizationPeriodSec: "--withdrawal-window",
};

/** An option cannot change a parameter fixed at genesis, so it is reported instead of ignored. */
function parametersOfExisting(existing: DevnetInfo, options: DevnetOptions): ChainParameters {
  const { l1BlockTimeSec, ...rest } = options.parameters;
  for (const [name, value] of Object.entries(rest)) {
    const has = existing.parameters[name as keyof ChainParameters];
    if (value !== undefined && !isDeepStrictEqual(value, has)) {
      const what = FLAGS_OF_PARAMETERS[name as keyof ChainParameters] ?? name;
      throw new UserError(
        `the chain in ${options.datadir} has ${what} ${JSON.stringify(has)}, not ${JSON.stringify(value)}: start with --fresh for a new chain`,
      );
    }
  }
  return l1BlockTimeSec === undefined ? existing.parameters : { ...existing.parameters, l1BlockTimeSec };
}

function checkParameters({ l1BlockTimeSec, l2BlockTimeSec }: ChainParameters): void {
  if (l2BlockTimeSec > l1BlockTimeSec) {
    throw new UserError(
      `the L2 block time (${l2BlockTimeSec} s) must not exceed the L1 block time (${l1BlockTimeSec} s): every L1 block is the origin of an L2 block; give a smaller --block-time`,
    );
  }
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`;

function endpointsOf(
  { l1: { kind, url, beacon }, nodes, set }: OptionsInEffect,
  ports: Ports,
  { altDa, l2ChainId }: ChainParameters,
): DevnetInfo["endpoints"] {
  const node = (role: NodeRole): NodeEndpoints => ({
    http: urlOf(ports[`${role}Http`]),
    ws: `ws://127.0.0.1:${ports[`${role}Ws`]}`,
    auth: urlOf(ports[`${role}Auth`]),
    node: urlOf(ports[`${role}Node`]),
  });
  return {
    l1: url,
    ...(kind !== "external" && { l1Ws: `ws://127.0.0.1:${ports.l1}` }),
    ...(beacon !== undefined && { l1Beacon: beacon }),
    sequencer: node("sequencer"),
    verifier: { ...node("verifier"), ...(set && { node: `${set.url}/${l2ChainId}` }) },
    ...(nodes > 2 && { follower: node("follower") }),
    batcher: urlOf(ports.batcher),
    proposer: urlOf(ports.proposer),
    ...(altDa && { daServer: urlOf(ports.daServer) }),
  };
}
