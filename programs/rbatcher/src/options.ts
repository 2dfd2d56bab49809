import { altDaOptions } from "@rnode/alt-da";
import { dashboardOptions } from "@rnode/dashboard";
import {
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
  positiveDuration,
  pprofOptions,
  uint,
  withDefaults,
} from "@rnode/program";
import { MAX_L1_CALLDATA_BYTES, MAX_L1_TRANSACTION_GAS } from "@rnode/protocol";
import { remoteSignerOptions } from "@rnode/signer";
import { accountOptions, transactionOptions } from "@rnode/tx-manager";
import { opBatcher } from "./foreign-options.ts";
import { throttleOptions } from "./throttle/throttle-options.ts";

/** 1: span batches, 0: singular batches. */
const batchType: Parser<0 | 1> = {
  placeholder: "0|1",
  expects: "0 (singular batches) or 1 (span batches)",
  parse: (value) => (value === "0" ? 0 : value === "1" ? 1 : undefined),
  format: String,
};

/** An amount in ether above 0, parsed into wei. */
const etherAmount: Parser<bigint> = {
  placeholder: "ether",
  expects: "an amount of ether above 0, with at most 18 decimals",
  parse: (value) => {
    const match = /^([0-9]{1,12})(?:\.([0-9]{1,18}))?$/.exec(value);
    const wei = match === null ? 0n : BigInt(match[1]!) * 10n ** 18n + BigInt((match[2] ?? "").padEnd(18, "0"));
    return wei > 0n ? wei : undefined;
  },
  format: (wei) => {
    const decimals = String(wei % 10n ** 18n)
      .padStart(18, "0")
      .replace(/0+$/, "");
    return `${wei / 10n ** 18n}${decimals === "" ? "" : `.${decimals}`}`;
  },
};

/** A number in (0, 1]. */
const ratio: Parser<number> = {
  ...decimal,
  placeholder: "ratio",
  expects: "a ratio above 0 and at most 1",
  parse: (value) => {
    const parsed = decimal.parse(value);
    return parsed !== undefined && parsed > 0 && parsed <= 1 ? parsed : undefined;
  },
};

const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

const positive = integerBetween(1, Number.MAX_SAFE_INTEGER);

const endpointOptions = optionGroup("", {
  l1EthRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "L1 JSON-RPC endpoint, or several, separated by commas: the next one is used when one fails.",
  },
  l2EthRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "JSON-RPC endpoint of the sequencer's execution client; of several sequencers, separated by commas, the active one is followed.",
  },
  l2JwtSecret: {
    parse: path,
    help: "File with the 32-byte secret in hex, if --l2-eth-rpc is the authenticated endpoint: nobody else keeps that one busy.",
  },
  rollupRpc: {
    parse: listOf(httpUrl),
    required: true,
    check: (nodes: readonly string[], other) => {
      const clients = countOf(other("l2-eth-rpc"));
      // 0: the option is missing or invalid, which is reported separately
      return clients === 0 || nodes.length === clients
        ? undefined
        : `expected as many endpoints as --l2-eth-rpc has (${clients}), found ${nodes.length}`;
    },
    help: "JSON-RPC endpoint of the sequencer's rollup node, or several, in the order of --l2-eth-rpc; they serve the admin namespace then.",
  },
  activeSequencerCheckDurationMs: {
    parse: positiveDuration,
    default: 5_000,
    help: "With several sequencers: so long it counts which one is the active one; after a failure it is asked at once.",
  },
});

