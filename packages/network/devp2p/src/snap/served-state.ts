import { bytesToHex, type Clock, compareBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, type Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { ChainDatabase, StoredAccount } from "@rnode/storage";
import { createProof, encodeStorageValue, nodeAtPath, rememberNodes, type TrieNodeReader } from "@rnode/trie";
import type {
  AccountRange,
  AccountRangeRequest,
  ByteCodesRequest,
  RangeRow,
  StorageRanges,
  StorageRangesRequest,
  TrieNodesRequest,
} from "./messages.ts";
import { nibblesOfPath } from "./node-path.ts";
import { encodeSlimAccount } from "./slim-account.ts";

/** Geth's: an answer is complete when it has this size; the last item may exceed it. */
const SOFT_ANSWER_BYTES = 2 * 1024 * 1024;
/** The states that can be asked for: those after the last blocks, as Geth has them. */
const SERVED_BLOCKS = 128;
/** Codes or trie nodes of an answer. */
const MAX_LOOKUPS = 1_024;
/** Geth's: how far the slots of the last account may exceed the size, so that they need no proof. */
const SLACK = 1.1;
/** An answer contains what was found in this time: other peers of the thread wait for it. */
const ANSWER_LIMIT_MS = 100;
const ROWS_A_LOOK = 64;
/** Nodes near the root, which the paths of one request share. */
const MAX_REMEMBERED = 4_096;

const NO_ACCOUNTS: AccountRange = { accounts: [], proof: [] };
const NO_SLOTS: StorageRanges = { slots: [], proof: [] };
const FIRST_HASH = new Uint8Array(32);
const LAST_HASH = new Uint8Array(32).fill(0xff);

/** The state after a block, whose root was asked for. */
interface State {
  readonly block: BlockId;
  readonly root: Uint8Array;
  readonly trie: TrieNodeReader;
}

/** The states after recent blocks for peers: reads only, within Geth's limits for answers. An unknown root has an empty answer. */
export class ServedState {
  readonly #store: ChainDatabase;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #head: Hex | undefined;
  /** by state root; of equal ones the newest */
  #blocks = new Map<Hex, BlockId>();
  /** by block hash */
  #roots = new Map<Hex, Hex>();

  constructor(store: ChainDatabase, clock: Pick<Clock, "monotonicMs">) {
    this.#store = store;
    this.#clock = clock;
  }

  accountRange({ root, origin, limit, bytes }: AccountRangeRequest): AccountRange {
    const state = this.#stateOf(root);
    if (state === undefined) return NO_ACCOUNTS;
    const answer = this.#answer(bytes);
    const accounts: RangeRow[] = [];
    for (const { hash, account } of this.#store.accountRows(state.block, origin)) {
      const body = encodeSlimAccount(account);
      accounts.push({ hash, body });
      answer.add(hash.length + body.length);
      if (answer.isComplete || compareBytes(hash, limit) >= 0) break;
    }
    return { accounts, proof: proofOf(state.trie, undefined, root, [origin, ...accounts.slice(-1).map(({ hash }) => hash)]) };
  }

  storageRanges({ root, accounts, origin, limit, bytes }: StorageRangesRequest): StorageRanges {
    const state = this.#stateOf(root);
    if (state === undefined) return NO_SLOTS;
    const answer = this.#answer(bytes);
    const slots: RangeRow[][] = [];
    for (const [index, owner] of accounts.entries()) {
      if (answer.isComplete) break;
      const account = this.#account(state, owner);
      if (account === undefined) return NO_SLOTS;
      const from = index === 0 && origin.length > 0 ? origin : FIRST_HASH;
      const to = index === 0 && limit.length > 0 ? limit : LAST_HASH;
      const { rows, isWhole } = this.#slots(state, owner, from, to, answer);
      if (rows.length > 0 || accounts.length === 1) slots.push(rows);
      if (isWhole && equalBytes(from, FIRST_HASH)) continue;
      const keys = [from, ...rows.slice(-1).map(({ hash }) => hash)];
      return { slots, proof: proofOf(state.trie, owner, account.storageRoot, keys) };
    }
    return { slots, proof: [] };
  }

  #slots(
    state: State,
    owner: Uint8Array,
    from: Uint8Array,
    to: Uint8Array,
    answer: Answer,
  ): { rows: RangeRow[]; isWhole: boolean } {
    const rows: RangeRow[] = [];
    let isPastLimit = false;
    for (const { hash, value } of this.#store.slotRows(state.block, owner, from)) {
      if (isPastLimit || (answer.isOverflowing && rows.length > 0)) return { rows, isWhole: false };
      const body = encodeStorageValue(value);
      rows.push({ hash, body });
      answer.add(hash.length + body.length);
      isPastLimit = compareBytes(hash, to) >= 0;
    }
    return { rows, isWhole: true };
  }

  /** In the requested order; unknown ones are left out. */
  byteCodes({ hashes, bytes }: ByteCodesRequest): readonly Uint8Array[] {
    this.#store.refresh();
    const answer = this.#answer(bytes);
    const codes: Uint8Array[] = [];
    for (const hash of hashes.slice(0, MAX_LOOKUPS)) {
      const code = equalBytes(hash, EMPTY_KECCAK) ? new Uint8Array(0) : this.#store.findCode(hash);
      if (code === undefined) continue;
      codes.push(code);
      answer.add(code.length);
      if (answer.isComplete) break;
    }
    return codes;
  }

  /** In the requested order; paths without a node of their own are left out. */
  trieNodes({ root, paths, bytes }: TrieNodesRequest): readonly Uint8Array[] {
    const state = this.#stateOf(root);
    if (state === undefined) return [];
    const answer = this.#answer(bytes);
    const trie = rememberNodes(state.trie, MAX_REMEMBERED);
    const nodes: Uint8Array[] = [];
    let lookups = 0;
    for (const [first, ...inStorage] of paths) {
      const owner = inStorage.length === 0 ? undefined : first;
      const trieRoot = owner === undefined ? root : this.#account(state, owner)?.storageRoot;
      for (const path of owner === undefined ? [first!] : inStorage) {
        if (answer.isComplete || lookups++ >= MAX_LOOKUPS) return nodes;
        const nibbles = nibblesOfPath(path);
        const node = trieRoot && nibbles && nodeAtPath(trie, owner, trieRoot, nibbles);
        answer.add(node?.length ?? 0);
        if (node !== undefined) nodes.push(node);
      }
    }
    return nodes;
  }

  #answer(bytes: number): Answer {
    return new Answer(Math.min(bytes, SOFT_ANSWER_BYTES), this.#clock);
  }

  #account({ block }: State, hash: Uint8Array): StoredAccount | undefined {
    if (hash.length !== 32) return undefined;
    for (const row of this.#store.accountRows(block, hash)) return equalBytes(row.hash, hash) ? row.account : undefined;
    return undefined;
  }

  #stateOf(root: Uint8Array): State | undefined {
    this.#store.refresh();
    this.#update();
    const block = this.#blocks.get(bytesToHex(root));
    const trie = block && this.#store.trieNodesAt(block.number);
    return trie && { block: block!, root, trie };
  }

  /** Finds the roots of the last blocks again after the head has moved. */
  #update(): void {
    const head = this.#store.head();
    if (head === undefined || head.hash === this.#head) return;
    const blocks = new Map<Hex, BlockId>();
    const roots = new Map<Hex, Hex>();
    for (let number = Math.max(0, head.number - SERVED_BLOCKS + 1); number <= head.number; number++) {
      const hash = this.#store.readCanonicalHash(number);
      if (hash === undefined) continue;
      const hashHex = bytesToHex(hash);
      const header = this.#roots.has(hashHex) ? undefined : this.#store.readHeader(hash);
      const root = this.#roots.get(hashHex) ?? (header && bytesToHex(header.stateRoot));
      if (root === undefined) continue;
      roots.set(hashHex, root);
      blocks.set(root, { number, hash: hashHex });
    }
    this.#head = head.hash;
    this.#blocks = blocks;
    this.#roots = roots;
  }
}

/** When an answer has enough. */
class Answer {
  readonly #maxBytes: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #endMs: number;
  #bytes = 0;
  #items = 0;
  #isLate = false;

  constructor(maxBytes: number, clock: Pick<Clock, "monotonicMs">) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#endMs = clock.monotonicMs() + ANSWER_LIMIT_MS;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (++this.#items % ROWS_A_LOOK === 0) this.#isLate = this.#clock.monotonicMs() > this.#endMs;
  }

  get isComplete(): boolean {
    return this.#isLate || this.#bytes > this.#maxBytes;
  }

  /** Slots of the last account end here. */
  get isOverflowing(): boolean {
    return this.#isLate || this.#bytes > this.#maxBytes * SLACK;
  }
}

/** The nodes on the paths of both keys, each once. */
function proofOf(trie: TrieNodeReader, owner: Uint8Array | undefined, root: Uint8Array, keys: readonly Uint8Array[]): Uint8Array[] {
  if (equalBytes(root, EMPTY_TRIE_ROOT)) return [];
  const shared = rememberNodes(trie, MAX_REMEMBERED);
  return [...new Set(keys.flatMap((key) => createProof(shared, owner, root, key)))];
}
