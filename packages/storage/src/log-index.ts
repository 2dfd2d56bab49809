import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { Log, Receipt } from "@rnode/protocol";
import { BlockListIndex } from "./block-list-index.ts";
import type { Table } from "./table.ts";

/** Addresses and topics of which one must match; undefined or empty: any. */
export interface LogFilter {
  readonly addresses?: readonly Uint8Array[] | undefined;
  readonly topics?: readonly (readonly Uint8Array[] | undefined)[] | undefined;
}

const ADDRESS_KIND = 0;

/**
 * Blocks by what their logs hold: an address, or a topic in one of the four places. Keys: 0 ‖ address, or place (1 to 4) ‖ topic.
 */
export class LogIndex {
  readonly #index: BlockListIndex;

  constructor(table: Table) {
    this.#index = new BlockListIndex(table);
  }

  /** Adds blocks in ascending order. */
  append(blocks: readonly { readonly number: number; readonly logs: Iterable<Log> }[]): void {
    const numbersByKey = new Map<Hex, number[]>();
    for (const { number, logs } of blocks) {
      for (const keyHex of logKeyTexts(logs)) {
        const numbers = numbersByKey.get(keyHex);
        if (numbers === undefined) numbersByKey.set(keyHex, [number]);
        else numbers.push(number);
      }
    }
    for (const keyHex of [...numbersByKey.keys()].sort()) this.#index.appendAll(hexToBytes(keyHex), numbersByKey.get(keyHex)!);
  }

  /** Forgets block `number`, the last one. */
  remove(number: number, logs: Iterable<Log>): void {
    for (const key of logKeys(logs)) this.#index.truncate(key, number - 1);
  }

  /**
   * Blocks from `from` to `to` in which every condition of the filter is met by some log, ascending; not always by the same log, so the
   * caller still filters. PERF: proportional to the rarest condition's blocks, not to the range.
   */
  *blocks(filter: LogFilter, from: number, to: number): Generator<number> {
    const conditions = this.#conditionsOf(filter);
    for (let number = from; number <= to; ) {
      const candidate = conditions.reduce<number | undefined>(
        (reached, condition) => (reached === undefined ? undefined : condition.firstFrom(reached)),
        number,
      );
      if (candidate === undefined || candidate > to) return;
      // A later condition may have gone beyond what an earlier one agreed to: ask all again from there.
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

/** One list, read in chunks as it is walked upwards. */
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

  /** @param number not below that of the call before */
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

/** The keys of the logs in the index, each once. */
export function* logKeys(logs: Iterable<Log>): Generator<Uint8Array> {
  for (const keyHex of logKeyTexts(logs)) yield hexToBytes(keyHex);
}

function logKeyTexts(logs: Iterable<Log>): Set<Hex> {
  const keys = new Set<Hex>();
  for (const { address, topics } of logs) {
    keys.add(bytesToHex(keyOf(ADDRESS_KIND, address)));
    for (const [place, topic] of topics.entries()) keys.add(bytesToHex(keyOf(place + 1, topic)));
  }
  return keys;
}
