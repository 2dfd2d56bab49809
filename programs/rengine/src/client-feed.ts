import type { Chain, HeadChange } from "@rnode/chain";
import type { BlockItem, ChainState, HeadRef, PoolState, ReorgItem } from "@rnode/dashboard";
import type { Feed, FeedEntry } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import { type Block, type DaBytes, daBytes, encodeTransaction, estimatedDaBytes, sumDaBytes } from "@rnode/protocol";
import type { TransactionPool } from "@rnode/txpool";

export interface ClientFeedDeps {
  readonly chain: Pick<Chain, "head" | "headerOf" | "bodyOf" | "onHeadChange">;
  readonly pool: Pick<TransactionPool, "counts" | "roughBytes">;
  readonly clock: Clock;
  /** number of reader processes that serve requests; undefined: readers are off */
  readonly servingReaders: () => number | undefined;
  /** the HTTP endpoint with the debug_ methods; undefined: none */
  readonly witnessUrl: string | undefined;
}

/** Number of blocks read for a new viewer. */
const PAST_BLOCKS = 120;
/** How long reading them, or counting the data of one head's blocks, may keep everything else waiting. */
const PAST_LIMIT_MS = 50;
const COUNT_LIMIT_MS = 5;
const DEPOSIT = 0x7e;

/** Tells the dashboard of the chain and the pool. @returns ends it */
export function feedClient(feed: Feed, deps: ClientFeedDeps): () => void {
  const { chain, pool, clock, servingReaders, witnessUrl } = deps;
  feed.state("chain", (): ChainState => {
    const refOf = (tag: "latest" | "safe" | "finalized"): HeadRef | undefined => {
      const header = chain.headerOf({ kind: "tag", tag })?.header;
      return header && { number: header.number, timeSec: header.timestamp };
    };
    return { head: refOf("latest"), safe: refOf("safe"), finalized: refOf("finalized"), readers: servingReaders(), witnessUrl };
  });
  feed.state("pool", (): PoolState => ({ ...pool.counts(), bytes: pool.roughBytes }));
  feed.past(() => pastBlocks(chain));
  return chain.onHeadChange((change) => {
    if (change.removed.length > 0) feed.put("reorg", clock.unixMs(), reorgItem(change));
    if (!feed.isWatched) return; // a new viewer gets the latest blocks from the chain
    const untilMs = performance.now() + COUNT_LIMIT_MS;
    for (const { block, hash } of change.added.slice(-PAST_BLOCKS))
      feed.put("block", block.header.number, blockItem(block, hash, untilMs));
  });
}

function pastBlocks(chain: ClientFeedDeps["chain"]): readonly FeedEntry[] {
  const untilMs = performance.now() + PAST_LIMIT_MS;
  const entries: FeedEntry[] = [];
  const { number: head } = chain.head();
  for (let number = head; number > 0 && number > head - PAST_BLOCKS && performance.now() < untilMs; number--) {
    const found = chain.bodyOf({ kind: "number", number });
    if (found === undefined) break;
    entries.unshift(["block", number, blockItem(found.block, found.hash, untilMs)]);
  }
  return entries;
}

function blockItem({ header, transactions }: Block, hash: Uint8Array, untilMs: number): BlockItem {
  const users = transactions.filter(({ type }) => type !== DEPOSIT);
  let size: DaBytes | undefined = daBytes(0);
  for (const transaction of users) {
    if (performance.now() > untilMs) {
      size = undefined;
      break;
    }
    size = sumDaBytes([size, estimatedDaBytes(encodeTransaction(transaction))]);
  }
  return {
    hash: bytesToHex(hash),
    timeSec: header.timestamp,
    gasUsed: Number(header.gasUsed),
    gasLimit: Number(header.gasLimit),
    baseFeeWei: Number(header.baseFeePerGas ?? 0n),
    transactions: transactions.length,
    deposits: transactions.length - users.length,
    daBytes: size,
  };
}

const reorgItem = ({ removed, added, head }: HeadChange): ReorgItem => ({
  removed: removed.length,
  added: added.length,
  head: head.block.header.number,
});
