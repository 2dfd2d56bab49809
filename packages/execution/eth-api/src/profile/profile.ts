import type { AttributesFault, BlockSelector, ForkchoiceFault } from "@rnode/chain";
import type { HaltReason } from "@rnode/evm";
import type { RpcDialect, RpcErrorBody } from "@rnode/jsonrpc";
import type { CodedError } from "@rnode/primitives";
import type { ContentsFault, Header } from "@rnode/protocol";
import type { PoolRefusal, PoolWait } from "@rnode/txpool";
import type { ConditionalFault } from "../params/conditional.ts";
import type { ParameterRules } from "./parameter-rules.ts";
import type { TraceDialect } from "./trace-dialect.ts";

type ProfileName = "R" | "G";

/** Why a raw transaction was rejected before the pool looked at it. */
export type SubmissionFault =
  | { readonly kind: "empty" }
  | { readonly kind: "undecodable"; readonly raw: Uint8Array; readonly error: CodedError }
  /** the blobs do not match the blob transaction, or have another format than this chain's */
  | { readonly kind: "bad-blobs"; readonly reason: string }
  | { readonly kind: "bad-signature" }
  /** it executes messages of other chains, and cannot here or now */
  | { readonly kind: "message-refused"; readonly reason: string }
  | { readonly kind: "type-not-supported" }
  | { readonly kind: "unprotected" }
  | { readonly kind: "fee-above-cap"; readonly feeWei: bigint; readonly capWei: bigint };

/** Why a call or an estimate has no result. Reverts are not included: they are the same in both profiles. */
export type CallFault =
  | {
      readonly kind: "halt";
      readonly halt: Exclude<HaltReason, "revert">;
      /** set if `halt` is invalid-opcode */
      readonly invalidOpcode: number | undefined;
      readonly gasLimit: bigint;
    }
  | { readonly kind: "gas-exceeds-allowance"; readonly allowance: bigint }
  /** the gas does not cover the transaction's minimum; `of`: the intrinsic gas, or the floor of EIP-7623 */
  | {
      readonly kind: "intrinsic-gas";
      readonly of: "transaction" | "floor";
      readonly gasLimit: bigint;
      readonly minimum: bigint;
    }
  | {
      readonly kind: "insufficient-funds";
      readonly address: string;
      readonly haveWei: bigint;
      readonly valueWei: bigint;
      /** the cost of all its gas; 0 if it offers no fee */
      readonly gasWei: bigint;
      /** the gas that the balance can buy after the value is paid; undefined: the balance does not cover the value */
      readonly affordableGas: bigint | undefined;
    }
  | { readonly kind: "fee-below-base-fee"; readonly address: string; readonly maxFeeWei: bigint; readonly baseFeeWei: bigint }
  | { readonly kind: "tip-above-fee-cap"; readonly address: string; readonly tipWei: bigint; readonly maxFeeWei: bigint }
  /** the contents make no valid transaction, whatever its gas and fees */
  | { readonly kind: "contents"; readonly fault: ContentsFault; readonly address: string; readonly details: ContentsDetails }
  /** the block's fork has no transactions with this field */
  | { readonly kind: "type-not-supported"; readonly field: "access list" | "blob" | "setcode"; readonly address: string }
  | { readonly kind: "blob-fee-too-low"; readonly address: string; readonly maxFeeWei: bigint; readonly blobBaseFeeWei: bigint }
  | { readonly kind: "blob-fee-without-blobs" }
  | { readonly kind: "both-fee-models" }
  | { readonly kind: "wrong-chain-id"; readonly have: bigint; readonly want: bigint }
  | { readonly kind: "timeout"; readonly timeoutMs: number };

/** What `debug_getRaw…` encodes of a block. */
export type RawPart = "header" | "block" | "receipts";

/** Numbers that the texts of contents faults name. */
export interface ContentsDetails {
  readonly initcodeBytes: number;
  readonly maxInitcodeBytes: number;
  readonly blobs: number;
  /** index of the first blob hash of another version than 1; −1: none */
  readonly badBlob: number;
}

