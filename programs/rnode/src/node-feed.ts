import type { HeadRef, HeadsSample, PeersState, SyncState } from "@rnode/dashboard";
import type { Feed } from "@rnode/observe";
import type { PeerApi } from "@rnode/p2p";
import type { Clock } from "@rnode/primitives";
import type { SyncFacts } from "./rpc/sync-status.ts";

export interface NodeFeedDeps {
  readonly clock: Clock;
  readonly syncFacts: () => SyncFacts;
  /** the facts other than the heads */
  readonly more: () => Omit<SyncState, "l1Head" | "l1Finalized" | "derivedTo" | "unsafe" | "safe" | "finalized">;
  readonly peers: Pick<PeerApi, "peers" | "peerStats" | "listBans"> | undefined;
}

const MAX_PEERS = 50;
const MAX_TEXT = 80;
/** Asking for all peers is work for the thread of the network. */
const PEERS_EVERY_MS = 5_000;

/** Tells the dashboard where the heads are, and who the peers are. */
export function feedNode(feed: Feed, deps: NodeFeedDeps): void {
  const { clock, syncFacts, more, peers } = deps;
  feed.state("sync", (): SyncState => {
    const { heads, l1, currentL1 } = syncFacts();
    return {
      l1Head: headRef(l1.head),
      l1Finalized: headRef(l1.finalized),
      derivedTo: headRef(currentL1),
      unsafe: headRef(heads?.unsafe),
      safe: headRef(heads?.safe),
      finalized: headRef(heads?.finalized),
      ...more(),
    };
  });
  feed.sampled("heads", (): HeadsSample | undefined => {
    const { heads, l1 } = syncFacts();
    if (heads === undefined) return undefined;
    const age = ({ timestamp }: { readonly timestamp: number }): number =>
      Math.max(0, Math.round(clock.unixMs() / 100 - timestamp * 10) / 10);
    return {
      l1: l1.head?.number,
      unsafe: heads.unsafe.number,
      safe: heads.safe.number,
      finalized: heads.finalized.number,
      unsafeAgeSec: age(heads.unsafe),
      safeAgeSec: age(heads.safe),
      finalizedAgeSec: age(heads.finalized),
    };
  });
  if (peers === undefined) return;
  let last: { readonly atMs: number; readonly state: Promise<PeersState> } | undefined;
  feed.state("peers", () => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.atMs >= PEERS_EVERY_MS) last = { atMs: nowMs, state: readPeers(peers) };
    return last.state;
  });
}

const headRef = (block: { readonly number: number; readonly timestamp: number } | undefined): HeadRef | undefined =>
  block && { number: block.number, timeSec: block.timestamp };

async function readPeers(api: NonNullable<NodeFeedDeps["peers"]>): Promise<PeersState> {
  const [dump, stats, bans] = await Promise.all([api.peers(true), api.peerStats(), api.listBans()]);
  const peers = Object.values(dump.peers).sort((a, b) => b.scores.gossip.total - a.scores.gossip.total);
  return {
    connected: stats.connected,
    known: stats.known,
    peers: peers.slice(0, MAX_PEERS).map(({ peerID, addresses, direction, userAgent, latency, scores }) => ({
      id: peerID,
      address: (addresses[0] ?? "").replace(/\/p2p\/.*$/, "").slice(0, MAX_TEXT),
      direction: (["", "in", "out"] as const)[direction],
      agent: userAgent.slice(0, MAX_TEXT),
      latencyMs: latency / 1e6,
      score: scores.gossip.total,
    })),
    bans: bans
      .slice(0, MAX_PEERS)
      .map(({ banned, secondsLeft, reason }) => ({ banned, secondsLeft, reason: reason.slice(0, MAX_TEXT) })),
  };
}
