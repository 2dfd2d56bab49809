import { bytesToHex, compareBytes, concatBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, keccak256 } from "@rnode/primitives";
import {
  encodeStorageValue,
  MAX_ACCOUNT_RLP_BYTES,
  SortedTrieBuilder,
  type SortedTrieProgress,
  writeAccountFields,
} from "@rnode/trie";
import type { VerifyProgress } from "./api.ts";
import type { TableEntry } from "./database/table.ts";
import { CurrentNodes } from "./nodes/current-nodes.ts";
import { nodeKeyOf } from "./nodes/node-tables.ts";
import type { Tables } from "./schema.ts";
import { accountValueEnd, decodeAccountValue } from "./state/account-value.ts";
import { isChangeListPart } from "./state/change-list.ts";
import { slotValueAt, slotValueEnd } from "./state/slot-value.ts";
import type { StatePosition, StateTally } from "./verification/checkpoint.ts";
import { ADDRESS_SIZE, HASH_SIZE, NONCE_AT, STORAGE_ROOT_AT, type StateRows } from "./verification/state-rows.ts";
import type { VerifyRun } from "./verification/verify-run.ts";

export interface VerifiedTables {
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 100;
const ALL_KEYS = new Uint8Array(1);
const NEXT_BYTE = new Uint8Array(1);
/** Rows between two progress reports. PERF: a report reads the clock. */
const ROWS_PER_PROGRESS = 256;

/**
 * Recomputes the state root's tries from the flat state, and compares all other stored data with them. Reads each table once.
 *
 * @param head number of the block whose state is verified
 * @param run resumes an earlier verification of the same tables, and gets the positions for the next one
 * @throws {CodedError} storage/disk-full, storage/io, storage/corrupted
 */
export function verifyTables(
  tables: Tables,
  head: number,
  run: VerifyRun,
  onProgress: (progress: VerifyProgress) => void,
): VerifiedTables {
  return new Verifier(tables, head, run, onProgress).run();
}

type Position<P extends StatePosition["phase"]> = Extract<StatePosition, { readonly phase: P }>;

class Verifier {
  readonly #tables: Tables;
  readonly #headNodes: CurrentNodes;
  readonly #run: VerifyRun;
  readonly #sorted: StateRows;
  readonly #onProgress: (progress: VerifyProgress) => void;
  readonly #head: number;
  readonly #totalRows: number;
  readonly #problems: string[] = [];
  #nodes = 0;
  #codes = 0;
  #rows = 0;
  #stateRoot: Uint8Array | undefined;

  constructor(tables: Tables, head: number, run: VerifyRun, onProgress: (progress: VerifyProgress) => void) {
    this.#tables = tables;
    this.#headNodes = new CurrentNodes(tables, false);
    this.#head = head;
    this.#run = run;
    this.#sorted = run.rows;
    this.#onProgress = onProgress;
    // Each row is read from its table and from the sorted rows.
    this.#totalRows = 2 * (tables.accounts.stats().entries + tables.storage.stats().entries);
  }

  run(): VerifiedTables {
    let position: StatePosition = { phase: "rows" };
    if (this.#run.from?.part === "state") {
      position = this.#run.from.position;
      this.#restore(this.#run.from.tally);
    }
    if (position.phase === "rows") {
      this.#sortRows(position);
      position = { phase: "accounts" };
    }
    if (position.phase === "accounts") {
      this.#stateRoot = this.#accountRoot(position);
      position = { phase: "storage" };
    }
    if (position.phase === "storage") {
      this.#verifyStorage(position);
      this.#compareCounts();
      position = { phase: "codes" };
    }
    this.#verifyCodes(position);
    const [accounts, slots] = [this.#sorted.accounts.count, this.#sorted.slots.count];
    return { stateRoot: this.#stateRoot!, accounts, slots, codes: this.#codes, nodes: this.#nodes, problems: this.#problems };
  }

  #restore({ rows, nodes, codes, stateRoot, problems }: StateTally): void {
    this.#rows = rows;
    this.#nodes = nodes;
    this.#codes = codes;
    this.#stateRoot = stateRoot;
    this.#problems.push(...problems);
  }

  #report(problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  #compareCounts(): void {
    const rowsOf = (name: "storage" | "nodes" | "upperNodes"): number => this.#tables[name].stats().entries;
    this.#compareCount("storage", rowsOf("storage"), this.#sorted.slots.count, "rows that belong to accounts with storage");
    const nodes = this.#headNodes.count(rowsOf("nodes") + rowsOf("upperNodes"));
    this.#compareCount("nodes and upperNodes", nodes, this.#nodes, "nodes of the recomputed tries");
  }

