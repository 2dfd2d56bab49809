import { L1_RPC_KINDS } from "@rnode/l1";
import {
  address,
  bool,
  decimal,
  duration,
  hexKey,
  httpHeader,
  httpUrl,
  integerBetween,
  keyValue,
  listOf,
  type OptionsOf,
  oneOf,
  optionGroup,
  optionTable,
  type Parser,
  path,
  port,
  text,
  uint,
} from "@rnode/options";
import { logOptions, metricsOptions } from "@rnode/program";
import { FORK_FACTS } from "@rnode/protocol";

/** The kind in any case. */
const rpcKind: Parser<(typeof L1_RPC_KINDS)[number]> = {
  ...oneOf(...L1_RPC_KINDS),
  parse: (value) => L1_RPC_KINDS.find((kind) => kind === value.toLowerCase()),
};

const rate: Parser<number> = {
  ...decimal,
  expects: "a number, 0 or more",
  parse: (value) => {
    const parsed = decimal.parse(value);
    return parsed !== undefined && parsed >= 0 ? parsed : undefined;
  },
};

export const l1Options = optionGroup("l1", {
  urls: {
    parse: listOf(httpUrl),
    flag: "l1",
    env: "L1_ETH_RPC",
    default: ["http://127.0.0.1:8545"],
    help: "L1 JSON-RPC endpoint (eth namespace). Further ones, after commas, stand in when it fails.",
  },
  beacon: { parse: httpUrl, help: "L1 beacon node." },
  beaconFallbacks: { parse: listOf(httpUrl), default: [], help: "Further beacon nodes, for blobs that the first does not have." },
  beaconHeader: { parse: httpHeader, help: 'Header added to beacon requests: "X-Key: value".' },
  beaconFetchAllSidecars: {
    parse: bool,
    flag: "l1.beacon.fetch-all-sidecars",
    default: false,
    help: "Fetch all blob sidecars of a block and filter them here.",
  },
  beaconIgnore: {
    parse: bool,
    flag: "l1.beacon.ignore",
    default: false,
    help: "Start without a working beacon node. Blobs then stop derivation.",
  },
  cacheSize: { parse: uint, default: 900, help: "Blocks, transaction and receipt lists kept. 0: 3/2 of the sequencing window." },
  epochPollIntervalMs: {
    parse: duration,
    default: 384_000,
    help: "Interval of looking for safe and finalized L1 blocks. 0: never.",
  },
  httpPollIntervalMs: { parse: duration, default: 12_000, help: "Interval of looking for a new L1 head. 0: never." },
  maxConcurrency: { parse: integerBetween(1, 10_000), default: 10, help: "L1 requests under way at once." },
  rpcMaxBatchSize: { parse: integerBetween(1, 500), default: 20, help: "Calls in one L1 request." },
  rpcRateLimit: { parse: rate, default: 0, help: "L1 calls a second. 0: no limit." },
  rpckind: {
    parse: rpcKind,
    env: "L1_RPC_KIND",
    default: "standard",
    help: "What the L1 endpoint is, to fetch receipts the cheap way.",
  },
  runtimeConfigReloadIntervalMs: {
    parse: duration,
    default: 600_000,
    help: "Interval of reading the unsafe block signer from L1. Has no effect without peer-to-peer networking.",
  },
  trustrpc: {
    parse: bool,
    env: "L1_TRUST_RPC",
    default: false,
    help: "Take block hashes and transactions as the endpoint gives them. Receipts are verified in any case.",
  },
});

export const l2Options = optionGroup("l2", {
  url: { parse: httpUrl, flag: "l2", env: "L2_ENGINE_RPC", required: true, help: "The execution client's authenticated endpoint." },
  engineRpcTimeoutMs: { parse: duration, default: 10_000, help: "Limit of one engine request." },
  jwtSecret: {
    parse: path,
    env: "L2_ENGINE_AUTH",
    help: "File with the 32-byte secret shared with the execution client, hex. Created when missing. Default: rnode_jwt_secret.txt here.",
  },
  enginekind: {
    parse: oneOf("geth", "reth", "erigon"),
    env: "L2_ENGINE_KIND",
    default: "geth",
    help: "Kind of execution client. Matters only for execution-layer sync.",
  },
});

