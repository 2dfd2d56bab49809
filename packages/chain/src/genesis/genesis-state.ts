import { endianness } from "node:os";
import type { AccountRecord } from "@rnode/evm";
import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  CodedError,
  compareBytes,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  keccak256,
  trimBytesLeft,
  ZERO_HASH,
} from "@rnode/primitives";
import type { GenesisAccount, GenesisErrorCode, GenesisSlot } from "@rnode/protocol";
import type { GenesisRows } from "@rnode/storage";
import { encodeStorageValue, MAX_ACCOUNT_RLP_BYTES, SortedTrieBuilder, writeAccount } from "@rnode/trie";

/*
 * Keeps the accounts and slots of a genesis outside the heap, so that a million of each take some 200 MB and need no garbage collection:
 *   account: address 20 ‖ keccak256 of it 32 ‖ nonce 8 ‖ balance 32 ‖ index of the code in the list + 1, 4 ‖ first slot 4 ‖ number of slots 4
 *   slot:    slot 32 ‖ keccak256 of it 32 ‖ value 32
 * Tries are built from sorted leaves twice: once to compute their roots, and once more to write their nodes. Nothing is written before the
 * block is known to be the right one.
 */

const ADDRESS_SIZE = 20;
const HASH_SIZE = 32;
const NONCE_AT = ADDRESS_SIZE + HASH_SIZE;
const BALANCE_AT = NONCE_AT + 8;
const CODE_AT = BALANCE_AT + 32;
const FIRST_SLOT_AT = CODE_AT + 4;
const SLOTS_AT = FIRST_SLOT_AT + 4;
const ACCOUNT_SIZE = SLOTS_AT + 4;
const SLOT_SIZE = 3 * HASH_SIZE;

type OnNode = (path: Uint8Array, rlp: Uint8Array) => void;

/** The state of a genesis block. It is filled account by account, then sealed, then written. */
export class GenesisState {
  readonly #accounts = new Rows(ACCOUNT_SIZE);
  readonly #slots = new Rows(SLOT_SIZE);
  readonly #codes: { readonly codeHash: Uint8Array; readonly code: Uint8Array }[] = [];
  readonly #codePlaces = new Map<string, number>();
  /** by index of the account */
  readonly #storageRoots = new Map<number, Uint8Array>();
  #accountSlots = 0;
  /** indices of the accounts, in ascending order of the hashes of their addresses */
  #byHash: Uint32Array = new Uint32Array(0);

  static of(alloc: readonly GenesisAccount[]): GenesisState {
    const state = new GenesisState();
    for (const account of alloc) state.add(account);
    return state;
  }

  /** Adds a slot of the account that is added next; slots with value zero are left out. */
  addSlot({ slot, value }: GenesisSlot): void {
    if (equalBytes(value, ZERO_HASH)) return;
    const row = this.#slots.add();
    row.set(slot);
    row.set(keccak256(slot), HASH_SIZE);
    row.set(value, 2 * HASH_SIZE);
    this.#accountSlots++;
  }

  add({ address, nonce, balance, code, storage }: GenesisAccount): void {
    for (const slot of storage) this.addSlot(slot);
    this.addAccount({ address, nonce, balance, codeHash: code.length === 0 ? EMPTY_KECCAK : this.addCode(code) });
  }

