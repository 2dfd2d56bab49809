import { bigintToBytes, bytesToBigint, bytesToHex, CodedError, concatBytes, hexToBytes, isZeroBytes } from "@rnode/primitives";
import type { ExecutionPayload } from "../blocks/payload.ts";
import type { L2BlockRef } from "../blocks/refs.ts";
import type { RollupConfig, SystemConfig } from "../chains/rollup-config.ts";
import { derivationFactsAt, rollupRulesAt } from "../forks/fork-times.ts";
import { extraDataBytes, hasMinBaseFee } from "../params/eip1559-params.ts";
import { L1_INFO_LAYOUTS } from "../params/l1-info-layouts.ts";
import { encodeFeeScalar, isFeeScalarValid } from "../params/system-config-scalar.ts";
import { readContractLogs, type SkippedLog } from "../transactions/contract-logs.ts";
import { depositCalldata } from "../transactions/deposits.ts";
import type { Log, Receipt } from "../transactions/receipt.ts";
import { decodeL1BlockInfo, type L1BlockInfo, type L1InfoErrorCode } from "./l1-attributes.ts";
import { passingUpgradeGasAt } from "./upgrade-transactions.ts";

/** `ConfigUpdate(uint256,uint8,bytes)` */
export const CONFIG_UPDATE_TOPIC = hexToBytes("0x1d2b0bda21d56b8bd12d4f94ebacffdfb35f5e226f84b461103bb8beab6353be");

export type SystemConfigErrorCode =
  | "system-config/bad-scalar"
  | "system-config/wrong-topics"
  | "system-config/unknown-version"
  | "system-config/unknown-update-type"
  | "system-config/bad-update"
  | "system-config/bad-eip1559-params"
  | "system-config/bad-extra-data"
  | "system-config/wrong-genesis";

export const CONFIG_UPDATE_TYPES = {
  batcher: 0,
  feeScalars: 1,
  gasLimit: 2,
  unsafeBlockSigner: 3,
  eip1559Params: 4,
  operatorFeeParams: 5,
  minBaseFee: 6,
  daFootprintGasScalar: 7,
} as const;

/**
 * The SystemConfig after the updates of one L1 block, in log order. Other logs are skipped. Spec:
 * docs/protocol/02-derivation.md#systemconfig-updates
 *
 * @param l1TimestampSec of that L1 block: from Ecotone on, fee scalars have another encoding
 */
export function applySystemConfigUpdates(
  config: RollupConfig,
  systemConfig: SystemConfig,
  receipts: readonly Receipt[],
  l1TimestampSec: number,
): { readonly systemConfig: SystemConfig; readonly skipped: readonly SkippedLog[] } {
  const source = { address: config.l1SystemConfigAddress, topic: CONFIG_UPDATE_TOPIC };
  const { hasVersionedFeeScalars } = derivationFactsAt(config.forkTimes, l1TimestampSec);
  const { read, skipped } = readContractLogs(receipts, source, (log) => updateFromLog(log, hasVersionedFeeScalars));
  const updated: SystemConfig = Object.assign({}, systemConfig, ...read);
  return { systemConfig: updated, skipped };
}

/** The fields that an update sets. @throws {CodedError} system-config/* */
function updateFromLog({ topics, data }: Log, hasVersionedFeeScalars: boolean): Partial<SystemConfig> {
  const [, version, type] = topics;
  if (version === undefined || type === undefined || topics.length !== 3) {
    throw new CodedError<SystemConfigErrorCode>("system-config/wrong-topics", { count: topics.length });
  }
  if (!isZeroBytes(version)) throw new CodedError<SystemConfigErrorCode>("system-config/unknown-version");
  const updateType = bytesToBigint(type);
  const payload = (words: number) => updatePayload(data, words, updateType);
  const uint = (length: number) => unpadded(payload(1), length, updateType);
  switch (Number(updateType)) {
    case CONFIG_UPDATE_TYPES.batcher:
      return { batcherAddress: uint(20) };
    case CONFIG_UPDATE_TYPES.feeScalars: {
      const words = payload(2);
      const scalar = words.subarray(32);
      if (!hasVersionedFeeScalars) return { overhead: words.subarray(0, 32), scalar };
      if (isFeeScalarValid(scalar)) return { overhead: new Uint8Array(32), scalar };
      throw new CodedError<SystemConfigErrorCode>("system-config/bad-scalar", { version: scalar[0]! });
    }
    case CONFIG_UPDATE_TYPES.gasLimit:
      return { gasLimit: bytesToBigint(uint(8)) };
    case CONFIG_UPDATE_TYPES.unsafeBlockSigner:
      // Its value is read from the contract's storage instead.
      uint(20);
      return {};
    case CONFIG_UPDATE_TYPES.eip1559Params: {
      const params = payload(1).subarray(24); // the bytes before it are not checked, as in op-node
      // Two zeros select the chain's constants. A single zero is invalid.
      if (isZeroBytes(params.subarray(0, 4)) !== isZeroBytes(params.subarray(4))) {
        throw new CodedError<SystemConfigErrorCode>("system-config/bad-eip1559-params");
      }
      return { eip1559Params: params };
    }
    case CONFIG_UPDATE_TYPES.operatorFeeParams: {
      const params = payload(1).subarray(20); // the bytes before it are not checked, as in op-node and kona
      return {
        operatorFeeScalar: Number(bytesToBigint(params.subarray(0, 4))),
        operatorFeeConstant: bytesToBigint(params.subarray(4)),
      };
    }
    case CONFIG_UPDATE_TYPES.minBaseFee:
      return { minBaseFee: bytesToBigint(uint(8)) };
    case CONFIG_UPDATE_TYPES.daFootprintGasScalar:
      return { daFootprintGasScalar: Number(bytesToBigint(uint(2))) };
    default:
      throw new CodedError<SystemConfigErrorCode>("system-config/unknown-update-type", { updateType });
  }
}

