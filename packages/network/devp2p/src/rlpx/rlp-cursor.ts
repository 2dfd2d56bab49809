import { bytesToBigint, CodedError, type RlpErrorCode, type RlpSpan, readRlpSpan } from "@rnode/primitives";

/**
 * Walks the items of a list without making objects of all that it contains: a message of a megabyte can have a million items.
 * All methods throw {CodedError} rlp/*.
 */
export class RlpCursor {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  private constructor(bytes: Uint8Array, at: number, end: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** The list that a message consists of. */
  static ofMessage(given: Uint8Array): RlpCursor {
    const bytes = new Uint8Array(given.buffer, given.byteOffset, given.length); // a Buffer's slices would be no copies
    const span = readRlpSpan(bytes, 0);
    if (!span.isList) throw new CodedError<RlpErrorCode>("rlp/expected-list");
    if (span.end !== bytes.length) throw new CodedError<RlpErrorCode>("rlp/trailing-bytes", { count: bytes.length - span.end });
    return new RlpCursor(bytes, span.dataStart, span.end);
  }

  /** The list at the start; later bytes are ignored. */
  static ofPrefix(given: Uint8Array): RlpCursor {
    return RlpCursor.ofMessage(given.subarray(0, readRlpSpan(given, 0).end));
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  #next(): RlpSpan {
    const span = readRlpSpan(this.#bytes, this.#at, this.#end);
    this.#at = span.end;
    return span;
  }

  list(): RlpCursor {
    const { isList, dataStart, end } = this.#next();
    if (!isList) throw new CodedError<RlpErrorCode>("rlp/expected-list");
    return new RlpCursor(this.#bytes, dataStart, end);
  }

  /** A view. @param length `undefined`: any */
  string(length?: number): Uint8Array {
    const { isList, dataStart, end } = this.#next();
    if (isList) throw new CodedError<RlpErrorCode>("rlp/expected-string");
    if (length !== undefined && end - dataStart !== length)
      throw new CodedError<RlpErrorCode>("rlp/wrong-string-length", { expected: length, got: end - dataStart });
    return this.#bytes.subarray(dataStart, end);
  }

  uint(maxBytes = 8): bigint {
    const bytes = this.string();
    if (bytes.length > maxBytes) throw new CodedError<RlpErrorCode>("rlp/integer-too-large", { maxBytes, got: bytes.length });
    if (bytes[0] === 0) throw new CodedError<RlpErrorCode>("rlp/non-canonical-integer");
    return bytesToBigint(bytes);
  }

  /** as `uint`; a value above the maximum of a JavaScript number becomes that maximum */
  number(): number {
    const value = this.uint();
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
  }

  /** An item with its header, as a copy. */
  encoded(): Uint8Array {
    const { start, end } = this.#next();
    return this.#bytes.slice(start, end);
  }

  /** Whether the next item is a list. */
  get isListNext(): boolean {
    return readRlpSpan(this.#bytes, this.#at, this.#end).isList;
  }

  /** Whether the next item is a string of 32 bytes. */
  get isHashNext(): boolean {
    const { isList, dataStart, end } = readRlpSpan(this.#bytes, this.#at, this.#end);
    return !isList && end - dataStart === 32;
  }

  /** @throws {CodedError} rlp/wrong-item-count */
  static expectCount(got: number, expected: number): void {
    if (got !== expected) throw new CodedError<RlpErrorCode>("rlp/wrong-item-count", { got, expected });
  }

  /** Reads items until the end. @throws {CodedError} rlp/wrong-item-count: more than `max` */
  all<T>(read: (cursor: RlpCursor) => T, max: number): T[] {
    const items: T[] = [];
    while (!this.isAtEnd) {
      if (items.length === max) throw new CodedError<RlpErrorCode>("rlp/wrong-item-count", { max });
      items.push(read(this));
    }
    return items;
  }
}