const batcherOptions = optionGroup("", {
  pollIntervalMs: { parse: positiveDuration, default: 6000, help: "Time between two checks for new L2 blocks." },
  maxPendingTransactions: {
    parse: uint,
    flag: "max-pending-tx",
    default: 1,
    help: "Maximum number of L1 transactions that are pending at the same time. 0: no limit.",
  },
  subSafetyMargin: {
    parse: uint,
    default: 10,
    unit: "L1 blocks",
    help: "A channel is closed this many L1 blocks before its channel timeout or the end of the sequencing window of its first block.",
  },
  maxChannelDuration: {
    parse: uint,
    default: 0,
    unit: "L1 blocks",
    help: "A channel is closed after this many L1 blocks, even if it is not full. 0: no such limit.",
  },
  maxL1TxSizeBytes: {
    parse: integerBetween(2, 1_000_000),
    default: 120_000,
    unit: "bytes",
    check: (size: number, other) =>
      other("data-availability-type") === "blobs" || size <= MAX_L1_CALLDATA_BYTES
        ? undefined
        : `expected at most ${MAX_L1_CALLDATA_BYTES}, because more calldata can need more than the ${MAX_L1_TRANSACTION_GAS} gas that L1 allows a transaction (EIP-7825, EIP-7976), found ${size}`,
    help: `Maximum calldata size of an L1 transaction, at most ${MAX_L1_CALLDATA_BYTES}; most L1 clients take no more than 131072 with everything else.`,
  },
  targetNumFrames: {
    parse: positive,
    default: 1,
    check: (count: number, other) =>
      other("data-availability-type") === "calldata" || count <= 6
        ? undefined
        : `expected at most 6, the number of blobs that a transaction may have, found ${count}`,
    help: "Number of frames at which a channel counts as full; with blobs, also the number of blobs in a transaction, at most 6.",
  },
  maxBlocksPerSpanBatch: {
    parse: uint,
    default: 0,
    unit: "L2 blocks",
    needs: "batch-type=1",
    help: "Maximum number of blocks in one span batch. 0: all blocks of the channel.",
  },
  approxComprRatio: {
    parse: ratio,
    default: 0.6,
    needs: "compressor=ratio",
    help: "Compression ratio (output size divided by input size) that the ratio compressor assumes.",
  },
  compressor: {
    parse: oneOf("shadow", "ratio", "none"),
    default: "shadow",
    needs: "batch-type=0",
    check: (value, other) =>
      value === "none" && other("compression-algo") !== "zlib" ? '"none" does nothing without --compression-algo=zlib' : undefined,
    help: "How the size of a channel of singular batches is found: shadow compresses it, ratio estimates it from the input size, none does not compress at all.",
  },
  compressionAlgo: {
    parse: oneOf("zlib", "brotli", "brotli-9", "brotli-10", "brotli-11"),
    default: "zlib",
    help: "Compression algorithm of channels. brotli is the same as brotli-10.",
  },
  batchType: { parse: batchType, default: 0, help: "Type of the batches: 0 for singular batches, 1 for span batches." },
  dataAvailabilityType: {
    parse: oneOf("calldata", "blobs", "auto"),
    default: "calldata",
    help: "Where batches are published; auto takes whichever L1 charges less for, channel by channel.",
  },
  checkRecentTxsDepth: {
    parse: integerBetween(0, 128),
    default: 0,
    unit: "L1 blocks",
    help: "At the start, wait until the rollup node has derived the batcher's transactions, if there are any in this many most recent L1 blocks. 0: however old they are.",
  },
  waitNodeSync: { parse: bool, default: false, help: "At the start, wait until the rollup node has derived up to the L1 head." },
  stopped: { parse: bool, default: false, help: "Start without publishing; admin_startBatcher starts publishing." },
  stopTimeoutMs: { parse: duration, default: 10_000, help: "How long a stop waits for pending transactions." },
});

const spendOptions = optionGroup("", {
  perHourWei: {
    parse: etherAmount,
    flag: "max-l1-spend-per-hour",
    help: "Nothing is published while the last hour's payments to L1 and the next transaction would exceed this. What this account paid before the start counts, as far as L1 tells it. Not given: no limit.",
  },
  perDayWei: {
    parse: etherAmount,
    flag: "max-l1-spend-per-day",
    help: "The same for the last 24 hours.",
  },
});

const rpcOptions = optionGroup("rpc", {
  host: {
    parse: listenAddress,
    flag: "rpc.addr",
    default: "0.0.0.0",
    help: "Address that the batcher's JSON-RPC server listens on.",
  },
  port: { parse: port, default: 8545, help: "Port of the batcher's JSON-RPC server." },
  enableAdmin: { parse: bool, default: false, help: "Serve the admin namespace." },
  ...browserOptions("rpc"),
});

export const rbatcherOptions = optionTable({
  program: "rbatcher",
  summary: "Publishes the blocks of an L2 sequencer on L1.",
  envPrefix: "RBATCHER_",
  foreign: [opBatcher],
  groups: {
    endpoints: endpointOptions,
    batches: batcherOptions,
    throttle: throttleOptions,
    spend: spendOptions,
    account: accountOptions,
    signer: remoteSignerOptions,
    transactions: transactionOptions,
    altda: altDaOptions,
    rpc: rpcOptions,
    log: logOptions,
    metrics: withDefaults(metricsOptions, { port: 7302 }),
    dashboard: dashboardOptions(7402),
    pprof: withDefaults(pprofOptions, { port: 6062 }),
  },
});

export type RbatcherOptions = OptionsOfAll<typeof rbatcherOptions.groups>;
