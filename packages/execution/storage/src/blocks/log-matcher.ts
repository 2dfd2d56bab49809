import { filterHash, filterMayHave } from "./group-filter.ts";
import { rlpDataStart, rlpEnd } from "./rlp-walk.ts";

/** Which logs are wanted. */
export interface LogCriteria {
  /** `undefined`: any */
  readonly addresses?: readonly Uint8Array[] | undefined;
  /** by topic position; `undefined`: any, but the topic must exist */
  readonly topics?: readonly (readonly Uint8Array[] | undefined)[] | undefined;
}

/** More alternatives than this are looked up by their hashes. */
const FEW = 4;

/** The alternatives for an address or for the topic at one position. */
class Alternatives {
  readonly #values: readonly Uint8Array[];
  readonly #hashes: readonly number[];
  readonly #byHash: Map<number, Uint8Array[]> | undefined;

  constructor(values: readonly Uint8Array[]) {
    this.#values = values;
    this.#hashes = values.map((value) => filterHash(value, 0, value.length));
    if (values.length <= FEW) return;
    this.#byHash = new Map();
    for (const [index, hash] of this.#hashes.entries()) {
      const same = this.#byHash.get(hash);
      if (same === undefined) this.#byHash.set(hash, [values[index]!]);
      else same.push(values[index]!);
    }
  }

  mayBeIn(filter: Uint8Array, at: number, end: number): boolean {
    for (const hash of this.#hashes) if (filterMayHave(filter, at, end, hash)) return true;
    return false;
  }

  has(bytes: Uint8Array, at: number, length: number): boolean {
    const values = this.#byHash === undefined ? this.#values : this.#byHash.get(filterHash(bytes, at, length));
    if (values === undefined) return false;
    for (const value of values) if (isAt(value, bytes, at, length)) return true;
    return false;
  }
}

function isAt(value: Uint8Array, bytes: Uint8Array, at: number, length: number): boolean {
  // From the end: addresses within topics begin alike.
  for (let i = length - 1; i >= 0; i--) if (value[i] !== bytes[at + i]) return false;
  return true;
}

const ADDRESS_SIZE = 20;
const TOPIC_SIZE = 32;
const TOPIC_ITEM_SIZE = 1 + TOPIC_SIZE;

/** Compares logs in their stored form with a filter. */
export class LogMatcher {
  readonly #addresses: Alternatives | undefined;
  readonly #topics: readonly (Alternatives | undefined)[];

  constructor({ addresses, topics = [] }: LogCriteria) {
    this.#addresses = addresses === undefined ? undefined : new Alternatives(addresses);
    this.#topics = topics.map((values) => (values === undefined ? undefined : new Alternatives(values)));
  }

  /** Whether a group with the filter from `at` to `end` may have a matching log. */
  mayBeIn(filter: Uint8Array, at: number, end: number): boolean {
    if (end === at) return false; // no logs at all
    if (this.#addresses?.mayBeIn(filter, at, end) === false) return false;
    for (const topic of this.#topics) if (topic?.mayBeIn(filter, at, end) === false) return false;
    return true;
  }

  /** Whether the log whose RLP [address, topics, data] starts at `log` matches. */
  matches(bytes: Uint8Array, log: number): boolean {
    const address = rlpDataStart(bytes, log) + 1;
    if (this.#addresses?.has(bytes, address, ADDRESS_SIZE) === false) return false;
    const topics = this.#topics;
    if (topics.length === 0) return true;
    const list = address + ADDRESS_SIZE;
    const start = rlpDataStart(bytes, list);
    if (topics.length * TOPIC_ITEM_SIZE > rlpEnd(bytes, list) - start) return false;
    for (let i = 0; i < topics.length; i++) {
      if (topics[i]?.has(bytes, start + i * TOPIC_ITEM_SIZE + 1, TOPIC_SIZE) === false) return false;
    }
    return true;
  }
}
