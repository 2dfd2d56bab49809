import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, type Hex, type KeccakLanes, keccakLanes } from "@rnode/primitives";
import { evictionSteps } from "../eviction.ts";
import type { TrieNodeChange, TrieNodeReader } from "../node-reader.ts";
import type { StateTrieUpdate } from "../update-state-trie.ts";
import { TrieModule } from "./trie-module.ts";

export interface LinearTrieUpdate extends StateTrieUpdate {
  /** keccak256(address) of the accounts with PACKED_CLEARS_NODES, in their order */
  readonly clearedOwners: readonly Uint8Array[];
}

/** A listed node: numbers of 32 bits in the module's memory. See assembly/listing.ts. */
const LISTED_NUMBERS = 8;
const OWNER = 0;
const PATH = 1;
const DEPTH = 2;
const RLP = 3;
const SIZE = 4;
const BEFORE = 5;
const BEFORE_SIZE = 6;
const DIFFERS = 7;

const ROOT_SIZE = 52;

class ListedNode implements TrieNodeChange {
  owner: Uint8Array | undefined = undefined;
  path: Uint8Array = EMPTY_TRIE_ROOT;
  rlp: Uint8Array | undefined = undefined;
  before: Uint8Array | undefined = undefined;
  differsFrom = 0;
  differsTo = 0;
}

/**
 * The account trie and the storage tries. Nodes stay in memory from block to block. If a block does not build on the previous
 * block's state, it starts with no nodes in memory.
 *
 * A WebAssembly module (assembly/) holds the decoded nodes and their RLP, and hashes them, with one call per block. PERF: most of
 * the time is Keccak's permutation; the only garbage is the list.
 */
export class LinearStateTrie {
  readonly #module: TrieModule;
  #root = EMPTY_TRIE_ROOT;
  /** PERF: reused for every update */
  readonly #nodes: ListedNode[] = [];

  /** @param lanes SIMD lanes for hashing; `undefined`: one message at a time */
  constructor({ lanes }: { readonly lanes: KeccakLanes | undefined } = { lanes: keccakLanes }) {
    this.#module = new TrieModule(lanes);
    this.#startAt(EMPTY_TRIE_ROOT);
  }

  /**
   * The state root after the changes of a block, and the changed nodes. The reader need not have nodes of earlier calls until
   * they are evicted.
   *
   * The list is valid until the next update. The RLP of a node is valid until an update lists the node with another one, or until
   * it is evicted or cleared.
   *
   * @param packed see packed-changes.ts
   * @throws {CodedError} trie/missing-node, trie/bad-node; the next call then starts with no nodes in memory
   */
  update(reader: TrieNodeReader, parentStateRoot: Uint8Array, packed: Uint8Array): LinearTrieUpdate {
    if (!equalBytes(this.#root, parentStateRoot)) this.#startAt(parentStateRoot);
    const { calls } = this.#module;
    try {
      this.#module.update(reader, packed);
    } catch (error) {
      this.clear();
      throw error;
    }
    const { bytes } = this.#module;
    const rootAt = calls.stateRoot();
    this.#root = bytes.slice(rootAt, rootAt + 32);
    const storageRoots = new Map<Hex, Uint8Array>();
    for (let i = 0, at = calls.storageRoots(); i < calls.storageRootCount(); i++, at += ROOT_SIZE) {
      storageRoots.set(bytesToHex(bytes.slice(at, at + 20)), bytes.slice(at + 20, at + ROOT_SIZE));
    }
    const clearedOwners: Uint8Array[] = [];
    for (let i = 0, at = calls.clearedOwners(); i < calls.clearedCount(); i++, at += 32)
      clearedOwners.push(bytes.slice(at, at + 32));
    return { stateRoot: this.#root, storageRoots, nodes: this.#listed(), clearedOwners };
  }

  /** PERF: a block changes some thousand nodes; each needs three views and nothing else. */
  #listed(): TrieNodeChange[] {
    const { bytes, numbers, calls } = this.#module;
    const { buffer } = bytes;
    const paths = calls.listedPaths();
    const first = calls.listedNodes() >> 2;
    const end = first + calls.listedCount() * LISTED_NUMBERS;
    const nodes: ListedNode[] = [];
    let ownerAt = 0;
    let owner: Uint8Array | undefined;
    for (let at = first; at < end; at += LISTED_NUMBERS) {
      const rlp = numbers[at + RLP]!;
      const before = numbers[at + BEFORE]!;
      if (rlp === 0 && before === 0) continue; // inside its parent before and after
      if (numbers[at + OWNER] !== ownerAt) {
        ownerAt = numbers[at + OWNER]!;
        owner = ownerAt === 0 ? undefined : bytes.slice(ownerAt, ownerAt + 32);
      }
      const node = (this.#nodes[nodes.length] ??= new ListedNode());
      const differs = numbers[at + DIFFERS]!;
      node.owner = owner;
      node.path = new Uint8Array(buffer, paths + numbers[at + PATH]!, numbers[at + DEPTH]);
      node.rlp = rlp === 0 ? undefined : new Uint8Array(buffer, rlp, numbers[at + SIZE]);
      node.before = before === 0 ? undefined : new Uint8Array(buffer, before, numbers[at + BEFORE_SIZE]);
      node.differsFrom = differs & 0xffff;
      node.differsTo = differs >>> 16;
      nodes.push(node);
    }
    return nodes;
  }

  /** Discards all nodes. */
  clear(): void {
    this.#startAt(EMPTY_TRIE_ROOT);
  }

  #startAt(stateRoot: Uint8Array): void {
    const { calls, bytes } = this.#module;
    calls.reset();
    bytes.set(stateRoot, calls.stateRoot());
    this.#root = stateRoot.slice();
  }

  /** Number of nodes in memory. */
  get nodeCount(): number {
    return this.#module.calls.size();
  }

  /**
   * Keeps about `maxNodes` nodes in memory, the most recently used ones.
   *
   * @param pinned number of last updates whose listed nodes must stay in memory, because the reader may not have them yet
   * @returns number of last updates whose listed nodes are all in memory, at least `pinned`; infinity if nothing was discarded
   */
  evict(maxNodes: number, pinned = 0): number {
    return evictionSteps(this, maxNodes, pinned, (passes) => {
      const { calls } = this.#module;
      calls.evictBefore(Math.max(0, calls.lastPass() - passes + 1));
    });
  }
}
