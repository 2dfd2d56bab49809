import { LayeredState, layeredNodes, type PendingBlock, StateLayers, stateLayerOf, stateUpdate } from "@rnode/chain";
import type { BlockId } from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import { blockIdOf, type HeaderAt, type ReadBackend } from "../backend/backend.ts";

/** What a block is executed on, with all that computing its state root needs. */
export interface BaseOfBlocks extends HeaderAt {
  readonly state: StateView;
  readonly nodes: TrieNodeReader;
}

const computed = new WeakMap<PendingBlock, { readonly stateRoot: Uint8Array; readonly layers: StateLayers }>();

/**
 * A block under construction as the parent of other blocks. Its header has the state root that the block would have if it ended here; `hash`
 * stays that of the header without it. PERF: the root is computed once for each part, and only if a request needs it.
 *
 * @param parent id of its parent. @returns undefined: the parent's trie nodes are not retained
 */
export function pendingBase({ chain }: ReadBackend, pending: PendingBlock, parent: BlockId): BaseOfBlocks | undefined {
  const state = chain.stateAt(parent);
  const nodes = chain.trieNodesAt(parent);
  const found = chain.headerOf({ kind: "hash", hash: pending.block.header.parentHash, requireCanonical: false });
  if (state === undefined || nodes === undefined || found === undefined) return undefined;
  let after = computed.get(pending);
  if (after === undefined) {
    const trie = {
      stateRoot: found.header.stateRoot,
      nodes,
      storageRootOf: (who: Uint8Array) => state.readAccount(who)?.storageRoot,
    };
    const update = stateUpdate(trie, pending.changes);
    after = { stateRoot: update.stateRoot, layers: new StateLayers([stateLayerOf({ ...pending, ...update })]) };
    computed.set(pending, after);
  }
  const { stateRoot, layers } = after;
  const at: HeaderAt = { header: { ...pending.block.header, stateRoot }, hash: pending.hash };
  return { ...at, state: new LayeredState(blockIdOf(at), state, layers), nodes: layeredNodes(nodes, layers) };
}
