import {
  bytesToHex,
  compareBytes,
  concatBytes,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  equalBytes,
  isCodedError,
  keccak256,
} from "@rnode/primitives";
import { encodeAccount, encodeStorageValue, SortedTrieBuilder, type SortedTrieProgress } from "@rnode/trie";
import type { StoredAccount, VerifyProgress } from "./api.ts";
import type { TableEntry } from "./database/table.ts";
import { CurrentNodes } from "./nodes/current-nodes.ts";
import { isLeafNode } from "./nodes/leaf-reader.ts";
import { nodeKeyOf } from "./nodes/node-key.ts";
import type { Tables } from "./schema.ts";
import { accountValueEnd, decodeAccountValue } from "./state/account-value.ts";
import { isChangeListPart } from "./state/change-list.ts";
import { slotValueAt, slotValueEnd } from "./state/slot-value.ts";
import type { StatePosition, StateTally } from "./verification/checkpoint.ts";
import type { VerifyRun } from "./verification/verify-run.ts";

export interface VerifiedTables {
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  readonly problems: readonly string[];
}

const HASH_SIZE = 32;
const MAX_PROBLEMS = 100;
const ALL_KEYS = new Uint8Array(1);
const NEXT_BYTE = new Uint8Array(1);
/** Rows between two progress reports. PERF: a report reads the clock. */
const ROWS_PER_PROGRESS = 256;

/**
 * Recomputes the state root's tries from the flat state, and compares all other stored data with them. Reads each table once, in its order,
 * which is that of the tries.
 *
 * @param head number of the block whose state is verified
 * @param run resumes an earlier verification of the same tables, and gets the positions for the next one
 * @throws {CodedError} storage/corrupted
 */
export function verifyTables(
  tables: Tables,
  head: number,
  run: VerifyRun,
  onProgress: (progress: VerifyProgress) => void,
): VerifiedTables {
  return new Verifier(tables, head, run, onProgress).run();
}

type RowsPosition = Extract<StatePosition, { readonly phase: "rows" }>;

class Verifier {
  readonly #tables: Tables;
  readonly #headNodes: CurrentNodes;
  readonly #run: VerifyRun;
  readonly #onProgress: (progress: VerifyProgress) => void;
  readonly #head: number;
  readonly #totalRows: number;
  readonly #problems: string[] = [];
  #accounts = 0;
  #slots = 0;
  #nodes = 0;
  #codes = 0;
  #rows = 0;
  #stateRoot: Uint8Array | undefined;

  constructor(tables: Tables, head: number, run: VerifyRun, onProgress: (progress: VerifyProgress) => void) {
    this.#tables = tables;
    this.#headNodes = new CurrentNodes(tables, false);
    this.#head = head;
    this.#run = run;
    this.#onProgress = onProgress;
    this.#totalRows = tables.accounts.stats().entries + tables.storage.stats().entries;
  }

  run(): VerifiedTables {
    let position: StatePosition = { phase: "rows" };
    if (this.#run.from?.part === "state") {
      position = this.#run.from.position;
      this.#restore(this.#run.from.tally);
    }
    if (position.phase === "rows") {
      this.#stateRoot = this.#verifyRows(position);
      this.#compareCounts();
      position = { phase: "codes" };
    }
    this.#verifyCodes(position);
    return {
      stateRoot: this.#stateRoot!,
      accounts: this.#accounts,
      slots: this.#slots,
      codes: this.#codes,
      nodes: this.#nodes,
      problems: this.#problems,
    };
  }

