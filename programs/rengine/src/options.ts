import { dashboardOptions } from "@rnode/dashboard";
import { NAMESPACES } from "@rnode/eth-api";
import { fetchOptions } from "@rnode/networks";
import {
  address,
  bigUint,
  bool,
  browserOptions,
  decimal,
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
  type Parser,
  path,
  port,
  pprofOptions,
  shutdownOptions,
  text,
  textOf,
  uint,
  withDefaults,
} from "@rnode/program";
import { dev } from "./dev/dev-options.ts";
import { opGeth, opReth } from "./foreign-options.ts";
import { network } from "./network/network-options.ts";
import { SAFETY_LEVELS, type SafetyLevel } from "./pool/safety-levels.ts";
import { history, proofs, state } from "./setup/history-option.ts";
import { snapshot } from "./setup/snapshot-options.ts";
import { subblocks } from "./subblocks/subblock-options.ts";

const MIB = 1024 * 1024;
/** the gas that Geth gives a call without any limit */
const UNLIMITED_GAS = (2n ** 64n - 1n) / 2n;
const WEI_PER_GWEI = 10n ** 9n;
const MAX_FILTERS = 16;

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

/** As op-reth, which also takes its own names of the levels: CrossUnsafe. */
const safetyLevel: Parser<SafetyLevel> = {
  ...oneOf(...SAFETY_LEVELS),
  parse: (value) => SAFETY_LEVELS.find((level) => [level, level.replace("-", "")].includes(value.toLowerCase())),
};

const namespaces = listOf(oneOf(...NAMESPACES));
/** The default namespaces. Code compares with this array itself to detect that no list was given. */
export const DEFAULT_NAMESPACES: readonly (typeof NAMESPACES)[number][] = ["eth", "net", "web3"];

const chain = optionGroup("", {
  chain: {
    parse: textOf("name|file", "the name of a network, a genesis file, or a chain's file of a registry"),
    required: true,
    requiredUnless: "dev",
    help: "Name of a network, a genesis file, or a chain's file of a superchain registry (superchain/configs/mainnet/op.toml).",
  },
  genesis: { parse: textOf("file|url", "a file or URL"), help: "File or URL with the genesis allocations of a named network." },
  datadir: {
    parse: path,
    default: "",
    help: "Folder of the database. Default: rnode_data/<chain id> in the working directory; a development chain is then temporary.",
  },
  ...fetchOptions("genesis and upgrade files of a public network"),
  profile: { parse: oneOf("R", "G"), default: "R", help: "Whose answers to give: R, as Reth does, or G, as Geth does." },
  upgradesDir: {
    parse: path,
    flag: "rollup.upgrades-dir",
    help: "Folder with the files of network upgrades; none is then fetched. Default: upgrades in the data folder.",
  },
});

const memory = optionGroup("", {
  cache: {
    parse: integerBetween(64, 65_536),
    default: 512,
    unit: "MiB",
    help: "Memory for caches of blocks and decoded code, in the main process and in each reader process.",
  },
});

const http = optionGroup("http", {
  enabled: { parse: bool, flag: "http", default: false, help: "Serve JSON-RPC over HTTP." },
  host: { parse: listenAddress, flag: "http.addr", default: "127.0.0.1", needs: ["http", "dev"], help: "Address to listen on." },
  port: { parse: port, default: 8545, needs: ["http", "dev"], help: "Port to listen on." },
  api: { parse: namespaces, default: DEFAULT_NAMESPACES, needs: "http", help: "Namespaces that are served." },
  cors: { ...browserOptions("http").cors, needs: ["http", "dev"] },
  vhosts: {
    ...browserOptions("http").vhosts,
    needs: ["http", "ws", "dev"],
    help: "Names accepted in the Host header, of WebSockets too, besides addresses; * is all.",
  },
});

const ws = optionGroup("ws", {
  enabled: { parse: bool, flag: "ws", default: false, help: "Serve JSON-RPC over WebSocket." },
  host: { parse: listenAddress, flag: "ws.addr", default: "127.0.0.1", needs: "ws", help: "Address to listen on." },
  port: {
    parse: port,
    default: 8546,
    needs: "ws",
    help: "Port to listen on. If address and port are those of HTTP, one listener serves both.",
  },
  api: { parse: namespaces, default: DEFAULT_NAMESPACES, needs: "ws", help: "Namespaces that are served." },
  origins: {
    parse: listOf(text),
    default: [],
    needs: "ws",
    help: "Origins that browsers may connect from; * is all, local is this machine and browser extensions. Default: this machine.",
  },
});

