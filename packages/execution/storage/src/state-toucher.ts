import type { Table } from "./database/table.ts";
import { MergedNodes } from "./nodes/merged-nodes.ts";
import type { Tables } from "./schema.ts";
import { StateKeys } from "./state/hashed-keys.ts";

const ADDRESS_SIZE = 20;
const SLOT_SIZE = 32;
const HASH_SIZE = 32;
/** The root and the level below it are read by every block. */
const FIRST_DEPTH = 2;
const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;

type TouchedTables = Pick<Tables, "accounts" | "storage" | "nodes" | "upperNodes">;

/** Keys of accounts and slots, packed: 0 ‖ address 20, or 1 ‖ address 20 ‖ slot 32, one after the other. */
export class TouchedKeys {
  #bytes = new Uint8Array(4096);
  #size = 0;
  count = 0;

  addAccount(address: Uint8Array): void {
    this.#add(0, address, undefined);
  }

  addSlot(address: Uint8Array, slot: Uint8Array): void {
    this.#add(1, address, slot);
  }

  #add(kind: number, address: Uint8Array, slot: Uint8Array | undefined): void {
    const needed = this.#size + 1 + ADDRESS_SIZE + (slot === undefined ? 0 : SLOT_SIZE);
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(2 * needed);
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#bytes[this.#size] = kind;
    this.#bytes.set(address, this.#size + 1);
    if (slot !== undefined) this.#bytes.set(slot, this.#size + 1 + ADDRESS_SIZE);
    this.#size = needed;
    this.count++;
  }

  /** The keys so far, in a new buffer; clears them. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#size);
    this.#size = 0;
    this.count = 0;
    return taken;
  }
}

/**
 * Reads the accounts and slots that a block will need, so that their pages are in memory: their rows and their paths in the
 * tries.
 */
export class StateToucher {
  readonly #tables: TouchedTables;
  readonly #nodes: MergedNodes;
  readonly #keys = new StateKeys();
  readonly #accountKey = new Uint8Array(HASH_SIZE);
  readonly #slotKey = new Uint8Array(2 * HASH_SIZE);
  /** of a trie: kind ‖ owner, if any ‖ nibbles */
  readonly #accountPath = new Uint8Array(1 + 2 * HASH_SIZE);
  readonly #slotPath = new Uint8Array(1 + HASH_SIZE + 2 * HASH_SIZE);

  constructor(tables: TouchedTables) {
    this.#tables = tables;
    this.#nodes = new MergedNodes(tables);
    this.#accountPath[0] = ACCOUNT_TRIE;
    this.#slotPath[0] = STORAGE_TRIE;
  }

  /** @param keys made by `TouchedKeys` */
  touch(keys: Uint8Array): void {
    // Execution reads the rows first.
    forEachKey(keys, (address, slot) => {
      if (slot === undefined) this.#tables.accounts.peek(this.#accountKeyOf(address));
      else this.#tables.storage.peek(this.#slotKeyOf(address, slot));
    });
    const { accounts, storage } = this.#tables;
    const [accountDepth, slotDepth] = [depthOf(accounts), depthOf(storage)];
    forEachKey(keys, (address, slot) => {
      if (slot === undefined) {
        this.#touchPath(this.#accountPath, 1, this.#accountKeyOf(address), 0, accountDepth);
      } else {
        const key = this.#slotKeyOf(address, slot);
        this.#slotPath.set(key.subarray(0, HASH_SIZE), 1);
        this.#touchPath(this.#slotPath, 1 + HASH_SIZE, key, HASH_SIZE, slotDepth);
      }
    });
  }

  #accountKeyOf(address: Uint8Array): Uint8Array {
    this.#keys.addresses.write(this.#accountKey, 0, address);
    return this.#accountKey;
  }

  #slotKeyOf(address: Uint8Array, slot: Uint8Array): Uint8Array {
    this.#keys.addresses.write(this.#slotKey, 0, address);
    this.#keys.slots.write(this.#slotKey, HASH_SIZE, slot);
    return this.#slotKey;
  }

  /** A key that is not there leads to the page where it would be, which has its neighbours above and below. */
  #touchPath(path: Uint8Array, at: number, key: Uint8Array, hashAt: number, depth: number): void {
    for (let nibble = 0; nibble < depth; nibble++) {
      const byte = key[hashAt + (nibble >> 1)]!;
      path[at + nibble] = nibble % 2 === 0 ? byte >> 4 : byte & 15;
    }
    for (let length = FIRST_DEPTH; length <= depth; length++) this.#nodes.peek(path.subarray(0, at + length));
  }
}

/** About the depth of the deepest branches, if all rows belong to one trie. */
const depthOf = (table: Table): number => Math.min(2 * HASH_SIZE, Math.ceil(Math.log2(1 + table.stats().entries) / 4));

function forEachKey(keys: Uint8Array, visit: (address: Uint8Array, slot: Uint8Array | undefined) => void): void {
  for (let at = 0; at < keys.length; ) {
    const slotAt = at + 1 + ADDRESS_SIZE;
    const end = keys[at] === 0 ? slotAt : slotAt + SLOT_SIZE;
    visit(keys.subarray(at + 1, slotAt), end === slotAt ? undefined : keys.subarray(slotAt, end));
    at = end;
  }
}