  /** Adds code that accounts may have. @returns its hash */
  addCode(code: Uint8Array): Uint8Array {
    const codeHash = keccak256(code);
    const key = bytesToHex(codeHash);
    if (!this.#codePlaces.has(key)) this.#codePlaces.set(key, this.#codes.push({ codeHash, code }) - 1);
    return codeHash;
  }

  hasCode(codeHash: Uint8Array): boolean {
    return equalBytes(codeHash, EMPTY_KECCAK) || this.#codePlaces.has(bytesToHex(codeHash));
  }

  /** Adds an account with the slots that were added before it. @param account its code was added before, or is empty */
  addAccount({ address, nonce, balance, codeHash }: AccountRecord & { readonly address: Uint8Array }): void {
    const row = this.#accounts.add();
    const view = viewOf(row);
    row.set(address);
    row.set(keccak256(address), ADDRESS_SIZE);
    view.setBigUint64(NONCE_AT, nonce);
    row.set(bigintToBytes(balance, 32), BALANCE_AT);
    view.setUint32(CODE_AT, equalBytes(codeHash, EMPTY_KECCAK) ? 0 : this.#codePlaces.get(bytesToHex(codeHash))! + 1);
    view.setUint32(FIRST_SLOT_AT, this.#slots.count - this.#accountSlots);
    view.setUint32(SLOTS_AT, this.#accountSlots);
    this.#accountSlots = 0;
  }

  /**
   * Computes the state root and the storage root of one account. Nothing can be added afterwards.
   *
   * @throws {CodedError} genesis/duplicate-account, genesis/duplicate-slot
   */
  seal(account: Uint8Array): { readonly stateRoot: Uint8Array; readonly storageRoot: Uint8Array } {
    let storageRoot: Uint8Array = EMPTY_TRIE_ROOT;
    for (let place = 0; place < this.#accounts.count; place++) {
      const row = this.#accounts.row(place);
      if (viewOf(row).getUint32(SLOTS_AT) === 0) continue;
      const root = toEnd(this.#storageTrie(place));
      this.#storageRoots.set(place, root);
      if (equalBytes(row.subarray(0, ADDRESS_SIZE), account)) storageRoot = root;
    }
    this.#byHash = ascending(0, this.#accounts.count, (place) => hashOf(this.#accounts.row(place)));
    return { stateRoot: toEnd(this.#accountTrie()), storageRoot };
  }

  *#accountTrie(onNode?: OnNode): Generator<void, Uint8Array> {
    const builder = new SortedTrieBuilder(onNode);
    const [odd, even] = [new Uint8Array(MAX_ACCOUNT_RLP_BYTES), new Uint8Array(MAX_ACCOUNT_RLP_BYTES)];
    let isOdd = false;
    let last: Uint8Array | undefined;
    for (const place of this.#byHash) {
      const hash = hashOf(this.#accounts.row(place));
      if (last !== undefined && equalBytes(last, hash)) {
        const address = bytesToHex(this.#addressOf(place));
        throw new CodedError<GenesisErrorCode>("genesis/duplicate-account", { address });
      }
      // PERF: the builder holds a value until the next one, so two buffers take turns.
      isOdd = !isOdd;
      const buffer = isOdd ? odd : even;
      builder.add(hash, buffer.subarray(0, writeAccount(buffer, 0, this.#accountOf(place))));
      last = hash;
      yield;
    }
    return builder.finish();
  }

  *#storageTrie(place: number, onNode?: OnNode): Generator<void, Uint8Array> {
    const builder = new SortedTrieBuilder(onNode);
    let last: Uint8Array | undefined;
    for (const slot of this.#slotsOf(place, HASH_SIZE)) {
      const row = this.#slots.row(slot);
      const hash = row.subarray(HASH_SIZE, 2 * HASH_SIZE);
      if (last !== undefined && equalBytes(last, hash)) {
        const data = { address: bytesToHex(this.#addressOf(place)), slot: bytesToHex(row.subarray(0, HASH_SIZE)) };
        throw new CodedError<GenesisErrorCode>("genesis/duplicate-slot", data);
      }
      builder.add(hash, encodeStorageValue(row.subarray(2 * HASH_SIZE)));
      last = hash;
      yield;
    }
    return builder.finish();
  }

  /** The indices of the account's slots, in ascending order of the key at `keyAt` in their rows. */
  #slotsOf(place: number, keyAt: number): Uint32Array {
    const view = viewOf(this.#accounts.row(place));
    const keyOf = (slot: number): Uint8Array => this.#slots.row(slot).subarray(keyAt, keyAt + HASH_SIZE);
    return ascending(view.getUint32(FIRST_SLOT_AT), view.getUint32(SLOTS_AT), keyOf);
  }

  #addressOf(place: number): Uint8Array {
    return this.#accounts.row(place).subarray(0, ADDRESS_SIZE);
  }

  #accountOf(place: number) {
    const row = this.#accounts.row(place);
    const view = viewOf(row);
    const code = view.getUint32(CODE_AT);
    return {
      nonce: view.getBigUint64(NONCE_AT),
      balance: bytesToBigint(trimBytesLeft(row.subarray(BALANCE_AT, CODE_AT))),
      codeHash: code === 0 ? EMPTY_KECCAK : this.#codes[code - 1]!.codeHash,
      storageRoot: this.#storageRoots.get(place) ?? EMPTY_TRIE_ROOT,
    };
  }

  /** Hands over everything in the key order of the tables, a little per step. Must be called after `seal`. */
  *rowsInto(rows: GenesisRows): Generator<void> {
    for (const { codeHash, code } of this.#codes) yield rows.code(codeHash, code);
    const byAddress = ascending(0, this.#accounts.count, (place) => this.#addressOf(place));
    for (const place of byAddress) yield rows.account(this.#addressOf(place), this.#accountOf(place));
    for (const place of byAddress) {
      if (!this.#storageRoots.has(place)) continue;
      const address = this.#addressOf(place);
      for (const slot of this.#slotsOf(place, 0)) {
        const row = this.#slots.row(slot);
        yield rows.slot(address, row.subarray(0, HASH_SIZE), trimBytesLeft(row.subarray(2 * HASH_SIZE)));
      }
    }
    yield* this.#accountTrie((path, rlp) => rows.node(undefined, path, rlp));
    for (const place of this.#byHash) {
      if (!this.#storageRoots.has(place)) continue;
      const owner = hashOf(this.#accounts.row(place));
      yield* this.#storageTrie(place, (path, rlp) => rows.node(owner, path, rlp));
    }
  }
}

/** Runs a generator to its end, and returns its result. */
function toEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const hashOf = (account: Uint8Array): Uint8Array => account.subarray(ADDRESS_SIZE, ADDRESS_SIZE + HASH_SIZE);
const viewOf = (row: Uint8Array): DataView => new DataView(row.buffer, row.byteOffset, row.byteLength);

const PAGE_ROWS = 1024;

/** Rows of one size, in memory outside the heap. */
class Rows {
  readonly #size: number;
  readonly #pages: Uint8Array[] = [];
  count = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Adds a row of zeros. */
  add(): Uint8Array {
    const place = this.count++;
    if (place % PAGE_ROWS === 0) this.#pages.push(new Uint8Array(PAGE_ROWS * this.#size));
    return this.row(place);
  }

  row(place: number): Uint8Array {
    const at = (place % PAGE_ROWS) * this.#size;
    return this.#pages[Math.floor(place / PAGE_ROWS)]!.subarray(at, at + this.#size);
  }
}

const [PLACE, PREFIX] = endianness() === "LE" ? ([0, 1] as const) : ([1, 0] as const);

/**
 * The indices from `first` on, in ascending order of their keys. PERF: 64-bit numbers, with the first four bytes of a key above the
 * index, are sorted without a function call per comparison; keys with the same first bytes are then sorted among themselves.
 */
function ascending(first: number, count: number, keyOf: (place: number) => Uint8Array): Uint32Array {
  const pairs = new Uint32Array(2 * count);
  for (let i = 0; i < count; i++) {
    const key = keyOf(first + i);
    pairs[2 * i + PLACE] = first + i;
    pairs[2 * i + PREFIX] = ((key[0]! << 24) | (key[1]! << 16) | (key[2]! << 8) | key[3]!) >>> 0;
  }
  new BigUint64Array(pairs.buffer).sort();
  const places = new Uint32Array(count);
  for (let i = 0; i < count; i++) places[i] = pairs[2 * i + PLACE]!;
  for (let from = 0; from < count; ) {
    let to = from + 1;
    while (to < count && pairs[2 * to + PREFIX] === pairs[2 * from + PREFIX]) to++;
    if (to - from > 1) places.subarray(from, to).sort((a, b) => compareBytes(keyOf(a), keyOf(b)));
    from = to;
  }
  return places;
}
