import { NAMESPACES } from "@rnode/eth-api";
import {
  address,
  bigUint,
  bool,
  decimal,
  duration,
  httpUrl,
  integerBetween,
  listOf,
  type OptionsOf,
  oneOf,
  optionGroup,
  optionTable,
  type Parser,
  path,
  port,
  text,
  textOf,
  uint,
} from "@rnode/options";
import { browserOptions, logOptions, metricsOptions } from "@rnode/program";
import { history } from "./setup/history-option.ts";

const MIB = 1024 * 1024;
/** the gas that Geth gives a call without any limit */
const UNLIMITED_GAS = (2n ** 64n - 1n) / 2n;
const WEI_PER_GWEI = 10n ** 9n;

/** A limit that 0 switches off. */
const limit: Parser<number> = {
  ...uint,
  parse: (value) => {
    const parsed = uint.parse(value);
    return parsed === 0 ? Number.POSITIVE_INFINITY : parsed;
  },
  format: (value) => (value === Number.POSITIVE_INFINITY ? "0" : uint.format(value)),
};

/** Such a limit in MiB, parsed into bytes. */
const mebibytes: Parser<number> = {
  ...limit,
  parse: (value) => {
    const parsed = limit.parse(value);
    return parsed === undefined ? undefined : parsed * MIB;
  },
  format: (bytes) => limit.format(bytes / MIB),
};

const gasLimit: Parser<bigint> = {
  ...bigUint,
  parse: (value) => {
    const parsed = bigUint.parse(value);
    return parsed === 0n ? UNLIMITED_GAS : parsed;
  },
  format: (gas) => (gas === UNLIMITED_GAS ? "0" : bigUint.format(gas)),
};

/** An amount in ether, parsed into wei. */
const ether: Parser<bigint> = {
  ...decimal,
  parse: (value) => {
    const gwei = Math.round((decimal.parse(value) ?? Number.NaN) * 1e9);
    return Number.isFinite(gwei) ? BigInt(gwei) * WEI_PER_GWEI : undefined;
  },
  format: (wei) => decimal.format(Number(wei / WEI_PER_GWEI) / 1e9),
};

const namespaces = listOf(oneOf(...NAMESPACES));

const chain = optionGroup("", {
  chain: {
    parse: textOf("name|file", "the name of a network or a genesis file"),
    required: true,
    help: "Network, or genesis file.",
  },
  genesis: { parse: textOf("file|url", "a file or URL"), help: "File or URL with the genesis allocations of a named network." },
  datadir: { parse: path, required: true, help: "Folder of the database." },
  profile: { parse: oneOf("R", "G"), default: "R", help: "Whose answers to give: R, or those of the legacy client G." },
  upgradesDir: { parse: path, flag: "rollup.upgrades-dir", help: "Folder of network-upgrade bundles." },
});

const memory = optionGroup("", {
  cache: {
    parse: integerBetween(64, 65_536),
    default: 512,
    unit: "MiB",
    help: "Memory for caches of blocks and decoded code, in this process and in each reader.",
  },
});

const http = optionGroup("http", {
  enabled: { parse: bool, flag: "http", default: false, help: "Serve JSON-RPC over HTTP." },
  host: { parse: text, flag: "http.addr", default: "127.0.0.1", needs: "http", help: "Address to listen on." },
  port: { parse: port, default: 8545, needs: "http", help: "Port to listen on." },
  api: { parse: namespaces, default: ["eth", "net", "web3"], needs: "http", help: "Namespaces served." },
  cors: { ...browserOptions("http").cors, needs: "http" },
  vhosts: {
    ...browserOptions("http").vhosts,
    needs: ["http", "ws"],
    help: "Names accepted in the Host header, of WebSockets too, besides addresses; * is all.",
  },
});

const ws = optionGroup("ws", {
  enabled: { parse: bool, flag: "ws", default: false, help: "Serve JSON-RPC over WebSocket." },
  host: { parse: text, flag: "ws.addr", default: "127.0.0.1", needs: "ws", help: "Address to listen on." },
  port: {
    parse: port,
    default: 8546,
    needs: "ws",
    help: "Port to listen on; with the address and port of HTTP, one listener serves both.",
  },
  api: { parse: namespaces, default: ["eth", "net", "web3"], needs: "ws", help: "Namespaces served." },
  origins: {
    parse: listOf(text),
    default: [],
    needs: "ws",
    help: "Origins that browsers may connect from; * is all. Default: this machine.",
  },
});

