import { bytesToHex, isCodedError, toQuantity } from "@rnode/primitives";
import {
  applySystemConfigUpdates,
  decodeBatch,
  decodeBatcherData,
  decodeL1BlockInfo,
  depositsFromReceipts,
  encodeTransaction,
  expandSpanBatch,
  L1_INFO_LAYOUT_NAMES,
  type Receipt,
} from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import type { LogBytes } from "./generate.ts";

/** The result, in JSON values of `interop/answers.go`; `null` has no effect. */
export type Reading = readonly unknown[] | "dropped" | null;

const EMITTER = Uint8Array.from({ length: 20 }, (_, i) => (i === 0 ? 0x10 : i === 19 ? 1 : 0));
const BLOCK_HASH = Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? 7 : 0));

const receiptsOf = (logs: readonly LogBytes[]): Receipt[] => [
  {
    type: 2,
    status: 1,
    cumulativeGasUsed: 21_000n,
    bloom: new Uint8Array(256),
    logs: logs.map((log) => ({ address: EMITTER, ...log })),
  },
];

export const readFrames = (data: Uint8Array): Reading =>
  orNull(() =>
    decodeBatcherData(data).map((frame) => [bytesToHex(frame.channelId), frame.number, bytesToHex(frame.data), frame.isLast]),
  );

export interface SpanChain {
  readonly chainId: bigint;
  readonly blockTimeSec: number;
  readonly genesisTimeSec: number;
}

/** `null`: the rest of its channel is dropped; `dropped`: this batch alone */
export function readBatch(data: Uint8Array, chain: SpanChain): Reading {
  const batch = orNull(() => decodeBatch(data));
  if (batch === null) return null;
  if (batch.kind === "singular") {
    const { parentHash, epochNumber, epochHash, timestamp, transactions } = batch;
    const hashes = [bytesToHex(parentHash), toQuantity(epochNumber), bytesToHex(epochHash)];
    return [...hashes, toQuantity(timestamp), transactions.map(bytesToHex)];
  }
  const span = orNull(() => expandSpanBatch(batch, chain));
  if (span === null) return "dropped";
  const blocks = Array.from(span.blocks(), ({ epochNumber, timestamp, transactions }) => [
    toQuantity(BigInt(epochNumber)),
    toQuantity(BigInt(timestamp)),
    transactions.map(bytesToHex),
  ]);
  return [bytesToHex(batch.parentCheck), bytesToHex(batch.l1OriginCheck), blocks];
}

export function readConfig(logs: readonly LogBytes[], isEcotone: boolean, gasLimit: bigint): Reading {
  const before = testSystemConfig({ batcherAddress: new Uint8Array(20), gasLimit });
  const forkTimes = isEcotone ? { regolith: 0, canyon: 0, delta: 0, ecotone: 0 } : { regolith: 0 };
  const config = testRollupConfig({ l1SystemConfigAddress: EMITTER, forkTimes });
  const { systemConfig: after } = applySystemConfigUpdates(config, before, receiptsOf(logs), 1);
  return [
    ...[bytesToHex(after.batcherAddress), bytesToHex(after.overhead), bytesToHex(after.scalar), toQuantity(after.gasLimit)],
    ...[bytesToHex(after.eip1559Params), after.operatorFeeScalar, toQuantity(after.operatorFeeConstant)],
    ...[toQuantity(after.minBaseFee), after.daFootprintGasScalar],
  ];
}

export const readDeposits = (logs: readonly LogBytes[]): Reading =>
  depositsFromReceipts(receiptsOf(logs), EMITTER, BLOCK_HASH).deposits.map((deposit) => bytesToHex(encodeTransaction(deposit)));

export function readAttributes(data: Uint8Array, layout: number): Reading {
  const info = orNull(() => decodeL1BlockInfo(data));
  if (info === null || info.layout !== L1_INFO_LAYOUT_NAMES[layout]) return null;
  return [
    ...[toQuantity(info.number), toQuantity(info.timestamp), toQuantity(info.baseFee), bytesToHex(info.blockHash)],
    ...[toQuantity(info.sequenceNumber), bytesToHex(info.batcherHash.subarray(12)), toQuantity(info.blobBaseFee)],
    ...[info.baseFeeScalar, info.blobBaseFeeScalar, bytesToHex(info.overhead), bytesToHex(info.scalar)],
    ...[info.operatorFeeScalar, toQuantity(info.operatorFeeConstant), info.daFootprintGasScalar],
  ];
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isCodedError(error)) return null;
    throw error;
  }
}
