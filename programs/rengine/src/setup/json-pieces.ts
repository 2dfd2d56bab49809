/** Receives the members of a JSON object, in the order of the text. */
export interface MemberSink {
  /**
   * @param read parses the member's value. If it is not called, the text is skipped, and checked only for where the value ends
   * @param bytes length of the value's text
   */
  member(key: string, read: () => unknown, bytes: number): void;
  /**
   * Returns a sink that receives the members of an object one by one, if the object's text is at least `minBytes` long.
   * Undefined: the value is read as a whole, however long.
   */
  open?(key: string): { readonly sink: MemberSink; readonly minBytes: number; readonly onEnd?: () => void } | undefined;
  /**
   * PERF: receives a member whose value is a string, as the places of the characters between the quotes. They may have escapes.
   *
   * @returns false: `member` must be called
   */
  strings?(bytes: Uint8Array, key: number, keyEnd: number, value: number, valueEnd: number): boolean;
}

/** A text that is not JSON, with the position of the error. */
export class JsonTextError extends Error {
  constructor(problem: string, position: number) {
    super(`not JSON: ${problem} at byte ${position}`);
    this.name = "JsonTextError";
  }
}

/** Of a value that is held in memory as a whole. The longest of a real genesis file is the code of a contract, some 100 KB. */
export const MAX_VALUE_BYTES = 32 << 20;

/** Of a number, `true`, `false` or `null`. The longest number of a genesis file has 78 digits. */
const MAX_NUMBER_BYTES = 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Reads a JSON object, which may be longer than the longest possible string, from a text in pieces. The members of an object that a
 * sink opens are read one by one; everything else is passed to JSON.parse.
 *
 * @returns the value, if the text is not an object
 * @throws {JsonTextError} no JSON, or a value longer than `MAX_VALUE_BYTES`; and whatever a sink throws
 */
export async function readJsonPieces(pieces: AsyncIterable<Uint8Array>, sink: MemberSink): Promise<unknown> {
  const text = new JsonText();
  const reading = text.read(sink);
  let step = reading.next();
  for await (const piece of pieces) {
    text.push(piece);
    step = reading.next();
  }
  text.end();
  while (step.done !== true) step = reading.next();
  return step.value;
}

/** Reads JSON objects one after the other, with white space between them, as `readJsonPieces` reads one: lines of JSON, for example. */
export class JsonObjects {
  readonly #text = new JsonText();
  readonly #reading: Reading<void>;

  /** @param next gives the sink of the next object, and is called before it */
  constructor(next: () => MemberSink) {
    this.#reading = this.#text.readAll(next);
  }

  /** @throws {JsonTextError} something else than an object, or as `readJsonPieces`; and whatever a sink throws */
  push(piece: Uint8Array): void {
    this.#text.push(piece);
    this.#reading.next();
  }

  /** @throws as `push` */
  end(): void {
    this.#text.end();
    while (this.#reading.next().done !== true);
  }
}

/** A generator rather than an async function, because a step needs no promise: it yields only where the available text ends. */
type Reading<T> = Generator<undefined, T, void>;

class JsonText {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** position in the whole text of the first available byte */
  #position = 0;
  #isEnd = false;

  push(piece: Uint8Array): void {
    this.#position += this.#at;
    const next = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.#bytes = this.#at === this.#bytes.length ? next : Buffer.concat([this.#bytes.subarray(this.#at), next]);
    this.#at = 0;
  }

  end(): void {
    this.#isEnd = true;
  }

