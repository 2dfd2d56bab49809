import type { BlockSelector } from "@rnode/chain";
import type { HaltReason } from "@rnode/evm";
import { INTERNAL_ERROR, INVALID_PARAMS, type RpcErrorBody, RUST_DIALECT, SERVER_ERROR } from "@rnode/jsonrpc";
import { ZERO_HASH } from "@rnode/primitives";
import type { ContentsFault } from "@rnode/protocol";
import { OP } from "../instructions/opcodes.ts";
import { RUST_TARGET } from "./build-target.ts";
import { engineError } from "./engine-errors.ts";
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
import { selectorText } from "./selector-text.ts";
import { SIMULATION_CODES } from "./simulation-codes.ts";
import { notReady, SYNC_TIMEOUT } from "./sync-errors.ts";
import { RETH_TRACES } from "./trace-dialect.ts";

const TRANSACTION_REJECTED = -32003;
const RESOURCE_NOT_FOUND = -32001;
const PRUNED = 4444;

const body = (code: number, message: string): RpcErrorBody => ({ code, message });
const rejected = (message: string): RpcErrorBody => body(TRANSACTION_REJECTED, message);
const invalidInput = (message: string): RpcErrorBody => body(SERVER_ERROR, message);
const invalidParams = (message: string): RpcErrorBody => body(INVALID_PARAMS, message);

/** Names of the halt reasons as they appear in `EVM error: …`. */
const HALT_NAMES: Readonly<Record<Exclude<HaltReason, "revert" | "out-of-gas" | "invalid-opcode">, string>> = {
  "stack-underflow": "StackUnderflow",
  "stack-overflow": "StackOverflow",
  "invalid-jump": "InvalidJump",
  "static-state-change": "StateChangeDuringStaticCall",
  "return-data-out-of-bounds": "OutOfOffset",
  "call-depth": "CallTooDeep",
  "insufficient-balance": "OutOfFunds",
  "create-collision": "CreateCollision",
  "code-too-large": "CreateContractSizeLimit",
  "initcode-too-large": "CreateInitCodeSizeLimit",
  "invalid-code-prefix": "CreateContractStartingWithEF",
  "nonce-overflow": "NonceOverflow",
  "precompile-failure": "PrecompileError",
  "deposit-failed": "FailedDeposit",
};

