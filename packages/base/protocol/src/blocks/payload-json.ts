import { bytesToHex, type Hex, isHexOf, toQuantity } from "@rnode/primitives";
import { exactFields, exactNumber, exactTimestamp } from "../params/exact-fields.ts";
import {
  type JsonParser,
  jsonAddress,
  jsonArray,
  jsonBoolean,
  jsonBytes,
  jsonHash,
  jsonObject,
  jsonQuantity64,
  jsonQuantity256,
  optionalField,
  optionalHex,
  requiredField,
  withoutUndefined,
} from "../params/json-fields.ts";
import type { Withdrawal } from "./block.ts";
import type { ExecutionPayload, ExecutionPayloadEnvelope, PayloadAttributes } from "./payload.ts";

/** `data.err` of rengine's error if the execution of a block takes too long. Code −32000 */
export const EXECUTION_TOO_LONG = "execution-too-long";

/**
 * JSON forms of the Engine API. Unknown keys are ignored, null counts as missing. Spec:
 * docs/protocol/04-rpc.md#payload-attributes-json, docs/protocol/04-rpc.md#execution-payload-json
 */
export interface WithdrawalJson {
  readonly index: Hex;
  readonly validatorIndex: Hex;
  readonly address: Hex;
  /** gwei */
  readonly amount: Hex;
}

export interface PayloadAttributesJson {
  readonly timestamp: Hex;
  readonly prevRandao: Hex;
  readonly suggestedFeeRecipient: Hex;
  readonly withdrawals?: readonly WithdrawalJson[] | undefined;
  readonly parentBeaconBlockRoot?: Hex | undefined;
  readonly transactions?: readonly Hex[] | undefined;
  readonly noTxPool?: boolean | undefined;
  readonly gasLimit?: Hex | undefined;
  readonly eip1559Params?: Hex | undefined;
  /** a plain integer, unlike the other fields; a quantity if a number cannot represent it exactly */
  readonly minBaseFee?: number | Hex | undefined;
}

export interface ExecutionPayloadJson {
  readonly parentHash: Hex;
  readonly feeRecipient: Hex;
  readonly stateRoot: Hex;
  readonly receiptsRoot: Hex;
  readonly logsBloom: Hex;
  readonly prevRandao: Hex;
  readonly blockNumber: Hex;
  readonly gasLimit: Hex;
  readonly gasUsed: Hex;
  readonly timestamp: Hex;
  readonly extraData: Hex;
  readonly baseFeePerGas: Hex;
  readonly blockHash: Hex;
  readonly transactions: readonly Hex[];
  readonly withdrawals?: readonly WithdrawalJson[] | undefined;
  readonly blobGasUsed?: Hex | undefined;
  readonly excessBlobGas?: Hex | undefined;
  readonly withdrawalsRoot?: Hex | undefined;
}

export interface ExecutionPayloadEnvelopeJson {
  readonly executionPayload: ExecutionPayloadJson;
  readonly parentBeaconBlockRoot?: Hex | undefined;
}

const optionalQuantity = (value: bigint | undefined): Hex | undefined => (value === undefined ? undefined : toQuantity(value));

export function withdrawalToJson(withdrawal: Withdrawal): WithdrawalJson {
  return {
    index: toQuantity(withdrawal.index),
    validatorIndex: toQuantity(withdrawal.validatorIndex),
    address: bytesToHex(withdrawal.address),
    amount: toQuantity(withdrawal.amount),
  };
}

/** @throws {CodedError} json/invalid */
export const withdrawalFromJson: JsonParser<Withdrawal> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    index: requiredField(object, path, "index", jsonQuantity64),
    validatorIndex: requiredField(object, path, "validatorIndex", jsonQuantity64),
    address: requiredField(object, path, "address", jsonAddress),
    amount: requiredField(object, path, "amount", jsonQuantity64),
  };
};

export function attributesToJson(attributes: PayloadAttributes): PayloadAttributesJson {
  const { minBaseFee } = attributes;
  return withoutUndefined<PayloadAttributesJson>({
    timestamp: toQuantity(exactTimestamp(attributes)),
    prevRandao: bytesToHex(attributes.prevRandao),
    suggestedFeeRecipient: bytesToHex(attributes.suggestedFeeRecipient),
    withdrawals: attributes.withdrawals?.map(withdrawalToJson),
    parentBeaconBlockRoot: optionalHex(attributes.parentBeaconBlockRoot),
    transactions: attributes.transactions?.map(bytesToHex),
    noTxPool: attributes.noTxPool ? true : undefined,
    gasLimit: optionalQuantity(attributes.gasLimit),
    eip1559Params: optionalHex(attributes.eip1559Params),
    minBaseFee:
      minBaseFee === undefined ? undefined : minBaseFee <= Number.MAX_SAFE_INTEGER ? Number(minBaseFee) : toQuantity(minBaseFee),
  });
}

const jsonIntegerOrQuantity64: JsonParser<bigint> = (value, key) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : jsonQuantity64(value, key);

/**
 * Checks types only; the engine checks which fields a fork requires.
 *
 * @param path the parameter's name, for errors
 * @throws {CodedError} json/invalid
 */
