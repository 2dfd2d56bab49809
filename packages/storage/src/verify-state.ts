import { bigintToBytes, bytesToHex, compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import { encodeStorageValue, MAX_ACCOUNT_RLP_BYTES, SortedTrieBuilder, writeAccountFields } from "@rnode/trie";
import type { VerifyProgress } from "./api.ts";
import type { TableEntry } from "./database/table.ts";
import { CurrentNodes } from "./nodes/current-nodes.ts";
import { nodeKeyOf } from "./nodes/node-tables.ts";
import type { Tables } from "./schema.ts";
import { RowSort } from "./sorting/row-sort.ts";
import { accountValueEnd, decodeAccountValue } from "./state/account-value.ts";
import { isChangeListPart } from "./state/change-list.ts";
import { slotValueAt, slotValueEnd } from "./state/slot-value.ts";

export interface VerifiedTables {
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  readonly problems: readonly string[];
}

export interface VerifyLimits {
  readonly head: number;
  /** for rows that do not fit into memory */
  readonly folder: string;
  /** of each of the two sorts; default: as in `RowSort` */
  readonly memoryBytes?: number | undefined;
  readonly onProgress: (progress: VerifyProgress) => void;
}

/*
 * What is sorted by hash, because the tables are in the order of addresses:
 *   accounts: keccak256 of the address 32 ‖ address 20 ‖ nonce 8 ‖ balance 32 ‖ code hash 32 ‖ storage root 32
 *   slots:    keccak256 of the address 32 ‖ keccak256 of the slot 32 ‖ value 32
 */
const HASH_SIZE = 32;
const ADDRESS_SIZE = 20;
const NONCE_AT = HASH_SIZE + ADDRESS_SIZE;
const BALANCE_AT = NONCE_AT + 8;
const CODE_HASH_AT = BALANCE_AT + 32;
const STORAGE_ROOT_AT = CODE_HASH_AT + HASH_SIZE;
const ACCOUNT_SIZE = STORAGE_ROOT_AT + HASH_SIZE;
const SLOT_SIZE = 2 * HASH_SIZE + 32;

const MAX_PROBLEMS = 100;
const ALL_KEYS = new Uint8Array(1);
const ROWS_PER_PROGRESS = 10_000;

/**
 * Recomputes what the state root commits to from the flat state, and compares everything that is stored in addition. Reads each table
 * once.
 */
export function verifyTables(tables: Tables, limits: VerifyLimits): VerifiedTables {
  const verifier = new Verifier(tables, limits);
  try {
    return verifier.run();
  } finally {
    verifier.close();
  }
}

class Verifier {
  readonly #tables: Tables;
  readonly #headNodes: CurrentNodes;
  readonly #accounts: RowSort;
  readonly #slots: RowSort;
  readonly #onProgress: (progress: VerifyProgress) => void;
  readonly #head: number;
  readonly #totalRows: number;
  readonly #problems: string[] = [];
  #nodes = 0;
  #rows = 0;

  constructor(tables: Tables, { head, folder, memoryBytes, onProgress }: VerifyLimits) {
    this.#tables = tables;
    this.#headNodes = new CurrentNodes(tables, false);
    this.#head = head;
    this.#onProgress = onProgress;
    this.#accounts = new RowSort({ rowBytes: ACCOUNT_SIZE, keyBytes: HASH_SIZE, folder, memoryBytes });
    this.#slots = new RowSort({ rowBytes: SLOT_SIZE, keyBytes: 2 * HASH_SIZE, folder, memoryBytes });
    // Each row is read from its table and from the sorted rows.
    this.#totalRows = 2 * (tables.accounts.stats().entries + tables.storage.stats().entries);
  }

  close(): void {
    this.#accounts.close();
    this.#slots.close();
  }

  run(): VerifiedTables {
    this.#sortRows();
    const stateRoot = this.#accountRoot();
    this.#verifyStorage();
    const rowsOf = (name: "storage" | "nodes" | "upperNodes"): number => this.#tables[name].stats().entries;
    this.#compareCount("storage", rowsOf("storage"), this.#slots.count, "rows that belong to accounts with storage");
    const nodes = this.#headNodes.count(rowsOf("nodes") + rowsOf("upperNodes"));
    this.#compareCount("nodes and upperNodes", nodes, this.#nodes, "nodes of the recomputed tries");
    const codes = this.#verifyCodes();
    const [accounts, slots] = [this.#accounts.count, this.#slots.count];
    return { stateRoot, accounts, slots, codes, nodes: this.#nodes, problems: this.#problems };
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  #compareCount(table: string, entries: number, expected: number, what: string): void {
    if (entries !== expected) this.#report(`table ${table} has ${entries} rows, there are ${expected} ${what}`);
  }

  #advance(): void {
    if (++this.#rows % ROWS_PER_PROGRESS === 0) this.#onProgress({ part: "state", done: this.#rows, total: this.#totalRows });
  }

  /** Both tables at once, as both are in the order of addresses. Slots of accounts without storage are left out. */
  #sortRows(): void {
    const slots = this.#tables.storage.range(ALL_KEYS);
    let slot = slots.next();
    for (const { key: address, value } of this.#tables.accounts.range(ALL_KEYS)) {
      this.#advance();
      const account = decodeAccountValue(value);
      const hash = keccak256(address);
      const row = this.#accounts.add();
      row.set(hash);
      row.set(address, HASH_SIZE);
      new DataView(row.buffer, row.byteOffset).setBigUint64(NONCE_AT, account.nonce);
      row.set(bigintToBytes(BigInt.asUintN(256, account.balance), 32), BALANCE_AT); // a damaged row may be longer
      row.set(account.codeHash, CODE_HASH_AT);
      row.set(account.storageRoot, STORAGE_ROOT_AT);
      if (!isChangeListPart(value, accountValueEnd(value), this.#head)) {
        this.#report(`the blocks that changed ${bytesToHex(address)} are not ascending numbers up to the head's`);
      }
      if (!equalBytes(account.codeHash, EMPTY_KECCAK) && !this.#tables.codes.has(account.codeHash)) {
        this.#report(`code ${bytesToHex(account.codeHash)} of ${bytesToHex(address)} is missing`);
      }
      const hasStorage = !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
      for (; slot.done !== true; slot = slots.next()) {
        const order = compareBytes(slot.value.key.subarray(0, ADDRESS_SIZE), address);
        if (order > 0) break;
        this.#advance();
        if (order === 0 && hasStorage) this.#addSlot(hash, slot.value);
      }
    }
  }

  #addSlot(owner: Uint8Array, { key, value }: TableEntry): void {
    const [from, to] = [slotValueAt(value), slotValueEnd(value)];
    const describe = (): string => `slot ${bytesToHex(key.subarray(ADDRESS_SIZE))} of ${bytesToHex(key.subarray(0, ADDRESS_SIZE))}`;
    if (to - from > 32) {
      this.#report(`${describe()} has ${to - from} bytes`);
      return;
    }
    if (!isChangeListPart(value, to, this.#head)) {
      this.#report(`the blocks that changed ${describe()} are not ascending numbers up to the head's`);
    }
    const row = this.#slots.add();
    row.set(owner);
    row.set(keccak256(key.subarray(ADDRESS_SIZE)), HASH_SIZE);
    row.set(value.subarray(from, to), SLOT_SIZE - (to - from));
  }

  #verifyCodes(): number {
    let count = 0;
    for (const { key, value } of this.#tables.codes.range(ALL_KEYS)) {
      count++;
      if (!equalBytes(keccak256(value), key)) this.#report(`code ${bytesToHex(key)} has another hash`);
    }
    return count;
  }

  #accountRoot(): Uint8Array {
    const builder = this.#builder(undefined);
    // PERF: the builder holds a key and a value until the next ones, so two buffers take turns.
    const keys = [new Uint8Array(HASH_SIZE), new Uint8Array(HASH_SIZE)] as const;
    const values = [new Uint8Array(MAX_ACCOUNT_RLP_BYTES), new Uint8Array(MAX_ACCOUNT_RLP_BYTES)] as const;
    let turn: 0 | 1 = 0;
    for (const row of this.#accounts.sorted()) {
      this.#advance();
      turn = turn === 0 ? 1 : 0;
      keys[turn].set(row.subarray(0, HASH_SIZE));
      const size = writeAccountFields(values[turn], 0, row, NONCE_AT, row.subarray(STORAGE_ROOT_AT));
      builder.add(keys[turn], values[turn].subarray(0, size));
    }
    return builder.finish();
  }

  #verifyStorage(): void {
    const slots = this.#slots.sorted();
    let slot = slots.next();
    for (const account of this.#accounts.sorted()) {
      const expected = account.subarray(STORAGE_ROOT_AT);
      if (equalBytes(expected, EMPTY_TRIE_ROOT)) continue;
      const owner = account.slice(0, HASH_SIZE);
      const builder = this.#builder(owner);
      for (; slot.done !== true && equalBytes(slot.value.subarray(0, HASH_SIZE), owner); slot = slots.next()) {
        this.#advance();
        const row = slot.value.slice();
        builder.add(row.subarray(HASH_SIZE, 2 * HASH_SIZE), encodeStorageValue(row.subarray(2 * HASH_SIZE)));
      }
      const root = builder.finish();
      if (equalBytes(root, expected)) continue;
      const address = bytesToHex(account.subarray(HASH_SIZE, NONCE_AT));
      this.#report(`storage root of ${address} is ${bytesToHex(expected)}, recomputed ${bytesToHex(root)}`);
    }
  }

  /** A trie whose nodes are compared with those that are stored. */
  #builder(owner: Uint8Array | undefined): SortedTrieBuilder {
    return new SortedTrieBuilder((path, rlp) => {
      this.#nodes++;
      const stored = this.#headNodes.read(nodeKeyOf(owner, path));
      if (stored === undefined) this.#report(`trie node ${describeNode(owner, path)} is missing`);
      else if (!equalBytes(stored, rlp)) this.#report(`trie node ${describeNode(owner, path)} differs`);
    });
  }
}

function describeNode(owner: Uint8Array | undefined, path: Uint8Array): string {
  return `${owner === undefined ? "of the accounts" : `of ${bytesToHex(owner)}`} at ${Array.from(path, (nibble) => nibble.toString(16)).join("")}`;
}
