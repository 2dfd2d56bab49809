import type { AttributesFault, BlockSelector, ForkchoiceFault } from "@rnode/chain";
import type { HaltReason } from "@rnode/evm";
import type { RpcDialect, RpcErrorBody } from "@rnode/jsonrpc";
import type { Header } from "@rnode/protocol";
import type { PoolRefusal } from "@rnode/txpool";
import type { ConditionalFault } from "../params/conditional.ts";
import type { TraceDialect } from "./trace-dialect.ts";

export type ProfileName = "R" | "G";

/** Why a raw transaction was not even looked at by the pool. */
export type SubmissionFault =
  | { readonly kind: "empty" }
  | { readonly kind: "undecodable"; readonly reason: string }
  | { readonly kind: "bad-signature" }
  | { readonly kind: "type-not-supported" }
  | { readonly kind: "unprotected" }
  | { readonly kind: "fee-above-cap"; readonly feeWei: bigint; readonly capWei: bigint };

/** Why a call or an estimate has no result; reverts are the same in both profiles. */
export type CallFault =
  | { readonly kind: "halt"; readonly halt: Exclude<HaltReason, "revert">; readonly gasLimit: bigint }
  | { readonly kind: "gas-exceeds-allowance"; readonly allowance: bigint }
  | { readonly kind: "intrinsic-gas"; readonly gasLimit: bigint; readonly minimum: bigint }
  | {
      readonly kind: "insufficient-funds";
      readonly address: string;
      readonly haveWei: bigint;
      readonly valueWei: bigint;
      /** of all its gas; 0 when it offers no fee */
      readonly gasWei: bigint;
      /** what is left beside the value is enough for so much gas; undefined: there is not even the value */
      readonly affordableGas: bigint | undefined;
    }
  | { readonly kind: "fee-below-base-fee"; readonly address: string; readonly maxFeeWei: bigint; readonly baseFeeWei: bigint }
  | { readonly kind: "tip-above-fee-cap"; readonly address: string; readonly tipWei: bigint; readonly maxFeeWei: bigint }
  | { readonly kind: "both-fee-models" }
  | { readonly kind: "wrong-chain-id"; readonly have: bigint; readonly want: bigint }
  | { readonly kind: "timeout"; readonly timeoutMs: number };

/** By which method a call was asked for, and with how much gas. */
export interface AskedCall {
  readonly method: "call" | "estimate";
  readonly gas: bigint;
}

/** Why a log query has no answer. */
export type LogQueryFault =
  /** there is no block of that hash */
  | { readonly kind: "unknown-block"; readonly hash: Uint8Array }
  | { readonly kind: "bad-range" }
  | { readonly kind: "beyond-head"; readonly head: number }
  | { readonly kind: "too-many-blocks"; readonly limit: number; readonly fromBlock: number; readonly toBlock: number }
  | { readonly kind: "too-many-logs"; readonly limit: number; readonly fromBlock: number; readonly toBlock: number }
  /** the answer would be */
  | { readonly kind: "too-large"; readonly limitBytes: number; readonly fromBlock: number; readonly toBlock: number }
  | { readonly kind: "hash-and-range" };

export type FeeHistoryFault =
  | { readonly kind: "bad-percentiles"; readonly detail: string }
  | { readonly kind: "beyond-head"; readonly requested: number; readonly head: number };

/** Why a conditional transaction was not taken. */
export type ConditionalRefusal =
  | { readonly kind: "too-costly"; readonly cost: number; readonly limit: number }
  | { readonly kind: "not-met"; readonly fault: ConditionalFault };

/**
 * Texts and codes of application errors: one exhaustive row a case.
 * Spec: docs/protocol/04-rpc.md#statuses-and-errors, docs/protocol/04-rpc.md#error-catalogue
 */