/** A duration as Rust prints it, to the millisecond. */
const rustDuration = (ms: number): string => (ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`);

const MISSING_BLOBS = "blob transaction missing blob hashes";

const CONTENTS_TEXTS: Readonly<Record<ContentsFault, (details: ContentsDetails) => string>> = {
  "initcode-too-large": () => "max initcode size exceeded",
  "no-blobs": () => MISSING_BLOBS,
  "bad-blob-version": () => "blob hash version mismatch",
  "too-many-blobs": ({ blobs }) => `blob transaction exceeds max blobs per block; got ${blobs}`,
  "blob-creates-contract": () => "blob transaction is a create transaction",
  "empty-authorization-list": () => "EIP-7702 authorization list has invalid fields",
  "set-code-creates-contract": () => "EIP-7702 authorization list has invalid fields",
};

function callError(fault: CallFault, asked?: AskedCall): RpcErrorBody {
  switch (fault.kind) {
    case "halt":
      if (fault.halt === "out-of-gas") return rejected(`out of gas: gas required exceeds: ${fault.gasLimit}`);
      if (fault.halt === "invalid-opcode")
        return rejected(`EVM error: ${fault.invalidOpcode === OP.invalid ? "InvalidFEOpcode" : "OpcodeNotFound"}`);
      return rejected(`EVM error: ${HALT_NAMES[fault.halt]}`);
    case "gas-exceeds-allowance":
      return invalidInput(`gas required exceeds allowance (${fault.allowance})`);
    case "intrinsic-gas":
      if (asked?.method === "estimate") return callError({ kind: "gas-exceeds-allowance", allowance: fault.gasLimit });
      return invalidInput("intrinsic gas too low");
    case "insufficient-funds":
      if (asked?.method === "estimate" && fault.gasWei === 0n) return rejected(`EVM error: ${HALT_NAMES["insufficient-balance"]}`);
      if (asked?.method === "estimate" && fault.affordableGas !== undefined)
        return callError({ kind: "gas-exceeds-allowance", allowance: fault.affordableGas });
      return rejected(
        `insufficient funds for gas * price + value: have ${fault.haveWei} want ${fault.valueWei + (fault.affordableGas === undefined ? 0n : fault.gasWei)}`,
      );
    case "fee-below-base-fee":
      return invalidInput("max fee per gas less than block base fee");
    case "tip-above-fee-cap":
      return rejected("max priority fee per gas higher than max fee per gas");
    case "timeout":
      return { ...invalidInput(`execution aborted (timeout = ${fault.timeoutMs / 1000}s)`), data: "--rpc.evmtimeout" };
    case "wrong-chain-id":
      return invalidInput("invalid chain ID");
    case "contents":
      return rejected(CONTENTS_TEXTS[fault.fault](fault.details));
    case "type-not-supported":
      return rejected("transaction type not supported");
    case "blob-fee-too-low":
      return rejected("max fee per blob gas less than block blob gas fee");
    case "blob-fee-without-blobs":
      return rejected(MISSING_BLOBS);
    case "both-fee-models":
      return invalidParams("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
  }
}

/** Codes of the simulation's faults that the specification has; the others are worded as in a call. */
function simulationError(fault: SimulationFault): RpcErrorBody {
  switch (fault.kind) {
    case "nonce":
      if (fault.fault === "too-low")
        return body(SIMULATION_CODES["nonce-too-low"], `nonce too low: next nonce ${fault.want}, tx nonce ${fault.have}`);
      return fault.fault === "too-high"
        ? body(SIMULATION_CODES["nonce-too-high"], "nonce too high")
        : body(SIMULATION_CODES["nonce-max"], "nonce has max value");
    case "insufficient-funds":
    case "fee-below-base-fee":
    case "intrinsic-gas":
      return { ...callError(fault), code: SIMULATION_CODES[fault.kind] };
    case "contents":
      return fault.fault === "initcode-too-large"
        ? { ...callError(fault), code: SIMULATION_CODES["initcode-too-large"] }
        : callError(fault);
    default:
      return callError(fault);
  }
}

function submissionError(fault: SubmissionFault): RpcErrorBody {
  switch (fault.kind) {
    case "empty":
      return invalidParams("empty transaction data");
    case "undecodable":
    case "bad-blobs":
    case "type-not-supported":
      return invalidParams("failed to decode signed transaction");
    case "bad-signature":
      return invalidParams("invalid transaction signature");
    case "message-refused":
      return invalidInput(fault.reason);
    case "unprotected":
      return invalidInput("only replay-protected (EIP-155) transactions allowed over RPC");
    case "fee-above-cap":
      return invalidInput(`tx fee (${fault.feeWei} wei) exceeds the configured cap (${fault.capWei} wei)`);
  }
}

const blockNotFound = (selector: BlockSelector): RpcErrorBody =>
  body(RESOURCE_NOT_FOUND, `block not found: ${selectorText(selector)}`);

function logQueryError(fault: LogQueryFault): RpcErrorBody {
  switch (fault.kind) {
    case "unknown-block":
      return blockNotFound({ kind: "hash", hash: fault.hash, requireCanonical: false });
    case "pending":
      return invalidParams("pending logs are not supported");
    case "bad-range":
      return invalidParams("invalid block range params");
    case "beyond-head":
      return invalidParams(`block range extends beyond current head block: requested ${fault.requested}, head ${fault.head}`);
    case "too-many-blocks":
      return invalidParams(
        `query exceeds max block range ${fault.limit}, retry with the range ${fault.fromBlock}-${fault.toBlock}`,
      );
    case "too-many-logs":
      return invalidParams(`query exceeds max results ${fault.limit}, retry with the range ${fault.fromBlock}-${fault.toBlock}`);
    case "too-large":
      return invalidParams(
        `query exceeds max response size ${fault.limitBytes} bytes, retry with the range ${fault.fromBlock}-${fault.toBlock}`,
      );
    case "hash-and-range":
      return {
        ...invalidParams("Invalid params"),
        data: "cannot specify both blockHash and fromBlock/toBlock, choose one or the other",
      };
  }
}

function feeHistoryError(fault: FeeHistoryFault): RpcErrorBody {
  return fault.kind === "bad-percentiles"
    ? { ...invalidParams("invalid reward percentiles"), data: fault.detail }
    : invalidParams(`request beyond head block: requested ${fault.requested}, head ${fault.head}`);
}

/** Faults in OP attribute fields that are answered with −32602 and the fault's name. The others get the Engine API's own −38003. */
const OP_ATTRIBUTE_FAULTS: Readonly<Partial<Record<string, string>>> = {
  "missing-gas-limit": "MissingGasLimitInPayloadAttributes",
  "missing-eip1559-params": "MissingEip1559ParamsInPayloadAttributes",
  "eip1559-denominator-zero": "Eip1559ParamsDenominatorZero",
  "eip1559-elasticity-zero": "Eip1559ParamsElasticityZero",
  "missing-min-base-fee": "MissingMinBaseFeeInPayloadAttributes",
  "unexpected-min-base-fee": "MinBaseFeeNotAllowedBeforeJovian",
};

const errors: ErrorTable = {
  submission: submissionError,
  poolRefusal: {
    "already-known": () => invalidInput("already known"),
    "type-not-supported": () => rejected("transaction type not supported"),
    "wrong-chain-id": () => invalidInput("invalid chain ID"),
    oversized: ({ size, limit }) => invalidInput(`oversized data: transaction size ${size}, limit ${limit}`),
    "initcode-too-large": () => invalidInput("max initcode size exceeded"),
    "exceeds-block-gas-limit": () => invalidInput("exceeds block gas limit"),
    "exceeds-transaction-gas-cap": () => invalidInput("exceeds max transaction gas limit"),
    "tip-above-fee-cap": () => rejected("max priority fee per gas higher than max fee per gas"),
    underpriced: ({ minimum }) =>
      minimum === undefined || minimum === 0n
        ? invalidInput("transaction underpriced")
        : rejected(`transaction priority fee below minimum required priority fee ${minimum}`),
    "intrinsic-gas-too-low": () => invalidInput("intrinsic gas too low"),
    "floor-data-gas-too-low": () => invalidInput("intrinsic gas too low"),
    "empty-authorization-list": () => invalidInput("no items in authorization list for EIP7702 transaction"),
    "sender-not-eoa": () => rejected("sender is not an EOA"),
    "nonce-max": () => rejected("nonce has max value"),
    "nonce-too-low": ({ next, nonce }) => invalidInput(`nonce too low: next nonce ${next}, tx nonce ${nonce}`),
    "insufficient-funds": ({ balance, cost, queued = 0n }) =>
      rejected(`insufficient funds for gas * price + value: have ${balance} want ${(cost ?? 0n) + queued}`),
    "replacement-underpriced": () => invalidInput("replacement transaction underpriced"),
    "account-limit-exceeded": () => rejected("txpool is full"),
    "delegated-gap": () => invalidInput("gapped-nonce tx from delegated accounts"),
    "delegated-limit": () => invalidInput("in-flight transaction limit reached for delegated accounts"),
    "authority-reserved": () => invalidInput("authority already reserved"),
    "sender-reserved": () => invalidInput("address already reserved"),
    "too-many-blobs": ({ have, permitted }) => invalidInput(`too many blobs in transaction: have ${have}, permitted ${permitted}`),
    "future-replaces-pending": () => rejected("txpool is full"),
    "underpriced-when-full": () => rejected("txpool is full"),
    "pool-full": () => rejected("txpool is full"),
  },
  call: callError,
  simulation: simulationError,
  blockNotFound,
  stateUnavailable: (_, header, oldest) =>
    body(
      PRUNED,
      header === undefined || oldest === undefined || header.number >= oldest
        ? "pruned history unavailable"
        : `pruned history unavailable: requested ${header.number}, earliest available ${oldest}`,
    ),
  rawNotFound: blockNotFound,
  historyPruned: body(PRUNED, "pruned history unavailable"),
  proofUnavailable: () => invalidParams("distance to target block exceeds maximum proof window"),
  transactionNotFound: body(RESOURCE_NOT_FOUND, "transaction not found"),
  tracedTransactionNotFound: body(RESOURCE_NOT_FOUND, "transaction not found"),
  tracedBlockNotFound: blockNotFound,
  notReady,
  receiptTimeout: (hash, waitMs) => ({
    ...body(SYNC_TIMEOUT, `Transaction ${hash} was added to the mempool but wasn't confirmed within ${rustDuration(waitMs)}.`),
    data: hash,
  }),
  logQuery: logQueryError,
  filterNotFound: invalidParams("filter not found"),
  tooManyReceiptHashes: (limit) => invalidParams(`too many transaction hashes: at most ${limit} for one subscription`),
  feeHistory: feeHistoryError,
  conditional: (refusal) => {
    if (refusal.kind === "too-costly") return invalidParams("conditional cost exceeded maximum allowed");
    if (refusal.fault === "storage-root-mismatch") return invalidParams("storage root mismatch");
    if (refusal.fault === "storage-value-mismatch") return invalidParams("storage value mismatch");
    return invalidParams("invalid conditional parameters");
  },
  unknownAccount: (reason) => ({ ...invalidParams("unknown account"), data: reason }),
  unsupportedTracer: (name, native) => ({
    ...body(INTERNAL_ERROR, "JS Tracer is not enabled"),
    data: `${name}: only native tracers are run: ${native.join(", ")}`,
  }),
  // Reth looks for the state of the parent.
  genesisNotTraceable: blockNotFound({ kind: "hash", hash: ZERO_HASH, requireCanonical: false }),
  invalidTracerConfig: () => invalidParams("invalid tracer config"),
  attributes: (fault, reason) => {
    const name = OP_ATTRIBUTE_FAULTS[fault];
    return name === undefined
      ? engineError("invalid-attributes", reason)
      : { code: INVALID_PARAMS, message: "Invalid params", data: { err: name } };
  },
  forkchoice: (fault) => (fault === "reorganisation-too-deep" ? engineError("too-deep") : engineError("invalid-forkchoice", fault)),
};

