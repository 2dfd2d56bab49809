import { asciiToBytes, concatBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { ByteArena } from "../buffers/growable.ts";
import { writeUint32 } from "../database/keys.ts";
import { storageError } from "../errors.ts";
import { GroupFilter } from "./group-filter.ts";
import { compress, MatchTable, maxCompressedSize } from "./lz.ts";
import { rlpDataStart, rlpEnd } from "./rlp-walk.ts";

/*
 * The rows of a block's body and of its receipts. Both consist of the same groups of neighbouring transactions, each compressed by itself, so
 * that one transaction or receipt is found by decoding a few kilobytes, whatever the size of the block. Integers are big-endian.
 *
 *   body:     layout 1 ‖ 0 ‖ transactions 4 ‖ groups 4 ‖ size of the transactions in the block's RLP 4 ‖ size of the rest 4
 *             ‖ rest: RLP [ommers, withdrawals?] ‖ hashes of the transactions, 32 each
 *             ‖ per group: first transaction 4, size 4, end of its compressed form 4, checksum 4 ‖ compressed groups
 *   receipts: layout 1 ‖ 0 ‖ groups 4
 *             ‖ per group: size 4, end of its compressed form 4, checksum 4, logs before it 4, end of its filter 4, gas used before it 8
 *             ‖ filters ‖ compressed groups
 *
 * A group of the body is the EIP-2718 encodings one after the other, a group of receipts the RLP of
 * [type, status or state root, cumulative gas used, logs, deposit nonce?, deposit receipt version?] (block-rows.ts). Ends count from where the
 * filters, or the compressed groups, begin. A group that does not become smaller is stored as it is. What a group may refer to:
 *   the first group of a body: the common bytes; the others: the common bytes, then the first group, unless that is large
 *   a group of receipts: the same as its body's group, then that group, then the senders
 * because what a receipt shows (addresses, amounts) is mostly what its transaction said.
 */

export const LAYOUT = 1;
export const BODY_HEAD = 18;
export const BODY_ENTRY = 16;
export const RECEIPTS_HEAD = 6;
export const RECEIPTS_ENTRY = 28;
export const HASH_SIZE = 32;
export const ADDRESS_SIZE = 20;
const MAX_GROUP_ITEMS = 16;
const MAX_GROUP_BYTES = 16_384;
/** A larger first group is not a dictionary for the others, because it would have to be decoded for each. */
export const MAX_DICTIONARY_BYTES = 32_768;

/** Frequent bytes in most chains' blocks, most frequent last. Part of the layout. */
export const COMMON_BYTES = concatBytes(
  new Uint8Array(32),
  ...["Swap(address,uint256,uint256,uint256,uint256,address)", "Sync(uint112,uint112)", "Deposit(address,uint256)"].map(topicOf),
  ...["Withdrawal(address,uint256)", "Swap(address,address,int256,int256,uint160,uint128,int24)"].map(topicOf),
  hexToBytes("0x7ef90104a0"),
  hexToBytes("0x94deaddeaddeaddeaddeaddeaddeaddeaddead00019442000000000000000000000000000000000000158080830f424080b8b0"),
  hexToBytes("0x098999be00000558000c5fc50000000000000000"),
  hexToBytes("0x4200000000000000000000000000000000000006"),
  topicOf("Approval(address,address,uint256)"),
  hexToBytes("0x80b844095ea7b3000000000000000000000000"),
  hexToBytes("0x80b844a9059cbb000000000000000000000000"),
  hexToBytes("0xf89b94"),
  hexToBytes("0xf863a0"),
  topicOf("Transfer(address,address,uint256)"),
  hexToBytes("0xa0000000000000000000000000"),
  new Uint8Array(12),
);

function topicOf(event: string): Uint8Array {
  return keccak256(asciiToBytes(event));
}

const commonTable = new MatchTable();
commonTable.note(COMMON_BYTES, 0, COMMON_BYTES.length);

/** FNV over words; finds damage, not forgery. */
export function checksum(bytes: Uint8Array, from: number, to: number): number {
  let sum = 0x811c9dc5;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    sum = Math.imul(sum ^ word, 0x01000193);
    sum ^= sum >>> 15;
  }
  for (; at < to; at++) sum = Math.imul(sum ^ bytes[at]!, 0x01000193);
  return sum >>> 0;
}