export const rollupOptions = optionGroup("rollup", {
  network: { parse: text, flag: "network", help: "A named network, such as op-mainnet or op-sepolia." },
  config: { parse: text, help: "Rollup configuration: a JSON file, or the JSON itself." },
  halt: {
    parse: oneOf("none", "major", "minor", "patch"),
    default: "none",
    help: "Stop when L1 announces a protocol version that differs this much.",
  },
  l1ChainConfig: {
    parse: path,
    flag: "rollup.l1-chain-config",
    help: "Chain configuration of an L1 that is not public, or its genesis file: JSON.",
  },
  upgradesDir: { parse: path, help: "Folder of network upgrade bundles, for chains that go through an upgrade." },
  syncmode: {
    parse: oneOf("consensus-layer", "execution-layer"),
    flag: "syncmode",
    default: "consensus-layer",
    help: "Where the first sync comes from.",
  },
});

const overrideOf = (what: string) =>
  ({ parse: uint, unit: "seconds since the epoch", help: `Activation time of ${what}, instead of the configuration's.` }) as const;

type OverrideName = NonNullable<(typeof FORK_FACTS)[keyof typeof FORK_FACTS]["override"]>;

export const overrideOptions = optionGroup("override", {
  ...(Object.fromEntries(
    Object.values(FORK_FACTS).flatMap(({ override, title }) => (override === undefined ? [] : [[override, overrideOf(title)]])),
  ) as Readonly<Record<OverrideName, ReturnType<typeof overrideOf>>>),
  pectrablobschedule: overrideOf("the Pectra blob schedule"),
});

export const rpcOptions = optionGroup("rpc", {
  addr: { parse: text, default: "0.0.0.0", help: "Address the RPC server listens on." },
  port: { parse: port, default: 9545, help: "Port of the RPC server." },
  enableAdmin: { parse: bool, default: false, help: "Serve the admin namespace." },
  adminState: { parse: path, help: "File that keeps what the admin namespace changes." },
});

export const sequencerOptions = optionGroup("sequencer", {
  enabled: { parse: bool, default: false, help: "Make blocks." },
  l1Confs: {
    parse: uint,
    flag: "sequencer.l1-confs",
    default: 4,
    unit: "L1 blocks",
    help: "Distance kept from the L1 head when choosing an L1 origin.",
  },
  maxSafeLag: { parse: uint, default: 0, unit: "L2 blocks", help: "Pause when the safe head is this far behind. 0: never." },
  recover: { parse: bool, default: false, help: "Take L1 origins as fast as allowed, and make blocks without pool transactions." },
  stopped: { parse: bool, default: false, help: "Start without making blocks; admin_startSequencer starts it." },
});

export const verifierOptions = optionGroup("verifier", {
  l1Confs: {
    parse: uint,
    flag: "verifier.l1-confs",
    default: 0,
    unit: "L1 blocks",
    help: "Distance kept from the L1 head when deriving.",
  },
});

export const pprofOptions = optionGroup("pprof", {
  enabled: { parse: bool, default: false, help: "Serve profiles." },
  addr: { parse: text, default: "0.0.0.0", help: "Address of the profile server." },
  port: { parse: port, default: 6060, help: "Port of the profile server." },
  path: { parse: path, help: "File or folder to write a profile to." },
  type: { parse: oneOf("cpu", "heap", "goroutine", "threadcreate", "block", "mutex", "allocs"), help: "Kind of profile." },
});

