import { deserialize, serialize } from "node:v8";
import type { AccountRecord } from "@rnode/evm";
import { bytesToHex, compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, isCodedError } from "@rnode/primitives";
import { type GenesisRows, KeyTable, type StateRun } from "@rnode/storage";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder, type SortedTrieProgress } from "@rnode/trie";
import { ChainError } from "../faults.ts";
import { Peekable } from "./peekable.ts";

export interface SortedAccount extends AccountRecord {
  /** keccak256 of the address */
  readonly addressHash: Uint8Array;
  /** if it is known */
  readonly address?: Uint8Array | undefined;
}

export interface SortedSlot {
  /** keccak256 of the address */
  readonly addressHash: Uint8Array;
  /** keccak256 of the slot */
  readonly slotHash: Uint8Array;
  /** big-endian without leading zeros, not empty */
  readonly value: Uint8Array;
  /** if it is known */
  readonly slot?: Uint8Array | undefined;
}

/** A state whose rows come by ascending hashes. */
export interface SortedState {
  accounts(): Iterable<SortedAccount>;
  slots(): Iterable<SortedSlot>;
  /** `undefined` if it is missing */
  code(codeHash: Uint8Array): Uint8Array | undefined;
}

export interface RowCounts {
  readonly accounts: number;
  readonly slots: number;
}

export interface ComputedRoots {
  readonly stateRoot: Uint8Array;
  /** of the account that was asked for */
  readonly storageRoot: Uint8Array;
}

export interface SortedStateOptions {
  /** of the state, 32 bytes: a run continues one with the same id */
  readonly id: Uint8Array;
  /** hash of an account whose storage root is wanted */
  readonly account: Uint8Array;
  /** Called after the last row; what it throws makes the written rows useless. */
  readonly check: (roots: ComputedRoots) => void;
}

/** Where a run is, as plain data: the rows before it are written. */
interface Progress {
  readonly counts: RowCounts;
  readonly storageRoot: Uint8Array;
  readonly accounts: SortedTrieProgress | undefined;
  /** of the account after the last one, if some of its slots are written */
  readonly storage: { readonly owner: Uint8Array; readonly trie: SortedTrieProgress } | undefined;
}

/** PERF: a step through generators that lie in each other takes a good part of the time of a row. */
const ROWS_A_STEP = 32;

/** Writes a sorted state and its trie nodes in one pass, so its root is known after the last row only. */
export class SortedStateRun implements StateRun<GenesisRows> {
  readonly id: Uint8Array;
  readonly #state: SortedState;
  readonly #options: SortedStateOptions;
  readonly #codes = new KeyTable(32);
  #accounts = 0;
  #slots = 0;
  #storageRoot: Uint8Array = EMPTY_TRIE_ROOT;
  #accountTrie: SortedTrieBuilder | undefined;
  #storage: { readonly owner: Uint8Array; readonly trie: SortedTrieBuilder } | undefined;

  constructor(state: SortedState, options: SortedStateOptions) {
    this.id = options.id;
    this.#state = state;
    this.#options = options;
  }

