import type { AttributesFault } from "@rnode/chain";
import { GO_DIALECT, INTERNAL_ERROR, INVALID_PARAMS, type RpcErrorBody, SERVER_ERROR } from "@rnode/jsonrpc";
import { bytesToHex, checksumAddress, hexToBytes } from "@rnode/primitives";
import type { ContentsFault } from "@rnode/protocol";
import { GO_TARGET } from "./build-target.ts";
import { engineError } from "./engine-errors.ts";
import { gethDecodingText } from "./geth-decoding.ts";
import { haltText } from "./halt-texts.ts";
import type {
  AskedCall,
  CallFault,
  ContentsDetails,
  ErrorTable,
  FeeHistoryFault,
  LogQueryFault,
  Profile,
  SimulationFault,
  SubmissionFault,
} from "./profile.ts";
import { SIMULATION_CODES } from "./simulation-codes.ts";
import { notReady, SYNC_TIMEOUT } from "./sync-errors.ts";
import { GETH_TRACES } from "./trace-dialect.ts";

const failed = (message: string): RpcErrorBody => ({ code: SERVER_ERROR, message });

const checksummed = (address: string): string => checksumAddress(hexToBytes(address));

/** A call that breaks a rule for transactions. The wording depends on the method that was called. */
function notBegun(text: string, asked: AskedCall | undefined): RpcErrorBody {
  if (asked === undefined) return failed(text);
  if (asked.method === "access-list") return failed(`failed to apply transaction: ${asked.transactionHash?.()} err: ${text}`);
  return failed(asked.method === "call" ? `err: ${text} (supplied gas ${asked.gas})` : `failed with ${asked.gas} gas: ${text}`);
}

const CONTENTS_TEXTS: Readonly<Record<ContentsFault, (details: ContentsDetails, sender: string) => string>> = {
  "initcode-too-large": ({ initcodeBytes, maxInitcodeBytes }) =>
    `max initcode size exceeded: code size ${initcodeBytes} limit ${maxInitcodeBytes}`,
  "no-blobs": () => "blob transaction missing blob hashes",
  "bad-blob-version": ({ badBlob }) => `blob ${badBlob} has invalid hash version`,
  "too-many-blobs": () => "blob transaction has too many blobs",
  "blob-creates-contract": () => "blob transaction of type create",
  "empty-authorization-list": (_, sender) => `EIP-7702 transaction with empty auth list (sender ${sender})`,
  "set-code-creates-contract": (_, sender) => `EIP-7702 transaction cannot be used to create contract (sender ${sender})`,
};