  #compareCount(table: string, entries: number, expected: number, what: string): void {
    if (entries !== expected) this.#report(`table ${table} has ${entries} rows, there are ${expected} ${what}`);
  }

  /** A row was read and all that follows from it was done. @param position the place after it */
  #advance(position: () => StatePosition): void {
    if (++this.#rows % ROWS_PER_PROGRESS === 0) this.#offer(position);
  }

  #offer(position: () => StatePosition): void {
    const progress = { part: "state", done: this.#rows, total: this.#totalRows } as const;
    this.#run.offer(() => {
      const tally = {
        rows: this.#rows,
        nodes: this.#nodes,
        codes: this.#codes,
        stateRoot: this.#stateRoot,
        problems: this.#problems,
      };
      return { part: "state", position: position(), tally };
    }, progress);
    this.#onProgress(progress);
  }

  /** Both tables at once, as both are in the order of addresses. Slots of accounts without storage are left out. */
  #sortRows(from: Position<"rows">): void {
    let { address: lastAddress, slotKey } = from;
    const position = (): StatePosition => ({ phase: "rows", address: lastAddress, slotKey });
    const slots = this.#tables.storage.range(slotKey === undefined ? ALL_KEYS : concatBytes(slotKey, NEXT_BYTE));
    let slot = slots.next();
    for (const { key: address, value } of this.#tables.accounts.range(lastAddress ?? ALL_KEYS)) {
      const account = decodeAccountValue(value);
      const hash = keccak256(address);
      // Where an earlier verification was, only slots of the account may be missing.
      if (lastAddress === undefined || !equalBytes(address, lastAddress)) {
        this.#sorted.addAccount(hash, address, account);
        if (!isChangeListPart(value, accountValueEnd(value), this.#head)) {
          this.#report(`the blocks that changed ${bytesToHex(address)} are not ascending numbers up to the head's`);
        }
        if (!equalBytes(account.codeHash, EMPTY_KECCAK) && !this.#tables.codes.has(account.codeHash)) {
          this.#report(`code ${bytesToHex(account.codeHash)} of ${bytesToHex(address)} is missing`);
        }
        lastAddress = address;
        this.#advance(position);
      }
      const hasStorage = !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
      for (; slot.done !== true; slot = slots.next()) {
        const order = compareBytes(slot.value.key.subarray(0, ADDRESS_SIZE), address);
        if (order > 0) break;
        if (order === 0 && hasStorage) this.#addSlot(hash, slot.value);
        slotKey = slot.value.key;
        this.#advance(position);
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
    this.#sorted.addSlot(owner, key.subarray(ADDRESS_SIZE), value.subarray(from, to));
  }

  #accountRoot({ trie }: Position<"accounts">): Uint8Array {
    const builder = this.#builder(undefined, trie);
    const position = (): StatePosition => ({ phase: "accounts", trie: builder.progress() });
    // PERF: the builder holds a key and a value until the next ones, so two buffers take turns.
    const keys = [new Uint8Array(HASH_SIZE), new Uint8Array(HASH_SIZE)] as const;
    const values = [new Uint8Array(MAX_ACCOUNT_RLP_BYTES), new Uint8Array(MAX_ACCOUNT_RLP_BYTES)] as const;
    let turn: 0 | 1 = 0;
    for (const row of this.#sorted.accounts.sorted(trie?.key)) {
      turn = turn === 0 ? 1 : 0;
      keys[turn].set(row.subarray(0, HASH_SIZE));
      const size = writeAccountFields(values[turn], 0, row, NONCE_AT, row.subarray(STORAGE_ROOT_AT));
      builder.add(keys[turn], values[turn].subarray(0, size));
      this.#advance(position);
    }
    return builder.finish();
  }

  #verifyStorage(from: Position<"storage">): void {
    let { owner: lastOwner, slot: lastSlot, trie } = from;
    const slots = this.#sorted.slots.sorted(lastSlot);
    let slot = slots.next();
    let passed = 0;
    for (const account of this.#sorted.accounts.sorted(lastOwner)) {
      const expected = account.subarray(STORAGE_ROOT_AT);
      if (!equalBytes(expected, EMPTY_TRIE_ROOT)) {
        const owner = account.slice(0, HASH_SIZE);
        const builder = this.#builder(owner, trie);
        trie = undefined;
        const position = (): StatePosition => ({ phase: "storage", owner: lastOwner, slot: lastSlot, trie: builder.progress() });
        for (; slot.done !== true && equalBytes(slot.value.subarray(0, HASH_SIZE), owner); slot = slots.next()) {
          const row = slot.value.slice();
          builder.add(row.subarray(HASH_SIZE, 2 * HASH_SIZE), encodeStorageValue(row.subarray(2 * HASH_SIZE)));
          lastSlot = row.subarray(0, 2 * HASH_SIZE);
          this.#advance(position);
        }
        const root = builder.finish();
        if (!equalBytes(root, expected)) {
          const address = bytesToHex(account.subarray(HASH_SIZE, NONCE_AT));
          this.#report(`storage root of ${address} is ${bytesToHex(expected)}, recomputed ${bytesToHex(root)}`);
        }
        lastOwner = owner;
      }
      if (++passed % ROWS_PER_PROGRESS > 0) continue;
      lastOwner = account.slice(0, HASH_SIZE);
      this.#offer(() => ({ phase: "storage", owner: lastOwner, slot: lastSlot }));
    }
  }

  #verifyCodes(from: StatePosition): void {
    const last = from.phase === "codes" ? from.code : undefined;
    for (const { key, value } of this.#tables.codes.range(last === undefined ? ALL_KEYS : concatBytes(last, NEXT_BYTE))) {
      this.#codes++;
      if (!equalBytes(keccak256(value), key)) this.#report(`code ${bytesToHex(key)} has another hash`);
      if (this.#codes % ROWS_PER_PROGRESS === 0) this.#offer(() => ({ phase: "codes", code: key }));
    }
  }

  /** A trie whose nodes are compared with the stored ones. @param from position of an earlier verification */
  #builder(owner: Uint8Array | undefined, from: SortedTrieProgress | undefined): SortedTrieBuilder {
    const onNode = (path: Uint8Array, rlp: Uint8Array): void => {
      this.#nodes++;
      const stored = this.#headNodes.read(nodeKeyOf(owner, path));
      if (stored === undefined) this.#report(`trie node ${describeNode(owner, path)} is missing`);
      else if (!equalBytes(stored, rlp)) this.#report(`trie node ${describeNode(owner, path)} differs`);
    };
    return from === undefined ? new SortedTrieBuilder(onNode) : SortedTrieBuilder.after(from, onNode);
  }
}

function describeNode(owner: Uint8Array | undefined, path: Uint8Array): string {
  return `${owner === undefined ? "of the accounts" : `of ${bytesToHex(owner)}`} at ${Array.from(path, (nibble) => nibble.toString(16)).join("")}`;
}