/** The words of an update's data: word 32 ‖ word length ‖ payload of `words` words. */
function updatePayload(data: Uint8Array, words: number, updateType: bigint): Uint8Array {
  const length = words * 32;
  const isWellFormed =
    data.length === 64 + length &&
    bytesToBigint(data.subarray(0, 32)) === 32n &&
    bytesToBigint(data.subarray(32, 64)) === BigInt(length);
  if (!isWellFormed) throw new CodedError<SystemConfigErrorCode>("system-config/bad-update", { updateType, length: data.length });
  return data.subarray(64);
}

/** The last `length` bytes of a word whose other bytes must be 0. */
function unpadded(word: Uint8Array, length: number, updateType: bigint): Uint8Array {
  if (!isZeroBytes(word.subarray(0, 32 - length))) {
    throw new CodedError<SystemConfigErrorCode>("system-config/bad-update", { updateType });
  }
  return word.subarray(32 - length);
}

/** The fields of a payload that determine refs and the SystemConfig. */
export type PayloadFacts = Pick<
  ExecutionPayload,
  "blockHash" | "parentHash" | "blockNumber" | "timestamp" | "gasLimit" | "extraData" | "transactions"
>;

/** PERF: a block's ref and its SystemConfig both come from its L1 info, and some are needed several times. */
const decodedInfos = new WeakMap<Uint8Array, L1BlockInfo>();

/** The L1 info of a block after genesis. @throws {CodedError} l1-info/*, deposit/not-a-deposit, rlp/* */
export function l1InfoOfPayload(payload: Pick<PayloadFacts, "transactions">): L1BlockInfo {
  const first = payload.transactions[0];
  if (first === undefined) throw new CodedError<L1InfoErrorCode>("l1-info/missing");
  let info = decodedInfos.get(first);
  if (info === undefined) {
    info = decodeL1BlockInfo(depositCalldata(first));
    decodedInfos.set(first, info);
  }
  return info;
}

/**
 * The SystemConfig at an L2 block. Spec: docs/protocol/02-derivation.md#systemconfig-from-an-l2-payload
 *
 * @throws {CodedError} l1-info/*, deposit/not-a-deposit, system-config/bad-extra-data, system-config/wrong-genesis, rlp/*
 */
export function systemConfigFromPayload(config: RollupConfig, payload: PayloadFacts): SystemConfig {
  if (payload.blockNumber === config.genesis.l2.number) {
    assertGenesis(config, payload);
    return config.genesis.systemConfig;
  }
  const info = l1InfoOfPayload(payload);
  const { timestamp } = payload;
  const { extraDataVersion } = rollupRulesAt(config.forkTimes, timestamp);
  if (extraDataVersion !== undefined && payload.extraData.length !== extraDataBytes(extraDataVersion)) {
    throw new CodedError<SystemConfigErrorCode>("system-config/bad-extra-data", { got: payload.extraData.length });
  }
  return {
    batcherAddress: info.batcherHash.subarray(12),
    overhead: info.overhead,
    scalar: L1_INFO_LAYOUTS[info.layout].isPacked ? encodeFeeScalar(info) : info.scalar,
    gasLimit: payload.gasLimit - passingUpgradeGasAt(config, timestamp),
    eip1559Params: extraDataVersion === undefined ? new Uint8Array(8) : payload.extraData.subarray(1, 9),
    operatorFeeScalar: info.operatorFeeScalar,
    operatorFeeConstant: info.operatorFeeConstant,
    minBaseFee: hasMinBaseFee(extraDataVersion) ? bytesToBigint(payload.extraData.subarray(9, 17)) : 0n,
    daFootprintGasScalar: info.daFootprintGasScalar,
  };
}

/** @throws {CodedError} l1-info/*, deposit/not-a-deposit, system-config/wrong-genesis, rlp/* */
export function l2BlockRefFromPayload(config: RollupConfig, payload: PayloadFacts): L2BlockRef {
  const block = {
    hash: bytesToHex(payload.blockHash),
    number: payload.blockNumber,
    parentHash: bytesToHex(payload.parentHash),
    timestamp: payload.timestamp,
  };
  if (payload.blockNumber === config.genesis.l2.number) {
    assertGenesis(config, payload);
    return { ...block, l1Origin: config.genesis.l1, sequenceNumber: 0 };
  }
  const info = l1InfoOfPayload(payload);
  return { ...block, l1Origin: { hash: bytesToHex(info.blockHash), number: info.number }, sequenceNumber: info.sequenceNumber };
}

function assertGenesis(config: RollupConfig, payload: Pick<PayloadFacts, "blockHash">): void {
  const got = bytesToHex(payload.blockHash);
  const expected = config.genesis.l2.hash;
  if (got !== expected) throw new CodedError<SystemConfigErrorCode>("system-config/wrong-genesis", { expected, got });
}

/** SystemConfig's operator fee as one word, the form that rollup configs use: 20 zero bytes ‖ scalar u32 ‖ constant u64. */
export function encodeOperatorFeeParams(params: Pick<SystemConfig, "operatorFeeScalar" | "operatorFeeConstant">): Uint8Array {
  return concatBytes(
    new Uint8Array(20),
    bigintToBytes(BigInt(params.operatorFeeScalar), 4),
    bigintToBytes(params.operatorFeeConstant, 8),
  );
}