const authrpc = optionGroup("authrpc", {
  host: { parse: listenAddress, flag: "authrpc.addr", default: "127.0.0.1", help: "Address of the Engine API." },
  port: { parse: port, default: 8551, help: "Port of the Engine API." },
  vhosts: browserOptions("authrpc").vhosts,
  jwtsecret: {
    parse: path,
    help: "File with the 32-byte secret in hex; created if it does not exist. Default: jwt.hex in the data folder.",
  },
});

const engine = optionGroup("engine", {
  maxExecutionMs: {
    parse: duration,
    flag: "engine.max-execution-time",
    default: 8_000,
    check: (value: number) => (value < 0 ? "is negative: expected 0 or more" : undefined),
    help: "How long the first attempt to execute one block may take; each further attempt at a block derived from L1 gets twice the time. 0: no limit.",
  },
});

const rollup = optionGroup("rollup", {
  sequencerHttp: { parse: httpUrl, aliases: ["rollup.sequencer"], help: "Sequencer that transactions are forwarded to." },
  interopHttp: {
    parse: listOf(httpUrl),
    default: [],
    oldFlag: "rollup.supervisor-http",
    check: (urls: readonly string[]) => {
      if (urls.length > MAX_FILTERS) return `expected at most ${MAX_FILTERS} filters, got ${urls.length}`;
      const twice = urls.find((url, index) => urls.indexOf(url) < index);
      return twice === undefined ? undefined : `${twice} is given twice, and would count as two filters`;
    },
    help: "Interop filters, asked whether messages of other chains that transactions execute are valid. (experimental)",
  },
  interopMinResponses: {
    parse: integerBetween(1, MAX_FILTERS),
    needs: "rollup.interop-http",
    check: (needed: number, other) => {
      const given = (other("rollup.interop-http") as readonly string[] | undefined)?.length ?? needed;
      return needed > given
        ? `expected at most ${given}, the number of filters in --rollup.interop-http, got ${needed}`
        : undefined;
    },
    help: "Number of filters whose verdicts decide; they must agree. Not given: all of them.",
  },
  interopSafetyLevel: {
    parse: safetyLevel,
    default: "cross-unsafe",
    needs: "rollup.interop-http",
    oldFlag: "rollup.supervisor-safety-level",
    help: "How safe the block of such a message must be at least.",
  },
  disableTxPoolGossip: {
    parse: bool,
    default: false,
    help: "Do not share pool transactions with other nodes: none is announced, and none is asked for.",
  },
  acceptsConditionals: {
    parse: bool,
    flag: "rollup.enable-tx-conditional",
    default: false,
    help: "Serve eth_sendRawTransactionConditional (sequencers).",
  },
  operatorSdmOptIn: {
    parse: { ...bool, placeholder: "true|false", bare: "true" },
    default: false,
    help: "What admin_sdmStatus says about gas refunds in blocks built here (sequencer-defined metering), until admin_setOperatorSdmOptIn changes it. No policy here refunds any.",
  },
});

/** for options that only affect the public servers */
const LISTENERS = ["http", "ws"];

const readers = optionGroup("rpc", {
  workers: {
    parse: integerBetween(0, 64),
    unit: "processes",
    needs: LISTENERS,
    help: "Number of reader processes that serve HTTP and WebSocket. 0: the main process serves them. Default: as many as are needed, up to the number of cores minus one, at least 2.",
  },
  idleMs: {
    parse: duration,
    flag: "rpc.workeridle",
    default: 120_000,
    needs: LISTENERS,
    check: (_, other) =>
      other("rpc.workers") === undefined ? undefined : "with --rpc.workers all readers always run: give one of the two",
    help: "Without --rpc.workers, a reader that nobody has used for this long ends. 0: all readers start at once and never end.",
  },
  hardLimitMs: {
    parse: duration,
    flag: "rpc.workertimeout",
    default: 90_000,
    needs: LISTENERS,
    help: "A reader that does not respond for longer than this is replaced, and its connections are closed. A costly request that runs for longer is ended. 0: no limit.",
  },
  maxHeapMib: {
    parse: integerBetween(64, 65_536),
    flag: "rpc.workermemory",
    default: 1024,
    unit: "MiB",
    needs: LISTENERS,
    help: "Maximum memory for the JavaScript objects of a reader, and as much again for those of its thread for costly requests.",
  },
});

