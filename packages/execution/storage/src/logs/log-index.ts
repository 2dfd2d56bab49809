import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { Log, Receipt } from "@rnode/protocol";
import type { LogFilter } from "../api.ts";
import { NumberList } from "../buffers/growable.ts";
import { KeyTable } from "../buffers/key-table.ts";
import { BlockListIndex } from "../database/block-list-index.ts";
import type { Table } from "../database/table.ts";

const ADDRESS_KIND = 0;

/**
 * Finds blocks by the contents of their logs: an address, or a topic in one of the four positions. Keys: 0 ‖ address, or position (1 to
 * 4) ‖ topic.
 */
export class LogIndex {
  readonly #index: BlockListIndex;

  constructor(table: Table) {
    this.#index = new BlockListIndex(table);
  }

  /** Adds blocks in ascending order. */
  append(batch: LogBatch): void {
    for (const { key, numbers, count } of batch.lists()) this.#index.appendAll(key, numbers, count);
  }

  /** Adds blocks, in ascending order, that are older than all others. */
  prepend(batch: LogBatch): void {
    for (const { key, numbers, count } of batch.lists()) this.#index.prependAll(key, numbers, count);
  }

  /** Removes block `number`, which must be the last one. */
  remove(number: number, logs: Iterable<Log>): void {
    for (const key of logKeys(logs)) this.#index.truncate(key, number - 1);
  }

  /**
   * Blocks from `from` to `to`, in ascending order, in which each condition of the filter matches some log. It can be different
   * logs, so the caller still has to filter. PERF: the time is proportional to the number of blocks for the rarest condition, not
   * to the range.
   */
  *blocks(filter: LogFilter, from: number, to: number): Generator<number> {
    const conditions = this.#conditionsOf(filter);
    for (let number = from; number <= to; ) {
      const candidate = conditions.reduce<number | undefined>(
        (reached, condition) => (reached === undefined ? undefined : condition.firstFrom(reached)),
        number,
      );
      if (candidate === undefined || candidate > to) return;
      // A later condition may have moved beyond the block that matched the earlier ones, so all conditions are checked again from
      // there.
      if (candidate === number || conditions.every((condition) => condition.firstFrom(candidate) === candidate)) {
        yield candidate;
        number = candidate + 1;
      } else {
        number = candidate;
      }
    }
  }