export interface UnpackedBlock {
  readonly encodedTransactions: readonly Uint8Array[];
  readonly transactionHashes: readonly Uint8Array[];
  /** RLP [ommers, withdrawals?] */
  readonly rest: Uint8Array;
  /** RLP list of the receipts' items; `undefined` if they were pruned */
  readonly receipts: Uint8Array | undefined;
  /** 20 bytes each; empty if there are no receipts */
  readonly senders: readonly Uint8Array[];
}

/** Makes the rows. PERF: buffers and tables are kept from block to block. */
export class BlockPacker {
  /** common bytes ‖ first group ‖ group ‖ its senders ‖ its receipts */
  #work = COMMON_BYTES.slice();
  /** compressed groups of the body, and of the receipts */
  readonly #data = [new ByteArena(), new ByteArena()] as const;
  readonly #filters = new ByteArena();
  readonly #table = new MatchTable();
  readonly #firstTable = new MatchTable();
  readonly #filter = new GroupFilter();
  readonly #rows = [new ByteArena(), new ByteArena()] as const;
  readonly #isCompressed: boolean;

  /** @param isCompressed false: for rows that are read once and not stored */
  constructor(isCompressed = true) {
    this.#isCompressed = isCompressed;
  }

  /** @returns views that the next call overwrites */
  pack(block: UnpackedBlock): { readonly body: Uint8Array; readonly receipts: Uint8Array | undefined } {
    const { encodedTransactions, receipts, senders } = block;
    const count = encodedTransactions.length;
    const receiptStarts = receipts === undefined ? undefined : startsOf(receipts, count);
    const entries: GroupEntry[] = [];
    const [bodyData, receiptData] = this.#data;
    for (const part of [bodyData, receiptData, this.#filters]) part.clear();
    this.#work.set(COMMON_BYTES);
    let listBytes = 0;
    let gasBefore: Uint8Array = NO_GAS;
    let logs = 0;
    let dictionaryEnd = COMMON_BYTES.length;
    for (let first = 0; first < count; ) {
      const end = groupEnd(encodedTransactions, receiptStarts, first);
      const table = this.#table;
      table.copyFrom(first === 0 ? commonTable : this.#firstTable);
      let at = dictionaryEnd;
      for (let i = first; i < end; i++) {
        const encoded = encodedTransactions[i]!;
        at = this.#put(encoded, 0, encoded.length, at);
        listBytes += sizeInList(encoded);
      }
      const entry: GroupEntry = {
        first,
        size: at - dictionaryEnd,
        end: 0,
        sum: 0,
        receiptSize: 0,
        receiptEnd: 0,
        receiptSum: 0,
        logs,
        filterEnd: 0,
        gasBefore,
      };
      entry.sum = this.#compress(bodyData, dictionaryEnd, at);
      entry.end = bodyData.size;
      if (first === 0) {
        if (entry.size <= MAX_DICTIONARY_BYTES) {
          dictionaryEnd = at;
          this.#firstTable.copyFrom(table);
        } else this.#firstTable.copyFrom(commonTable);
      }
      if (receipts !== undefined && receiptStarts !== undefined) {
        const sendersAt = at;
        for (let i = first; i < end; i++) at = this.#put(senders[i]!, 0, ADDRESS_SIZE, at);
        if (this.#isCompressed) table.note(this.#work, sendersAt, at);
        const from = receiptStarts[first]!;
        const to = receiptStarts[end]!;
        const groupAt = at;
        at = this.#put(receipts, from, to, at);
        entry.receiptSize = to - from;
        entry.receiptSum = this.#compress(receiptData, groupAt, at);
        entry.receiptEnd = receiptData.size;
        const scan = this.#filter.fill(this.#work, groupAt, at);
        logs += scan.logs;
        gasBefore = scan.gasUsed;
        this.#filter.write(this.#filters);
        entry.filterEnd = this.#filters.size;
      }
      entries.push(entry);
      first = end;
    }
    return {
      body: this.#bodyRow(block, entries, listBytes),
      receipts: receipts === undefined ? undefined : this.#receiptsRow(entries),
    };
  }

  #put(bytes: Uint8Array, from: number, to: number, at: number): number {
    const end = at + to - from;
    if (end > this.#work.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#work.length));
      larger.set(this.#work.subarray(0, at));
      this.#work = larger;
    }
    const work = this.#work;
    if (to - from < 64) for (let i = from, o = at; i < to; i++, o++) work[o] = bytes[i]!;
    else work.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
    return end;
  }

  /** @returns the checksum of the stored bytes */
  #compress(out: ByteArena, from: number, to: number): number {
    const start = out.size;
    out.reserve(maxCompressedSize(to - from)); // may replace the buffer
    let end = this.#isCompressed ? compress(this.#table, this.#work, from, to, out.bytes, start) : Number.POSITIVE_INFINITY;
    if (end - start >= to - from) {
      out.bytes.set(this.#work.subarray(from, to), start);
      end = start + to - from;
    }
    out.size = end;
    return checksum(out.bytes, start, end);
  }

  #bodyRow({ rest, transactionHashes }: UnpackedBlock, entries: readonly GroupEntry[], listBytes: number): Uint8Array {
    const [row] = this.#rows;
    const [data] = this.#data;
    row.clear();
    row.reserve(BODY_HEAD);
    row.bytes[0] = LAYOUT;
    row.bytes[1] = 0;
    writeUint32(row.bytes, 2, transactionHashes.length);
    writeUint32(row.bytes, 6, entries.length);
    writeUint32(row.bytes, 10, listBytes);
    writeUint32(row.bytes, 14, rest.length);
    row.append(rest);
    for (const hash of transactionHashes) row.append(hash);
    for (const { first, size, end, sum } of entries) {
      const at = row.reserve(BODY_ENTRY);
      writeUint32(row.bytes, at, first);
      writeUint32(row.bytes, at + 4, size);
      writeUint32(row.bytes, at + 8, end);
      writeUint32(row.bytes, at + 12, sum);
    }
    row.append(viewOf(data));
    return viewOf(row);
  }

  #receiptsRow(entries: readonly GroupEntry[]): Uint8Array {
    const [, row] = this.#rows;
    const [, data] = this.#data;
    row.clear();
    row.reserve(RECEIPTS_HEAD);
    row.bytes[0] = LAYOUT;
    row.bytes[1] = 0;
    writeUint32(row.bytes, 2, entries.length);
    for (const { receiptSize, receiptEnd, receiptSum, logs, filterEnd, gasBefore } of entries) {
      const at = row.reserve(RECEIPTS_ENTRY);
      writeUint32(row.bytes, at, receiptSize);
      writeUint32(row.bytes, at + 4, receiptEnd);
      writeUint32(row.bytes, at + 8, receiptSum);
      writeUint32(row.bytes, at + 12, logs);
      writeUint32(row.bytes, at + 16, filterEnd);
      for (let i = 0; i < 8; i++) row.bytes[at + 20 + i] = gasBefore[gasBefore.length - 8 + i] ?? 0;
    }
    row.append(viewOf(this.#filters));
    row.append(viewOf(data));
    return viewOf(row);
  }
}

const viewOf = ({ bytes, size }: ByteArena): Uint8Array => bytes.subarray(0, size);

const NO_GAS = new Uint8Array(8);

interface GroupEntry {
  readonly first: number;
  readonly size: number;
  end: number;
  sum: number;
  receiptSize: number;
  receiptEnd: number;
  receiptSum: number;
  readonly logs: number;
  filterEnd: number;
  /** at most 8 bytes, big-endian */
  readonly gasBefore: Uint8Array;
}

/** Size of a transaction within the list of a block: typed ones are strings, legacy ones lists. */
function sizeInList(encoded: Uint8Array): number {
  const { length } = encoded;
  if (encoded[0]! >= 0xc0) return length;
  if (length < 56) return 1 + length;
  return length + 2 + (length > 0xff ? 1 : 0) + (length > 0xffff ? 1 : 0) + (length > 0xff_ffff ? 1 : 0);
}

/** Where each item of an RLP list starts, and its end. @throws {CodedError} storage/corrupted: there are not `count` */
function startsOf(list: Uint8Array, count: number): number[] {
  const starts: number[] = [];
  let at = rlpDataStart(list, 0);
  const end = rlpEnd(list, 0);
  for (; at < end; at = rlpEnd(list, at)) starts.push(at);
  starts.push(at);
  if (starts.length !== count + 1 || at !== end) {
    throw storageError("storage/corrupted", { row: "receipts", reason: `${starts.length - 1} receipts of ${count} transactions` });
  }
  return starts;
}

function groupEnd(encoded: readonly Uint8Array[], receiptStarts: readonly number[] | undefined, first: number): number {
  let bytes = 0;
  let end = first;
  while (end < encoded.length && end - first < MAX_GROUP_ITEMS) {
    bytes += encoded[end]!.length;
    if (receiptStarts !== undefined) bytes += receiptStarts[end + 1]! - receiptStarts[end]!;
    if (end > first && bytes > MAX_GROUP_BYTES) break;
    end++;
  }
  return end;
}
