import { concatBytes, encodeRlp } from "@rnode/primitives";
import { encodeAccount, encodeLeaf } from "@rnode/trie";
import type { LeafReader } from "../nodes/leaf-reader.ts";
import { contentAt, itemEnd, pathNibbles } from "../nodes/node-shape.ts";
import type { StateTables } from "./state-tables.ts";

const HASH_SIZE = 32;
const KEY_NIBBLES = 64;

/** The leaves of the tries, made from the flat state. */
export class TrieLeaves implements LeafReader {
  readonly #state: StateTables;
  /** the least key that begins with a path */
  readonly #least = { account: new Uint8Array(HASH_SIZE), slot: new Uint8Array(2 * HASH_SIZE) };

  constructor(state: StateTables) {
    this.#state = state;
  }

  // PERF: a row is found by its key in a fifth of the time that a search takes.
  read(owner: Uint8Array | undefined, path: Uint8Array, wanted?: Uint8Array): Uint8Array | undefined {
    const exact = wanted && owner !== undefined ? concatBytes(owner, wanted) : wanted;
    const found = exact && beginsWith(exact, owner, path) ? this.#leaf(undefined, owner, path, exact) : undefined;
    if (found !== undefined) return found;
    const key = this.#keyUnder(owner, path);
    return key && this.#leaf(undefined, owner, path, key);
  }

  readAt(number: number, owner: Uint8Array | undefined, path: Uint8Array, later: Uint8Array | undefined): Uint8Array | undefined {
    const key = later === undefined ? this.#keyUnder(owner, path) : keyOfLeaf(owner, path, later);
    return key && this.#leaf(number, owner, path, key);
  }

  /** The first key of the head's flat state that begins with the path. */
  #keyUnder(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    const least = owner === undefined ? this.#least.account : this.#least.slot;
    writeKey(least, owner, path);
    const key = this.#state.firstKey(owner === undefined ? "accounts" : "storage", least);
    return key !== undefined && beginsWith(key, owner, path) ? key : undefined;
  }

  #leaf(number: number | undefined, owner: Uint8Array | undefined, path: Uint8Array, key: Uint8Array): Uint8Array | undefined {
    if (owner === undefined) {
      const account = this.#state.accountAt(number, key);
      return account && encodeLeaf(key, path.length, KEY_NIBBLES, encodeAccount(account));
    }
    const value = this.#state.slotAt(number, key);
    return value && encodeLeaf(key, KEY_NIBBLES + path.length, 2 * KEY_NIBBLES, encodeRlp(value));
  }
}

/** Writes the owner, the path, and zeros. */
function writeKey(out: Uint8Array, owner: Uint8Array | undefined, path: Uint8Array): void {
  const at = owner === undefined ? 0 : HASH_SIZE;
  if (owner !== undefined) out.set(owner);
  out.fill(0, at);
  for (let i = 0; i < path.length; i++) out[at + (i >> 1)]! |= (i & 1) === 0 ? path[i]! << 4 : path[i]!;
}

function beginsWith(key: Uint8Array, owner: Uint8Array | undefined, path: Uint8Array): boolean {
  const at = owner === undefined ? 0 : HASH_SIZE;
  for (let i = 0; i < at; i++) if (key[i] !== owner![i]) return false;
  for (let i = 0; i < path.length; i++) {
    const byte = key[at + (i >> 1)]!;
    if (((i & 1) === 0 ? byte >> 4 : byte & 0x0f) !== path[i]) return false;
  }
  return true;
}

/** The path and the leaf's own nibbles. */
function keyOfLeaf(owner: Uint8Array | undefined, path: Uint8Array, leaf: Uint8Array): Uint8Array {
  const pathAt = contentAt(leaf, 0);
  const rest = pathNibbles(leaf.subarray(contentAt(leaf, pathAt), itemEnd(leaf, pathAt)));
  const key = new Uint8Array(owner === undefined ? HASH_SIZE : 2 * HASH_SIZE);
  writeKey(key, owner, concatBytes(path, rest));
  return key;
}
