import type { AccountRecord } from "@rnode/evm";
import { bigintToBytes, bytesToBigint, compareBytes, EMPTY_KECCAK, equalBytes } from "@rnode/primitives";
import { falseContent } from "../errors.ts";

/*
 * The content of state frames, one after the other, is a sequence of records; none is cut by the end of a frame:
 *   account: 1 ‖ keccak256 of the address 32 ‖ size of the nonce 1 ‖ nonce ‖ size of the balance 1 ‖ balance ‖ has code 1 ‖ code hash 32, if so
 *   slot:    2 ‖ keccak256 of the slot 32 ‖ size of the value 1 ‖ value    of the last account
 *   code:    3 ‖ size 4 ‖ code                                            before the first account that has it
 * Accounts ascend by hash, and so do the slots of an account. Numbers have no leading zeros. A state has exactly one such sequence.
 */

const ACCOUNT = 1;
const SLOT = 2;
const CODE = 3;
/** Larger than what any chain allows a contract, or its genesis. */
const MAX_CODE_BYTES = 16 << 20;
const MAX_SMALL_RECORD_BYTES = 128;

/** Collects records of about one frame. */
export class RecordWriter {
  #bytes = new Uint8Array(1 << 20);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  account(hash: Uint8Array, { nonce, balance, codeHash }: AccountRecord): void {
    this.#reserve(MAX_SMALL_RECORD_BYTES);
    this.#byte(ACCOUNT);
    this.#raw(hash);
    this.#short(bigintToBytes(nonce));
    this.#short(bigintToBytes(balance));
    const hasCode = !equalBytes(codeHash, EMPTY_KECCAK);
    this.#byte(hasCode ? 1 : 0);
    if (hasCode) this.#raw(codeHash);
  }

  slot(hash: Uint8Array, value: Uint8Array): void {
    this.#reserve(MAX_SMALL_RECORD_BYTES);
    this.#byte(SLOT);
    this.#raw(hash);
    this.#short(value);
  }

  code(code: Uint8Array): void {
    this.#reserve(code.length + 5);
    this.#byte(CODE);
    for (const shift of [24, 16, 8, 0]) this.#byte((code.length >>> shift) & 0xff);
    this.#raw(code);
  }

  /** @returns a copy of the records, which are then forgotten */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#size);
    this.#size = 0;
    return taken;
  }

  #reserve(bytes: number): void {
    if (this.#size + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#size + bytes, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }

  #byte(value: number): void {
    this.#bytes[this.#size++] = value;
  }

  #raw(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  #short(bytes: Uint8Array): void {
    this.#byte(bytes.length);
    this.#raw(bytes);
  }
}

/** Gets the rows of a state. All arrays are views, valid as long as the read content. */
export interface StateSink {
  code(code: Uint8Array): void;
  /** comes before its slots */
  account(hash: Uint8Array, account: AccountRecord): void;
  slot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
}

/** Reads the content of state frames, and refuses what `RecordWriter` would not have written. */
export class RecordReader {
  readonly #sink: StateSink;
  #account: Uint8Array | undefined;
  #slot: Uint8Array | undefined;
  accounts = 0;
  slots = 0;
  codes = 0;

  constructor(sink: StateSink) {
    this.#sink = sink;
  }

  /** @throws {CodedError} snapshot/false-content */
  read(content: Uint8Array): void {
    const cursor = new Cursor(content);
    while (cursor.at < content.length) {
      const kind = cursor.byte();
      if (kind === ACCOUNT) this.#readAccount(cursor);
      else if (kind === SLOT) this.#readSlot(cursor);
      else if (kind === CODE) this.#readCode(cursor);
      else throw falseContent(`there is no kind ${kind} of records`);
    }
  }

  #readAccount(cursor: Cursor): void {
    const hash = cursor.raw(32);
    if (this.#account !== undefined && compareBytes(hash, this.#account) <= 0) throw falseContent("accounts are not in order");
    const nonce = bytesToBigint(cursor.number(8));
    const balance = bytesToBigint(cursor.number(32));
    const hasCode = cursor.byte();
    if (hasCode > 1) throw falseContent("an account neither has code nor has none");
    this.#account = hash;
    this.#slot = undefined;
    this.accounts++;
    this.#sink.account(hash, { nonce, balance, codeHash: hasCode === 1 ? cursor.raw(32) : EMPTY_KECCAK });
  }

  #readSlot(cursor: Cursor): void {
    const slot = cursor.raw(32);
    const value = cursor.number(32);
    if (this.#account === undefined) throw falseContent("a slot belongs to no account");
    if (this.#slot !== undefined && compareBytes(slot, this.#slot) <= 0) throw falseContent("slots are not in order");
    if (value.length === 0) throw falseContent("a slot is empty");
    this.#slot = slot;
    this.slots++;
    this.#sink.slot(this.#account, slot, value);
  }

  #readCode(cursor: Cursor): void {
    const size = cursor.uint32();
    if (size === 0 || size > MAX_CODE_BYTES) throw falseContent(`a code has ${size} bytes`);
    this.codes++;
    this.#sink.code(cursor.raw(size));
  }
}

class Cursor {
  readonly #bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw falseContent("a record is cut off");
    return byte;
  }

  uint32(): number {
    return this.byte() * 0x1_00_00_00 + (this.byte() << 16) + (this.byte() << 8) + this.byte();
  }

  raw(size: number): Uint8Array {
    const end = this.at + size;
    if (end > this.#bytes.length) throw falseContent("a record is cut off");
    const bytes = this.#bytes.subarray(this.at, end);
    this.at = end;
    return bytes;
  }

  /** without leading zeros */
  number(maxBytes: number): Uint8Array {
    const size = this.byte();
    const bytes = this.raw(Math.min(size, maxBytes + 1));
    if (size > maxBytes || bytes[0] === 0) throw falseContent("a number is too long");
    return bytes;
  }
}
