import type { BlockSelector, StoredBlock } from "@rnode/chain";
import { type Block, type Receipt, recoverSender } from "@rnode/protocol";
import type { ChainStoreReader } from "@rnode/storage";
import type { Profile } from "../profile/profile.ts";
import { type ReadBackend, rpcError } from "./backend.ts";

type Retained = Pick<ChainStoreReader, "retainedHistory">;

/**
 * The chain as reading methods see it on a node that prunes. A request that needs the pruned receipts of a block gets an error that
 * says so, instead of "not found".
 */
export function withPrunedHistory(chain: ReadBackend["chain"], store: Retained, profile: Profile): ReadBackend["chain"] {
  return {
    config: chain.config,
    genesis: chain.genesis,
    head: () => chain.head(),
    resolve: (selector) => {
      const stored = chain.resolve(selector);
      if (stored !== undefined) return stored;
      const number = chain.headerOf(selector)?.header.number;
      if (number !== undefined) assertRetained(store, profile, number);
      return undefined;
    },
    bodyOf: (selector) => chain.bodyOf(selector),
    headerOf: (selector) => chain.headerOf(selector),
    stateAt: (block) => chain.stateAt(block),
    trieNodesAt: (block) => chain.trieNodesAt(block),
    onHeadChange: (listener) => chain.onHeadChange(listener),
  };
}

/** @throws {RpcError} the receipts and logs of the block were pruned */
export function assertRetained(store: Retained, profile: Profile, number: number): void {
  const retained = store.retainedHistory();
  if (retained !== undefined && number < retained.oldestReceipts) throw rpcError(profile.errors.historyPruned);
}

/**
 * A block for requests that show only its header and body. For a pruned block, the senders are recovered from the signatures and the
 * receipts are empty stand-ins; the nonce of a deposit is not shown, because only its receipt had it.
 */
export function blockWithBody({ chain, store }: ReadBackend, selector: BlockSelector): StoredBlock | undefined {
  const found = chain.bodyOf(selector);
  if (found === undefined) return undefined;
  const { number } = found.block.header;
  const retained = store.retainedHistory();
  if (retained !== undefined && number < retained.oldestReceipts) return prunedBlock(found.block, found.hash);
  return chain.resolve({ kind: "hash", hash: found.hash, requireCanonical: false });
}

function prunedBlock(block: Block, hash: Uint8Array): StoredBlock {
  let senders: readonly Uint8Array[] | undefined;
  return {
    block,
    hash,
    receipts: block.transactions.map(({ type }): Receipt => ({ ...NO_RECEIPT, type })),
    // PERF: computed on demand, because only full transaction objects show senders.
    get senders() {
      senders ??= block.transactions.map((tx) => recoverSender(tx));
      return senders;
    },
  };
}

const NO_RECEIPT = { status: undefined, cumulativeGasUsed: 0n, bloom: new Uint8Array(256), logs: [] } as const;
