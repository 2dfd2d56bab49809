import { equalBytes, keccak256 } from "@rnode/primitives";
import type { ChainDatabase } from "@rnode/storage";
import { LinearStateTrie, type TrieNodeReader } from "@rnode/trie";
import { packUpdate } from "./packed-update.ts";

/** The last canonical block below a block, or the block itself. */
export interface RootBase {
  readonly number: number;
  /** 32 bytes */
  readonly hash: Uint8Array;
  readonly stateRoot: Uint8Array;
}

export interface RootQuestion {
  readonly base: RootBase;
  readonly parentStateRoot: Uint8Array;
  /** made by `packChanges` */
  readonly changes: Uint8Array;
}

export type RootStore = Pick<ChainDatabase, "trieNodesAt" | "readCanonicalHash" | "refresh">;

/** How many state roots are remembered. It limits how far a block may be above the database while its parents exist only here. */
const MAX_PASSES = 512;

/**
 * Computes state roots of mostly consecutive blocks, on a database that another thread writes. Changed nodes stay in memory as long as
 * the database may not have them.
 */
export class LiveRootsBuilder {
  readonly #store: RootStore;
  readonly #maxNodes: number;
  readonly #trie = new LinearStateTrie();
  /** state roots of the last blocks in the trie; all nodes changed between the first and the last of them are in memory */
  #roots: Uint8Array[] = [];

  constructor(store: RootStore, maxNodes: number) {
    this.#store = store;
    this.#maxNodes = maxNodes;
  }

  get nodeCount(): number {
    return this.#trie.nodeCount;
  }

  /**
   * The block's update of the trie, made by `packUpdate`; undefined if its parent is neither in memory nor in the database.
   *
   * @throws {CodedError} trie/missing-node: the database is not, or no longer, in the state that the question assumes
   */
  update({ base, parentStateRoot, changes }: RootQuestion): Uint8Array<ArrayBuffer> | undefined {
    this.#store.refresh();
    const hash = this.#store.readCanonicalHash(base.number);
    const nodes = this.#store.trieNodesAt(base.number);
    if (hash === undefined || nodes === undefined || !equalBytes(hash, base.hash)) return undefined;
    let baseAt = this.#roots.findLastIndex((root) => equalBytes(root, base.stateRoot));
    if (baseAt < 0 || !equalBytes(this.#roots.at(-1)!, parentStateRoot)) {
      if (!equalBytes(parentStateRoot, base.stateRoot)) return undefined;
      this.#trie.clear();
      this.#roots = [parentStateRoot];
      baseAt = 0;
    }
    const pinned = this.#roots.length - baseAt;
    const roots = this.#roots;
    this.#roots = []; // nothing is valid any more if it throws
    const update = this.#trie.update(checked(nodes), parentStateRoot, changes);
    roots.push(update.stateRoot);
    const kept = Math.min(this.#trie.evict(this.#maxNodes, pinned), MAX_PASSES);
    this.#roots = roots.slice(-(kept + 1));
    return packUpdate(update);
  }
}

/** Looks up nodes by path and checks their hashes: whatever happens to the database meanwhile, a root is either right or not available. */
function checked(nodes: TrieNodeReader): TrieNodeReader {
  return {
    readNode(owner, path, hash, key) {
      const rlp = nodes.readNode(owner, path, hash, key);
      return rlp === undefined || !equalBytes(keccak256(rlp), hash) ? undefined : rlp;
    },
  };
}