const authrpc = optionGroup("authrpc", {
  host: { parse: text, flag: "authrpc.addr", default: "127.0.0.1", help: "Address of the Engine API." },
  port: { parse: port, default: 8551, help: "Port of the Engine API." },
  vhosts: browserOptions("authrpc").vhosts,
  jwtsecret: { parse: path, help: "File of the 32-byte hex secret; made when missing. Default: jwt.hex in the data folder." },
});

const rollup = optionGroup("rollup", {
  sequencerHttp: { parse: httpUrl, help: "Sequencer that transactions are forwarded to." },
  disableTxPoolGossip: {
    parse: bool,
    default: false,
    help: "Keep pool transactions to ourselves; so far the client never shares them.",
  },
  acceptsConditionals: {
    parse: bool,
    flag: "rollup.enable-tx-conditional",
    default: false,
    help: "Serve eth_sendRawTransactionConditional (sequencers).",
  },
});

/** of options that have an effect where somebody is served */
const LISTENERS = ["http", "ws"];

const readers = optionGroup("rpc", {
  workers: {
    parse: integerBetween(0, 64),
    unit: "processes",
    needs: LISTENERS,
    help: "Reader processes that serve HTTP and WebSocket; 0: the process that keeps the chain serves them too. Default: as many as are needed, at most one less than cores, at least 2.",
  },
  idleMs: {
    parse: duration,
    flag: "rpc.workeridle",
    default: 120_000,
    needs: LISTENERS,
    check: (_, other) =>
      other("rpc.workers") === undefined ? undefined : "with --rpc.workers all readers always run: give one of the two",
    help: "Without --rpc.workers, a reader that nobody has used for this long ends; 0: all start at once and never end.",
  },
  hardLimitMs: {
    parse: duration,
    flag: "rpc.workertimeout",
    default: 90_000,
    needs: LISTENERS,
    help: "A reader that one request keeps busy for longer is replaced, and its connections close; 0 is no limit.",
  },
  maxHeapMib: {
    parse: integerBetween(64, 65_536),
    flag: "rpc.workermemory",
    default: 1024,
    unit: "MiB",
    needs: LISTENERS,
    help: "Most memory of a reader's JavaScript objects.",
  },
});

const calls = optionGroup("rpc", {
  gasCap: {
    parse: gasLimit,
    flag: "rpc.gascap",
    default: 50_000_000n,
    unit: "gas",
    help: "Most gas of a call or estimate; 0 is no limit.",
  },
  timeoutMs: {
    parse: duration,
    flag: "rpc.evmtimeout",
    default: 5000,
    help: "Most time that a call, an estimate or a simulation executes; 0 is no limit.",
  },
});

const traces = optionGroup("rpc", {
  maxRunning: {
    parse: integerBetween(1, 64),
    flag: "rpc.max-tracing-requests",
    default: 2,
    unit: "requests",
    help: "Requests of debug_ and trace_ that execute at once (in each reader); others wait for their turn.",
  },
  timeoutMs: {
    parse: duration,
    flag: "rpc.tracetimeout",
    default: 60_000,
    help: "Most time of a request that traces, from its arrival on; 0 is no limit.",
  },
});

const sending = optionGroup("rpc", {
  defaultSyncTimeoutMs: {
    parse: duration,
    flag: "rpc.txsync.defaulttimeout",
    default: 20_000,
    help: "How long eth_sendRawTransactionSync waits for a receipt when the request does not say.",
  },
  maxSyncTimeoutMs: {
    parse: duration,
    flag: "rpc.txsync.maxtimeout",
    default: 60_000,
    help: "Longest wait of eth_sendRawTransactionSync.",
  },
  feeCapWei: {
    parse: ether,
    flag: "rpc.txfeecap",
    default: 10n ** 18n,
    unit: "ether",
    help: "Most fee of a transaction sent over RPC; 0 is no cap.",
  },
});

