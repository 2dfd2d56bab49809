import type { Logger } from "@rnode/observe";
import type { P2PMetrics } from "../p2p-metrics.ts";
import type { PeerRecords } from "./peer-records.ts";
import { scoreInWords } from "./score-snapshot.ts";

interface MonitorDeps {
  readonly records: PeerRecords;
  readonly ban: { readonly enabled: boolean; readonly threshold: number; readonly durationMs: number };
  readonly isStatic: (peer: string) => boolean;
  /** A valid block arrived after the peer's invalid ones, which confirms clock and signer. */
  readonly isJudgementConfirmed: (peer: string) => boolean;
  readonly connected: () => readonly string[];
  readonly disconnect: (peer: string) => Promise<void>;
  readonly nowSec: () => number;
  readonly metrics: P2PMetrics;
  readonly log: Logger;
}

const WARNING_INTERVAL_SEC = 60;

/**
 * Bans peers with a low score, checking one connected peer at a time in turn. For invalid blocks, a peer is banned only after a
 * valid block from any peer: otherwise a node with a wrong clock, or without the sequencer's new key, would ban all its peers.
 * Spec: docs/protocol/03-p2p.md#connection-gater-and-bans
 */
export class ScoreMonitor {
  readonly #deps: MonitorDeps;
  #turn: string[] = [];
  #warnedSec = Number.NEGATIVE_INFINITY;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** Checks the next connected peer. Call it each second. */
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
    if (scores.gossip.blocks.invalidMessageDeliveries > 0 && !this.#deps.isJudgementConfirmed(peer)) {
      this.#warnOfUs(peer, lastUpdate);
      return;
    }
    const score = Math.round(scores.gossip.total * 100) / 100;
    const reason = `score ${score} is below ${ban.threshold}: ${scoreInWords(scores)}`;
    records.bans.set(peer, { expiry: lastUpdate + Math.ceil(ban.durationMs / 1000), lastUpdate, reason });
    metrics.peerBans.inc();
    log.warn("peer is banned and disconnected", { peer, reason, forSec: Math.ceil(ban.durationMs / 1000) });
    await disconnect(peer);
  }

  #warnOfUs(peer: string, nowSec: number): void {
    if (nowSec - this.#warnedSec < WARNING_INTERVAL_SEC) return;
    this.#warnedSec = nowSec;
    this.#deps.log.warn(
      "a peer sends invalid blocks, and no valid block has come since from anywhere: is this machine's clock right, and the rollup's configuration? The sequencer's key may have changed",
      { peer },
    );
  }
}
