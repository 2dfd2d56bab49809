import type { Logger } from "@rnode/observe";
import type { P2PMetrics } from "../p2p-metrics.ts";
import type { PeerRecords } from "./peer-records.ts";
import { scoreInWords } from "./score-snapshot.ts";

interface MonitorDeps {
  readonly records: PeerRecords;
  readonly ban: { readonly enabled: boolean; readonly threshold: number; readonly durationMs: number };
  readonly isStatic: (peer: string) => boolean;
  readonly connected: () => readonly string[];
  readonly disconnect: (peer: string) => Promise<void>;
  readonly nowSec: () => number;
  readonly metrics: P2PMetrics;
  readonly log: Logger;
}

/**
 * Bans peers whose score is too low, one connected peer at a time in turn.
 * Spec: docs/protocol/03-p2p.md#connection-gater-and-bans
 */
export class ScoreMonitor {
  readonly #deps: MonitorDeps;
  #turn: string[] = [];

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** Checks the next connected peer. To be called each second. */
  async checkNext(): Promise<void> {
    const { ban, connected } = this.#deps;
    if (!ban.enabled) return;
    const now = new Set(connected());
    let peer = this.#turn.shift();
    while (peer !== undefined && !now.has(peer)) peer = this.#turn.shift();
    if (peer === undefined) {
      this.#turn = [...now];
      peer = this.#turn.shift();
    }
    if (peer !== undefined) await this.#check(peer);
  }

  async #check(peer: string): Promise<void> {
    const { records, ban, isStatic, disconnect, nowSec, metrics, log } = this.#deps;
    const lastUpdate = nowSec();
    const scores = records.scoresOf(peer, lastUpdate);
    if (scores === undefined || scores.gossip.total >= ban.threshold || isStatic(peer)) return;
    const score = Math.round(scores.gossip.total * 100) / 100;
    const reason = `score ${score} is below ${ban.threshold}: ${scoreInWords(scores)}`;
    records.bans.set(peer, { expiry: lastUpdate + Math.ceil(ban.durationMs / 1000), lastUpdate, reason });
    metrics.peerBans.inc();
    log.warn("peer is banned and disconnected", { peer, reason, forSec: Math.ceil(ban.durationMs / 1000) });
    await disconnect(peer);
  }
}