const logQueries = optionGroup("rpc", {
  maxBlocksPerFilter: {
    parse: limit,
    unit: "blocks",
    help: "Longest range of a log query; 0 is no limit. Default: the profile's.",
  },
  maxLogsPerResponse: { parse: limit, unit: "logs", help: "Most logs of a query; 0 is no limit. Default: the profile's." },
});

const limits = optionGroup("rpc", {
  maxRequestBytes: {
    parse: mebibytes,
    flag: "rpc.max-request-size",
    default: 15 * MIB,
    unit: "MiB",
    help: "Largest request; 0 is no limit.",
  },
  maxResponseBytes: {
    parse: mebibytes,
    flag: "rpc.max-response-size",
    default: 160 * MIB,
    unit: "MiB",
    help: "Largest response; 0 is no limit.",
  },
  maxBatchLength: { parse: limit, default: 1000, unit: "requests", help: "Longest batch; 0 is no limit." },
  maxConnections: {
    parse: limit,
    default: 500,
    help: "Most connections of a listener; a new client then gets a place of the one with most; 0 is no limit; with several readers, a rush may exceed it for a second.",
  },
  maxSubscriptions: {
    parse: limit,
    flag: "rpc.max-subscriptions-per-connection",
    default: 1024,
    help: "Most subscriptions of a WebSocket; 0 is no limit.",
  },
});

const gpo = optionGroup("gpo", {
  minSuggestedTipWei: {
    parse: bigUint,
    flag: "gpo.minsuggestedpriorityfee",
    default: 1_000_000n,
    unit: "wei",
    help: "Tip that is suggested while blocks have room.",
  },
  maxPriceWei: {
    parse: bigUint,
    flag: "gpo.maxprice",
    default: 500_000_000_000n,
    unit: "wei",
    help: "Highest tip that is suggested.",
  },
});

const txpool = optionGroup("txpool", {
  journal: {
    parse: text,
    default: "transactions.rlp",
    help: "File in the data folder that keeps transactions sent to this node over restarts; none when empty.",
  },
  rejournalMs: {
    parse: duration,
    default: 3_600_000,
    needs: "txpool.journal",
    help: "How often the journal is written anew, without what is gone.",
  },
  queuedLifetimeMs: {
    parse: duration,
    flag: "txpool.lifetime",
    default: 10_800_000,
    help: "How long a transaction waits for a nonce or for funds.",
  },
  maxSlots: {
    parse: uint,
    flag: "txpool.globalslots",
    default: 20_000,
    unit: "slots of 32 KiB",
    help: "Room for all transactions.",
  },
  maxPendingPerSender: { parse: uint, flag: "txpool.accountslots", default: 2048, help: "Executable transactions of one sender." },
  maxQueuedPerSender: { parse: uint, flag: "txpool.accountqueue", default: 256, help: "Waiting transactions of one sender." },
  maxQueued: {
    parse: uint,
    flag: "txpool.globalqueue",
    default: 10_000,
    help: "Waiting transactions of all senders; beyond, who queues most loses its last one.",
  },
  hasNoLocals: {
    parse: bool,
    flag: "txpool.nolocals",
    default: true,
    help: "Treat transactions sent to this node like all others: evicted by price, held to the least tip.",
  },
  localSenders: {
    parse: listOf(address),
    flag: "txpool.locals",
    default: [],
    help: "Accounts whose transactions are evicted last and not held to the least tip.",
  },
  minimumTipWei: { parse: bigUint, flag: "txpool.pricelimit", default: 0n, unit: "wei", help: "Least tip." },
  priceBumpPercent: {
    parse: bigUint,
    flag: "txpool.pricebump",
    default: 10n,
    unit: "percent",
    help: "By how much a replacement must pay more.",
  },
});

export const clientTable = optionTable({
  program: "rengine",
  summary: "Execution client of an OP Stack chain. Subcommands: init, import, export, stateless, statetest, db (each with --help).",
  envPrefix: "RENGINE_",
  exclusive: [["full", "history.blocks"]],
  groups: {
    chain,
    memory,
    history,
    http,
    ws,
    authrpc,
    rollup,
    readers,
    calls,
    traces,
    sending,
    logQueries,
    limits,
    gpo,
    txpool,
    log: logOptions,
    metrics: metricsOptions,
  },
});

export type ClientOptions = { readonly [K in keyof typeof clientTable.groups]: OptionsOf<(typeof clientTable.groups)[K]> };
