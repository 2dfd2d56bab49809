import type { BlockMessages, ExecutingMessage, MessageLookup } from "@rnode/interop";
import {
  bytesToBigint,
  bytesToHex,
  concatBytes,
  encodeRlp,
  equalBytes,
  expectRlpList,
  expectRlpNumber,
  expectRlpString,
  expectRlpUint,
  hexToBytes,
  type RlpItem,
  rlpUint,
} from "@rnode/primitives";
import type { BlockId, MessageAccess } from "@rnode/protocol";
import type { Table } from "@rnode/storage/environment";
import { chainKey, readRow } from "./rows.ts";

const CHECKSUM_BYTES = 32;
const UINT64_BYTES = 8;
const DELETED_AT_ONCE = 10_000;

/**
 * The messages of a chain's blocks, without gaps. Row: `chain id ‖ block number → RLP [hash, parent hash, time, checksums of the logs, executing
 * messages]`.
 */
export class MessageLog {
  private readonly table: Table;
  private readonly chainId: bigint;
  /** `undefined`: not read since the last change */
  private tip: { readonly block: BlockMessages["block"] | undefined } | undefined;

  constructor(table: Table, chainId: bigint) {
    this.table = table;
    this.chainId = chainId;
  }

  get first(): BlockMessages["block"] | undefined {
    const row = this.table.firstFrom(chainKey(this.chainId, 0));
    return row && this.isOwn(row.key) ? fromRow(row).block : undefined;
  }

  get last(): BlockMessages["block"] | undefined {
    if (this.tip === undefined) {
      const row = this.table.lastUpTo(chainKey(this.chainId, Number.MAX_SAFE_INTEGER));
      this.tip = { block: row && this.isOwn(row.key) ? fromRow(row).block : undefined };
    }
    return this.tip.block;
  }

  at(number: number): BlockMessages | undefined {
    const key = chainKey(this.chainId, number);
    const value = this.table.read(key);
    return value && fromRow({ key, value });
  }

  /** Adds the child of `last`, or the first block; only inside a commit. */
  append(messages: BlockMessages): void {
    const { last } = this;
    const { block } = messages;
    if (last !== undefined && (last.hash !== block.parentHash || last.number + 1 !== block.number)) {
      throw new Error(`block ${block.number} ${block.hash} is not the child of ${last.number} ${last.hash}`);
    }
    this.table.write(chainKey(this.chainId, block.number), toRow(messages));
    const { hash, number, parentHash, timestamp } = block;
    this.tip = { block: { hash, number, parentHash, timestamp } };
  }

  /** Removes the blocks above a number; only inside a commit. */
  rewind(number: number): void {
    this.remove(number + 1, Number.MAX_SAFE_INTEGER);
  }

  /** Removes the blocks below a number; only inside a commit. */
  prune(number: number): void {
    this.remove(0, number);
  }

  /** Whether the log that a message names is in this chain, of which all blocks up to the message's time are here. */
  readonly lookup = (message: MessageAccess): ReturnType<MessageLookup> => {
    const { first, last } = this;
    if (first === undefined || last === undefined || message.timestamp < BigInt(first.timestamp)) return "unknown";
    const { blockNumber } = message;
    if (blockNumber < BigInt(first.number) || blockNumber > BigInt(last.number)) return "missing";
    const { block, checksums } = this.at(Number(blockNumber))!;
    if (BigInt(block.timestamp) !== message.timestamp) return "missing";
    const checksum = checksums[message.logIndex];
    return checksum !== undefined && equalBytes(checksum, message.checksum) ? "exists" : "missing";
  };

  /** Drops what is kept in memory of the table. */
  forget(): void {
    this.tip = undefined;
  }

  private remove(from: number, end: number): void {
    this.forget();
    for (;;) {
      const keys: Uint8Array[] = [];
      for (const key of this.table.keys(chainKey(this.chainId, from), chainKey(this.chainId, end))) {
        if (keys.push(key) === DELETED_AT_ONCE) break;
      }
      for (const key of keys) this.table.delete(key);
      if (keys.length < DELETED_AT_ONCE) return;
    }
  }

  private isOwn(key: Uint8Array): boolean {
    return bytesToBigint(key.subarray(0, 32)) === this.chainId;
  }
}

const numberOf = (key: Uint8Array): number => Number(bytesToBigint(key.subarray(32)));

function toRow({ block, checksums, executing }: BlockMessages): Uint8Array {
  return encodeRlp([
    hexToBytes(block.hash),
    hexToBytes(block.parentHash),
    rlpUint(block.timestamp),
    concatBytes(...checksums),
    executing.map(
      (message): RlpItem => [
        rlpUint(message.executingLogIndex),
        rlpUint(message.chainId),
        rlpUint(message.blockNumber),
        rlpUint(message.logIndex),
        rlpUint(message.timestamp),
        message.checksum,
      ],
    ),
  ]);
}

const fromRow = (row: { readonly key: Uint8Array; readonly value: Uint8Array }): BlockMessages =>
  readRow("messages", row, ([hash, parentHash, timestamp, checksums, executing]) => ({
    block: {
      ...idOf(hash, row.key),
      parentHash: bytesToHex(expectRlpString(parentHash, 32)),
      timestamp: expectRlpNumber(timestamp),
    },
    checksums: piecesOf(expectRlpString(checksums)),
    executing: expectRlpList(executing).map(messageFromRlp),
  }));

const idOf = (hash: RlpItem | undefined, key: Uint8Array): BlockId => ({
  hash: bytesToHex(expectRlpString(hash, 32)),
  number: numberOf(key),
});

const piecesOf = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: bytes.length / CHECKSUM_BYTES }, (_, i) => bytes.subarray(i * CHECKSUM_BYTES, (i + 1) * CHECKSUM_BYTES));

function messageFromRlp(item: RlpItem): ExecutingMessage {
  const [executingLogIndex, chainId, blockNumber, logIndex, timestamp, checksum] = expectRlpList(item, 6, 6);
  return {
    executingLogIndex: expectRlpNumber(executingLogIndex),
    chainId: expectRlpUint(chainId, 32),
    blockNumber: expectRlpUint(blockNumber, UINT64_BYTES),
    logIndex: expectRlpNumber(logIndex),
    timestamp: expectRlpUint(timestamp, UINT64_BYTES),
    checksum: expectRlpString(checksum, CHECKSUM_BYTES),
  };
}