export const p2pOptions = optionGroup("p2p", {
  disable: { parse: bool, default: false, help: "No peer-to-peer networking." },
  advertiseIp: { parse: text, flag: "p2p.advertise.ip", help: "Address or host name in the discovery record." },
  advertiseTcp: {
    parse: port,
    flag: "p2p.advertise.tcp",
    default: 0,
    help: "TCP port in the discovery record. 0: the one listened on.",
  },
  advertiseUdp: {
    parse: port,
    flag: "p2p.advertise.udp",
    default: 0,
    help: "UDP port in the discovery record. 0: the one listened on.",
  },
  banDurationMs: {
    parse: duration,
    flag: "p2p.ban.duration",
    env: "P2P_PEER_BANNING_DURATION",
    default: 3_600_000,
    help: "How long a ban lasts.",
  },
  banPeers: { parse: bool, flag: "p2p.ban.peers", env: "P2P_PEER_BANNING", default: true, help: "Ban peers with low scores." },
  banThreshold: {
    parse: decimal,
    flag: "p2p.ban.threshold",
    env: "P2P_PEER_BANNING_THRESHOLD",
    default: -100,
    help: "Score below which a peer is banned.",
  },
  bootnodes: { parse: listOf(text), default: [], help: "Node records to start discovery from." },
  discoveryPath: {
    parse: text,
    flag: "p2p.discovery.path",
    default: "rnode_discovery_db",
    help: "Where discovered records are kept, or memory.",
  },
  gossipTimestampThresholdMs: {
    parse: duration,
    flag: "p2p.gossip.timestamp.threshold",
    default: 60_000,
    help: "Age at which gossiped blocks are refused.",
  },
  listenIp: { parse: text, flag: "p2p.listen.ip", default: "0.0.0.0", help: "Address to listen on." },
  listenTcp: { parse: port, flag: "p2p.listen.tcp", env: "P2P_LISTEN_TCP_PORT", default: 9222, help: "TCP port to listen on." },
  listenUdp: {
    parse: port,
    flag: "p2p.listen.udp",
    env: "P2P_LISTEN_UDP_PORT",
    default: 0,
    help: "UDP port to listen on. 0: as TCP.",
  },
  nat: { parse: bool, default: false, help: "Ask the router to map the ports." },
  netrestrict: { parse: listOf(text), default: [], help: "Only connect to these networks (CIDR)." },
  noDiscovery: { parse: bool, default: false, help: "Do not look for peers." },
  peersGraceMs: { parse: duration, flag: "p2p.peers.grace", default: 30_000, help: "Time a new peer is not pruned." },
  peersHi: { parse: uint, flag: "p2p.peers.hi", default: 30, help: "Peers from which on some are pruned." },
  peersLo: { parse: uint, flag: "p2p.peers.lo", default: 20, help: "Peers below which more are looked for." },
  peerstorePath: {
    parse: text,
    flag: "p2p.peerstore.path",
    default: "rnode_peerstore_db",
    help: "Where peers are kept, or memory.",
  },
  privPath: { parse: path, flag: "p2p.priv.path", help: "File of the network key. Default: rnode_p2p_priv.txt here." },
  scoring: { parse: oneOf("none", "light"), env: "P2P_PEER_SCORING", default: "light", help: "How peers are scored." },
  sequencerKey: { parse: hexKey, flag: "p2p.sequencer.key", secret: true, help: "Key that signs the sequencer's blocks." },
  static: { parse: listOf(text), default: [], help: "Peers to stay connected with." },
  syncOnlyreqtostatic: { parse: bool, flag: "p2p.sync.onlyreqtostatic", default: false, help: "Ask only static peers for blocks." },
  syncReqResp: { parse: bool, flag: "p2p.sync.req-resp", default: true, help: "Ask peers for missing blocks, and answer them." },
});

