import {
  bigintToBytes,
  bytesToBigint,
  CodedError,
  concatBytes,
  equalBytes,
  isZeroBytes,
  padBytesLeft,
  uint64ToBytes,
} from "@rnode/primitives";
import { FIRST_BLOB_PARAMS } from "../chains/blob-schedule.ts";
import type { BlobScheduleEntry, RollupConfig, SystemConfig } from "../chains/rollup-config.ts";
import { derivationFactsAt, rollupRulesAt } from "../forks/fork-times.ts";
import type { RollupBlockRules } from "../forks/op-forks.ts";
import { L1_INFO_LAYOUT_NAMES, L1_INFO_LAYOUTS, type L1InfoLayout } from "../params/l1-info-layouts.ts";
import { L1_ATTRIBUTES_DEPOSITOR, PREDEPLOYS } from "../params/predeploys.ts";
import { decodeFeeScalar } from "../params/system-config-scalar.ts";
import { blobBaseFee } from "../rules/base-fee.ts";
import { l1FeeParamsFromL1BlockStorage } from "../rules/fees.ts";
import { l1InfoSourceHash } from "../transactions/deposits.ts";
import type { DepositTransaction } from "../transactions/transaction.ts";

/** The L1 attributes in the first transaction of an L2 block. Fields that its layout lacks are 0. */
export interface L1BlockInfo {
  readonly layout: L1InfoLayout;
  readonly number: number;
  /** seconds */
  readonly timestamp: number;
  readonly baseFee: bigint;
  /** 32 bytes */
  readonly blockHash: Uint8Array;
  readonly sequenceNumber: number;
  /** 32 bytes: the batcher's address, left-padded */
  readonly batcherHash: Uint8Array;
  /** 32 bytes; Bedrock only */
  readonly overhead: Uint8Array;
  /** 32 bytes; Bedrock only */
  readonly scalar: Uint8Array;
  readonly blobBaseFee: bigint;
  readonly baseFeeScalar: number;
  readonly blobBaseFeeScalar: number;
  readonly operatorFeeScalar: number;
  readonly operatorFeeConstant: bigint;
  readonly daFootprintGasScalar: number;
}

export type L1InfoErrorCode =
  | "l1-info/unknown-selector"
  | "l1-info/wrong-length"
  | "l1-info/bad-padding"
  | "l1-info/number-too-large"
  | "l1-info/missing";

/** The effective value if the SystemConfig has 0. */
export const DEFAULT_DA_FOOTPRINT_GAS_SCALAR = 400;

const L1_INFO_GAS = 1_000_000n;
/** Before Regolith the deposit is a system transaction, whose gas is not counted. */
const L1_INFO_SYSTEM_GAS = 150_000_000n;
const ZERO_WORD = new Uint8Array(32);

/**
 * The layout of a block's attributes. The activation block of a fork still has the old layout, because the contract is upgraded in
 * that block, unless the fork is active at genesis.
 */
export function l1InfoLayout(config: Pick<RollupConfig, "forkTimes" | "blockTimeSec">, l2TimestampSec: number): L1InfoLayout {
  return derivationFactsAt(config.forkTimes, l2TimestampSec - config.blockTimeSec).l1InfoLayout;
}

/** The calldata of the L1 attributes deposit. */
export function encodeL1BlockInfo(info: L1BlockInfo): Uint8Array {
  const { selector, isPacked, hasOperatorFee, hasDaFootprintGasScalar } = L1_INFO_LAYOUTS[info.layout];
  if (!isPacked) {
    return concatBytes(
      selector,
      word(info.number),
      word(info.timestamp),
      word(info.baseFee),
      info.blockHash,
      word(info.sequenceNumber),
      info.batcherHash,
      info.overhead,
      info.scalar,
    );
  }
  const parts = [
    selector,
    uint(info.baseFeeScalar, 4),
    uint(info.blobBaseFeeScalar, 4),
    uint64ToBytes(info.sequenceNumber),
    uint64ToBytes(info.timestamp),
    uint64ToBytes(info.number),
    word(info.baseFee),
    word(info.blobBaseFee),
    info.blockHash,
    info.batcherHash,
  ];
  if (hasOperatorFee) parts.push(uint(info.operatorFeeScalar, 4), uint64ToBytes(info.operatorFeeConstant));
  if (hasDaFootprintGasScalar) parts.push(uint(info.daFootprintGasScalar, 2));
  return concatBytes(...parts);
}

