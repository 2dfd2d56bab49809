import { bytesToBigint, type ExactInteger, exactInteger } from "@rnode/primitives";
import { decodeHeader, type Header } from "@rnode/protocol";
import { readUint32 } from "../database/keys.ts";
import { storageError } from "../errors.ts";
import type { LogMatcher } from "./log-matcher.ts";
import { decompress } from "./lz.ts";
import {
  ADDRESS_SIZE,
  BODY_ENTRY,
  BODY_HEAD,
  COMMON_BYTES,
  checksum,
  HASH_SIZE,
  LAYOUT,
  MAX_DICTIONARY_BYTES,
  RECEIPTS_ENTRY,
  RECEIPTS_HEAD,
} from "./packed-block.ts";
import { rlpDataStart, rlpEnd, transactionEnd } from "./rlp-walk.ts";

/** A larger buffer is not kept for the next block. */
const MAX_KEPT_BYTES = 4 << 20;
const GAS_AT = 20;
/** of the header's RLP list */
const DIFFICULTY_FIELD = 7;
const TIMESTAMP_FIELD = 11;
const BASE_FEE_FIELD = 15;

/** A row, copied into a buffer that the next one reuses. */
class RowCopy {
  bytes = new Uint8Array(4096);
  size = 0;
  isRead = false;

  set(row: Uint8Array): void {
    const size = row.length;
    if (size > this.bytes.length || this.bytes.length > MAX_KEPT_BYTES) this.bytes = new Uint8Array(2 * size);
    this.size = size;
    this.bytes.set(row.subarray(0, size));
  }
}

export type BlockPart = "header" | "body" | "receipts" | "senders";

/** Where the rows of a block come from: RLP of the header, rows in the layout of packed-block.ts, senders of 20 bytes each. */
export interface RowSource {
  /** for errors */
  readonly folder: string;
  /** @returns `undefined`: no such row. Valid until the next call; only indexing and `length` respect its true size. */
  row(part: BlockPart, number: number): Uint8Array | undefined;
}

/**
 * A block whose transactions, receipts, senders and hashes are read one by one, as bytes; only requested parts are decoded. The
 * result of `seek…` is in `bytes`, and is valid until the next `seek…`. PERF: one object serves all blocks, which are opened one
 * after the other, so reading creates no garbage.
 */
export class BlockParts {
  number = 0;
  hash: Uint8Array = new Uint8Array(HASH_SIZE);
  /** number of transactions */
  count = 0;
  /** whether there are receipts and senders */
  hasReceipts = false;
  /** transactions and receipts: common bytes ‖ first group of transactions ‖ another group ‖ its senders ‖ its receipts */
  bytes = COMMON_BYTES.slice();
  /** of the transaction that was sought: its EIP-2718 encoding */
  transactionAt = 0;
  transactionEnd = 0;
  /** of the receipt that was sought: [type, status or state root, cumulative gas used, logs, deposit nonce?, deposit receipt version?] */
  receiptAt = 0;
  /** of that receipt: index within the block of its first log */
  firstLog = 0;

  #source: RowSource | undefined;
  readonly #headerRow = new RowCopy();
  readonly #body = new RowCopy();
  readonly #receipts = new RowCopy();
  readonly #senders = new RowCopy();
  #header: Header | undefined;
  #groups = 0;
  #hashesAt = 0;
  #entriesAt = 0;
  #dataAt = 0;
  #filtersAt = 0;
  #receiptDataAt = 0;
  /** whether the first group has been decoded */
  #hasFirst = false;
  /** the group that has been decoded, −1: none */
  #group = -1;
  #groupAt = 0;
  #groupEnd = 0;
  /** index of the group's first transaction, and of the next group's */
  #groupFirst = 0;
  #groupNext = 0;
  #receiptsGroup = -1;
  #receiptsAt = 0;
  #receiptsEnd = 0;
  /** the item at `transactionAt`, `receiptAt` */
  #transaction = -1;
  #receipt = -1;
  /** where the cumulative gas used of the receipt before is: in `bytes`, or in the row, as −1 − offset */
  #gasBeforeAt = 0;

