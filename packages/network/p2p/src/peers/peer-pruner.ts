import type { Logger } from "@rnode/observe";
import type { P2PMetrics } from "../p2p-metrics.ts";
import type { PeerConnection } from "./peer-host.ts";

/** Time between two prunings. */
const SILENCE_MS = 60_000;
/** Above this multiple of the high tide, inbound peers are pruned without silence period and grace. */
const FLOOD_FACTOR = 2;

interface PrunerDeps {
  readonly low: number;
  readonly high: number;
  readonly graceMs: number;
  readonly connections: () => ReadonlyMap<string, readonly PeerConnection[]>;
  readonly isProtected: (peer: string) => boolean;
  /** the peer's value: its score and its tags */
  readonly worthOf: (peer: string) => Promise<number>;
  readonly disconnect: (peer: string) => Promise<void>;
  /** Memory is short: the silence is not waited for. */
  readonly isUnderPressure: () => boolean;
  readonly nowMs: () => number;
  readonly metrics: P2PMetrics;
  readonly log: Logger;
}

interface Candidate {
  readonly peer: string;
  readonly value: number;
  readonly isInbound: boolean;
  readonly openedMs: number;
}

/**
 * Disconnects peers above the high tide, until the low tide is reached: those of least value first, then inbound ones, then the
 * newest. Protected peers and new ones stay. Spec: docs/protocol/03-p2p.md#connection-manager
 */
export class PeerPruner {
  readonly #deps: PrunerDeps;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isPruning = false;

  constructor(deps: PrunerDeps) {
    this.#deps = deps;
  }

  /** @returns the peers that were disconnected */
  async prune(): Promise<readonly string[]> {
    const { low, high, connections, isUnderPressure, nowMs, log, metrics } = this.#deps;
    const now = nowMs();
    const all = connections();
    if (this.#isPruning || all.size <= high) return [];
    const isFlood = all.size > high * FLOOD_FACTOR;
    if (now - this.#lastMs < SILENCE_MS && !isFlood && !isUnderPressure()) return [];
    this.#isPruning = true;
    try {
      const candidates = await this.#candidates(all, now, isFlood);
      const pruned = candidates.slice(0, all.size - low).map(({ peer }) => peer);
      if (pruned.length === 0) return [];
      this.#lastMs = now;
      await Promise.all(pruned.map((peer) => this.#disconnect(peer)));
      metrics.peersPruned.add(pruned.length);
      log.info("too many peers: some were disconnected", { connected: all.size, disconnected: pruned.length, low, high });
      return pruned;
    } finally {
      this.#isPruning = false;
    }
  }

  /** Least value first. */
  async #candidates(
    all: ReadonlyMap<string, readonly PeerConnection[]>,
    nowMs: number,
    isFlood: boolean,
  ): Promise<readonly Candidate[]> {
    const { graceMs, isProtected, worthOf } = this.#deps;
    const candidates: Candidate[] = [];
    for (const [peer, connections] of all) {
      const openedMs = Math.min(...connections.map((connection) => connection.openedMs));
      const isInbound = connections.every(({ direction }) => direction === "inbound");
      const hasGrace = nowMs - openedMs < graceMs && !(isFlood && isInbound);
      if (hasGrace || isProtected(peer)) continue;
      candidates.push({ peer, value: await worthOf(peer), isInbound, openedMs });
    }
    return candidates.sort((a, b) => a.value - b.value || Number(b.isInbound) - Number(a.isInbound) || b.openedMs - a.openedMs);
  }

  async #disconnect(peer: string): Promise<void> {
    try {
      await this.#deps.disconnect(peer);
    } catch (error) {
      this.#deps.log.debug("peer could not be disconnected", { peer, error });
    }
  }
}
