import { type Clock, LruCache, type Rate, TokenBucket } from "@rnode/primitives";
import { Permits } from "./permits.ts";

/** Spec: docs/protocol/03-p2p.md#request-response-payload-by-number */
export const GLOBAL_RATE: Rate = { perSec: 20, burst: 40 };
export const PEER_RATE: Rate = { perSec: 4, burst: 15 };
const TRACKED_PEERS = 1_000;

interface Peer {
  readonly tokens: TokenBucket;
  /** its requests pass one after the other, in the order in which they came */
  readonly turn: Permits;
}

/**
 * Rate limits of requests, in total and per peer. A request takes a global token, then one of its peer. While its peer has none,
 * it takes no global token either, so a peer with too many requests delays only itself.
 */
export class RequestLimits {
  private readonly clock: Clock;
  private readonly global: TokenBucket;
  private readonly globalTurn = new Permits(1);
  private readonly peers = new LruCache<string, Peer>(TRACKED_PEERS);

  constructor(clock: Clock) {
    this.clock = clock;
    this.global = new TokenBucket(GLOBAL_RATE, clock);
  }

  get trackedPeers(): number {
    return this.peers.size;
  }

  /** Waits until a request of the peer may be answered. @returns false: the signal was aborted first, and nothing was taken */
  async pass(peerId: string, signal: AbortSignal): Promise<boolean> {
    const known = this.peers.get(peerId);
    if (known === undefined) {
      const peer = { tokens: new TokenBucket(PEER_RATE, this.clock), turn: new Permits(1) };
      this.peers.set(peerId, peer);
      // the first request of a peer counts, and never waits for its own limit
      return this.takeGlobal(peer, signal);
    }
    const endTurn = await known.turn.acquire(1, signal);
    if (endTurn === undefined) return false;
    try {
      return (await known.tokens.wait(this.clock, signal)) && (await this.takeGlobal(known, signal));
    } finally {
      endTurn();
    }
  }

  private async takeGlobal(peer: Peer, signal: AbortSignal): Promise<boolean> {
    const endTurn = await this.globalTurn.acquire(1, signal);
    if (endTurn === undefined) return false;
    try {
      if (!(await this.global.wait(this.clock, signal))) return false;
      this.global.spend();
      peer.tokens.spend();
      return true;
    } finally {
      endTurn();
    }
  }
}