  /**
   * @param source provides rows on demand, until the next block is opened
   * @param hasReceipts false if receipts and senders were pruned
   * @returns false: no such block
   * @throws {CodedError} storage/corrupted
   */
  open(source: RowSource, number: number, hash: Uint8Array, hasReceipts: boolean): boolean {
    this.#source = source;
    this.number = number;
    this.hash = hash;
    this.hasReceipts = hasReceipts;
    this.#header = undefined;
    this.#headerRow.isRead = false;
    this.#receipts.isRead = false;
    this.#senders.isRead = false;
    this.#hasFirst = false;
    this.#group = -1;
    this.#receiptsGroup = -1;
    this.#transaction = -1;
    this.#receipt = -1;
    if (this.bytes.length > MAX_KEPT_BYTES) this.bytes = COMMON_BYTES.slice();
    const body = source.row("body", number);
    if (body === undefined) return false;
    this.#body.set(body);
    const row = this.#body.bytes;
    const { size } = this.#body;
    this.count = readUint32(row, 2);
    this.#groups = readUint32(row, 6);
    this.#hashesAt = BODY_HEAD + readUint32(row, 14);
    this.#entriesAt = this.#hashesAt + this.count * HASH_SIZE;
    this.#dataAt = this.#entriesAt + this.#groups * BODY_ENTRY;
    if (size < BODY_HEAD || row[0] !== LAYOUT || this.#dataAt > size || this.#groups > this.count) throw this.#damaged("body");
    return true;
  }

  #rowOf(part: "header" | "receipts" | "senders", copy: RowCopy): Uint8Array {
    if (!copy.isRead) {
      const row = part !== "header" && !this.hasReceipts ? undefined : this.#source!.row(part, this.number);
      if (row === undefined) throw this.#damaged(part);
      copy.set(row);
      if (part === "senders" && copy.size !== this.count * ADDRESS_SIZE) throw this.#damaged(part);
      if (part === "receipts") this.#checkReceipts();
      copy.isRead = true;
    }
    return copy.bytes;
  }

  #checkReceipts(): void {
    const { bytes, size } = this.#receipts;
    this.#filtersAt = RECEIPTS_HEAD + this.#groups * RECEIPTS_ENTRY;
    const isRow = size >= this.#filtersAt && bytes[0] === LAYOUT && readUint32(bytes, 2) === this.#groups;
    if (!isRow) throw this.#damaged("receipts");
    this.#receiptDataAt = this.#filtersAt + (this.#groups === 0 ? 0 : this.#filterEnd(this.#groups - 1));
    if (this.#receiptDataAt > size) throw this.#damaged("receipts");
  }

  get header(): Header {
    if (this.#header === undefined) {
      try {
        this.#header = decodeHeader(this.encodedHeader);
      } catch (error) {
        throw this.#damaged("header", error);
      }
    }
    return this.#header;
  }