const calls = optionGroup("rpc", {
  gasCap: {
    parse: gasLimit,
    flag: "rpc.gascap",
    default: 50_000_000n,
    unit: "gas",
    help: "Maximum gas of a call or an estimate. 0: no limit.",
  },
  timeoutMs: {
    parse: duration,
    flag: "rpc.evmtimeout",
    default: 5000,
    help: "Maximum execution time of a call, an estimate or a simulation. 0: no limit.",
  },
  maxGasPerRequest: {
    parse: gasLimit,
    flag: "rpc.max-gas-per-request",
    default: 10_000_000_000n,
    unit: "gas",
    help: "Maximum gas that one request may burn in all: the calls of an eth_callMany, the runs of an estimate, the blocks that a trace executes. 0: no limit.",
  },
});

const gas = optionGroup("rpc", {
  perConnection: {
    parse: limit,
    flag: "rpc.max-gas-per-connection",
    default: 50_000_000,
    unit: "gas/s",
    needs: LISTENERS,
    help: "Gas that the costly requests of a connection may burn in each reader, ten seconds' worth at once. Beyond it, other connections from its address come first. 0: no limit.",
  },
  perAddress: {
    parse: limit,
    flag: "rpc.max-gas-per-address",
    default: 100_000_000,
    unit: "gas/s",
    needs: LISTENERS,
    help: "The same for all connections from one address (of IPv6, a /64 network). Beyond it, other addresses come first, and requests are refused when there is no room for those. 0: no limit.",
  },
});

const traces = optionGroup("rpc", {
  maxRunning: {
    parse: integerBetween(1, 64),
    flag: "rpc.max-tracing-requests",
    default: 2,
    unit: "requests",
    help: "Maximum number of debug_ and trace_ requests that execute at the same time in each reader; others wait for their turn.",
  },
  timeoutMs: {
    parse: duration,
    flag: "rpc.tracetimeout",
    default: 60_000,
    help: "Maximum time of a tracing request, from its start. 0: no limit.",
  },
  maxFilterBlocks: {
    parse: integerBetween(1, 1_000_000),
    flag: "rpc.max-trace-filter-blocks",
    default: 100,
    unit: "blocks",
    help: "Maximum number of blocks that one trace_filter looks through.",
  },
});

const costly = optionGroup("rpc", {
  maxWaiting: {
    parse: integerBetween(1, 65_536),
    flag: "rpc.max-waiting-requests",
    default: 512,
    unit: "requests",
    needs: LISTENERS,
    help: "Maximum number of costly requests (calls, traces, searches) that wait in each reader; a quarter of it for one address. Others are refused.",
  },
  maxWaitingBytes: {
    parse: mebibytes,
    flag: "rpc.max-waiting-size",
    default: 64 * MIB,
    unit: "MiB",
    needs: LISTENERS,
    help: "Maximum memory of costly requests that wait, in all readers together; each has an equal part. 0: no limit.",
  },
});

const sending = optionGroup("rpc", {
  defaultSyncTimeoutMs: {
    parse: duration,
    flag: "rpc.txsync.defaulttimeout",
    default: 20_000,
    help: "How long eth_sendRawTransactionSync waits for a receipt if the request does not say.",
  },
  maxSyncTimeoutMs: {
    parse: duration,
    flag: "rpc.txsync.maxtimeout",
    default: 60_000,
    help: "Maximum time that eth_sendRawTransactionSync waits for a receipt.",
  },
  feeCapWei: {
    parse: ether,
    flag: "rpc.txfeecap",
    default: 10n ** 18n,
    unit: "ether",
    help: "Maximum fee of a transaction sent over RPC. 0: no limit.",
  },
});

const logQueries = optionGroup("rpc", {
  maxBlocksPerFilter: {
    parse: limit,
    unit: "blocks",
    help: "Maximum number of blocks in a log query. 0: no limit. Default: the profile's.",
  },
  maxLogsPerResponse: {
    parse: limit,
    unit: "logs",
    help: "Maximum number of logs in the answer to a log query. 0: no limit. Default: the profile's.",
  },
});

