import { derivationFactsAt, l1ChainConfig } from "@rnode/protocol";
import type { DevnetPaths, NodeRole } from "../files.ts";
import { type ChainParameters, L1_FORK, l2ForkTimes, needsDependencySet } from "../parameters.ts";
import { programPath } from "../paths.ts";
import type { Ports } from "../ports.ts";
import type { EnginePeering } from "./engine-peers.ts";

// The command lines of the real programs; a user could type each of them.

export const RENGINE = programPath("rengine/bin/rengine.js");
const RNODE = programPath("rnode/bin/rnode.js");
const RBATCHER = programPath("rbatcher/bin/rbatcher.js");
const RPROPOSER = programPath("rproposer/bin/rproposer.js");
export const RCONDUCTOR = programPath("rconductor/bin/rconductor.js");
const RDA_SERVER = programPath("rda-server/bin/rda-server.js");

const HTTP_API = "eth,net,web3,debug,txpool,trace,ots,miner";

export const rengineInitArgs = (paths: DevnetPaths, role: NodeRole): string[] => [
  RENGINE,
  "init",
  `--chain=${paths.genesis}`,
  `--datadir=${paths.engine(role)}`,
];

/** The port of the program's feed for the devnet's dashboard. @param port undefined: no feed */
const feedArgs = (port: number | undefined): string[] =>
  port === undefined ? [] : ["--dashboard", "--dashboard.addr=127.0.0.1", `--dashboard.port=${port}`];

/** @param peering undefined: it does not join the P2P network of execution clients */
export function rengineArgs(
  paths: DevnetPaths,
  ports: Ports,
  role: NodeRole,
  {
    hasDashboard,
    hasSubblocks,
    peering,
    interopFilter,
  }: {
    readonly hasDashboard: boolean;
    readonly hasSubblocks: boolean;
    readonly peering: EnginePeering | undefined;
    /** who checks messages of other chains; `undefined`: the pool takes none */
    readonly interopFilter?: string | undefined;
  },
): string[] {
  const [http, ws, auth] = [ports[`${role}Http`], ports[`${role}Ws`], ports[`${role}Auth`]];
  return [
    RENGINE,
    `--chain=${paths.genesis}`,
    `--datadir=${paths.engine(role)}`,
    "--preimages",
    ...["--http", "--http.addr=127.0.0.1", `--http.port=${http}`, `--http.api=${HTTP_API}`],
    "--http.corsdomain=local", // wallets, dApps under development, the devnet's own page
    ...["--ws", "--ws.addr=127.0.0.1", `--ws.port=${ws}`, "--ws.api=eth,net,web3", "--ws.origins=local"],
    ...["--authrpc.addr=127.0.0.1", `--authrpc.port=${auth}`, `--authrpc.jwtsecret=${paths.jwt(role)}`],
    ...(interopFilter === undefined ? [] : [`--rollup.interop-http=${interopFilter}`]),
    ...peeringArgs(peering),
    ...(hasSubblocks ? subblockArgs(ports, role) : []),
    ...feedArgs(hasDashboard ? ports[`${role}EngineFeed`] : undefined),
  ];
}

export const FOLLOWED_STREAMS = "flashblocks-url";

/**
 * The sequencer publishes its blocks in parts, and the others follow it. Applications under development mostly use the sequencer, and read
 * what a transaction has done as soon as they have its receipt: there it comes with the block.
 */
function subblockArgs(ports: Ports, role: NodeRole): string[] {
  const streams =
    role === "sequencer"
      ? ["--subblocks", "--subblocks.early-receipts=false"]
      : [`--${FOLLOWED_STREAMS}=${subblocksAt(ports.sequencerSubblocks)}`];
  return [...streams, "--subblocks.addr=127.0.0.1", `--subblocks.port=${ports[`${role}Subblocks`]}`];
}

export const subblocksAt = (port: number): string => `ws://127.0.0.1:${port}`;

/** Peers are configured by name, and no machine outside is contacted. */
function peeringArgs(peering: EnginePeering | undefined): string[] {
  if (peering === undefined) return ["--max-peers=0"];
  const { port, keyPath, neighbours } = peering;
  return [
    ...["--addr=127.0.0.1", `--port=${port}`, "--nat=none", "--disable-discovery", `--nodekey=${keyPath}`],
    ...(neighbours.length > 0 ? [`--trusted-peers=${neighbours.join(",")}`] : []),
  ];
}

export interface DevL1Options {
  readonly port: number;
  readonly parameters: ChainParameters;
  readonly datadir: string;
}

/**
 * The L1. A new chain makes blocks on demand until the contracts are deployed; an existing one continues at its interval. A slot
 * is one second, so that blocks made on demand have their own slots, too.
 */