export function attributesFromJson(value: unknown, path = "payloadAttributes"): PayloadAttributes {
  const object = jsonObject(value, path);
  const timestamp = requiredField(object, path, "timestamp", jsonQuantity64);
  const exact = exactFields(undefined, timestamp);
  return {
    timestamp: Number(timestamp),
    prevRandao: requiredField(object, path, "prevRandao", jsonHash),
    suggestedFeeRecipient: requiredField(object, path, "suggestedFeeRecipient", jsonAddress),
    withdrawals: optionalField(object, path, "withdrawals", jsonArray(withdrawalFromJson)),
    parentBeaconBlockRoot: optionalField(object, path, "parentBeaconBlockRoot", jsonHash),
    transactions: optionalField(object, path, "transactions", jsonArray(jsonBytes())),
    noTxPool: optionalField(object, path, "noTxPool", jsonBoolean) ?? false,
    gasLimit: optionalField(object, path, "gasLimit", jsonQuantity64),
    eip1559Params: optionalField(object, path, "eip1559Params", jsonBytes(8)),
    minBaseFee: optionalField(object, path, "minBaseFee", jsonIntegerOrQuantity64),
    ...(exact !== undefined && { exact }),
  };
}

export function payloadToJson(payload: ExecutionPayload): ExecutionPayloadJson {
  return withoutUndefined<ExecutionPayloadJson>({
    parentHash: bytesToHex(payload.parentHash),
    feeRecipient: bytesToHex(payload.feeRecipient),
    stateRoot: bytesToHex(payload.stateRoot),
    receiptsRoot: bytesToHex(payload.receiptsRoot),
    logsBloom: bytesToHex(payload.logsBloom),
    prevRandao: bytesToHex(payload.prevRandao),
    blockNumber: toQuantity(exactNumber({ number: payload.blockNumber, exact: payload.exact })),
    gasLimit: toQuantity(payload.gasLimit),
    gasUsed: toQuantity(payload.gasUsed),
    timestamp: toQuantity(exactTimestamp(payload)),
    extraData: bytesToHex(payload.extraData),
    baseFeePerGas: toQuantity(payload.baseFeePerGas),
    blockHash: bytesToHex(payload.blockHash),
    transactions: payload.transactions.map(bytesToHex),
    withdrawals: payload.withdrawals?.map(withdrawalToJson),
    blobGasUsed: optionalQuantity(payload.blobGasUsed),
    excessBlobGas: optionalQuantity(payload.excessBlobGas),
    withdrawalsRoot: optionalHex(payload.withdrawalsRoot),
  });
}

/** The encoded transactions of a block by its hash. */
export type KnownTransactions = (blockHash: Uint8Array) => readonly Uint8Array[] | undefined;

/**
 * @param known if its array equals the payload's transactions, that array becomes the result's `transactions`
 * @throws {CodedError} json/invalid
 */
export function payloadFromJson(
  value: unknown,
  path = "executionPayload",
  known: KnownTransactions = () => undefined,
): ExecutionPayload {
  const object = jsonObject(value, path);
  const blockHash = requiredField(object, path, "blockHash", jsonHash);
  const knownTransactions = known(blockHash);
  const blockNumber = requiredField(object, path, "blockNumber", jsonQuantity64);
  const timestamp = requiredField(object, path, "timestamp", jsonQuantity64);
  const exact = exactFields(blockNumber, timestamp);
  const isKnown = knownTransactions !== undefined && isListOf(object.transactions, knownTransactions);
  return {
    parentHash: requiredField(object, path, "parentHash", jsonHash),
    feeRecipient: requiredField(object, path, "feeRecipient", jsonAddress),
    stateRoot: requiredField(object, path, "stateRoot", jsonHash),
    receiptsRoot: requiredField(object, path, "receiptsRoot", jsonHash),
    logsBloom: requiredField(object, path, "logsBloom", jsonBytes(256)),
    prevRandao: requiredField(object, path, "prevRandao", jsonHash),
    blockNumber: Number(blockNumber),
    gasLimit: requiredField(object, path, "gasLimit", jsonQuantity64),
    gasUsed: requiredField(object, path, "gasUsed", jsonQuantity64),
    timestamp: Number(timestamp),
    extraData: requiredField(object, path, "extraData", jsonBytes()),
    baseFeePerGas: requiredField(object, path, "baseFeePerGas", jsonQuantity256),
    blockHash,
    transactions: isKnown ? knownTransactions : requiredField(object, path, "transactions", jsonArray(jsonBytes())),
    withdrawals: optionalField(object, path, "withdrawals", jsonArray(withdrawalFromJson)),
    blobGasUsed: optionalField(object, path, "blobGasUsed", jsonQuantity64),
    excessBlobGas: optionalField(object, path, "excessBlobGas", jsonQuantity64),
    withdrawalsRoot: optionalField(object, path, "withdrawalsRoot", jsonHash),
    ...(exact !== undefined && { exact }),
  };
}

/** Whether `value` is exactly the list of these bytes in hex. */
const isListOf = (value: unknown, items: readonly Uint8Array[]): boolean =>
  Array.isArray(value) &&
  value.length === items.length &&
  items.every((item, index) => {
    const text: unknown = value[index];
    return typeof text === "string" && /^0x/i.test(text) && isHexOf(text, item);
  });

export function envelopeToJson(envelope: ExecutionPayloadEnvelope): ExecutionPayloadEnvelopeJson {
  return withoutUndefined<ExecutionPayloadEnvelopeJson>({
    executionPayload: payloadToJson(envelope.executionPayload),
    parentBeaconBlockRoot: optionalHex(envelope.parentBeaconBlockRoot),
  });
}

/** @throws {CodedError} json/invalid */
export function envelopeFromJson(value: unknown, path = "envelope"): ExecutionPayloadEnvelope {
  const object = jsonObject(value, path);
  return {
    executionPayload: payloadFromJson(object.executionPayload, `${path}.executionPayload`),
    parentBeaconBlockRoot: optionalField(object, path, "parentBeaconBlockRoot", jsonHash),
  };
}