  #restore({ rows, accounts, slots, nodes, codes, stateRoot, problems }: StateTally): void {
    this.#rows = rows;
    this.#accounts = accounts;
    this.#slots = slots;
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
    this.#compareCount("storage", rowsOf("storage"), this.#slots, "rows that belong to accounts with storage");
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
        accounts: this.#accounts,
        slots: this.#slots,
        nodes: this.#nodes,
        codes: this.#codes,
        stateRoot: this.#stateRoot,
        problems: this.#problems,
      };
      return { part: "state", position: position(), tally };
    }, progress);
    this.#onProgress(progress);
  }

  /**
   * Both tables at once: each account, then its slots. Slots of accounts without storage are left out.
   *
   * @returns the state root
   */
  #verifyRows(from: RowsPosition): Uint8Array {
    let { account: lastAccount, slotKey, storage: storageFrom } = from;
    const trie = this.#builder(undefined, from.accounts);
    let storage: SortedTrieBuilder | undefined;
    const position = (): StatePosition => ({
      phase: "rows",
      account: lastAccount,
      accounts: trie.progress(),
      slotKey,
      storage: storage?.progress(),
    });
    const slots = this.#tables.storage.range(slotKey === undefined ? ALL_KEYS : concatBytes(slotKey, NEXT_BYTE));
    let slot = slots.next();
    for (const { key: hash, value } of this.#tables.accounts.range(lastAccount ?? ALL_KEYS)) {
      const account = decodeAccountValue(value);
      // Where an earlier verification was, only slots of the account may be missing.
      if (lastAccount === undefined || !equalBytes(hash, lastAccount)) {
        this.#checkAccount(hash, account, value);
        this.#addLeaf(trie, hash, encodeAccount(account), () => bytesToHex(hash));
        lastAccount = hash;
        this.#advance(position);
      }
      storage = equalBytes(account.storageRoot, EMPTY_TRIE_ROOT) ? undefined : this.#builder(hash, storageFrom);
      storageFrom = undefined;
      for (; slot.done !== true; slot = slots.next()) {
        const order = compareBytes(slot.value.key.subarray(0, HASH_SIZE), hash);
        if (order > 0) break;
        if (order === 0 && storage !== undefined) this.#addSlot(storage, slot.value);
        slotKey = slot.value.key;
        this.#advance(position);
      }
      const root = storage?.finish() ?? EMPTY_TRIE_ROOT;
      storage = undefined;
      if (!equalBytes(root, account.storageRoot)) {
        this.#report(`storage root of ${bytesToHex(hash)} is ${bytesToHex(account.storageRoot)}, recomputed ${bytesToHex(root)}`);
      }
    }
    return trie.finish();
  }

  #checkAccount(hash: Uint8Array, account: StoredAccount, row: Uint8Array): void {
    this.#accounts++;
    if (!isChangeListPart(row, accountValueEnd(row), this.#head)) {
      this.#report(`the blocks that changed ${bytesToHex(hash)} are not ascending numbers up to the head's`);
    }
    if (!equalBytes(account.codeHash, EMPTY_KECCAK) && !this.#tables.codes.has(account.codeHash)) {
      this.#report(`code ${bytesToHex(account.codeHash)} of ${bytesToHex(hash)} is missing`);
    }
  }

  #addSlot(storage: SortedTrieBuilder, { key, value }: TableEntry): void {
    const [from, to] = [slotValueAt(value), slotValueEnd(value)];
    const hash = key.subarray(HASH_SIZE);
    const describe = (): string => `slot ${bytesToHex(hash)} of ${bytesToHex(key.subarray(0, HASH_SIZE))}`;
    this.#slots++;
    if (to - from > 32) {
      this.#report(`${describe()} has ${to - from} bytes`);
      return;
    }
    if (!isChangeListPart(value, to, this.#head)) {
      this.#report(`the blocks that changed ${describe()} are not ascending numbers up to the head's`);
    }
    this.#addLeaf(storage, hash, encodeStorageValue(value.subarray(from, to)), describe);
  }

  /** A key with damaged bytes can be out of order. */
  #addLeaf(trie: SortedTrieBuilder, key: Uint8Array, value: Uint8Array, describe: () => string): void {
    try {
      trie.add(key, value);
    } catch (error) {
      if (!isCodedError(error, "trie/unsorted-keys")) throw error;
      this.#report(`${describe()} is not in the order of keys`);
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
      if (isLeafNode(rlp)) return; // the only node of a trie
      this.#nodes++;
      const stored = this.#headNodes.read(nodeKeyOf(owner, path));
      if (stored === undefined) this.#report(`trie node ${describeNode(owner, path)} is missing`);
      else if (!equalBytes(stored, rlp)) this.#report(`trie node ${describeNode(owner, path)} differs`);
    };
    return SortedTrieBuilder.withoutLeaves(onNode, from);
  }
}

function describeNode(owner: Uint8Array | undefined, path: Uint8Array): string {
  return `${owner === undefined ? "of the accounts" : `of ${bytesToHex(owner)}`} at ${Array.from(path, (nibble) => nibble.toString(16)).join("")}`;
}