export const laterOptions = optionGroup("", {
  conductorEnabled: { parse: bool, flag: "conductor.enabled", default: false, help: "Let a conductor decide who makes blocks." },
  conductorRpc: { parse: httpUrl, flag: "conductor.rpc", default: "http://127.0.0.1:8547", help: "The conductor." },
  conductorRpcTimeoutMs: {
    parse: duration,
    flag: "conductor.rpc-timeout",
    default: 1_000,
    help: "Limit of one conductor request.",
  },
  safedbPath: { parse: path, flag: "safedb.path", help: "Folder of the safe head database." },
  snapshotlogFile: { parse: path, flag: "snapshotlog.file", env: "SNAPSHOT_LOG", help: "Accepted without effect." },
  signerAddress: { parse: address, flag: "signer.address", help: "Address that the remote signer signs for." },
  signerEndpoint: { parse: httpUrl, flag: "signer.endpoint", help: "Remote signer." },
  signerHeader: { parse: listOf(keyValue), flag: "signer.header", default: [], help: "Headers for the remote signer, key=value." },
  signerTlsCa: { parse: text, flag: "signer.tls.ca", default: "tls/ca.crt", help: "Certificate authority of the remote signer." },
  signerTlsCert: { parse: text, flag: "signer.tls.cert", default: "tls/tls.crt", help: "Our certificate for the remote signer." },
  signerTlsEnabled: {
    parse: bool,
    flag: "signer.tls.enabled",
    default: true,
    help: "Authenticate to the remote signer by certificate.",
  },
  signerTlsKey: { parse: text, flag: "signer.tls.key", default: "tls/tls.key", help: "Key of our certificate." },
  altdaEnabled: {
    parse: bool,
    flag: "altda.enabled",
    default: false,
    help: "Read batches through an alternative data availability server.",
  },
  altdaDaServer: { parse: httpUrl, flag: "altda.da-server", help: "The data availability server." },
  altdaDaService: { parse: bool, flag: "altda.da-service", default: false, help: "The server makes the commitments." },
  altdaGetTimeoutMs: { parse: duration, flag: "altda.get-timeout", default: 0, help: "Limit of reading from the server. 0: none." },
  altdaPutTimeoutMs: { parse: duration, flag: "altda.put-timeout", default: 0, help: "Limit of writing to the server. 0: none." },
  altdaMaxConcurrentDaRequests: {
    parse: uint,
    flag: "altda.max-concurrent-da-requests",
    default: 1,
    help: "Requests to the server at once.",
  },
  altdaVerifyOnRead: {
    parse: bool,
    flag: "altda.verify-on-read",
    default: true,
    help: "Check what the server gives against its commitment.",
  },
  interopDependencySet: { parse: path, flag: "interop.dependency-set", help: "Chains of the interop cluster: JSON file." },
  interopJwtSecret: { parse: path, flag: "interop.jwt-secret", help: "Secret of the interop server." },
  interopRpcAddr: { parse: text, flag: "interop.rpc.addr", help: "Address of the interop server." },
  interopRpcPort: { parse: port, flag: "interop.rpc.port", default: 9645, help: "Port of the interop server." },
  experimentalSequencerApi: {
    parse: bool,
    flag: "experimental.sequencer-api",
    default: false,
    help: "Serve the test sequencer's namespace.",
  },
  fetchWithdrawalRootFromState: {
    parse: bool,
    flag: "fetch-withdrawal-root-from-state",
    default: false,
    help: "Prove the message passer's storage root from the state even where the header has it. Needs an archive for old blocks.",
  },
});

export const rnodeOptions = optionTable({
  program: "rnode",
  summary: "The rollup node: derives L2 blocks from L1 and drives an execution client; makes blocks when told to.",
  envPrefix: "RNODE_",
  groups: {
    l1: l1Options,
    l2: l2Options,
    rollup: rollupOptions,
    override: overrideOptions,
    sequencer: sequencerOptions,
    verifier: verifierOptions,
    rpc: rpcOptions,
    log: logOptions,
    metrics: metricsOptions,
    pprof: pprofOptions,
    p2p: p2pOptions,
    later: laterOptions,
  },
  exclusive: [["network", "rollup.config"]],
});

type Groups = (typeof rnodeOptions)["groups"];
export type RnodeOptions = { readonly [K in keyof Groups]: OptionsOf<Groups[K]> };
