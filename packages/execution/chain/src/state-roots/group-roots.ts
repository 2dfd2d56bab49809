import type { Hex } from "@rnode/primitives";
import type { ChainStoreBulk, NodeGroups } from "@rnode/storage";
import { LinearStateTrie } from "@rnode/trie";

/** PERF: some 90 MB; with a third of it, blocks of 400 token transfers among 100,000 holders take the thread a tenth more CPU time. */
const MAX_NODES = 300_000;

/** The state roots and trie nodes of a group of blocks. */
export interface GroupRoots {
  /** of a run: those after its last block only */
  readonly blocks: readonly BlockRoots[];
  /** for `ChainStoreBulk.commitGroup` */
  readonly nodeRows: Uint8Array;
}

export interface BlockRoots {
  readonly stateRoot: Uint8Array;
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
}

/** Computes state roots and trie nodes of consecutive blocks, in groups that are committed as a whole. */
export class GroupRootsBuilder {
  readonly #groups: NodeGroups;
  readonly #maxNodes: number;
  readonly #trie = new LinearStateTrie();
  #stateRoot: Uint8Array;
  #blocks: BlockRoots[] = [];
  /** sizes of the groups that are not committed yet */
  readonly #sealed: number[] = [];

  /**
   * @param store its head must be the parent of the first block, with `stateRoot`
   * @param maxNodes limit for the nodes in memory when a group is committed, not counting those of later groups
   */
  constructor(store: Pick<ChainStoreBulk, "nodeGroups">, stateRoot: Uint8Array, maxNodes = MAX_NODES) {
    this.#groups = store.nodeGroups();
    this.#maxNodes = maxNodes;
    this.#stateRoot = stateRoot;
  }

  /** number of trie nodes in memory */
  get nodeCount(): number {
    return this.#trie.nodeCount;
  }

  /**
   * @param packed changes of the block, made by `packChanges`
   * @param isRun the changes are those of all blocks up to this one, whose trie nodes get no history
   */
  add(number: number, packed: Uint8Array, isRun = false): void {
    const { stateRoot, storageRoots, nodes, clearedOwners } = this.#trie.update(this.#groups.reader, this.#stateRoot, packed);
    this.#stateRoot = stateRoot;
    this.#blocks.push({ stateRoot, storageRoots });
    this.#groups.add(number, nodes, clearedOwners, isRun);
  }

  seal(): GroupRoots {
    const blocks = this.#blocks;
    this.#blocks = [];
    this.#sealed.push(blocks.length);
    return { blocks, nodeRows: this.#groups.seal() };
  }

  /** Called when the oldest sealed group has been committed. */
  committed(): void {
    this.#groups.committed();
    this.#sealed.shift();
    // Nodes made since then exist only here.
    const pinned = this.#sealed.reduce((sum, count) => sum + count, this.#blocks.length);
    this.#trie.evict(this.#maxNodes, pinned);
  }
}
