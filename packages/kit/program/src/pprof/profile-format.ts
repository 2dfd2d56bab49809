import { gzipSync } from "node:zlib";

/** A place in a program's code. */
export interface Frame {
  readonly functionName: string;
  /** address or path of the script; empty: the engine's own code */
  readonly file: string;
  /** first line of the function, from 1; 0: not known */
  readonly startLine: number;
  /** the line meant, from 1; 0: not known */
  readonly line: number;
}

export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

export interface ProfileHeader {
  /** the types of a sample's numbers, in order */
  readonly sampleTypes: readonly ValueType[];
  /** between two samples, on average, in `periodType` */
  readonly period: number;
  readonly periodType: ValueType;
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;

/**
 * Adds up samples by stack, and writes them as `go tool pprof` reads them: a gzipped `perftools.profiles.Profile`. Its size depends on how
 * many different stacks there were, not on how long the profile took.
 *
 * Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
export class ProfileBuilder {
  readonly #header: ProfileHeader;
  readonly #strings = new Map<string, number>([["", 0]]);
  /** ids by key, from 1 */
  readonly #functions = new Map<string, { readonly id: number; readonly frame: Frame }>();
  readonly #locations = new Map<string, { readonly id: number; readonly functionId: number; readonly line: number }>();
  /** sums by the ids of the stack */
  readonly #samples = new Map<string, { readonly stack: readonly number[]; readonly sums: number[] }>();

  constructor(header: ProfileHeader) {
    this.#header = header;
  }

  /** @param stack the innermost frame first. @param values one for each sample type, whole numbers */
  add(stack: readonly Frame[], values: readonly number[]): void {
    const ids = stack.map((frame) => this.#location(frame));
    const key = ids.join();
    const known = this.#samples.get(key);
    if (known === undefined) this.#samples.set(key, { stack: ids, sums: [...values] });
    else for (const [index, value] of values.entries()) known.sums[index]! += value;
  }

  /** @param startMs of the profile, since the epoch */
  encode(startMs: number, durationMs: number): Uint8Array {
    const { sampleTypes, period, periodType } = this.#header;
    const profile = new Message();
    for (const type of sampleTypes) profile.message(1, this.#valueType(type));
    for (const { stack, sums } of this.#samples.values()) {
      profile.message(2, new Message().packed(1, stack).packed(2, sums));
    }
    // the one program that ran: everything in it has names already
    profile.message(3, new Message().number(1, 1).number(7, 1).number(8, 1).number(9, 1));
    for (const { id, functionId, line } of this.#locations.values()) {
      profile.message(4, new Message().number(1, id).number(2, 1).message(4, new Message().number(1, functionId).number(2, line)));
    }
    for (const { id, frame } of this.#functions.values()) {
      const name = this.#string(frame.functionName);
      const file = this.#string(frame.file);
      profile.message(5, new Message().number(1, id).number(2, name).number(3, name).number(4, file).number(5, frame.startLine));
    }
    const type = this.#valueType(periodType);
    for (const text of this.#strings.keys()) profile.bytes(6, Buffer.from(text));
    profile.number(9, Math.round(startMs) * 1e6).number(10, Math.round(durationMs) * 1e6);
    profile.message(11, type).number(12, period);
    return gzipSync(profile.encoded());
  }

  #valueType({ type, unit }: ValueType): Message {
    return new Message().number(1, this.#string(type)).number(2, this.#string(unit));
  }

  #string(text: string): number {
    const known = this.#strings.get(text) ?? this.#strings.size;
    this.#strings.set(text, known);
    return known;
  }

  #location(frame: Frame): number {
    const functionKey = `${frame.functionName}\n${frame.file}\n${frame.startLine}`;
    let entry = this.#functions.get(functionKey);
    if (entry === undefined) this.#functions.set(functionKey, (entry = { id: this.#functions.size + 1, frame }));
    const key = `${entry.id}:${frame.line}`;
    let location = this.#locations.get(key);
    if (location === undefined) {
      location = { id: this.#locations.size + 1, functionId: entry.id, line: frame.line };
      this.#locations.set(key, location);
    }
    return location.id;
  }
}

/** A protobuf message, as far as profiles need one. */
class Message {
  readonly #parts: Uint8Array[] = [];

  /** Zero is the default, and is left out. */
  number(field: number, value: number): this {
    if (value !== 0) this.#parts.push(varint(field * 8 + VARINT), varint(value));
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#parts.push(varint(field * 8 + LENGTH_DELIMITED), varint(value.length), value);
    return this;
  }

  message(field: number, message: Message): this {
    return this.bytes(field, message.encoded());
  }

  packed(field: number, values: readonly number[]): this {
    return this.bytes(field, Buffer.concat(values.map(varint)));
  }

  encoded(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

/** @param value a whole number, 0 or more; above 2^53 the last digits are not exact */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