export function devL1Args({ port, parameters, datadir }: DevL1Options, isNew: boolean, nowSec: number): string[] {
  return [
    ...[RENGINE, "--dev", `--datadir=${datadir}`, "--http.addr=127.0.0.1", `--http.port=${port}`],
    ...[`--dev.chain-id=${parameters.l1ChainId}`, `--dev.fork=${L1_FORK}`, `--dev.gas-limit=${parameters.l1GasLimit}`],
    ...[`--dev.slots-in-an-epoch=${parameters.l1EpochBlocks}`, "--dev.slot-time=1"],
    // room for the deployment's blocks before the present
    ...(isNew ? ["--dev.no-mining", `--dev.timestamp=${nowSec - 60}`] : [`--dev.block-time=${parameters.l1BlockTimeSec}s`]),
  ];
}

/** Where L1 is, for those who use it. */
interface L1Endpoints {
  readonly url: string;
  /** undefined: there is none */
  readonly beacon: string | undefined;
}

/** How a node gets to the head: by deriving all blocks from L1, or by blocks that its execution client gets from peers. */
export const SYNC_MODES = ["consensus-layer", "execution-layer"] as const;
export type SyncMode = (typeof SYNC_MODES)[number];

export interface NodeTuning {
  /** how many L1 blocks the sequencer stays behind the L1 head */
  readonly sequencerL1Confs: number;
  /** multiaddresses to stay connected to; undefined: P2P is off */
  readonly staticPeers: readonly string[] | undefined;
  readonly hasDashboard: boolean;
  readonly l1: L1Endpoints;
  /** of those that do not sequence */
  readonly syncmode: SyncMode;
  /** the node that it takes safe blocks from; `undefined`: it derives them */
  readonly source?: string | undefined;
  /** folder with the files of network upgrades; `undefined`: the chain has none ahead, or their default */
  readonly upgradesDir?: string | undefined;
}

