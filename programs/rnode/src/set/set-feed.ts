import type { HeadRef, SetState } from "@rnode/dashboard";
import type { MessageBlock } from "@rnode/interop";
import type { Feed } from "@rnode/observe";
import type { SetDatabase } from "./set-database.ts";
import type { SetStatus } from "./set-status.ts";

const MAX_DENIED = 20;
const MAX_TEXT = 200;

/** Tells the dashboard how far the chains are, and which messages were verified. */
export function feedSet(feed: Feed, status: SetStatus, { denied }: Pick<SetDatabase, "denied">): void {
  feed.state(
    "set",
    (): SetState => ({
      chains: status.chains().map(({ chainId, labels, crossUnsafe, crossSafe, isWaitedFor }) => ({
        chain: String(chainId),
        unsafe: headRef(labels?.unsafe),
        crossUnsafe,
        localSafe: headRef(labels?.localSafe),
        crossSafe,
        finalized: headRef(labels?.finalized),
        isWaitedFor,
      })),
      waitsFor: status.waitsFor,
      failsafe: status.failsafe().map(shortened),
      messages: status.messages().map(({ from, to, count }) => ({ from: String(from), to: String(to), count })),
      recent: status.recent.map(({ from, fromBlock, to, toBlock, timestamp }) => ({
        ...{ from: String(from), fromBlock, to: String(to), toBlock },
        timeSec: timestamp,
      })),
      denied: status
        .chains()
        .flatMap(({ chainId }) => denied.newest(chainId, MAX_DENIED))
        .sort((a, b) => a.timestamp - b.timestamp)
        .slice(-MAX_DENIED)
        .map(({ chainId, block, reason }) => ({ chain: String(chainId), block: block.number, reason: shortened(reason) })),
    }),
  );
}

const headRef = (block: MessageBlock | undefined): HeadRef | undefined =>
  block && { number: block.number, timeSec: block.timestamp };

const shortened = (text: string): string => text.slice(0, MAX_TEXT);
