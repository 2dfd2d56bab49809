import type { BlockSelector } from "@rnode/chain";
import { rpcErrorOf } from "@rnode/jsonrpc";
import type { BlockParts, ChainStoreReader } from "@rnode/storage";
import type { Profile } from "../profile/profile.ts";
import type { ReadBackend } from "./backend.ts";

type Retained = Pick<ChainStoreReader, "retainedHistory">;

/**
 * The chain as reading methods see it on a node that prunes. A request that needs the pruned receipts of a block gets an error that
 * says so, instead of "not found".
 */
export function withPrunedHistory(chain: ReadBackend["chain"], store: Retained, profile: Profile): ReadBackend["chain"] {
  const missing = (selector: BlockSelector): undefined => {
    assertStored(store, profile, selector);
    return undefined;
  };
  return {
    config: chain.config,
    genesis: chain.genesis,
    head: () => chain.head(),
    resolve: (selector) => {
      const stored = chain.resolve(selector);
      if (stored !== undefined) return stored;
      const number = chain.headerOf(selector)?.header.number;
      if (number === undefined) return missing(selector);
      assertRetained(store, profile, number);
      return undefined;
    },
    partsOf: (selector) => chain.partsOf(selector) ?? missing(selector),
    bodyOf: (selector) => chain.bodyOf(selector) ?? missing(selector),
    headerOf: (selector) => chain.headerOf(selector) ?? missing(selector),
    stateAt: (block) => chain.stateAt(block),
    trieNodesAt: (block) => chain.trieNodesAt(block),
    onHeadChange: (listener) => chain.onHeadChange(listener),
  };
}

/** A block with its receipts. Only the requested parts are read. @throws {RpcError} they were pruned */
export function partsWithReceipts({ chain, store, profile }: ReadBackend, selector: BlockSelector): BlockParts | undefined {
  const parts = chain.partsOf(selector);
  if (parts === undefined || parts.hasReceipts) return parts;
  assertRetained(store, profile, parts.number);
  return undefined;
}

/** @throws {RpcError} the block is older than the snapshot that the database began with */
function assertStored(store: Retained, profile: Profile, selector: BlockSelector): void {
  if (selector.kind !== "number") return;
  const retained = store.retainedHistory();
  if (retained !== undefined && selector.number > retained.firstBlock && selector.number < retained.oldestBlock) {
    throw rpcErrorOf(profile.errors.historyPruned);
  }
}

/** @throws {RpcError} the receipts and logs of the block were pruned */
export function assertRetained(store: Retained, profile: Profile, number: number): void {
  const retained = store.retainedHistory();
  if (retained !== undefined && number < retained.oldestReceipts) throw rpcErrorOf(profile.errors.historyPruned);
}
