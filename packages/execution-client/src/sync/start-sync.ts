import { join } from "node:path";
import type { Chain } from "@rnode/chain";
import type { BlockPeers } from "@rnode/devp2p";
import { SyncFeed } from "@rnode/eth-api";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Scope } from "@rnode/program";
import { ChainSync, HeaderFile } from "@rnode/sync";
import { syncStateOf } from "./sync-state.ts";

export interface StartSyncDependencies {
  readonly chain: Chain;
  /** default: there are none */
  readonly peers?: BlockPeers | undefined;
  readonly datadir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

const NO_PEERS: BlockPeers = { list: () => [], onChange: () => () => {} };
const ADVICE_WITHOUT_PEERS =
  "without peers the rollup node has to derive the blocks from L1, which rnode does with --syncmode=consensus-layer";

/**
 * Puts a sync in front of the chain: what moves heads is passed to it, and reaches the chain at once unless a head is missing. What it
 * knows of headers is kept below the data folder.
 */
export function startSync(
  scope: Scope,
  { chain, peers = NO_PEERS, datadir, clock, log, metrics }: StartSyncDependencies,
): { readonly heads: ChainSync; readonly sync: SyncFeed } {
  const genesis = { number: chain.genesis.block.header.number, hash: chain.genesis.hash };
  const heads = new ChainSync({
    chain,
    peers,
    store: new HeaderFile(join(datadir, "sync"), genesis, log),
    clock,
    log,
    metrics,
    adviceWithoutPeers: ADVICE_WITHOUT_PEERS,
  });
  scope.onClose("sync", () => heads.close());
  const sync = new SyncFeed();
  heads.onStatus((status) => sync.set(syncStateOf(status)));
  return { heads, sync };
}