  /** Rows until now, those of earlier runs included. */
  get counts(): RowCounts {
    return { accounts: this.#accounts, slots: this.#slots };
  }

  progress(): Uint8Array | undefined {
    const storage = this.#storage;
    const trie = storage?.trie.progress();
    if (this.#accounts === 0 && trie === undefined) return undefined;
    const progress: Progress = {
      counts: this.counts,
      storageRoot: this.#storageRoot,
      accounts: this.#accountTrie?.progress(),
      storage: storage && trie && { owner: storage.owner, trie },
    };
    return serialize(progress);
  }

  /**
   * Passes some rows and the nodes to the left of them to `rows` with each step.
   *
   * @throws {CodedError} chain/incomplete-state, and what `check` throws
   */
  *steps(rows: GenesisRows, progress?: Uint8Array): Generator<void> {
    const from = progress && (deserialize(progress) as Progress);
    const onNode = (path: Uint8Array, rlp: Uint8Array): void => rows.node(undefined, path, rlp);
    const trie = SortedTrieBuilder.withoutLeaves(onNode, from?.accounts);
    this.#accountTrie = trie;
    if (from !== undefined) {
      ({ accounts: this.#accounts, slots: this.#slots } = from.counts);
      this.#storageRoot = from.storageRoot;
    }
    const slots = new Peekable(this.#state.slots(), this.#slots);
    let written = this.#accounts;
    for (const account of this.#state.accounts()) {
      if (written-- > 0) continue;
      this.#writeCode(account, rows);
      const { addressHash, nonce, balance, codeHash } = account;
      const earlier = from?.storage !== undefined && equalBytes(from.storage.owner, addressHash) ? from.storage.trie : undefined;
      const storageRoot = yield* this.#writeStorage(addressHash, slots, rows, earlier);
      const stored = { nonce, balance, codeHash, storageRoot };
      rows.account(addressHash, stored);
      if (account.address !== undefined) rows.preimage(addressHash, account.address);
      addTo(trie, addressHash, encodeAccount(stored), () => `the account with the hash ${bytesToHex(addressHash)}`);
      if (equalBytes(addressHash, this.#options.account)) this.#storageRoot = storageRoot;
      this.#storage = undefined;
      if (++this.#accounts % ROWS_A_STEP === 0) yield;
    }
    if (slots.current !== undefined) throw withoutAccount(slots.current);
    this.#options.check({ stateRoot: trie.finish(), storageRoot: this.#storageRoot });
  }

  #writeCode({ addressHash, codeHash }: SortedAccount, rows: GenesisRows): void {
    if (equalBytes(codeHash, EMPTY_KECCAK) || this.#codes.find(codeHash) >= 0) return;
    const code = this.#state.code(codeHash);
    if (code === undefined)
      throw incomplete(`the code ${bytesToHex(codeHash)} of the account with the hash ${bytesToHex(addressHash)} is missing`);
    this.#codes.add(codeHash);
    rows.code(codeHash, code);
  }

  /** @param earlier the trie of the slots that are written already. @returns the storage root of the account */
  *#writeStorage(
    owner: Uint8Array,
    slots: Peekable<SortedSlot>,
    rows: GenesisRows,
    earlier: SortedTrieProgress | undefined,
  ): Generator<void, Uint8Array> {
    let next = slots.current;
    if (next !== undefined && compareBytes(next.addressHash, owner) < 0) throw withoutAccount(next);
    if (earlier === undefined && (next === undefined || !equalBytes(next.addressHash, owner))) return EMPTY_TRIE_ROOT;
    const onNode = (path: Uint8Array, rlp: Uint8Array): void => rows.node(owner, path, rlp);
    const trie = SortedTrieBuilder.withoutLeaves(onNode, earlier);
    this.#storage = { owner, trie };
    while (next !== undefined && equalBytes(next.addressHash, owner)) {
      const { slotHash, value, slot } = next;
      rows.slot(owner, slotHash, value);
      if (slot !== undefined) rows.preimage(slotHash, slot);
      addTo(trie, slotHash, encodeStorageValue(value), () => `slot ${bytesToHex(slot ?? slotHash)} of ${bytesToHex(owner)}`);
      slots.advance();
      next = slots.current;
      if (++this.#slots % ROWS_A_STEP === 0) yield;
    }
    return trie.finish();
  }
}

/** @param describe the row. @throws {CodedError} chain/incomplete-state: it does not come after the one before */
function addTo(trie: SortedTrieBuilder, key: Uint8Array, value: Uint8Array, describe: () => string): void {
  try {
    trie.add(key, value);
  } catch (cause) {
    if (!isCodedError(cause, "trie/unsorted-keys")) throw cause;
    throw incomplete(`${describe()} is there twice, or out of order`);
  }
}

const incomplete = (reason: string): ChainError => new ChainError("chain/incomplete-state", { reason });
const withoutAccount = ({ addressHash }: SortedSlot): ChainError =>
  incomplete(`there are slots of the hash ${bytesToHex(addressHash)}, and no such account`);