/** Why no block could contain the transaction that a call stands for. */
export type ValidityFault = Exclude<CallFault, { readonly kind: "halt" | "gas-exceeds-allowance" | "timeout" }>;

/** A fault of a simulated call, which ends `eth_simulateV1`. */
export type SimulationFault =
  | ValidityFault
  | {
      readonly kind: "nonce";
      readonly fault: "too-low" | "too-high" | "max";
      readonly address: string;
      readonly have: bigint;
      readonly want: bigint;
    };

/** The method by which a call was requested, and the gas it specified. */
export interface AskedCall {
  readonly method: "call" | "estimate" | "access-list";
  readonly gas: bigint;
  /** hash of the transaction that the call stands for; only for an access list */
  readonly transactionHash?: (() => string) | undefined;
}

/** Why a log query was refused. */
export type LogQueryFault =
  /** the range begins or ends at `pending` */
  | { readonly kind: "pending" }
  /** no block has that hash */
  | { readonly kind: "unknown-block"; readonly hash: Uint8Array }
  | { readonly kind: "bad-range" }
  | { readonly kind: "beyond-head"; readonly requested: number; readonly head: number }
  | { readonly kind: "too-many-blocks"; readonly limit: number; readonly fromBlock: number; readonly toBlock: number }
  | { readonly kind: "too-many-logs"; readonly limit: number; readonly fromBlock: number; readonly toBlock: number }
  /** the answer would exceed the limit */
  | { readonly kind: "too-large"; readonly limitBytes: number; readonly fromBlock: number; readonly toBlock: number }
  | { readonly kind: "hash-and-range" };

export type FeeHistoryFault =
  | { readonly kind: "bad-percentiles"; readonly detail: string }
  | { readonly kind: "beyond-head"; readonly requested: number; readonly head: number };

/** Why a conditional transaction was refused. */
type ConditionalRefusal =
  | { readonly kind: "too-costly"; readonly cost: number; readonly limit: number }
  | { readonly kind: "not-met"; readonly fault: ConditionalFault };

/**
 * Texts and codes of application errors, with one exhaustive row per case.
 * Spec: docs/protocol/04-rpc.md#statuses-and-errors, docs/protocol/04-rpc.md#error-catalogue
 */
export interface ErrorTable {
  readonly submission: (fault: SubmissionFault) => RpcErrorBody;
  readonly poolRefusal: Readonly<Record<PoolRefusal, (data: Readonly<Record<string, bigint>>) => RpcErrorBody>>;
  /** @param asked undefined: a method without its own wording */
  readonly call: (fault: CallFault, asked?: AskedCall) => RpcErrorBody;
  readonly simulation: (fault: SimulationFault) => RpcErrorBody;
  /** @param isKnown the block exists but is not canonical, as the request demands */
  readonly blockNotFound: (selector: BlockSelector, isKnown?: boolean) => RpcErrorBody;
  /**
   * The block exists, but its state is unavailable.
   *
   * @param oldest number of the oldest block whose state can be read; undefined: unknown
   */
  readonly stateUnavailable: (selector: BlockSelector, header?: Header, oldest?: number) => RpcErrorBody;
  /** `debug_getRaw…` of a block that does not exist */
  readonly rawNotFound: (selector: BlockSelector, what: RawPart) => RpcErrorBody;
  /** the block exists, but its receipts, senders and logs were pruned */
  readonly historyPruned: RpcErrorBody;
  readonly proofUnavailable: (selector: BlockSelector) => RpcErrorBody;
  readonly transactionNotFound: RpcErrorBody;
  /** a `debug_` method was asked to trace a transaction that does not exist */
  readonly tracedTransactionNotFound: RpcErrorBody;
  readonly tracedBlockNotFound: (selector: BlockSelector) => RpcErrorBody;
  readonly logQuery: (fault: LogQueryFault) => RpcErrorBody;
  /** the pool would take the transaction, but no block could include it yet, so it was not taken (EIP-7966) */
  readonly notReady: (wait: PoolWait, hash: string) => RpcErrorBody;
  /** the transaction was sent, but was not in a block before the timeout (EIP-7966) */
  readonly receiptTimeout: (hash: string, waitMs: number) => RpcErrorBody;
  readonly filterNotFound: RpcErrorBody;
  /** a subscription to receipts names more transactions than one may */
  readonly tooManyReceiptHashes: (limit: number) => RpcErrorBody;
  readonly feeHistory: (fault: FeeHistoryFault) => RpcErrorBody;
  readonly conditional: (refusal: ConditionalRefusal) => RpcErrorBody;
  /** the request needs a signature with a key that this client does not have */
  readonly unknownAccount: (reason: string) => RpcErrorBody;
  readonly unsupportedTracer: (name: string, native: readonly string[]) => RpcErrorBody;
  readonly genesisNotTraceable: RpcErrorBody;
  readonly invalidTracerConfig: (detail: string) => RpcErrorBody;
  readonly attributes: (fault: AttributesFault, reason: string) => RpcErrorBody;
  readonly forkchoice: (fault: ForkchoiceFault) => RpcErrorBody;
}