/** @throws {CodedError} l1-info/unknown-selector, l1-info/wrong-length, l1-info/bad-padding, l1-info/number-too-large */
export function decodeL1BlockInfo(data: Uint8Array): L1BlockInfo {
  const selector = data.subarray(0, 4);
  const layout = L1_INFO_LAYOUT_NAMES.find((candidate) => equalBytes(L1_INFO_LAYOUTS[candidate].selector, selector));
  if (layout === undefined) throw new CodedError<L1InfoErrorCode>("l1-info/unknown-selector");
  const { lengthBytes, isPacked } = L1_INFO_LAYOUTS[layout];
  if (data.length !== lengthBytes) {
    throw new CodedError<L1InfoErrorCode>("l1-info/wrong-length", { layout, got: data.length });
  }
  const at = (offset: number, length: number) => data.subarray(offset, offset + length);
  if (!isPacked) {
    const wordAt = (index: number) => at(4 + 32 * index, 32);
    const uint64At = (index: number) => padded(wordAt(index), 8);
    return {
      layout,
      number: toNumber(uint64At(0)),
      timestamp: toNumber(uint64At(1)),
      baseFee: bytesToBigint(wordAt(2)),
      blockHash: wordAt(3),
      sequenceNumber: toNumber(uint64At(4)),
      batcherHash: padBytesLeft(padded(wordAt(5), 20), 32),
      overhead: wordAt(6),
      scalar: wordAt(7),
      blobBaseFee: 0n,
      baseFeeScalar: 0,
      blobBaseFeeScalar: 0,
      operatorFeeScalar: 0,
      operatorFeeConstant: 0n,
      daFootprintGasScalar: 0,
    };
  }
  return {
    layout,
    number: toNumber(at(28, 8)),
    timestamp: toNumber(at(20, 8)),
    baseFee: bytesToBigint(at(36, 32)),
    blockHash: at(100, 32),
    sequenceNumber: toNumber(at(12, 8)),
    batcherHash: padBytesLeft(padded(at(132, 32), 20), 32),
    overhead: ZERO_WORD,
    scalar: ZERO_WORD,
    blobBaseFee: bytesToBigint(at(68, 32)),
    baseFeeScalar: toNumber(at(4, 4)),
    blobBaseFeeScalar: toNumber(at(8, 4)),
    // Past the end of the shorter layouts the slice is empty, which reads as 0.
    operatorFeeScalar: toNumber(at(164, 4)),
    operatorFeeConstant: bytesToBigint(at(168, 8)),
    daFootprintGasScalar: toNumber(at(176, 2)),
  };
}

/** The L1 origin's values for an L2 block. */
export interface L1OriginFacts {
  readonly number: number;
  /** 32 bytes */
  readonly hash: Uint8Array;
  /** seconds */
  readonly timestamp: number;
  readonly baseFeePerGas: bigint;
  readonly blobBaseFee: bigint;
}

/** @param l2TimestampSec of the block with this info */
export function l1BlockInfo(
  config: RollupConfig,
  origin: L1OriginFacts,
  systemConfig: SystemConfig,
  sequenceNumber: number,
  l2TimestampSec: number,
): L1BlockInfo {
  const layout = l1InfoLayout(config, l2TimestampSec);
  const { isPacked, hasOperatorFee, hasDaFootprintGasScalar } = L1_INFO_LAYOUTS[layout];
  const scalars = isPacked ? decodeFeeScalar(systemConfig.scalar) : { baseFeeScalar: 0, blobBaseFeeScalar: 0 };
  return {
    layout,
    number: origin.number,
    timestamp: origin.timestamp,
    baseFee: origin.baseFeePerGas,
    blockHash: origin.hash,
    sequenceNumber,
    batcherHash: padBytesLeft(systemConfig.batcherAddress, 32),
    overhead: isPacked ? ZERO_WORD : systemConfig.overhead,
    scalar: isPacked ? ZERO_WORD : systemConfig.scalar,
    blobBaseFee: isPacked ? origin.blobBaseFee : 0n,
    ...scalars,
    operatorFeeScalar: hasOperatorFee ? systemConfig.operatorFeeScalar : 0,
    operatorFeeConstant: hasOperatorFee ? systemConfig.operatorFeeConstant : 0n,
    daFootprintGasScalar: hasDaFootprintGasScalar ? systemConfig.daFootprintGasScalar || DEFAULT_DA_FOOTPRINT_GAS_SCALAR : 0,
  };
}

const U64 = (1n << 64n) - 1n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
/** Real chains never reach this; only a manually set slot does. */
const clamped = (value: bigint): number => Number(value < MAX_SAFE ? value : MAX_SAFE);

/**
 * The last L1 attributes, read from the storage of the L1Block predeploy. Spec:
 * docs/protocol/01-execution.md#where-parameters-are-read
 *
 * @param readSlot the value of a storage slot (0 to 8) as an unsigned integer
 * @param layout of the attributes made from it
 */