function callError(fault: CallFault, asked?: AskedCall): RpcErrorBody {
  switch (fault.kind) {
    case "halt":
      return failed(haltText(fault.halt, fault.invalidOpcode));
    case "gas-exceeds-allowance":
      return failed(`gas required exceeds allowance (${fault.allowance})`);
    case "intrinsic-gas": {
      if (asked?.method === "estimate" && fault.of === "transaction")
        return callError({ kind: "gas-exceeds-allowance", allowance: fault.gasLimit });
      const what = fault.of === "floor" ? "insufficient gas for floor data gas cost" : "intrinsic gas too low";
      return notBegun(`${what}: have ${fault.gasLimit}, want ${fault.minimum}`, asked);
    }
    case "insufficient-funds":
      if (asked?.method === "estimate" && fault.affordableGas !== undefined)
        return callError({ kind: "gas-exceeds-allowance", allowance: fault.affordableGas });
      if (asked?.method === "estimate" && fault.gasWei > 0n) return failed("insufficient funds for transfer");
      return notBegun(
        `insufficient funds for gas * price + value: address ${checksummed(fault.address)} have ${fault.haveWei} want ${fault.valueWei + fault.gasWei}`,
        asked,
      );
    case "fee-below-base-fee":
      return notBegun(
        `max fee per gas less than block base fee: address ${checksummed(fault.address)}, maxFeePerGas: ${fault.maxFeeWei}, baseFee: ${fault.baseFeeWei}`,
        asked,
      );
    case "tip-above-fee-cap":
      return notBegun(
        `max priority fee per gas higher than max fee per gas: address ${checksummed(fault.address)}, maxPriorityFeePerGas: ${fault.tipWei}, maxFeePerGas: ${fault.maxFeeWei}`,
        asked,
      );
    case "timeout":
      return { ...failed(`execution aborted (timeout = ${fault.timeoutMs / 1000}s)`), data: "--rpc.evmtimeout" };
    case "wrong-chain-id":
      return failed(`chainId does not match node's (have=${fault.have}, want=${fault.want})`);
    case "contents":
      return notBegun(CONTENTS_TEXTS[fault.fault](fault.details, checksummed(fault.address)), asked);
    case "type-not-supported":
      return notBegun(`transaction type not supported: ${fault.field} tx (sender ${checksummed(fault.address)})`, asked);
    case "blob-fee-too-low":
      return notBegun(
        `max fee per blob gas less than block blob gas fee: address ${checksummed(fault.address)} blobGasFeeCap: ${fault.maxFeeWei}, blobBaseFee: ${fault.blobBaseFeeWei}`,
        asked,
      );
    case "blob-fee-without-blobs":
      return failed("maxFeePerBlobGas specified without blobVersionedHashes");
    case "both-fee-models":
      return failed("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
  }
}

const NONCE_FAULTS = {
  "too-low": ["nonce-too-low", "nonce too low"],
  "too-high": ["nonce-too-high", "nonce too high"],
  max: ["nonce-max", "nonce has max value"],
} as const;

function simulationError(fault: SimulationFault): RpcErrorBody {
  if (fault.kind === "nonce") {
    const [code, text] = NONCE_FAULTS[fault.fault];
    const numbers = fault.fault === "max" ? `nonce: ${fault.want}` : `tx: ${fault.have} state: ${fault.want}`;
    return { code: SIMULATION_CODES[code], message: `${text}: address ${checksummed(fault.address)}, ${numbers}` };
  }
  return { ...callError(fault), code: simulationCode(fault) };
}

/** As op-geth has them; Geth 1.17.10 has −38012 for a fee cap below the base fee. */
function simulationCode(fault: SimulationFault): number {
  switch (fault.kind) {
    case "insufficient-funds":
      return SIMULATION_CODES[fault.kind];
    case "intrinsic-gas":
      return fault.of === "transaction" ? SIMULATION_CODES[fault.kind] : INTERNAL_ERROR;
    case "contents":
      return fault.fault === "initcode-too-large" ? SIMULATION_CODES[fault.fault] : INTERNAL_ERROR;
    case "tip-above-fee-cap":
    case "fee-below-base-fee":
      return INVALID_PARAMS;
    case "both-fee-models":
    case "wrong-chain-id":
    case "blob-fee-without-blobs":
      return SERVER_ERROR;
    default:
      return INTERNAL_ERROR;
  }
}

/** An amount of wei as ether with two decimals. */
function etherText(wei: bigint): string {
  const hundredths = (wei + 5n * 10n ** 15n) / 10n ** 16n;
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")}`;
}

/** The requirements' code and text; Geth's own text is in the data. */
const undecodable = (data: string): RpcErrorBody => ({
  code: INVALID_PARAMS,
  message: "failed to decode signed transaction",
  data,
});

function submissionError(fault: SubmissionFault): RpcErrorBody {
  switch (fault.kind) {
    case "empty":
      return undecodable("typed transaction too short");
    case "undecodable":
      return undecodable(gethDecodingText(fault.raw, fault.error));
    case "bad-blobs":
    case "message-refused":
      return failed(fault.reason);
    case "type-not-supported":
      return failed("transaction type not supported");
    case "bad-signature":
      return failed("invalid sender");
    case "unprotected":
      return failed("only replay-protected (EIP-155) transactions allowed over RPC");
    case "fee-above-cap":
      return failed(`tx fee (${etherText(fault.feeWei)} ether) exceeds the configured cap (${etherText(fault.capWei)} ether)`);
  }
}

function logQueryError(fault: LogQueryFault): RpcErrorBody {
  switch (fault.kind) {
    case "unknown-block":
      return failed("unknown block");
    case "pending":
      return { code: INVALID_PARAMS, message: "pending logs are not supported" };
    case "bad-range":
      return { code: INVALID_PARAMS, message: "invalid block range params" };
    case "beyond-head":
      return { code: INVALID_PARAMS, message: "block range extends beyond current head block" };
    case "too-many-blocks":
      return failed(`query exceeds max block range ${fault.limit}, retry with the range ${fault.fromBlock}-${fault.toBlock}`);
    case "too-many-logs":
      return failed(`query exceeds max results ${fault.limit}, retry with the range ${fault.fromBlock}-${fault.toBlock}`);
    case "too-large":
      return failed(
        `query exceeds max response size ${fault.limitBytes} bytes, retry with the range ${fault.fromBlock}-${fault.toBlock}`,
      );
    case "hash-and-range":
      return {
        code: INVALID_PARAMS,
        message: "invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
      };
  }
}

function feeHistoryError(fault: FeeHistoryFault): RpcErrorBody {
  return fault.kind === "bad-percentiles"
    ? failed(`invalid reward percentile: ${fault.detail}`)
    : failed(`request beyond head block: requested ${fault.requested}, head ${fault.head}`);
}

const FORKCHOICE_TEXTS = {
  "safe-not-available": "safe block not available in database",
  "safe-not-canonical": "safe block not in canonical chain",
  "finalized-not-available": "final block not available in database",
  "finalized-not-canonical": "final block not in canonical chain",
} as const;

/** Geth's texts, for the faults that have one there; the others get a description of ours. */
const ATTRIBUTE_TEXTS: Readonly<Partial<Record<AttributesFault, string>>> = {
  "timestamp-not-after-head": "invalid timestamp",
  "missing-withdrawals": "missing withdrawals",
  "unexpected-withdrawals": "unexpected withdrawals",
  "missing-beacon-root": "missing beacon root",
  "unexpected-beacon-root": "unexpected beacon root",
  "missing-gas-limit": "gasLimit parameter is required",
  "unexpected-eip1559-params": "eip155Params not supported prior to Holocene upgrade",
};

/** The cost of a transaction, next to those of the sender's queued transactions; `replaced` is the cost of the one it would replace. */
function costText(cost: bigint, queued: bigint, replaced: bigint | undefined): string {
  if (replaced !== undefined) return `queued cost ${queued + replaced}, tx bumped ${cost - replaced}`;
  return queued === 0n ? `tx cost ${cost}` : `queued cost ${queued}, tx cost ${cost}`;
}

/** A duration as Go prints it, for less than an hour and to the millisecond. */
const goDuration = (ms: number): string => {
  const [minutes, rest] = [Math.floor(ms / 60_000), ms % 60_000];
  return minutes > 0 ? `${minutes}m${rest / 1000}s` : ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
};

const errors: ErrorTable = {
  submission: submissionError,
  poolRefusal: {
    "already-known": () => failed("already known"),
    "type-not-supported": () => failed("transaction type not supported"),
    "wrong-chain-id": ({ have, want }) => failed(`invalid sender: invalid chain id for signer: have ${have} want ${want}`),
    oversized: ({ size, limit }) => failed(`oversized data: transaction size ${size}, limit ${limit}`),
    "initcode-too-large": ({ size, limit }) => failed(`max initcode size exceeded: code size ${size} limit ${limit}`),
    "exceeds-block-gas-limit": () => failed("exceeds block gas limit"),
    "exceeds-transaction-gas-cap": ({ gas, cap }) => failed(`transaction gas limit too high (cap: ${cap}, tx: ${gas})`),
    "tip-above-fee-cap": () => failed("max priority fee per gas higher than max fee per gas"),
    underpriced: ({ tip, minimum }) => failed(`transaction gas price below minimum: gas tip cap ${tip}, minimum needed ${minimum}`),
    "intrinsic-gas-too-low": ({ gas, minimum }) => failed(`intrinsic gas too low: gas ${gas}, minimum needed ${minimum}`),
    "floor-data-gas-too-low": ({ gas, minimum }) =>
      failed(`insufficient gas for floor data gas cost: gas ${gas}, minimum needed ${minimum}`),
    "empty-authorization-list": () => failed("set code tx must have at least one authorization tuple"),
    "sender-not-eoa": () => failed("sender not an eoa"),
    "nonce-max": () => failed("nonce has max value"),
    "nonce-too-low": ({ next, nonce }) => failed(`nonce too low: next nonce ${next}, tx nonce ${nonce}`),
    "insufficient-funds": ({ balance, cost = 0n, queued = 0n, replaced, overshot }) =>
      failed(
        `insufficient funds for gas * price + value: balance ${balance}, ${costText(cost, queued, replaced)}, overshot ${overshot}`,
      ),
    "replacement-underpriced": () => failed("replacement transaction underpriced"),
    "account-limit-exceeded": ({ pooled }) => failed(`account limit exceeded: pooled ${pooled} txs`),
    "delegated-gap": () => failed("gapped-nonce tx from delegated accounts"),
    "delegated-limit": () => failed("in-flight transaction limit reached for delegated accounts"),
    "authority-reserved": () => failed("authority already reserved"),
    "sender-reserved": () => failed("address already reserved"),
    "too-many-blobs": ({ have, permitted }) => failed(`too many blobs in transaction: have ${have}, permitted ${permitted}`),
    "future-replaces-pending": () => failed("future transaction tries to replace pending"),
    "underpriced-when-full": () => failed("transaction underpriced"),
    "pool-full": () => failed("txpool is full"),
  },
  call: callError,
  simulation: simulationError,
  blockNotFound: (selector, isKnown = false) => {
    if (selector.kind === "hash") return failed(isKnown ? "hash is not currently canonical" : "header for hash not found");
    const isLabel = selector.kind === "tag" && (selector.tag === "safe" || selector.tag === "finalized");
    return failed(isLabel ? `${selector.tag} block not found` : "header not found");
  },
  stateUnavailable: (_, header) => {
    if (header === undefined) return failed("missing trie node: the state is not available");
    const root = bytesToHex(header.stateRoot);
    return failed(`missing trie node ${root.slice(2)} (path ) state ${root} is not available`);
  },
  rawNotFound: (selector, what) =>
    selector.kind === "hash" && what !== "receipts"
      ? failed(`${what} #[${selector.hash.join(" ")}] not found`)
      : errors.blockNotFound(selector),
  historyPruned: failed("pruned history unavailable"),
  proofUnavailable: () => failed("missing trie node: the block is outside the proof window"),
  transactionNotFound: failed("transaction not found"),
  tracedTransactionNotFound: failed("transaction not found"),
  tracedBlockNotFound: (selector) => {
    if (selector.kind === "tag") return errors.blockNotFound(selector);
    return failed(`block ${selector.kind === "number" ? `#${selector.number}` : bytesToHex(selector.hash)} not found`);
  },
  notReady,
  receiptTimeout: (hash, waitMs) => ({
    code: SYNC_TIMEOUT,
    message: `The transaction was added to the transaction pool but wasn't processed in ${goDuration(waitMs)}`,
    data: hash,
  }),
  logQuery: logQueryError,
  filterNotFound: failed("filter not found"),
  tooManyReceiptHashes: () => failed("exceed max number of transaction hashes allowed per transactionReceipts subscription"),
  feeHistory: feeHistoryError,
  conditional: (refusal) =>
    refusal.kind === "too-costly"
      ? { code: -32005, message: `conditional cost, ${refusal.cost}, exceeded max: ${refusal.limit}` }
      : { code: -32003, message: `failed conditional check: ${refusal.fault.replaceAll("-", " ")}` },
  unknownAccount: (reason) => failed(`unknown account: ${reason}`),
  unsupportedTracer: (name, native) =>
    failed(`unknown tracer ${name}: JavaScript tracers are not run, only the native ones: ${native.join(", ")}`),
  genesisNotTraceable: failed("genesis is not traceable"),
  invalidTracerConfig: (detail) => failed(`invalid tracer config: ${detail}`),
  attributes: (fault, reason) => engineError("invalid-attributes", ATTRIBUTE_TEXTS[fault] ?? reason),
  forkchoice: (fault) =>
    fault === "reorganisation-too-deep" ? engineError("too-deep") : engineError("invalid-forkchoice", FORKCHOICE_TEXTS[fault]),
};

/** The legacy Geth-like answers. */
export const PROFILE_G: Profile = {
  name: "G",
  dialect: GO_DIALECT,
  errors,
  parameters: {
    wanted: {
      ...Object.fromEntries(
        [
          ...[
            "eth_getBalance",
            "eth_getCode",
            "eth_getTransactionCount",
            "eth_getStorageAt",
            "eth_getStorageValues",
            "eth_getProof",
          ],
          ...["eth_getBlockReceipts", "debug_traceCall"],
        ].map((method) => [method, ["block"]]),
      ),
      eth_getBlockByNumber: ["full"],
      eth_getBlockByHash: ["full"],
      eth_feeHistory: ["rewardPercentiles"],
      debug_accountRange: ["nocode", "nostorage", "incompletes"],
    },
    takesNull: true,
    refusesLeadingZeros: true,
    takesNumericIndices: false,
  },
  clientVersion: (version) => `rengine/v${version}-stable/${GO_TARGET}/node${process.versions.node}`,
  hasSyncStages: false,
  servesRpcModules: true,
  servesClearTxpool: false,
  servesSdm: false,
  servesTrace: false,
  servesMining: false,
  servesTransitionConfiguration: true,
  traces: GETH_TRACES,
  block: { hasTotalDifficulty: true, pendingHasNoIdentity: true },
  transaction: {
    deposit: {
      hasNullRecipient: true,
      hasYParity: false,
      hasNonceBeforeRegolith: true,
      systemFlag: true,
    },
    postExecLooksSigned: true,
  },
  receipt: {
    depositsHaveL1Fields: false,
    hasRawScalarBeforeEcotone: false,
    l1FeeScalarByFork: false,
    depositsHaveBlobGasUsed: false,
    postExecHasRecipient: false,
  },
  logs: { refusesPending: true, checksFilterRange: true },
  proofsHaveZeroHashes: true,
  raw: { unknownNumberIsEmpty: true, unknownTransactionIsNull: false },
  fillsNullFees: true,
  calls: {
    comparesGasPrice: true,
    comparesBaseFeeFirst: false,
    tipAloneOffersBaseFee: false,
    capsGasByFunds: false,
    honorsLittleGas: false,
    revertsHaveEmptyData: true,
    ignoresZeroBlobFee: true,
    blobFeeNeedsBlobs: false,
    checksNonceLate: false,
    accessListGasIsWithout: false,
    accessListHasReason: false,
    accessListFillsFees: true,
  },
  feeHistory: { countsFootprint: false, hasEmptyLists: false },
  configHasL1Rules: false,
  headersHaveSize: false,
  simulation: { noBlocksText: "empty input", keepsBeaconRoot: false, keepsExtraData: false, countsFootprint: true },
  witness: { hasKeys: false, hasHeaderObjects: true, servesPayloads: false },
  txpool: { hasChecksumAddresses: true },
  dump: { hasPrefix: false, leavesOutIncompletes: true },
  rpc: {
    acceptsUnprotected: false,
    maxBlocksPerFilter: Number.POSITIVE_INFINITY,
    maxLogsPerResponse: Number.POSITIVE_INFINITY,
    maxReceiptHashes: 200,
  },
};
