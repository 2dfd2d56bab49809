import { join } from "node:path";
import type { Chain } from "@rnode/chain";
import type { BlockPeers } from "@rnode/devp2p";
import { SyncFeed } from "@rnode/eth-api";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Scope } from "@rnode/program";
import { ChainSync, HeaderFile } from "@rnode/sync";
import type { StateSync } from "./state-sync.ts";
import { syncStateOf } from "./sync-state.ts";

export interface StartSyncDependencies {
  readonly chain: Chain;
  /** default: there are none */
  readonly peers?: BlockPeers | undefined;
  /** default: all blocks are synced */
  readonly stateSync?: StateSync | undefined;
  readonly datadir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

const NO_PEERS: BlockPeers = { list: () => [], onChange: () => () => {} };
const FROM_L1 = "the rollup node can derive the blocks from L1 instead (rnode --syncmode=consensus-layer)";

/**
 * Puts a sync in front of the chain: what moves heads is passed to it, and reaches the chain at once unless a head is missing. What it
 * knows of headers is kept below the data folder.
 */
export function startSync(
  scope: Scope,
  { chain, peers, stateSync, datadir, clock, log, metrics }: StartSyncDependencies,
): { readonly heads: ChainSync; readonly sync: SyncFeed } {
  const genesis = { number: chain.genesis.block.header.number, hash: chain.genesis.hash };
  const heads = new ChainSync({
    chain,
    peers: peers ?? NO_PEERS,
    store: new HeaderFile(join(datadir, "sync"), genesis, log),
    stateTaker: stateSync,
    clock,
    log,
    metrics,
    adviceWithoutPeers: peers === undefined ? FROM_L1 : `name nodes of this chain by --bootnodes or --trusted-peers; ${FROM_L1}`,
  });
  scope.onClose("sync", () => heads.close());
  const sync = new SyncFeed();
  heads.onStatus((status) => sync.set(syncStateOf(status)));
  return { heads, sync };
}