export interface ErrorTable {
  readonly submission: (fault: SubmissionFault) => RpcErrorBody;
  readonly poolRefusal: Readonly<Record<PoolRefusal, (data: Readonly<Record<string, bigint>>) => RpcErrorBody>>;
  /** @param asked undefined: by a method without words of its own */
  readonly call: (fault: CallFault, asked?: AskedCall) => RpcErrorBody;
  /** @param isKnown it is there, but not canonical, which is required */
  readonly blockNotFound: (selector: BlockSelector, isKnown?: boolean) => RpcErrorBody;
  /** the state of a block that is there is not, at least not any more */
  readonly stateUnavailable: (selector: BlockSelector, header?: Header) => RpcErrorBody;
  /** receipts, senders and logs of a block that is there were removed */
  readonly historyPruned: RpcErrorBody;
  readonly proofUnavailable: (selector: BlockSelector) => RpcErrorBody;
  readonly transactionNotFound: RpcErrorBody;
  /** asked to trace what is not there, in `debug_` */
  readonly tracedTransactionNotFound: RpcErrorBody;
  readonly tracedBlockNotFound: (selector: BlockSelector) => RpcErrorBody;
  readonly logQuery: (fault: LogQueryFault) => RpcErrorBody;
  /** sent, and not in a block in time (EIP-7966) */
  readonly receiptTimeout: (hash: string, waitMs: number) => RpcErrorBody;
  readonly filterNotFound: RpcErrorBody;
  readonly feeHistory: (fault: FeeHistoryFault) => RpcErrorBody;
  readonly conditional: (refusal: ConditionalRefusal) => RpcErrorBody;
  /** asked to sign with a key that is not here */
  readonly unknownAccount: (reason: string) => RpcErrorBody;
  readonly unsupportedTracer: (name: string, native: readonly string[]) => RpcErrorBody;
  readonly genesisNotTraceable: RpcErrorBody;
  readonly invalidTracerConfig: (detail: string) => RpcErrorBody;
  readonly attributes: (fault: AttributesFault, reason: string) => RpcErrorBody;
  readonly forkchoice: (fault: ForkchoiceFault) => RpcErrorBody;
}

/**
 * Which client's answers are given (docs/faces.md): this object has all the differences, and nothing else asks which profile is on.
 */
export interface Profile {
  readonly name: ProfileName;
  readonly dialect: RpcDialect;
  readonly errors: ErrorTable;
  /** @param version of the program */
  readonly clientVersion: (version: string) => string;
  /** a synced node answers `eth_syncing` with an object of stages instead of false */
  readonly hasSyncStages: boolean;
  readonly servesRpcModules: boolean;
  readonly servesTrace: boolean;
  /** methods of proof of work still have an answer: zero, false, or that they are not implemented */
  readonly servesMining: boolean;
  /** `engine_exchangeTransitionConfigurationV1`, which the specification lets clients leave out since Cancun */
  readonly servesTransitionConfiguration: boolean;
  readonly traces: TraceDialect;
  readonly block: {
    readonly hasTotalDifficulty: boolean;
    /** hash, nonce and miner of the block `pending` are null, although it is the latest block */
    readonly pendingHasNoIdentity: boolean;
  };
  readonly transaction: {
    /** of deposits: keys that are there or not */
    readonly deposit: {
      /** `to: null` of a creation, or no key */
      readonly hasNullRecipient: boolean;
      /** `mint: 0x0`, or no key, when nothing is minted */
      readonly hasZeroMint: boolean;
      readonly hasYParity: boolean;
      /** nonce `0x0`, or no key, where the receipt has none (before Regolith) */
      readonly hasNonceBeforeRegolith: boolean;
      readonly systemFlag: "0x1" | true;
    };
  };
  readonly receipt: {
    readonly depositsHaveL1Fields: boolean;
    /** the raw scalar of before Ecotone under `l1BaseFeeScalar` */
    readonly hasRawScalarBeforeEcotone: boolean;
    /** decided by the fork of the block, not by the form of its L1 attributes: none in Ecotone's first block */
    readonly l1FeeScalarByFork: boolean;
    /** `blobGasUsed` of deposits from Jovian */
    readonly depositsHaveBlobGasUsed: boolean;
  };
  readonly txpool: { readonly hasChecksumAddresses: boolean };
  /** `debug_accountRange` and `debug_dumpBlock` */
  readonly dump: {
    /** `0x` before the root */
    readonly hasPrefix: boolean;
    /** accounts of which only the hash of the address is known, unless they are asked for */
    readonly leavesOutIncompletes: boolean;
  };
  readonly rpc: {
    /** transactions without replay protection are taken */
    readonly acceptsUnprotected: boolean;
    readonly maxBlocksPerFilter: number;
    readonly maxLogsPerResponse: number;
  };
}