export function rnodeArgs(
  paths: DevnetPaths,
  ports: Ports,
  parameters: ChainParameters,
  role: NodeRole,
  { sequencerL1Confs, staticPeers, l1, hasDashboard, syncmode, source, upgradesDir }: NodeTuning,
): string[] {
  return [
    RNODE,
    ...l1Args(l1, parameters),
    ...chainArgs(paths, ports, parameters, role),
    ...(source === undefined ? [] : [`--l2.follow.source=${source}`]),
    ...(upgradesDir === undefined ? [] : [`--rollup.upgrades-dir=${upgradesDir}`]),
    ...p2pArgs(paths, ports, role, staticPeers),
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${ports[`${role}Node`]}`, "--rpc.enable-admin", "--rpc.corsdomain=local"],
    ...feedArgs(hasDashboard ? ports[`${role}NodeFeed`] : undefined),
    ...(role === "sequencer" ? ["--sequencer.enabled", `--sequencer.l1-confs=${sequencerL1Confs}`] : [`--syncmode=${syncmode}`]),
  ];
}

/** The devnet's L1 is fast and local, so it can be polled often. */
const l1Args = (l1: L1Endpoints, { l1BlockTimeSec }: Pick<ChainParameters, "l1BlockTimeSec">): string[] => [
  `--l1=${l1.url}`,
  l1.beacon === undefined ? "--l1.beacon.ignore" : `--l1.beacon=${l1.beacon}`,
  `--l1.http-poll-interval=${Math.min(1000, (l1BlockTimeSec * 1000) / 2)}ms`,
  `--l1.epoch-poll-interval=${l1BlockTimeSec * 1000}ms`,
];

/** The rollup, and the engine of one of its nodes. */
const chainArgs = (paths: DevnetPaths, ports: Ports, parameters: ChainParameters, role: NodeRole): string[] => [
  `--l2=http://127.0.0.1:${ports[`${role}Auth`]}`,
  `--l2.jwt-secret=${paths.jwt(role)}`,
  `--rollup.config=${paths.rollupConfig}`,
  ...(needsDependencySet(parameters) ? [`--interop.dependency-set=${paths.dependencySet}`] : []),
  // the programs know public chains themselves
  ...(l1ChainConfig(BigInt(parameters.l1ChainId)) === undefined ? [`--rollup.l1-chain-config=${paths.l1ChainConfig}`] : []),
  ...altDaArgs(ports, parameters),
];

/** A chain of `rnode set`, without its name. The sequencer dials it. */
export const verifierOfSetArgs = (paths: DevnetPaths, ports: Ports, parameters: ChainParameters): string[] => [
  ...chainArgs(paths, ports, parameters, "verifier"),
  ...p2pArgs(paths, ports, "verifier", []),
];

/** `rnode set`. @param chains by name: the options of each */
export function rnodeSetArgs(
  chains: ReadonlyMap<string, readonly string[]>,
  {
    l1,
    l1BlockTimeSec,
    datadir,
    port,
    upgradesDir,
    feedPort,
  }: {
    readonly l1: L1Endpoints;
    readonly l1BlockTimeSec: number;
    readonly datadir: string;
    readonly port: number;
    readonly upgradesDir: string;
    readonly feedPort: number | undefined;
  },
): string[] {
  return [
    ...[RNODE, "set", ...[...chains.keys()].map((name) => `--chain=${name}`), `--set.datadir=${datadir}`],
    ...l1Args(l1, { l1BlockTimeSec }),
    `--rollup.upgrades-dir=${upgradesDir}`,
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${port}`, "--rpc.enable-admin", "--rpc.corsdomain=local"],
    ...feedArgs(feedPort),
    ...[...chains].flatMap(([name, args]) => args.map((arg) => arg.replace("--", `--${name}.`))),
  ];
}

/** For those who read and write batches, where these are not on L1. */
function altDaArgs({ daServer }: Ports, { altDa }: ChainParameters): string[] {
  if (altDa === undefined) return [];
  const service = altDa.commitments === "generic" ? ["--altda.da-service"] : [];
  return ["--altda.enabled", `--altda.da-server=http://127.0.0.1:${daServer}`, ...service];
}

export function rdaServerArgs(paths: DevnetPaths, ports: Ports, { altDa }: ChainParameters): string[] {
  const generic = altDa?.commitments === "generic" ? ["--generic-commitment"] : [];
  return [RDA_SERVER, `--datadir=${paths.daStore}`, "--addr=127.0.0.1", `--port=${ports.daServer}`, ...generic];
}

/** Peers are configured by name, so discovery is off and no machine outside is contacted. */
function p2pArgs(paths: DevnetPaths, ports: Ports, role: NodeRole, staticPeers: readonly string[] | undefined): string[] {
  if (staticPeers === undefined) return ["--p2p.disable"];
  return [
    ...["--p2p.listen.ip=127.0.0.1", `--p2p.listen.tcp=${ports[`${role}P2P`]}`, "--p2p.no-discovery"],
    ...[`--p2p.priv.path=${paths.networkKey(role)}`, `--p2p.peerstore.path=${paths.peerstore(role)}`],
    ...(role === "sequencer" ? [`--p2p.sequencer.key-file=${paths.sequencerKey}`] : []),
    ...(staticPeers.length > 0 ? [`--p2p.static=${staticPeers.join(",")}`] : []),
  ];
}

/** A blob costs the same however little it holds: 0.1 s of computing, and a whole blob on L1. On an idle chain calldata costs next to nothing. */
const BLOB_CHANNEL_L1_BLOCKS = 5;

/** @param usesBlobs publishes batches as blobs: L1 has a beacon endpoint for those who read them */
export function rbatcherArgs(
  paths: DevnetPaths,
  ports: Ports,
  parameters: ChainParameters,
  { l1Url, usesBlobs, hasDashboard }: { readonly l1Url: string; readonly usesBlobs: boolean; readonly hasDashboard: boolean },
): string[] {
  const genesisTimeSec = 1;
  const { allowsSpanBatches, allowsBrotli } = derivationFactsAt(l2ForkTimes(parameters, genesisTimeSec), genesisTimeSec);
  return [
    RBATCHER,
    `--l1-eth-rpc=${l1Url}`,
    `--l2-eth-rpc=http://127.0.0.1:${ports.sequencerAuth}`,
    `--l2-jwt-secret=${paths.jwt("sequencer")}`,
    `--rollup-rpc=http://127.0.0.1:${ports.sequencerNode}`,
    `--private-key-file=${paths.batcherKey}`,
    ...[`--batch-type=${allowsSpanBatches ? 1 : 0}`, `--compression-algo=${allowsBrotli ? "brotli" : "zlib"}`],
    `--max-channel-duration=${usesBlobs ? BLOB_CHANNEL_L1_BLOCKS : 1}`,
    "--sub-safety-margin=4",
    ...(usesBlobs ? ["--data-availability-type=blobs"] : []),
    "--max-pending-tx=10",
    ...altDaArgs(ports, parameters),
    `--poll-interval=${parameters.l2BlockTimeSec}s`,
    "--num-confirmations=1",
    `--txmgr.receipt-query-interval=${parameters.l1BlockTimeSec * 500}ms`,
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${ports.batcher}`, "--rpc.enable-admin"],
    ...feedArgs(hasDashboard ? ports.batcherFeed : undefined),
  ];
}

/** How often a game is created: an output oracle says itself when an output is due. */
const GAME_INTERVAL = "20s";

export function rproposerArgs(
  paths: DevnetPaths,
  ports: Ports,
  parameters: ChainParameters,
  { l1Url, hasDashboard }: { readonly l1Url: string; readonly hasDashboard: boolean },
): string[] {
  return [
    RPROPOSER,
    `--l1-eth-rpc=${l1Url}`,
    `--rollup-rpc=http://127.0.0.1:${ports.sequencerNode}`,
    `--private-key-file=${paths.proposerKey}`,
    // The devnet does not wait for L1 finality, which only matters for reorg tests.
    "--allow-non-finalized",
    ...(parameters.proofs === "games" ? [`--proposal-interval=${GAME_INTERVAL}`] : []),
    ...["--poll-interval=1s", "--output-retry-interval=1s", "--num-confirmations=1", "--txmgr.receipt-query-interval=500ms"],
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${ports.proposer}`, "--rpc.enable-admin"],
    ...feedArgs(hasDashboard ? ports.proposerFeed : undefined),
  ];
}
