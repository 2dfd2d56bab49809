import type { Hex } from "@rnode/primitives";
import type { ExactFields } from "../params/exact-fields.ts";
import type { Withdrawal } from "./block.ts";

/**
 * Input of the engine from derivation and sequencer. Spec: docs/protocol/01-execution.md#payload-attributes-and-payload-id. JSON
 * forms: `payload-json.ts`.
 */
export interface PayloadAttributes {
  readonly timestamp: number;
  readonly prevRandao: Uint8Array;
  readonly suggestedFeeRecipient: Uint8Array;
  /** undefined before Canyon */
  readonly withdrawals?: readonly Withdrawal[] | undefined;
  /** from Ecotone */
  readonly parentBeaconBlockRoot?: Uint8Array | undefined;
  /** forced transactions, EIP-2718 encoded, the L1 attributes deposit first */
  readonly transactions?: readonly Uint8Array[] | undefined;
  readonly noTxPool: boolean;
  /** required on OP Stack chains */
  readonly gasLimit?: bigint | undefined;
  /** 8 bytes, from Holocene */
  readonly eip1559Params?: Uint8Array | undefined;
  /** from Jovian */
  readonly minBaseFee?: bigint | undefined;
  /** see `Header.exact`; only the timestamp */
  readonly exact?: ExactFields | undefined;
}

/** An execution payload of any version: a block without the header fields that can be derived. */
export interface ExecutionPayload {
  readonly parentHash: Uint8Array;
  readonly feeRecipient: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly receiptsRoot: Uint8Array;
  readonly logsBloom: Uint8Array;
  readonly prevRandao: Uint8Array;
  readonly blockNumber: number;
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
  readonly timestamp: number;
  readonly extraData: Uint8Array;
  readonly baseFeePerGas: bigint;
  readonly blockHash: Uint8Array;
  /** EIP-2718 encoded */
  readonly transactions: readonly Uint8Array[];
  readonly withdrawals?: readonly Withdrawal[] | undefined;
  readonly blobGasUsed?: bigint | undefined;
  readonly excessBlobGas?: bigint | undefined;
  /** from Isthmus: storage root of the message passer */
  readonly withdrawalsRoot?: Uint8Array | undefined;
  /** see `Header.exact` */
  readonly exact?: ExactFields | undefined;
}

/** A payload and the one header field that is sent with it. */
export interface ExecutionPayloadEnvelope {
  readonly executionPayload: ExecutionPayload;
  readonly parentBeaconBlockRoot?: Uint8Array | undefined;
}

export type PayloadStatusV1 =
  | { readonly status: "VALID"; readonly latestValidHash: Hex; readonly validationError?: undefined }
  | { readonly status: "INVALID"; readonly latestValidHash: Hex | null; readonly validationError: string }
  | { readonly status: "SYNCING" | "ACCEPTED"; readonly latestValidHash: null; readonly validationError?: undefined };