const limits = optionGroup("rpc", {
  maxRequestBytes: {
    parse: mebibytes,
    flag: "rpc.max-request-size",
    default: 15 * MIB,
    unit: "MiB",
    help: "Maximum size of a request. 0: no limit.",
  },
  maxResponseBytes: {
    parse: mebibytes,
    flag: "rpc.max-response-size",
    default: 160 * MIB,
    unit: "MiB",
    help: "Maximum size of a response. 0: no limit.",
  },
  maxBatchLength: { parse: limit, default: 1000, unit: "requests", help: "Maximum number of requests in a batch. 0: no limit." },
  maxConnections: {
    parse: limit,
    default: 500,
    help: "Maximum number of connections of a listener; beyond it, a new client gets a place of the client with the most. 0: no limit. With several readers, there can be up to twice as many for a while.",
  },
  maxSubscriptions: {
    parse: limit,
    flag: "rpc.max-subscriptions-per-connection",
    default: 1024,
    help: "Maximum number of subscriptions of a WebSocket connection. 0: no limit.",
  },
});

const gpo = optionGroup("gpo", {
  minSuggestedTipWei: {
    parse: bigUint,
    flag: "gpo.minsuggestedpriorityfee",
    default: 1_000_000n,
    unit: "wei",
    help: "Priority fee that is suggested while blocks are not full.",
  },
  maxPriceWei: {
    parse: bigUint,
    flag: "gpo.maxprice",
    default: 500_000_000_000n,
    unit: "wei",
    help: "Maximum priority fee that is suggested.",
  },
});

const txpool = optionGroup("txpool", {
  journal: {
    parse: text,
    default: "transactions.rlp",
    help: "File in the data folder that keeps transactions sent to this node over restarts. Empty: none.",
  },
  rejournalMs: {
    parse: duration,
    default: 3_600_000,
    needs: "txpool.journal",
    help: "How often the journal is rewritten without the transactions that have left the pool.",
  },
  queuedLifetimeMs: {
    parse: duration,
    flag: "txpool.lifetime",
    default: 10_800_000,
    help: "How long a transaction may wait for a missing nonce or for funds.",
  },
  maxSlots: {
    parse: uint,
    flag: "txpool.globalslots",
    default: 20_000,
    unit: "slots of 32 KiB",
    help: "Maximum size of all transactions together.",
  },
  maxPendingPerSender: {
    parse: uint,
    flag: "txpool.accountslots",
    default: 2048,
    help: "Maximum number of executable transactions of one sender.",
  },
  maxQueuedPerSender: {
    parse: uint,
    flag: "txpool.accountqueue",
    default: 256,
    help: "Maximum number of queued transactions of one sender.",
  },
  maxQueued: {
    parse: uint,
    flag: "txpool.globalqueue",
    default: 10_000,
    help: "Maximum number of queued transactions in all; beyond it, the sender with the most queued transactions loses its last one.",
  },
  hasNoLocals: {
    parse: bool,
    flag: "txpool.nolocals",
    default: true,
    help: "Treat transactions sent to this node like all others: they are evicted by price and must pay the minimum priority fee.",
  },
  localSenders: {
    parse: listOf(address),
    flag: "txpool.locals",
    default: [],
    help: "Accounts whose transactions are evicted last and need not pay the minimum priority fee.",
  },
  minimumTipWei: {
    parse: bigUint,
    flag: "txpool.pricelimit",
    default: 0n,
    unit: "wei",
    help: "Minimum priority fee of a transaction.",
  },
  priceBumpPercent: {
    parse: bigUint,
    flag: "txpool.pricebump",
    default: 10n,
    unit: "percent",
    help: "By how much the fees of a replacement must exceed those of the transaction it replaces.",
  },
});

export const clientTable = optionTable({
  program: "rengine",
  summary: "Execution client of an OP Stack chain.",
  envPrefix: "RENGINE_",
  foreign: [opReth, opGeth],
  exclusive: [["full", "history.blocks"]],
  groups: {
    chain,
    memory,
    history,
    proofs,
    state,
    snapshot,
    http,
    ws,
    authrpc,
    engine,
    rollup,
    subblocks,
    readers,
    calls,
    traces,
    costly,
    gas,
    sending,
    logQueries,
    limits,
    gpo,
    txpool,
    network,
    dev,
    log: logOptions,
    metrics: withDefaults(metricsOptions, { port: 7301 }),
    pprof: withDefaults(pprofOptions, { port: 6061 }),
    shutdown: shutdownOptions,
    dashboard: dashboardOptions(7401),
  },
});

export type ClientOptions = OptionsOfAll<typeof clientTable.groups>;
