import {
  bool,
  decimal,
  duration,
  hexKey,
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
  uint,
} from "@rnode/options";
import { browserOptions, logOptions, metricsOptions } from "@rnode/program";
import { parsePrivateKey } from "@rnode/signer";

/** An amount in gwei with up to nine decimals, parsed into wei. */
const gwei: Parser<bigint> = {
  placeholder: "gwei",
  expects: "an amount of gwei, 0 or more, with at most nine decimals",
  parse: (value) => {
    const match = /^([0-9]+)(?:\.([0-9]{1,9}))?$/.exec(value);
    return match === null ? undefined : BigInt(match[1]!) * 10n ** 9n + BigInt((match[2] ?? "").padEnd(9, "0"));
  },
  format: (wei) => {
    const decimals = String(wei % 10n ** 9n)
      .padStart(9, "0")
      .replace(/0+$/, "");
    return `${wei / 10n ** 9n}${decimals === "" ? "" : `.${decimals}`}`;
  },
};

/** 1: span batches, 0: singular batches. */
const batchType: Parser<0 | 1> = {
  placeholder: "0|1",
  expects: "0 (singular batches) or 1 (span batches)",
  parse: (value) => (value === "0" ? 0 : value === "1" ? 1 : undefined),
  format: String,
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

/** Milliseconds above 0. */
const positiveDuration: Parser<number> = {
  ...duration,
  expects: `${duration.expects}, above 0`,
  parse: (value) => {
    const parsed = duration.parse(value);
    return parsed !== undefined && parsed > 0 ? parsed : undefined;
  },
};

/** Following the active sequencer through several endpoints is not supported yet. */
const oneEndpoint: Parser<string> = {
  ...httpUrl,
  expects: "one URL starting with http:// or https://",
  parse: (value) => (value.includes(",") ? undefined : httpUrl.parse(value)),
};

const privateKey: Parser<Uint8Array> = {
  ...hexKey,
  expects: "a private key as 64 hex digits, from 1 to the order of the curve",
  parse: parsePrivateKey,
};

const positive = integerBetween(1, Number.MAX_SAFE_INTEGER);

export const endpointOptions = optionGroup("", {
  l1EthRpc: {
    parse: listOf(httpUrl),
    required: true,
    help: "L1 JSON-RPC endpoint, or several, separated by commas: the next one is used when one fails.",
  },
  l2EthRpc: { parse: oneEndpoint, required: true, help: "JSON-RPC endpoint of the sequencer's execution client." },
  l2JwtSecret: {
    parse: path,
    help: "File with the 32-byte secret in hex, if --l2-eth-rpc is the authenticated endpoint: nobody else keeps that one busy.",
  },
  rollupRpc: { parse: oneEndpoint, required: true, help: "JSON-RPC endpoint of the sequencer's rollup node." },
});

export const batcherOptions = optionGroup("", {
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
    help: "Maximum calldata size of an L1 transaction.",
  },
  targetNumFrames: { parse: positive, default: 1, help: "Number of frames at which a channel counts as full." },
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
    unavailable: "publishing blobs",
    help: "Where batches are published. This build can publish calldata only.",
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

export const accountOptions = optionGroup("", {
  privateKey: { parse: privateKey, required: true, secret: true, help: "Private key of the batcher's L1 account." },
});

export const transactionOptions = optionGroup("", {
  confirmations: {
    parse: positive,
    flag: "num-confirmations",
    default: 10,
    unit: "L1 blocks",
    help: "Number of L1 blocks, its own included, after which a transaction counts as confirmed.",
  },
  safeAbortNonceTooLowCount: {
    parse: positive,
    default: 3,
    help: "A transaction is given up after this many consecutive signs that another one has taken its nonce.",
  },
  feeLimitMultiplier: {
    parse: positive,
    default: 5,
    help: "A replacement may cost at most this many times the fee that L1 currently suggests.",
  },
  feeLimitThresholdWei: {
    parse: gwei,
    flag: "txmgr.fee-limit-threshold",
    default: 100n * 10n ** 9n,
    help: "Fee cap below which --fee-limit-multiplier does not apply.",
  },
  minTipWei: { parse: gwei, flag: "txmgr.min-tip-cap", default: 10n ** 9n, help: "Minimum priority fee of a transaction." },
  minBaseFeeWei: {
    parse: gwei,
    flag: "txmgr.min-basefee",
    default: 10n ** 9n,
    help: "Minimum base fee from which fee caps are computed, even if L1's is lower.",
  },
  resubmissionTimeoutMs: {
    parse: positiveDuration,
    default: 48_000,
    help: "A transaction that is not included after this time is replaced by one with higher fees.",
  },
  networkTimeoutMs: { parse: positiveDuration, default: 10_000, help: "Time limit of one request to an endpoint." },
  sendTimeoutMs: {
    parse: duration,
    flag: "txmgr.send-timeout",
    default: 600_000,
    check: (sendMs: number, other) => {
      const leastMs = Number(other("txmgr.not-in-mempool-timeout"));
      if (sendMs === 0 || sendMs >= leastMs) return undefined;
      return `expected at least --txmgr.not-in-mempool-timeout (${leastMs}ms) or 0, found ${sendMs}ms`;
    },
    help: "A transaction that is not included after this time is given up. 0: never.",
  },
  notInMempoolTimeoutMs: {
    parse: positiveDuration,
    flag: "txmgr.not-in-mempool-timeout",
    default: 120_000,
    help: "A transaction that no L1 transaction pool has accepted after this time is given up.",
  },
  receiptQueryIntervalMs: {
    parse: positiveDuration,
    flag: "txmgr.receipt-query-interval",
    default: 12_000,
    help: "Time between two checks whether a transaction is included.",
  },
});

export const rpcOptions = optionGroup("rpc", {
  host: { parse: text, flag: "rpc.addr", default: "0.0.0.0", help: "Address that the batcher's JSON-RPC server listens on." },
  port: { parse: port, default: 8545, help: "Port of the batcher's JSON-RPC server." },
  enableAdmin: { parse: bool, default: false, help: "Serve the admin namespace." },
  ...browserOptions("rpc"),
});

export const rbatcherOptions = optionTable({
  program: "rbatcher",
  summary: "Publishes the blocks of an L2 sequencer on L1.",
  envPrefix: "RBATCHER_",
  groups: {
    endpoints: endpointOptions,
    batches: batcherOptions,
    account: accountOptions,
    transactions: transactionOptions,
    rpc: rpcOptions,
    log: logOptions,
    metrics: metricsOptions,
  },
});

export type RbatcherOptions = {
  readonly [G in keyof typeof rbatcherOptions.groups]: OptionsOf<(typeof rbatcherOptions.groups)[G]>;
};