export function l1BlockInfoFromStorage(readSlot: (slot: number) => bigint, layout: L1InfoLayout): L1BlockInfo {
  const { isPacked, hasOperatorFee, hasDaFootprintGasScalar } = L1_INFO_LAYOUTS[layout];
  const fees = l1FeeParamsFromL1BlockStorage(readSlot);
  const position = readSlot(0);
  return {
    layout,
    number: clamped(position & U64),
    timestamp: clamped((position >> 64n) & U64),
    baseFee: fees.l1BaseFee,
    blockHash: bigintToBytes(readSlot(2), 32),
    sequenceNumber: clamped(readSlot(3) & U64),
    batcherHash: bigintToBytes(readSlot(4), 32),
    overhead: isPacked ? ZERO_WORD : bigintToBytes(fees.overhead, 32),
    scalar: isPacked ? ZERO_WORD : bigintToBytes(fees.scalar, 32),
    blobBaseFee: isPacked ? fees.blobBaseFee : 0n,
    baseFeeScalar: isPacked ? Number(fees.baseFeeScalar) : 0,
    blobBaseFeeScalar: isPacked ? Number(fees.blobBaseFeeScalar) : 0,
    operatorFeeScalar: hasOperatorFee ? Number(fees.operatorFeeScalar) : 0,
    operatorFeeConstant: hasOperatorFee ? fees.operatorFeeConstant : 0n,
    daFootprintGasScalar: hasDaFootprintGasScalar ? Number(fees.daFootprintGasScalar) : 0,
  };
}

/** Whether this is a deposit in the form of `l1InfoDeposit`, with any content. */
export function isL1AttributesDeposit({ from, to }: DepositTransaction): boolean {
  return equalBytes(from, L1_ATTRIBUTES_DEPOSITOR) && to !== undefined && equalBytes(to, PREDEPLOYS.l1Block);
}

/** The first transaction of every L2 block. */
export function l1InfoDeposit(
  config: RollupConfig,
  origin: L1OriginFacts,
  systemConfig: SystemConfig,
  sequenceNumber: number,
  l2TimestampSec: number,
): DepositTransaction {
  const info = l1BlockInfo(config, origin, systemConfig, sequenceNumber, l2TimestampSec);
  return depositOfL1Info(info, rollupRulesAt(config.forkTimes, l2TimestampSec));
}

/** @param rules of the block with the deposit */
export function depositOfL1Info(
  info: L1BlockInfo,
  { hasFreeSystemTransactions: isSystemTx }: Pick<RollupBlockRules, "hasFreeSystemTransactions">,
): DepositTransaction {
  return {
    type: 0x7e,
    sourceHash: l1InfoSourceHash(info.blockHash, info.sequenceNumber),
    from: L1_ATTRIBUTES_DEPOSITOR,
    to: PREDEPLOYS.l1Block,
    mint: 0n,
    value: 0n,
    gasLimit: isSystemTx ? L1_INFO_SYSTEM_GAS : L1_INFO_GAS,
    isSystemTx,
    data: encodeL1BlockInfo(info),
  };
}

const MAX_UINT256 = 2n ** 256n - 1n;
/** e^178 > 2^256 */
const EXPONENT_BEYOND_UINT256 = 178n;

/**
 * The blob base fee of an L1 block for the L1 attributes: 1 before Cancun, 2^256 − 1 if it does not fit into a word. Chains with
 * a `pectraBlobScheduleTime` use Cancun's fraction until then.
 *
 * @param schedule update fractions of the L1 chain, ascending by time
 */
export function l1BlobBaseFee(
  config: Pick<RollupConfig, "pectraBlobScheduleTime">,
  schedule: readonly BlobScheduleEntry[],
  l1Block: { readonly timestamp: number; readonly excessBlobGas?: bigint | undefined },
): bigint {
  if (l1Block.excessBlobGas === undefined) return 1n;
  const entry = schedule.findLast(({ timeSec }) => timeSec <= l1Block.timestamp);
  const beforePectraSchedule = config.pectraBlobScheduleTime !== undefined && l1Block.timestamp < config.pectraBlobScheduleTime;
  const fraction = (beforePectraSchedule ? undefined : entry?.baseFeeUpdateFraction) ?? FIRST_BLOB_PARAMS.baseFeeUpdateFraction;
  if (l1Block.excessBlobGas >= EXPONENT_BEYOND_UINT256 * fraction) return MAX_UINT256;
  const fee = blobBaseFee(l1Block.excessBlobGas, fraction);
  return fee < MAX_UINT256 ? fee : MAX_UINT256;
}

function word(value: bigint | number): Uint8Array {
  return uint(value, 32);
}

function uint(value: bigint | number, length: number): Uint8Array {
  return bigintToBytes(BigInt(value), length);
}

/** The last `length` bytes of a word whose other bytes must be 0. */
function padded(bytes: Uint8Array, length: number): Uint8Array {
  const split = bytes.length - length;
  if (!isZeroBytes(bytes.subarray(0, split))) throw new CodedError<L1InfoErrorCode>("l1-info/bad-padding");
  return bytes.subarray(split);
}

function toNumber(bytes: Uint8Array): number {
  const value = Number(bytesToBigint(bytes));
  if (!Number.isSafeInteger(value)) throw new CodedError<L1InfoErrorCode>("l1-info/number-too-large");
  return value;
}
