import { dashboardOptions } from "@rnode/dashboard";
import {
  bool,
  browserOptions,
  duration,
  httpUrl,
  integerBetween,
  listenAddress,
  listOf,
  logOptions,
  metricsOptions,
  type OptionsOfAll,
  oneOf,
  optionGroup,
  optionTable,
  path,
  port,
  positiveDuration,
  pprofOptions,
  text,
  textOf,
  uint,
  withDefaults,
  wsUrl,
} from "@rnode/program";
import { opConductor } from "./foreign-options.ts";

/** In etcd's keys and in logs. */
const serverId = {
  ...textOf("id", "letters, digits, dots, dashes and underscores"),
  parse: (value: string) => (/^[\w.-]+$/.test(value) ? value : undefined),
};
const prefix = {
  ...textOf("prefix", "a text that ends in /"),
  parse: (value: string) => (value.endsWith("/") && value.length > 1 ? value : undefined),
};
const MAX_TTL_SEC = 600;

const serverOptions = optionGroup("", {
  serverId: {
    parse: serverId,
    flag: "server-id",
    aliases: ["raft.server.id"],
    help: "Name of this server in the cluster, another one for each. Default: the machine's name.",
  },
  rollupRpc: {
    parse: httpUrl,
    required: true,
    requiredUnless: "observer",
    aliases: ["node.rpc"],
    help: "JSON-RPC endpoint of this server's rollup node, with the admin namespace.",
  },
  executionRpc: {
    parse: httpUrl,
    required: true,
    requiredUnless: "observer",
    aliases: ["execution.rpc"],
    help: "JSON-RPC endpoint of this server's execution client.",
  },
  executionWs: {
    parse: wsUrl,
    help: "WebSocket endpoint of this server's execution client, for subscriptions of those who use --proxy. Default: they are refused.",
  },
  observer: {
    parse: bool,
    default: false,
    help: "Neither control a sequencer nor take part in elections: only see the cluster, and pass requests on to the leader with --proxy.",
  },
  bootstrap: {
    parse: bool,
    aliases: ["raft.bootstrap"],
    default: false,
    help: "Where etcd has no committed block, begin at this server's unsafe head. For the first start of a cluster, on one server whose head is the newest.",
  },
  paused: { parse: bool, default: false, help: "Start without controlling the sequencer; conductor_resume changes that." },
  l1ReorgWaitMs: {
    parse: duration,
    flag: "l1.reorg-wait",
    default: 12_000,
    help: "How long L1 must keep lacking the L1 origins of committed blocks before they are taken back: this server's L1 endpoint may be the one that is behind.",
  },
  networkTimeoutMs: {
    parse: positiveDuration,
    flag: "network-timeout",
    default: 2_000,
    help: "Time limit of one request to the rollup node or the execution client.",
  },
});

const advertiseOptions = optionGroup("advertise", {
  addr: {
    parse: httpUrl,
    flag: "advertise.addr",
    help: "Where other servers and people reach this conductor's JSON-RPC server. Default: http://, the machine's name, and --rpc.port.",
  },
  executionRpc: {
    parse: httpUrl,
    help: "Where the proxies of other servers reach this server's execution client. Default: --execution-rpc.",
  },
  executionWs: {
    parse: wsUrl,
    help: "Where the proxies of other servers reach this server's execution client over WebSocket. Default: --execution-ws.",
  },
  rollupRpc: {
    parse: httpUrl,
    help: "Where the proxies of other servers reach this server's rollup node. Default: --rollup-rpc.",
  },
});

const etcdOptions = optionGroup("etcd", {
  endpoints: {
    parse: listOf(httpUrl),
    flag: "etcd",
    required: true,
    check: (urls: readonly string[]) =>
      urls.some((url) => new URL(url).username !== "")
        ? "a URL with a user: give it with --etcd.username and --etcd.password-file"
        : undefined,
    help: "Endpoints of an etcd cluster (3.4 or newer, with its JSON gateway), separated by commas: the next one is asked when one fails.",
  },
  prefix: {
    parse: prefix,
    default: "/rconductor/",
    help: "What this cluster's keys begin with, another prefix for each chain.",
  },
  username: { parse: text, help: "User of etcd." },
  password: { parse: text, secret: true, needs: "etcd.username", isMistakeAlone: true, help: "Password of that user." },
  ca: { parse: path, help: "File with the certificate authority of etcd's certificates, in PEM." },
  cert: {
    parse: path,
    needs: "etcd.key",
    isMistakeAlone: true,
    help: "File with the client certificate, in PEM. Read again when it is replaced.",
  },
  key: {
    parse: path,
    needs: "etcd.cert",
    isMistakeAlone: true,
    help: "File with the key of the client certificate, in PEM. Read again when it is replaced.",
  },
  timeoutMs: { parse: positiveDuration, default: 800, help: "Time limit of one request to one endpoint." },
  leaseTtlSec: {
    parse: integerBetween(1, MAX_TTL_SEC),
    flag: "etcd.lease-ttl",
    default: 3,
    unit: "seconds",
    help: "A leader that etcd has not heard from for so long is replaced. etcd's own minimum follows from its election timeout: 2 by default.",
  },
  pollIntervalMs: { parse: positiveDuration, default: 250, help: "Time between two looks at the cluster." },
  compactionIntervalMs: {
    parse: duration,
    flag: "etcd.compaction-interval",
    default: 300_000,
    help: "The leader lets etcd forget revisions that are older than this, for the whole of etcd. 0: never, for an etcd that compacts by itself.",
  },
});

