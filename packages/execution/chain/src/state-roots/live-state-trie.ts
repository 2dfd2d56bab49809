import type { StateChanges } from "@rnode/evm";
import { LinearStateTrie } from "@rnode/trie";
import { packChanges } from "./packed-changes.ts";
import { PackedUpdate, packUpdate } from "./packed-update.ts";
import type { ParentTrie } from "./state-root.ts";

/** The default limit for trie nodes in memory. */
export const MAX_STATE_TRIE_NODES = 100_000;
/** Measured: 250 to 290 bytes of linear memory per trie node. */
export const ROUGH_NODE_BYTES = 300;

/**
 * State roots of live blocks, computed in the calling thread. PERF: nodes stay in memory, because the child of a block is likely
 * to be next, and its update reads only nodes that the block did not touch.
 */
export class LiveStateTrie {
  readonly #trie = new LinearStateTrie();
  readonly #maxNodes: number;

  constructor(maxNodes = MAX_STATE_TRIE_NODES) {
    this.#maxNodes = maxNodes;
  }

  get nodeCount(): number {
    return this.#trie.nodeCount;
  }

  /** @throws {CodedError} trie/missing-node */
  update(parent: ParentTrie, changes: StateChanges): PackedUpdate {
    const update = this.#trie.update(parent.nodes, parent.stateRoot, packChanges(changes));
    const packed = new PackedUpdate(packUpdate(update)); // the listed nodes are soon overwritten
    this.#trie.evict(this.#maxNodes);
    return packed;
  }

  /** Discards all nodes. */
  clear(): void {
    this.#trie.clear();
  }
}