  /** An integer of the header; `undefined` if it lacks the field. PERF: decodes no other field. */
  #headerUint(field: number): bigint | undefined {
    const row = this.#rowOf("header", this.#headerRow);
    const end = rlpEnd(row, 0);
    let at = rlpDataStart(row, 0);
    for (let i = 0; i < field && at < end; i++) at = rlpEnd(row, at);
    return at < end ? bytesToBigint(row.subarray(rlpDataStart(row, at), rlpEnd(row, at))) : undefined;
  }

  /** seconds; rounded above 2^53 − 1 */
  get timestamp(): number {
    return Number(this.exactTimestamp);
  }

  get exactTimestamp(): ExactInteger {
    return exactInteger(this.#headerUint(TIMESTAMP_FIELD) ?? 0n);
  }

  get difficulty(): bigint {
    return this.#headerUint(DIFFICULTY_FIELD) ?? 0n;
  }

  /** wei; undefined before London */
  get baseFeePerGas(): bigint | undefined {
    return this.#headerUint(BASE_FEE_FIELD);
  }

  /** Size of the header's RLP. */
  get headerSize(): number {
    this.#rowOf("header", this.#headerRow);
    return this.#headerRow.size;
  }

  /** RLP of the header, a copy. */
  get encodedHeader(): Uint8Array<ArrayBuffer> {
    return this.#rowOf("header", this.#headerRow).slice(0, this.#headerRow.size);
  }

  /** Size of the list of transactions in the RLP of the block, without its prefix. */
  get transactionBytes(): number {
    return readUint32(this.#body.bytes, 10);
  }

  /** RLP [ommers, withdrawals?] */
  get rest(): Uint8Array {
    return this.#body.bytes.subarray(BODY_HEAD, this.#hashesAt);
  }

  /** The array with the hashes of transactions. */
  get hashBytes(): Uint8Array {
    return this.#body.bytes;
  }

  /** Where the hash of a transaction is in `hashBytes`. */
  hashAt(index: number): number {
    return this.#hashesAt + index * HASH_SIZE;
  }

  /** The array with the senders. @throws {CodedError} storage/corrupted: also if they were pruned */
  get senderBytes(): Uint8Array {
    return this.#rowOf("senders", this.#senders);
  }

  senderAt(index: number): number {
    return index * ADDRESS_SIZE;
  }

  /** Copies. */
  transactionHash(index: number): Uint8Array {
    return this.#body.bytes.slice(this.hashAt(index), this.hashAt(index + 1));
  }

  sender(index: number): Uint8Array {
    return this.senderBytes.slice(index * ADDRESS_SIZE, (index + 1) * ADDRESS_SIZE);
  }

  encodedTransaction(index: number): Uint8Array {
    this.seekTransaction(index);
    return this.bytes.slice(this.transactionAt, this.transactionEnd);
  }

  /** Sets `transactionAt` and `transactionEnd`. @throws {CodedError} storage/corrupted */
  seekTransaction(index: number): void {
    if (index === this.#transaction) return;
    if (this.#group < 0 || index < this.#groupFirst || index >= this.#groupNext) this.#load(this.#groupOf(index));
    const isFurther = this.#transaction >= this.#groupFirst && this.#transaction < index;
    let i = isFurther ? this.#transaction : this.#groupFirst;
    let at = isFurther ? this.transactionAt : this.#groupAt;
    for (; i < index; i++) at = transactionEnd(this.bytes, at);
    this.transactionAt = at;
    this.transactionEnd = transactionEnd(this.bytes, at);
    this.#transaction = index;
    if (!(this.transactionEnd <= this.#groupEnd)) throw this.#damaged("body");
  }

  /** Sets `receiptAt` and `firstLog`, and for the same index `transactionAt` and `transactionEnd`. @throws {CodedError} storage/corrupted */
  seekReceipt(index: number): void {
    this.seekTransaction(index);
    this.#rowOf("receipts", this.#receipts);
    if (this.#receiptsGroup !== this.#group) this.#loadReceipts();
    const { bytes } = this;
    if (this.#receipt < this.#groupFirst || this.#receipt > index || this.#receipt >= this.#groupNext) {
      const entry = this.#receiptEntry(this.#group);
      this.#receipt = this.#groupFirst;
      this.receiptAt = this.#receiptsAt;
      this.firstLog = readUint32(this.#receipts.bytes, entry + 12);
      this.#gasBeforeAt = -1 - (entry + GAS_AT);
    }
    for (; this.#receipt < index; this.#receipt++) {
      this.#gasBeforeAt = this.gasAt();
      const logs = this.logsAt();
      const end = rlpEnd(bytes, logs);
      for (let log = rlpDataStart(bytes, logs); log < end; log = rlpEnd(bytes, log)) this.firstLog++;
      this.receiptAt = rlpEnd(bytes, this.receiptAt);
    }
    if (!(rlpEnd(bytes, this.receiptAt) <= this.#receiptsEnd)) throw this.#damaged("receipts");
  }

  /** Of the receipt that was sought: the RLP item of its cumulative gas used. */
  gasAt(): number {
    const { bytes } = this;
    return rlpEnd(bytes, rlpEnd(bytes, rlpDataStart(bytes, this.receiptAt)));
  }

  /** Of that receipt: the RLP list of its logs. */
  logsAt(): number {
    return rlpEnd(this.bytes, this.gasAt());
  }

  /** Of that receipt: how much gas the block had used before. */
  gasBefore(): bigint {
    const at = this.#gasBeforeAt;
    if (at < 0) return bytesToBigint(this.#receipts.bytes.subarray(-1 - at, 7 - at));
    return bytesToBigint(this.bytes.subarray(rlpDataStart(this.bytes, at), rlpEnd(this.bytes, at)));
  }

  /**
   * Calls `visit` for each log that matches, in order; it starts at `log` in `bytes`. Groups that cannot have one are not decoded.
   *
   * @throws {CodedError} storage/corrupted
   */
  eachLog(matcher: LogMatcher, visit: (log: number, transactionIndex: number, logIndex: number) => void): void {
    this.#rowOf("receipts", this.#receipts);
    for (let group = 0; group < this.#groups; group++) {
      const from = group === 0 ? 0 : this.#filterEnd(group - 1);
      if (!matcher.mayBeIn(this.#receipts.bytes, this.#filtersAt + from, this.#filtersAt + this.#filterEnd(group))) continue;
      const next = this.#firstOf(group + 1);
      for (let index = this.#firstOf(group); index < next; index++) {
        this.seekReceipt(index);
        const logs = this.logsAt();
        const end = rlpEnd(this.bytes, logs);
        let logIndex = this.firstLog;
        for (let log = rlpDataStart(this.bytes, logs); log < end; log = rlpEnd(this.bytes, log), logIndex++) {
          if (matcher.matches(this.bytes, log)) visit(log, index, logIndex);
        }
      }
    }
  }

  #entry(group: number): number {
    return this.#entriesAt + group * BODY_ENTRY;
  }

  #receiptEntry(group: number): number {
    return RECEIPTS_HEAD + group * RECEIPTS_ENTRY;
  }

  #filterEnd(group: number): number {
    return readUint32(this.#receipts.bytes, this.#receiptEntry(group) + 16);
  }

  #firstOf(group: number): number {
    return group === this.#groups ? this.count : readUint32(this.#body.bytes, this.#entry(group));
  }

  #groupOf(index: number): number {
    if (index < 0 || index >= this.count) throw new RangeError(`transaction ${index} of ${this.count}`);
    let low = 0;
    let high = this.#groups - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#firstOf(middle) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Decodes a group of transactions, after the first group if that is needed. */
  #load(group: number): void {
    this.#transaction = -1;
    this.#receiptsGroup = -1;
    this.#receipt = -1;
    const common = COMMON_BYTES.length;
    const row = this.#body.bytes;
    const firstSize = readUint32(row, this.#entry(0) + 4);
    const isDictionary = firstSize <= MAX_DICTIONARY_BYTES;
    const startsAt = group > 0 && isDictionary ? common + firstSize : common;
    if (group > 0 && isDictionary && !this.#hasFirst) {
      this.#decode(row, this.#dataAt, this.#entry(0), 0, common, firstSize, this.#body.size);
      this.#hasFirst = true;
    }
    const size = readUint32(row, this.#entry(group) + 4);
    const from = group === 0 ? 0 : readUint32(row, this.#entry(group - 1) + 8);
    if (group > 0 || !this.#hasFirst) this.#decode(row, this.#dataAt, this.#entry(group), from, startsAt, size, this.#body.size);
    this.#hasFirst = group === 0 || (this.#hasFirst && isDictionary);
    this.#group = group;
    this.#groupAt = startsAt;
    this.#groupEnd = startsAt + size;
    this.#groupFirst = this.#firstOf(group);
    this.#groupNext = this.#firstOf(group + 1);
  }

  #loadReceipts(): void {
    const group = this.#group;
    const count = this.#groupNext - this.#groupFirst;
    const row = this.#receipts.bytes;
    const entry = this.#receiptEntry(group);
    const size = readUint32(row, entry);
    const from = group === 0 ? 0 : readUint32(row, this.#receiptEntry(group - 1) + 4);
    const at = this.#groupEnd + count * ADDRESS_SIZE;
    this.#reserve(at + size);
    const { bytes } = this;
    const senders = this.senderBytes;
    for (let i = this.#groupFirst * ADDRESS_SIZE, o = this.#groupEnd; o < at; i++, o++) bytes[o] = senders[i]!;
    this.#decode(row, this.#receiptDataAt, entry - 4, from, at, size, this.#receipts.size);
    this.#receiptsGroup = group;
    this.#receiptsAt = at;
    this.#receiptsEnd = at + size;
  }

  /** @param entry where size, end and checksum are, 4 bytes further on */
  #decode(row: Uint8Array, dataAt: number, entry: number, from: number, at: number, size: number, rowSize: number): void {
    const start = dataAt + from;
    const end = dataAt + readUint32(row, entry + 8);
    // A match takes at least a 255th of its decompressed size.
    if (!(start <= end && end <= rowSize && size <= (end - start) * 256)) throw this.#damaged("group");
    if (checksum(row, start, end) !== readUint32(row, entry + 12)) throw this.#damaged("group");
    this.#reserve(at + size);
    if (end - start === size) this.bytes.set(row.subarray(start, end), at);
    else if (!decompress(row, start, end, this.bytes, at, at + size)) throw this.#damaged("group");
  }

  #reserve(size: number): void {
    if (size <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(size, 2 * this.bytes.length));
    larger.set(this.bytes);
    this.bytes = larger;
  }

  #damaged(part: string, cause?: unknown): Error {
    const data = { folder: this.#source?.folder ?? "", row: `block ${this.number}`, reason: `${part} of block ${this.number}` };
    return storageError("storage/corrupted", data, cause === undefined ? {} : { cause });
  }
}
