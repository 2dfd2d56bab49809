import { bytesToHex, EMPTY_TRIE_ROOT, type ExactInteger, equalBytes, type Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { TrieNodeReader } from "@rnode/trie";
import type { StateView, StoredAccount } from "../api.ts";
import type { BlockTables } from "../blocks/block-tables.ts";
import type { Head } from "../blocks/meta-table.ts";
import { storageError } from "../errors.ts";
import type { NodeTables } from "../nodes/node-tables.ts";
import { oldAccount, oldSlot } from "./change-row.ts";
import type { StateTables } from "./state-tables.ts";

/** Of the rows that `NextChanges` keeps. */
const MAX_NEXT_BYTES = 1 << 20;
const ROW_OVERHEAD_BYTES = 200;

/** The source of a view's reads. */
export interface ViewSource {
  readonly blocks: BlockTables;
  readonly state: StateTables;
  readonly nodes: NodeTables;
  /** in the same state of the database as the reads that follow in the same synchronous run */
  currentHead(): Head;
  /** the oldest block whose state is retained, in that same state of the database */
  oldestState(): number;
}

/** A canonical block that is being read while the head moves on. */
class PinnedBlock {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly #source: ViewSource;
  #reorganisations: number;

  constructor(source: ViewSource, number: number, hash: Uint8Array) {
    this.#source = source;
    this.number = number;
    this.hash = hash;
    this.#reorganisations = source.currentHead().reorganisations;
  }

  /**
   * Whether the block is the head, in which case the head's tables are its state. PERF: the common case costs two comparisons.
   *
   * @throws {CodedError} storage/state-gone
   */
  isHead(): boolean {
    const head = this.#source.currentHead();
    if (head.reorganisations !== this.#reorganisations) {
      const canonical = this.#source.blocks.canonicalHash(this.number);
      if (canonical === undefined || !equalBytes(canonical, this.hash)) {
        throw storageError("storage/state-gone", { number: this.number, hash: bytesToHex(this.hash) });
      }
      this.#reorganisations = head.reorganisations;
    }
    if (head.number === this.number) return true;
    if (this.number < this.#source.oldestState()) {
      throw storageError("storage/state-gone", { number: this.number, hash: bytesToHex(this.hash) });
    }
    return false;
  }
}

/**
 * The values that the block after a pinned one changed, as they were before it: the state of the pinned block. PERF: one lookup
 * for an account with all of its slots, while an old version takes two or three for each.
 */
class NextChanges {
  readonly #state: StateTables;
  readonly #next: number;
  /**
   * by address; `undefined`: unchanged. Rows stay valid if another block follows the pinned one, because the state before it is
   * the same.
   */
  readonly #rows = new Map<Hex, Uint8Array | undefined>();
  #bytes = 0;

  constructor(state: StateTables, pinned: number) {
    this.#state = state;
    this.#next = pinned + 1;
  }

  /** Call it only while the pinned block is canonical and not the head. @returns a row (change-row.ts) that does not change */
  rowOf(address: Uint8Array): Uint8Array | undefined {
    if (this.#bytes > MAX_NEXT_BYTES) {
      this.#rows.clear();
      this.#bytes = 0;
    }
    const key = bytesToHex(address);
    const known = this.#rows.get(key);
    if (known !== undefined || this.#rows.has(key)) return known;
    const row = this.#state.readChangeRow(this.#next, address);
    this.#rows.set(key, row);
    this.#bytes += ROW_OVERHEAD_BYTES + (row?.length ?? 0);
    return row;
  }
}

export class StoredStateView implements StateView {
  readonly block: BlockId;
  readonly #source: ViewSource;
  readonly #pinned: PinnedBlock;
  readonly #next: NextChanges | undefined;

  /** @param isForNextBlock see `StateView.forNextBlock` */
  constructor(source: ViewSource, number: number, hash: Uint8Array, isForNextBlock = false) {
    this.block = { number, hash: bytesToHex(hash) };
    this.#source = source;
    this.#pinned = new PinnedBlock(source, number, hash);
    this.#next = isForNextBlock ? new NextChanges(source.state, number) : undefined;
  }

  readonly forNextBlock = (): StateView => new StoredStateView(this.#source, this.#pinned.number, this.#pinned.hash, true);

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const { state } = this.#source;
    if (this.#pinned.isHead()) return state.readAccount(address);
    const changed = this.#next?.rowOf(address);
    return changed === undefined ? state.readAccountAt(this.#pinned.number, address) : oldAccount(changed);
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const { state } = this.#source;
    if (this.#pinned.isHead()) return state.readStorage(address, slot);
    const changed = this.#next?.rowOf(address);
    const old = changed && state.findOldSlot(changed, slot);
    if (changed === undefined || old === undefined) return state.readStorageAt(this.#pinned.number, address, slot);
    return oldSlot(changed, old);
  }

  hasStorage(address: Uint8Array): boolean {
    const account = this.readAccount(address);
    return account !== undefined && !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    return this.#source.state.readCode(codeHash);
  }

  readBlockHash(number: ExactInteger): Uint8Array | undefined {
    this.#pinned.isHead(); // its ancestors are canonical as long as it is
    return typeof number === "bigint" || number > this.#pinned.number ? undefined : this.#source.blocks.canonicalHash(number);
  }
}

export class StoredNodeView implements TrieNodeReader {
  readonly #source: ViewSource;
  readonly #pinned: PinnedBlock;

  constructor(source: ViewSource, number: number, hash: Uint8Array) {
    this.#source = source;
    this.#pinned = new PinnedBlock(source, number, hash);
  }

  readNode(owner: Uint8Array | undefined, path: Uint8Array, _hash?: Uint8Array, key?: Uint8Array): Uint8Array | undefined {
    const { nodes } = this.#source;
    if (this.#pinned.isHead()) return nodes.readNode(owner, path, key);
    return nodes.readNodeAt(this.#pinned.number, this.#source.currentHead().number, owner, path);
  }
}
