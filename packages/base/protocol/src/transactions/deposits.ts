import {
  asciiToBytes,
  bigintToBytes,
  bytesToBigint,
  CodedError,
  decodeRlp,
  equalBytes,
  expectRlpList,
  expectRlpString,
  hexToBytes,
  isZeroBytes,
  keccak256,
} from "@rnode/primitives";
import { readContractLogs, type SkippedLog } from "./contract-logs.ts";
import type { Log, Receipt } from "./receipt.ts";
import type { DepositTransaction } from "./transaction.ts";

/** First byte of an encoded deposit. */
export const DEPOSIT_TRANSACTION_TYPE = 0x7e;

/** `TransactionDeposited(address,address,uint256,bytes)` */
export const TRANSACTION_DEPOSITED_TOPIC = hexToBytes("0xb3813568d9991fc951961fcb4c784893574240a28925604d09fc577c55bb7c32");

export type DepositErrorCode =
  | "deposit/wrong-topic-count"
  | "deposit/wrong-topic"
  | "deposit/wrong-data-length"
  | "deposit/wrong-offset"
  | "deposit/wrong-opaque-length"
  | "deposit/unknown-version"
  | "deposit/opaque-data-too-short"
  | "deposit/not-a-deposit";

const DOMAINS = { user: 0, l1Info: 1, upgrade: 2 } as const;

function sourceHash(domain: keyof typeof DOMAINS, inner: Uint8Array): Uint8Array {
  return keccak256(bigintToBytes(BigInt(DOMAINS[domain]), 32), inner);
}

/** @param logIndex position of the log in its L1 block */
export function userDepositSourceHash(l1BlockHash: Uint8Array, logIndex: number): Uint8Array {
  return sourceHash("user", keccak256(l1BlockHash, bigintToBytes(BigInt(logIndex), 32)));
}

export function l1InfoSourceHash(l1BlockHash: Uint8Array, sequenceNumber: number): Uint8Array {
  return sourceHash("l1Info", keccak256(l1BlockHash, bigintToBytes(BigInt(sequenceNumber), 32)));
}

/** @param intent ASCII text that names the transaction */
export function upgradeSourceHash(intent: string): Uint8Array {
  return sourceHash("upgrade", keccak256(asciiToBytes(intent)));
}

const OPAQUE_HEADER_BYTES = 73;

/**
 * The deposit of a `TransactionDeposited` log. Spec: docs/protocol/02-derivation.md#user-deposits
 *
 * Data: word 32 ‖ word length ‖ opaque data, padded to words. Opaque data, version 0: mint 32 ‖ value 32 ‖ gas 8 ‖ isCreation 1 ‖
 * calldata.
 *
 * @param logIndex position of the log in its L1 block
 * @throws {CodedError} deposit/*
 */
export function depositFromLog(log: Log, l1BlockHash: Uint8Array, logIndex: number): DepositTransaction {
  const { topics, data } = log;
  if (topics.length !== 4) throw new CodedError<DepositErrorCode>("deposit/wrong-topic-count", { logIndex, got: topics.length });
  if (!equalBytes(topics[0]!, TRANSACTION_DEPOSITED_TOPIC))
    throw new CodedError<DepositErrorCode>("deposit/wrong-topic", { logIndex });
  if (data.length < 64 || data.length % 32 !== 0) {
    throw new CodedError<DepositErrorCode>("deposit/wrong-data-length", { logIndex, got: data.length });
  }
  if (bytesToBigint(data.subarray(0, 32)) !== 32n) throw new CodedError<DepositErrorCode>("deposit/wrong-offset", { logIndex });
  const opaqueLength = bytesToBigint(data.subarray(32, 64));
  const room = BigInt(data.length - 64);
  // at most 31 bytes of padding
  if (opaqueLength > room || room >= opaqueLength + 32n) {
    throw new CodedError<DepositErrorCode>("deposit/wrong-opaque-length", { logIndex, length: opaqueLength, room });
  }
  if (!isZeroBytes(topics[3]!)) throw new CodedError<DepositErrorCode>("deposit/unknown-version", { logIndex });
  if (opaqueLength < OPAQUE_HEADER_BYTES) {
    throw new CodedError<DepositErrorCode>("deposit/opaque-data-too-short", { logIndex, length: opaqueLength });
  }
  const opaque = data.subarray(64, 64 + Number(opaqueLength));
  return {
    type: DEPOSIT_TRANSACTION_TYPE,
    sourceHash: userDepositSourceHash(l1BlockHash, logIndex),
    from: topics[1]!.subarray(12),
    to: opaque[72] === 0 ? topics[2]!.subarray(12) : undefined,
    mint: bytesToBigint(opaque.subarray(0, 32)),
    value: bytesToBigint(opaque.subarray(32, 64)),
    gasLimit: bytesToBigint(opaque.subarray(64, 72)),
    isSystemTx: false,
    data: opaque.subarray(OPAQUE_HEADER_BYTES),
  };
}

/**
 * All user deposits of an L1 block, in order. Logs that the deposit contract cannot emit are skipped.
 *
 * @param receipts of the whole block, as log indices count from its first log
 */
export function depositsFromReceipts(
  receipts: readonly Receipt[],
  depositContract: Uint8Array,
  l1BlockHash: Uint8Array,
): { readonly deposits: readonly DepositTransaction[]; readonly skipped: readonly SkippedLog[] } {
  const source = { address: depositContract, topic: TRANSACTION_DEPOSITED_TOPIC };
  const { read, skipped } = readContractLogs(receipts, source, (log, { logIndex }) => depositFromLog(log, l1BlockHash, logIndex));
  return { deposits: read, skipped };
}

/** Whether an EIP-2718 encoded transaction is a deposit. */
export function isDepositTransaction(encoded: Uint8Array): boolean {
  return encoded[0] === DEPOSIT_TRANSACTION_TYPE;
}

/** The calldata of an encoded deposit. @throws {CodedError} deposit/not-a-deposit, rlp/* */
export function depositCalldata(encoded: Uint8Array): Uint8Array {
  if (!isDepositTransaction(encoded)) throw new CodedError<DepositErrorCode>("deposit/not-a-deposit");
  return expectRlpString(expectRlpList(decodeRlp(encoded.subarray(1)), 8, 8)[7]);
}

const ALIAS_OFFSET = BigInt("0x1111000000000000000000000000000000001111");

/** The L2 address of deposits that an L1 contract sends. Spec: docs/protocol/01-execution.md#deposit-transaction */
export function aliasAddress(l1Address: Uint8Array): Uint8Array {
  return bigintToBytes(BigInt.asUintN(160, bytesToBigint(l1Address) + ALIAS_OFFSET), 20);
}
