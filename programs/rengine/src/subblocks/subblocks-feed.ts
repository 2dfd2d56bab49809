import type { SubblockItem, SubblocksState } from "@rnode/dashboard";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Feed } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";

export interface SubblocksFeedDeps {
  readonly pending: PendingBlocks;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly publishes: boolean;
  /** whether each followed stream is connected, by its URL */
  readonly sources: ReadonlyMap<string, boolean>;
  readonly server: { readonly readers: number };
  readonly publisher: { readonly building: number | undefined };
  readonly promises: { readonly broken: number };
}

/** Tells the dashboard of blocks under construction. */
export function feedSubblocks(
  feed: Feed,
  { pending, clock, sources, server, publisher, promises, publishes }: SubblocksFeedDeps,
): void {
  let latest: { readonly item: Omit<SubblockItem, "isBuiltHere" | "ageMs">; readonly atMs: number } | undefined;
  const itemNow = ({ item, atMs }: NonNullable<typeof latest>): SubblockItem => ({
    ...item,
    isBuiltHere: publisher.building === item.number,
    ageMs: Math.round(clock.monotonicMs() - atMs),
  });
  pending.onChange((part) => {
    if (part === undefined) return;
    const { header, transactions } = part.block;
    latest = {
      item: { number: header.number, parts: part.index + 1, transactions: transactions.length },
      atMs: clock.monotonicMs(),
    };
  });
  feed.state("subblocks", (): SubblocksState => {
    return {
      publishes,
      sources: [...sources].map(([url, isUp]) => ({ url: new URL(url).origin, isUp })), // no path, which may be a key
      readers: server.readers,
      latest: latest && itemNow(latest),
      broken: promises.broken,
    };
  });
}
