import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { TrieNodeReader } from "@rnode/trie";
import type { StateView, StoredAccount } from "../api.ts";
import type { BlockTables } from "../blocks/block-tables.ts";
import type { Head } from "../blocks/meta-table.ts";
import { storageError } from "../errors.ts";
import type { NodeTables } from "../nodes/node-tables.ts";
import type { StateTables } from "./state-tables.ts";

/** What views read from. */
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

export class StoredStateView implements StateView {
  readonly block: BlockId;
  readonly #source: ViewSource;
  readonly #pinned: PinnedBlock;

  constructor(source: ViewSource, number: number, hash: Uint8Array) {
    this.block = { number, hash: bytesToHex(hash) };
    this.#source = source;
    this.#pinned = new PinnedBlock(source, number, hash);
  }

  readAccount(address: Uint8Array): StoredAccount | undefined {
    const { state } = this.#source;
    return this.#pinned.isHead() ? state.readAccount(address) : state.readAccountAt(this.#pinned.number, address);
  }

  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
    const { state } = this.#source;
    return this.#pinned.isHead() ? state.readStorage(address, slot) : state.readStorageAt(this.#pinned.number, address, slot);
  }

  hasStorage(address: Uint8Array): boolean {
    const account = this.readAccount(address);
    return account !== undefined && !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  }

  readCode(codeHash: Uint8Array): Uint8Array {
    return this.#source.state.readCode(codeHash);
  }

  readBlockHash(number: number): Uint8Array | undefined {
    this.#pinned.isHead(); // its ancestors are canonical as long as it is
    return number > this.#pinned.number ? undefined : this.#source.blocks.canonicalHash(number);
  }
}

export class StoredNodeView implements TrieNodeReader {
  readonly #source: ViewSource;
  readonly #pinned: PinnedBlock;

  constructor(source: ViewSource, number: number, hash: Uint8Array) {
    this.#source = source;
    this.#pinned = new PinnedBlock(source, number, hash);
  }

  readNode(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    const { nodes } = this.#source;
    if (this.#pinned.isHead()) return nodes.readNode(owner, path);
    return nodes.readNodeAt(this.#pinned.number, this.#source.currentHead().number, owner, path);
  }
}