  #conditionsOf({ addresses, topics }: LogFilter): Union[] {
    const conditions: Union[] = [];
    const add = (kind: number, values: readonly Uint8Array[] | undefined): void => {
      if (values === undefined || values.length === 0) return;
      conditions.push(new Union(values.map((value) => new ListCursor(this.#index, keyOf(kind, value)))));
    };
    add(ADDRESS_KIND, addresses);
    topics?.forEach((alternatives, place) => {
      add(place + 1, alternatives);
    });
    return conditions;
  }
}

/** Kind 1 ‖ address or topic, padded with zeros. */
const BATCH_KEY_SIZE = 34;
const RECENT_BITS = 10;

/** The keys by which the logs of blocks are found. */
export class LogBatch {
  readonly #keys = new KeyTable(BATCH_KEY_SIZE);
  readonly #key = new Uint8Array(BATCH_KEY_SIZE);
  readonly #numbers: number[] = [];
  /** for each key: its first and its last entry */
  readonly #first = new NumberList();
  readonly #last = new NumberList();
  /** for each entry: the block, as an index into `#numbers`, and the key's next entry, −1 for none */
  readonly #blocks = new NumberList();
  readonly #next = new NumberList();
  /**
   * a cache of key numbers + 1, indexed by a few of the key's bytes. PERF: most values soon recur; this halves the time for a block of
   * swaps
   */
  readonly #recent = new Int32Array(2 ** RECENT_BITS);

  /** Adds the next block. */
  add(number: number, receipts: readonly Pick<Receipt, "logs">[]): void {
    this.#numbers.push(number);
    for (const { logs } of receipts) {
      for (const { address, topics } of logs) {
        this.#note(ADDRESS_KIND, address);
        for (let place = 0; place < topics.length; place++) this.#note(place + 1, topics[place]!);
      }
    }
  }

  #note(kind: number, value: Uint8Array): void {
    const block = this.#numbers.length - 1;
    const id = this.#idOf(kind, value);
    if (id === this.#first.length) {
      const entry = this.#newEntry(block);
      this.#first.push(entry);
      this.#last.push(entry);
      return;
    }
    const last = this.#last.values[id]!;
    if (this.#blocks.values[last] === block) return;
    const entry = this.#newEntry(block);
    this.#next.values[last] = entry;
    this.#last.values[id] = entry;
  }

  /** The number of the key, which is added if it is new. @param value has the size that belongs to the kind */
  #idOf(kind: number, value: Uint8Array): number {
    const { length } = value;
    const bits = value[length - 1]! | (value[length - 2]! << 8) | (value[length - 3]! << 16) | (kind << 24);
    const place = Math.imul(bits, 0x9e3779b1) >>> (32 - RECENT_BITS);
    const recent = this.#recent[place]! - 1;
    if (recent >= 0 && this.#isKey(recent, kind, value)) return recent;
    const key = this.#key;
    key[0] = kind;
    for (let i = 0; i < length; i++) key[1 + i] = value[i]!;
    for (let i = 1 + length; i < BATCH_KEY_SIZE; i++) key[i] = 0;
    const id = this.#keys.add(key);
    this.#recent[place] = id + 1;
    return id;
  }

  #isKey(id: number, kind: number, value: Uint8Array): boolean {
    const { bytes } = this.#keys;
    const at = id * BATCH_KEY_SIZE;
    if (bytes[at] !== kind) return false;
    for (let i = value.length - 1; i >= 0; i--) if (bytes[at + 1 + i] !== value[i]) return false;
    return true;
  }

  #newEntry(block: number): number {
    this.#next.push(-1);
    return this.#blocks.push(block);
  }

  /** Each key with its blocks, both in ascending order; valid until the next step. */
  *lists(): Generator<{ readonly key: Uint8Array; readonly numbers: readonly number[]; readonly count: number }> {
    const keys = { [ADDRESS_KIND]: new Uint8Array(1 + 20), topic: new Uint8Array(1 + 32) };
    const numbers: number[] = [];
    const { bytes } = this.#keys;
    for (const id of this.#keys.sorted()) {
      const at = id * BATCH_KEY_SIZE;
      const key = bytes[at] === ADDRESS_KIND ? keys[ADDRESS_KIND] : keys.topic;
      for (let i = 0; i < key.length; i++) key[i] = bytes[at + i]!;
      let count = 0;
      for (let entry = this.#first.values[id]!; entry >= 0; entry = this.#next.values[entry]!) {
        numbers[count++] = this.#numbers[this.#blocks.values[entry]!]!;
      }
      yield { key, numbers, count };
    }
  }

  clear(): void {
    this.#numbers.length = 0;
    this.#recent.fill(0);
    for (const part of [this.#keys, this.#first, this.#last, this.#blocks, this.#next]) part.clear();
  }
}

/** One list, read in chunks while it is walked upwards. */
class ListCursor {
  readonly #index: BlockListIndex;
  readonly #key: Uint8Array;
  #chunk: readonly number[] = [];
  #at = 0;
  #isExhausted = false;

  constructor(index: BlockListIndex, key: Uint8Array) {
    this.#index = index;
    this.#key = key;
  }

  /** @param number not below that of the previous call */
  firstFrom(number: number): number | undefined {
    if (this.#isExhausted) return undefined;
    while (this.#at < this.#chunk.length && this.#chunk[this.#at]! < number) this.#at++;
    if (this.#at === this.#chunk.length) {
      const chunk = this.#index.chunkFrom(this.#key, number);
      if (chunk === undefined) {
        this.#isExhausted = true;
        return undefined;
      }
      this.#chunk = chunk;
      this.#at = 0;
    }
    return this.#chunk[this.#at];
  }
}

class Union {
  readonly #cursors: readonly ListCursor[];

  constructor(cursors: readonly ListCursor[]) {
    this.#cursors = cursors;
  }

  firstFrom(number: number): number | undefined {
    let lowest: number | undefined;
    for (const cursor of this.#cursors) {
      const first = cursor.firstFrom(number);
      if (first !== undefined && (lowest === undefined || first < lowest)) lowest = first;
      if (lowest === number) return lowest;
    }
    return lowest;
  }
}

function keyOf(kind: number, value: Uint8Array): Uint8Array {
  const key = new Uint8Array(1 + value.length);
  key[0] = kind;
  key.set(value, 1);
  return key;
}

export function* logsOf(receipts: readonly Receipt[]): Generator<Log> {
  for (const { logs } of receipts) yield* logs;
}

/** The keys under which the logs are indexed, each once. */
export function* logKeys(logs: Iterable<Log>): Generator<Uint8Array> {
  const keys = new Set<Hex>();
  for (const { address, topics } of logs) {
    keys.add(bytesToHex(keyOf(ADDRESS_KIND, address)));
    for (const [place, topic] of topics.entries()) keys.add(bytesToHex(keyOf(place + 1, topic)));
  }
  for (const keyHex of keys) yield hexToBytes(keyHex);
}