const EXECUTION_P2P = "healthcheck.execution-p2p-enabled";

const healthOptions = optionGroup("healthcheck", {
  intervalSec: {
    parse: integerBetween(1, 3600),
    flag: "healthcheck.interval",
    default: 1,
    unit: "seconds",
    help: "Time between two health checks.",
  },
  unsafeIntervalSec: {
    parse: uint,
    flag: "healthcheck.unsafe-interval",
    default: 10,
    unit: "seconds",
    help: "How far the unsafe head may be behind the clock.",
  },
  safeEnabled: { parse: bool, default: false, help: "A safe head that is far behind is unhealthy, too." },
  safeIntervalSec: {
    parse: uint,
    flag: "healthcheck.safe-interval",
    default: 1200,
    unit: "seconds",
    needs: "healthcheck.safe-enabled",
    help: "How far the safe head may be behind the clock.",
  },
  minPeerCount: { parse: uint, default: 1, help: "Peers that the rollup node must have. 0: they are not counted." },
  executionP2pEnabled: {
    parse: bool,
    flag: EXECUTION_P2P,
    default: false,
    help: "An execution client with few peers is unhealthy, too.",
  },
  executionP2pMinPeerCount: {
    parse: integerBetween(1, 1_000_000),
    flag: "healthcheck.execution-p2p-min-peer-count",
    default: 1,
    needs: EXECUTION_P2P,
    help: "Peers that the execution client must have.",
  },
  executionP2pRpcUrl: {
    parse: httpUrl,
    flag: "healthcheck.execution-p2p-rpc-url",
    needs: EXECUTION_P2P,
    help: "JSON-RPC endpoint that counts the execution client's peers. Default: --execution.rpc.",
  },
  executionP2pCheckApi: {
    parse: oneOf("net", "admin"),
    flag: "healthcheck.execution-p2p-check-api",
    default: "net",
    needs: EXECUTION_P2P,
    help: "How peers of the execution client are counted: by net_peerCount or by admin_peers.",
  },
});

const rpcOptions = optionGroup("rpc", {
  host: {
    parse: listenAddress,
    flag: "rpc.addr",
    default: "0.0.0.0",
    help: "Address that the conductor's JSON-RPC server listens on.",
  },
  port: { parse: port, default: 8547, help: "Port of the conductor's JSON-RPC server." },
  jwtSecret: {
    parse: path,
    flag: "rpc.jwt-secret",
    help: "File with a secret (32 bytes in hex). With it, other machines may use the methods that change the cluster if they send a token as for the Engine API (rnode: --conductor.jwt-secret). Without it, only this machine may.",
  },
  enableProxy: {
    parse: bool,
    default: true,
    help: "Serve what op-batcher and op-proposer ask of this server's sequencer, while it leads.",
  },
  ...browserOptions("rpc"),
});

const proxyOptions = optionGroup("proxy", {
  enabled: {
    parse: bool,
    flag: "proxy",
    default: false,
    help: "Serve users, batcher and proposer on a port of its own and pass their requests on to whichever server leads.",
  },
  host: {
    parse: listenAddress,
    flag: "proxy.addr",
    default: "0.0.0.0",
    needs: "proxy",
    help: "Address that the proxy listens on.",
  },
  port: { parse: port, default: 8548, needs: "proxy", help: "Port of the proxy." },
  furtherMethods: {
    parse: listOf(text),
    flag: "proxy.methods",
    default: [],
    needs: "proxy",
    help: "Further methods, by full name, that are passed on to the leader's execution client: miner_setMaxDASize for rbatcher, on a proxy that only it reaches.",
  },
  waitMs: { parse: duration, default: 5_000, needs: "proxy", help: "How long a request waits for a leader that answers." },
  cors: {
    parse: listOf(text),
    flag: "proxy.corsdomain",
    default: [],
    needs: "proxy",
    help: "Origins that browsers may call from; * is all. Requests from others are refused.",
  },
  vhosts: {
    parse: listOf(text),
    default: ["localhost"],
    needs: "proxy",
    help: "Names accepted in the Host header, besides addresses; * is all.",
  },
});

export const rconductorOptions = optionTable({
  program: "rconductor",
  summary: "Keeps exactly one leader among several sequencers, on etcd.",
  envPrefix: "RCONDUCTOR_",
  foreign: [opConductor],
  groups: {
    server: serverOptions,
    etcd: etcdOptions,
    health: healthOptions,
    rpc: rpcOptions,
    proxy: proxyOptions,
    advertise: advertiseOptions,
    log: logOptions,
    metrics: withDefaults(metricsOptions, { port: 7304 }),
    dashboard: dashboardOptions(7404),
    pprof: withDefaults(pprofOptions, { port: 6064 }),
  },
});

export type RconductorOptions = OptionsOfAll<typeof rconductorOptions.groups>;