/** The Reth-like answers. */
export const PROFILE_R: Profile = {
  name: "R",
  dialect: RUST_DIALECT,
  errors,
  parameters: {
    wanted: { eth_getBlockByNumber: ["full"], eth_getBlockByHash: ["full"], eth_getBlockReceipts: ["block"] },
    takesNull: false,
    refusesLeadingZeros: false,
    takesNumericIndices: true,
  },
  clientVersion: (version) => `rengine/v${version}/${RUST_TARGET}`,
  hasSyncStages: true,
  servesRpcModules: false,
  servesClearTxpool: true,
  servesSdm: true,
  servesTrace: true,
  servesMining: true,
  servesTransitionConfiguration: false,
  traces: RETH_TRACES,
  block: { hasTotalDifficulty: false, pendingHasNoIdentity: false },
  transaction: {
    deposit: {
      hasNullRecipient: false,
      hasYParity: true,
      hasNonceBeforeRegolith: false,
      systemFlag: "0x1",
    },
    postExecLooksSigned: false,
  },
  receipt: {
    depositsHaveL1Fields: true,
    hasRawScalarBeforeEcotone: true,
    l1FeeScalarByFork: true,
    depositsHaveBlobGasUsed: true,
    postExecHasRecipient: true,
  },
  logs: { refusesPending: false, checksFilterRange: false },
  proofsHaveZeroHashes: false,
  raw: { unknownNumberIsEmpty: false, unknownTransactionIsNull: true },
  fillsNullFees: false,
  calls: {
    comparesGasPrice: false,
    comparesBaseFeeFirst: true,
    tipAloneOffersBaseFee: true,
    capsGasByFunds: true,
    honorsLittleGas: true,
    revertsHaveEmptyData: false,
    ignoresZeroBlobFee: false,
    blobFeeNeedsBlobs: true,
    checksNonceLate: true,
    accessListGasIsWithout: true,
    accessListHasReason: true,
    accessListFillsFees: false,
  },
  feeHistory: { countsFootprint: true, hasEmptyLists: true },
  configHasL1Rules: true,
  headersHaveSize: true,
  simulation: { noBlocksText: "calls are empty.", keepsBeaconRoot: true, keepsExtraData: true, countsFootprint: true },
  witness: { hasKeys: true, hasHeaderObjects: false, servesPayloads: true },
  txpool: { hasChecksumAddresses: false },
  dump: { hasPrefix: true, leavesOutIncompletes: false },
  rpc: { acceptsUnprotected: true, maxBlocksPerFilter: 100_000, maxLogsPerResponse: 20_000, maxReceiptHashes: 1000 },
};
