import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { Block, BlockId, Header } from "@rnode/protocol";
import { type BlockParts, type ChainStoreReader, partsOfBlock, type StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { StoredBlock } from "../api.ts";
import type { ParentState } from "../execute/block-execution.ts";
import { type ExecutedBlock, stateLayerOf, storedBlockOf } from "../execute/executed-block.ts";
import { LayeredState, layeredNodes, StateLayers } from "../execute/layered-state.ts";
import { TotalDifficulties } from "../validation/merge.ts";
import type { BlockTree } from "./block-tree.ts";
import { isCanonicalBlock, readStoredBlock } from "./canonical-blocks.ts";

/** A block's connection to the canonical chain. */
export interface Branch {
  /** the last canonical block below it, or the block itself */
  readonly forkPoint: BlockId;
  /** the executed blocks above the fork point, oldest first; empty if the block is canonical */
  readonly blocks: readonly ExecutedBlock[];
}

/** The executed blocks, whether they are in the database or wait in memory. */
export class Branches {
  readonly #store: ChainStoreReader;
  readonly #tree: Pick<BlockTree, "get">;
  readonly #totalDifficulties = new TotalDifficulties((hash) => this.header(hash));
  /** PERF: the branch of the last requested state, because the state of its next block is likely to be the next; lowest first */
  #layered: ExecutedBlock[] = [];
  #layers = new StateLayers();

  constructor(store: ChainStoreReader, tree: Pick<BlockTree, "get">) {
    this.#store = store;
    this.#tree = tree;
  }

  header(hash: Uint8Array): Header | undefined {
    return this.#tree.get(bytesToHex(hash))?.block.header ?? this.#store.readHeader(hash);
  }

  block(hash: Uint8Array): Block | undefined {
    return this.#tree.get(bytesToHex(hash))?.block ?? this.#store.readBlock(hash);
  }

  storedBlock(hash: Uint8Array): StoredBlock | undefined {
    const executed = this.#tree.get(bytesToHex(hash));
    return executed === undefined ? readStoredBlock(this.#store, hash) : storedBlockOf(executed);
  }

  partsOf(hash: Uint8Array): BlockParts | undefined {
    const stored = this.#store.readParts(hash);
    if (stored !== undefined) return stored;
    const executed = this.#tree.get(bytesToHex(hash));
    return executed && partsOfBlock(executed);
  }

  isExecuted(hashHex: Hex, hash: Uint8Array): boolean {
    if (this.#tree.get(hashHex) !== undefined) return this.branchOf(hashHex) !== undefined;
    const header = this.#store.readHeader(hash);
    return header !== undefined && isCanonicalBlock(this.#store, hashHex, header.number);
  }

  /** The block's branch, if the block and all blocks below it, down to the canonical chain, have been executed. */
  branchOf(hashHex: Hex): Branch | undefined {
    const blocks: ExecutedBlock[] = [];
    const highest = this.#store.head()?.number ?? -1; // PERF: read once
    for (let at = hashHex; ; ) {
      const executed = this.#tree.get(at);
      const number = executed?.block.header.number ?? this.#store.readHeader(hexToBytes(at))?.number;
      if (number === undefined) return undefined;
      if (number <= highest && isCanonicalBlock(this.#store, at, number))
        return { forkPoint: { hash: at, number }, blocks: blocks.reverse() };
      if (executed === undefined) return undefined;
      blocks.push(executed);
      at = executed.parentHashHex;
    }
  }

  /** The state after the last block of the branch; undefined if the state of its fork point is not retained. */
  stateOf({ forkPoint, blocks }: Branch): { readonly view: StateView; readonly nodes: TrieNodeReader } | undefined {
    const view = this.#store.stateAt(forkPoint.number);
    const nodes = this.#store.trieNodesAt(forkPoint.number);
    if (view === undefined || nodes === undefined) return undefined;
    const newest = blocks.at(-1);
    if (newest === undefined) {
      this.#forgetLayers(); // their blocks are probably in the database by now
      return { view, nodes };
    }
    const layers = this.#layersOf(blocks);
    const block: BlockId = { hash: newest.hashHex, number: newest.block.header.number };
    return {
      view: new LayeredState(block, view, layers, blocks.length),
      nodes: layeredNodes(nodes, layers, blocks.length),
    };
  }

  /** The layers of these blocks, and possibly of others on top. */
  #layersOf(blocks: readonly ExecutedBlock[]): StateLayers {
    const common = Math.min(this.#layered.length, blocks.length);
    if (common === 0 || this.#layered[common - 1] !== blocks[common - 1]) {
      this.#forgetLayers();
    }
    for (const block of blocks.slice(this.#layered.length)) {
      this.#layers.add(stateLayerOf(block));
      this.#layered.push(block);
    }
    return this.#layers;
  }

  #forgetLayers(): void {
    if (this.#layered.length === 0) return;
    this.#layered = [];
    this.#layers = new StateLayers();
  }

  /** The last block of the branch as the parent of another block. @param hash hash of that last block */
  parentState(branch: Branch, hash: Uint8Array): ParentState | undefined {
    const state = this.stateOf(branch);
    const header = this.header(hash);
    if (state === undefined || header === undefined) return undefined;
    const { view, nodes } = state;
    const { forkPoint } = branch;
    return {
      header,
      hash,
      reader: view,
      trie: {
        stateRoot: header.stateRoot,
        nodes,
        storageRootOf: (address) => view.readAccount(address)?.storageRoot,
        base: () => {
          const baseHash = hexToBytes(forkPoint.hash);
          return { number: forkPoint.number, hash: baseHash, stateRoot: this.header(baseHash)!.stateRoot };
        },
      },
      ancestorOf: (ancestor) => this.block(ancestor),
      totalDifficulty: () => this.#totalDifficulties.of(hash),
    };
  }
}