/** Which client's answers to give (docs/faces.md). This object holds all the differences; nothing else asks which profile is active. */
export interface Profile {
  readonly name: ProfileName;
  readonly dialect: RpcDialect;
  readonly errors: ErrorTable;
  readonly parameters: ParameterRules;
  /** @param version version of the program */
  readonly clientVersion: (version: string) => string;
  /** a synced node answers `eth_syncing` with an object that lists stages, instead of false */
  readonly hasSyncStages: boolean;
  readonly servesRpcModules: boolean;
  readonly servesTrace: boolean;
  /** `admin_clearTxpool` */
  readonly servesClearTxpool: boolean;
  /** the methods of sequencer-defined metering are served, on OP Stack chains */
  readonly servesSdm: boolean;
  /** proof-of-work methods still exist and answer with zero, false or the error `unimplemented`, as in Reth */
  readonly servesMining: boolean;
  /** `engine_exchangeTransitionConfigurationV1`, which the specification has let clients omit since Cancun */
  readonly servesTransitionConfiguration: boolean;
  readonly traces: TraceDialect;
  readonly block: {
    readonly hasTotalDifficulty: boolean;
    /** hash, nonce and miner of the `pending` block are null, although it is the latest block */
    readonly pendingHasNoIdentity: boolean;
  };
  readonly transaction: {
    /** keys of deposits that are present or absent */
    readonly deposit: {
      /** a creation has `to: null` instead of no key */
      readonly hasNullRecipient: boolean;
      readonly hasYParity: boolean;
      /** nonce `0x0` instead of no key where the receipt has none (before Regolith) */
      readonly hasNonceBeforeRegolith: boolean;
      readonly systemFlag: "0x1" | true;
    };
    /** post-exec transactions have `nonce`, `to: null` and a signature of zeros, and no price; otherwise the base fee is their price */
    readonly postExecLooksSigned: boolean;
  };
  readonly receipt: {
    /** deposits have all L1 fields, not only `l1Fee`, which is zero */
    readonly depositsHaveL1Fields: boolean;
    /** before Ecotone, `l1BaseFeeScalar` holds the raw scalar */
    readonly hasRawScalarBeforeEcotone: boolean;
    /** the block's fork decides whether it is shown, not the format of the block's L1 attributes: Ecotone's first block has none */
    readonly l1FeeScalarByFork: boolean;
    /** deposits have `blobGasUsed` from Jovian on */
    readonly depositsHaveBlobGasUsed: boolean;
    /** post-exec transactions go to the zero address instead of null */
    readonly postExecHasRecipient: boolean;
  };
  /** log queries and filters */
  readonly logs: {
    /** a range may not name `pending` */
    readonly refusesPending: boolean;
    /**
     * the range of a filter or subscription is checked when it is installed, and it bounds the events of a subscription: the
     * range must not end before it begins, and must end at a number or `latest`
     */
    readonly checksFilterRange: boolean;
  };
  /** the code hash and storage hash of an absent account in proofs are zero instead of the empty ones */
  readonly proofsHaveZeroHashes: boolean;
  /** raw encodings of an unknown block number or transaction */
  readonly raw: {
    /** a block of an unknown number is empty bytes instead of an error */
    readonly unknownNumberIsEmpty: boolean;
    /** an unknown transaction is null instead of empty bytes */
    readonly unknownTransactionIsNull: boolean;
  };
  /** `eth_fillTransaction` shows the fees of the other fee model as null */
  readonly fillsNullFees: boolean;
  readonly calls: {
    /** a `gasPrice` below the base fee is refused, as a `maxFeePerGas` is; otherwise it is charged as it is */
    readonly comparesGasPrice: boolean;
    /** the fee cap is compared with the base fee before the tip is compared with the fee cap */
    readonly comparesBaseFeeFirst: boolean;
    /** a call with a tip and no fee cap offers the base fee and the tip; otherwise its fee cap is 0, and the tip above it */
    readonly tipAloneOffersBaseFee: boolean;
    /**
     * the gas of `eth_call` is lowered to what the sender can pay for; otherwise a call that the sender cannot pay for is
     * rejected
     */
    readonly capsGasByFunds: boolean;
    /** an estimate whose request names less than 21,000 gas fails; otherwise such gas is ignored */
    readonly honorsLittleGas: boolean;
    /** a revert without data has `data: "0x"` instead of none */
    readonly revertsHaveEmptyData: boolean;
    /** a blob fee cap of 0 counts as none */
    readonly ignoresZeroBlobFee: boolean;
    /** a blob fee cap without blob hashes is refused */
    readonly blobFeeNeedsBlobs: boolean;
    /** simulated calls are checked for their fees, contents and gas before the sender's nonce */
    readonly checksNonceLate: boolean;
    /** the gas of `eth_createAccessList` is that of the call without the list */
    readonly accessListGasIsWithout: boolean;
    /** its error has the reason of a revert */
    readonly accessListHasReason: boolean;
    /** `eth_createAccessList` without fees takes the suggested ones, so that the sender must be able to pay */
    readonly accessListFillsFees: boolean;
  };
  readonly feeHistory: {
    /** `blobGasUsedRatio` on an OP Stack chain: the DA footprint as a part of Ethereum's blob maximum, instead of 0 */
    readonly countsFootprint: boolean;
    /** ratios of no blocks are `[]`, not null; rewards of no percentiles are `[]`, not absent */
    readonly hasEmptyLists: boolean;
  };
  /** `eth_config` on an OP Stack chain: Ethereum's blob schedule and contracts for requests, which do nothing there */
  readonly configHasL1Rules: boolean;
  /** `eth_getHeaderBy…` has the size of the block */
  readonly headersHaveSize: boolean;
  /** blocks of `eth_simulateV1` on an OP Stack chain */
  readonly simulation: {
    /** the error for a request without blocks */
    readonly noBlocksText: string;
    /** `parentBeaconBlockRoot` is the parent's, not zero */
    readonly keepsBeaconRoot: boolean;
    /** `extraData` is the parent's, not empty */
    readonly keepsExtraData: boolean;
    /** `blobGasUsed` is their DA footprint, not 0 */
    readonly countsFootprint: boolean;
  };
  /** `debug_executionWitness` */
  readonly witness: {
    readonly hasKeys: boolean;
    /** headers are objects, the parent first, instead of RLP, the parent last */
    readonly hasHeaderObjects: boolean;
    /** `debug_executePayload` and `debug_proofsSyncStatus` are served, on OP Stack chains */
    readonly servesPayloads: boolean;
  };
  readonly txpool: { readonly hasChecksumAddresses: boolean };
  /** `debug_accountRange` and `debug_dumpBlock` */
  readonly dump: {
    /** the root has the prefix `0x` */
    readonly hasPrefix: boolean;
    /** omit accounts of which only the address hash is known, unless the request includes them */
    readonly leavesOutIncompletes: boolean;
  };
  readonly rpc: {
    /** transactions without replay protection are accepted */
    readonly acceptsUnprotected: boolean;
    readonly maxBlocksPerFilter: number;
    readonly maxLogsPerResponse: number;
    /** transactions that one subscription to receipts may name */
    readonly maxReceiptHashes: number;
  };
}