  *read(sink: MemberSink): Reading<unknown> {
    const first = yield* this.#nextByte();
    let value: unknown;
    if (first === OPEN_OBJECT) yield* this.#object(sink);
    else value = this.#parse(yield* this.#wholeValue());
    while (this.#peek() < 0 && !this.#isEnd) yield;
    if (this.#peek() >= 0) throw this.#error("something follows the value");
    return value;
  }

  *readAll(next: () => MemberSink): Reading<void> {
    for (;;) {
      while (this.#peek() < 0) {
        if (this.#isEnd) return;
        yield;
      }
      if (this.#peek() !== OPEN_OBJECT) throw this.#error("no object");
      yield* this.#object(next());
    }
  }

  *#object(sink: MemberSink): Reading<void> {
    this.#at++;
    let byte = yield* this.#nextByte();
    if (byte === CLOSE_OBJECT) {
      this.#at++;
      return;
    }
    for (;;) {
      if (byte !== QUOTE) throw this.#error("no key");
      if (sink.strings !== undefined) this.#stringMembers(sink);
      // PERF: most members are completely available, and need no generator.
      let end = this.#valueEnd();
      if (end < 0) end = yield* this.#wholeValue();
      const key = this.#parse(end) as string;
      if ((yield* this.#nextByte()) !== COLON) throw this.#error('no ":"');
      this.#at++;
      byte = this.#peek();
      if (byte < 0) byte = yield* this.#nextByte();
      yield* this.#member(sink, key, byte);
      byte = this.#peek();
      if (byte < 0) byte = yield* this.#nextByte();
      this.#at++;
      if (byte === CLOSE_OBJECT) return;
      if (byte !== COMMA) {
        this.#at--;
        throw this.#error('neither "," nor "}"');
      }
      byte = this.#peek();
      if (byte < 0) byte = yield* this.#nextByte();
    }
  }

  /** PERF: takes members that are completely available, without white space, and followed by another one, as long as there are any. */
  #stringMembers(sink: MemberSink): void {
    const bytes = this.#bytes;
    for (let at = this.#at; ; this.#at = at) {
      const keyEnd = stringEnd(bytes, at);
      if (keyEnd < 0 || bytes[keyEnd] !== COLON || bytes[keyEnd + 1] !== QUOTE) return;
      const end = stringEnd(bytes, keyEnd + 1);
      if (end < 0 || bytes[end] !== COMMA || bytes[end + 1] !== QUOTE) return;
      if (!sink.strings!(bytes, at + 1, keyEnd - 1, keyEnd + 2, end - 1)) return;
      at = end + 1;
    }
  }

  *#member(sink: MemberSink, key: string, firstByte: number): Reading<void> {
    const opened = firstByte === OPEN_OBJECT ? sink.open?.(key) : undefined;
    let end = opened?.minBytes === 0 ? -1 : this.#valueEnd();
    while (end < 0) {
      if (opened !== undefined && this.#bytes.length - this.#at >= opened.minBytes) {
        yield* this.#object(opened.sink);
        opened.onEnd?.();
        return;
      }
      yield* this.#more();
      end = this.#valueEnd();
    }
    const start = this.#at;
    sink.member(
      key,
      () => {
        this.#at = start;
        return this.#parse(end);
      },
      end - start,
    );
    this.#at = end;
  }

  /** Yields until there is more text. */
  *#more(): Reading<void> {
    if (this.#isEnd) {
      this.#at = this.#bytes.length;
      throw this.#error("the text ends");
    }
    if (this.#bytes.length - this.#at > MAX_VALUE_BYTES) throw this.#error(`a value of more than ${MAX_VALUE_BYTES} bytes begins`);
    yield;
  }

  *#nextByte(): Reading<number> {
    for (;;) {
      const byte = this.#peek();
      if (byte >= 0) return byte;
      yield* this.#more();
    }
  }

  *#wholeValue(): Reading<number> {
    for (;;) {
      const end = this.#valueEnd();
      if (end >= 0) return end;
      yield* this.#more();
    }
  }

  /** The next byte that is not white space; −1: none is available. */
  #peek(): number {
    const bytes = this.#bytes;
    while (this.#at < bytes.length && isSpace(bytes[this.#at]!)) this.#at++;
    return this.#at < bytes.length ? bytes[this.#at]! : -1;
  }

  /** The end of the value that starts here, found by quotes and brackets; −1: the end is not available yet. */
  #valueEnd(): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let at = this.#at;
    if (bytes[at] === QUOTE) return stringEnd(bytes, at);
    if (bytes[at] !== OPEN_OBJECT && bytes[at] !== OPEN_LIST) {
      while (at < length && !isSpace(bytes[at]!) && ![COMMA, CLOSE_OBJECT, CLOSE_LIST].includes(bytes[at]!)) {
        if (++at - this.#at > MAX_NUMBER_BYTES) throw this.#error(`a number of more than ${MAX_NUMBER_BYTES} bytes begins`);
      }
      return at < length || this.#isEnd ? at : -1;
    }
    for (let depth = 0; at < length; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        at = stringEnd(bytes, at) - 1;
        if (at < 0) return -1;
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --depth === 0) return at + 1;
    }
    return -1;
  }

  /** Parses the value from here to `end`, and moves to `end`. */
  #parse(end: number): unknown {
    const text = this.#bytes.toString("utf8", this.#at, end);
    try {
      const value: unknown = JSON.parse(text);
      this.#at = end;
      return value;
    } catch (cause) {
      throw this.#error((cause as Error).message.replace(/ at position .*| \(line .*/, ""));
    }
  }

  #error(problem: string): JsonTextError {
    return new JsonTextError(problem, this.#position + this.#at);
  }
}

/** The offset after the closing quote; −1: it is not available yet. */
function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  return -1;
}
