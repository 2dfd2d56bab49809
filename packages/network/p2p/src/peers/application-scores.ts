import type { ResponseScores } from "../parts.ts";
import type { PeerScores } from "./peer-api.ts";
import type { PeerRecords } from "./peer-records.ts";
import { NO_SCORES } from "./record-json.ts";
import { DECAY_TO_ZERO, epochsMs, scoreDecay } from "./score-params.ts";

type Counter = keyof PeerScores["reqResp"];

const COUNTERS: Readonly<Record<Counter, { readonly cap: number; readonly weight: number }>> = {
  validResponses: { cap: 10, weight: 0.5 },
  errorResponses: { cap: 9, weight: -1 },
  rejectedPayloads: { cap: 20, weight: -20 },
};

/** The score of request-response, which gossip adds to a peer's score. */
export interface ApplicationScoring extends ResponseScores {
  score(peer: string): number;
  /** Call it each slot. */
  decay(connected: readonly string[]): void;
}

/**
 * Counts results of request-response with peers. The counters are part of the score records, so they survive connections and
 * restarts. Spec: docs/protocol/03-p2p.md#peer-scoring
 */
export class ApplicationScores implements ApplicationScoring {
  readonly #records: PeerRecords;
  readonly #nowSec: () => number;
  readonly #decay: number;

  constructor(records: PeerRecords, { slot, nowSec }: { readonly slot: number; readonly nowSec: () => number }) {
    this.#records = records;
    this.#nowSec = nowSec;
    this.#decay = scoreDecay(epochsMs(10, slot), slot);
  }

  onValidResponse(peer: string): void {
    this.#count(peer, "validResponses");
  }

  onErrorResponse(peer: string): void {
    this.#count(peer, "errorResponses");
  }

  onRejectedPayload(peer: string): void {
    this.#count(peer, "rejectedPayloads");
  }

  score(peer: string): number {
    const counts = this.#counts(peer);
    return Object.entries(COUNTERS).reduce((sum, [counter, { weight }]) => sum + counts[counter as Counter] * weight, 0);
  }

  decay(connected: readonly string[]): void {
    for (const peer of connected) {
      const counts = this.#counts(peer);
      if (counts.validResponses === 0 && counts.errorResponses === 0 && counts.rejectedPayloads === 0) continue;
      this.#update(peer, {
        validResponses: this.#decayed(counts.validResponses),
        errorResponses: this.#decayed(counts.errorResponses),
        rejectedPayloads: this.#decayed(counts.rejectedPayloads),
      });
    }
  }

  #decayed(count: number): number {
    const decayed = count * this.#decay;
    return decayed < DECAY_TO_ZERO ? 0 : decayed;
  }

  #count(peer: string, counter: Counter): void {
    const counts = this.#counts(peer);
    this.#update(peer, { ...counts, [counter]: Math.min(counts[counter] + 1, COUNTERS[counter].cap) });
  }

  #counts(peer: string): PeerScores["reqResp"] {
    return (this.#records.scores.get(peer)?.peerScores ?? NO_SCORES).reqResp;
  }

  #update(peer: string, reqResp: PeerScores["reqResp"]): void {
    const known = this.#records.scores.get(peer)?.peerScores ?? NO_SCORES;
    this.#records.setScores(peer, { ...known, reqResp }, this.#nowSec());
  }
}

/** With `--p2p.scoring=none`. */
export const noApplicationScores: ApplicationScoring = {
  onValidResponse: () => {},
  onErrorResponse: () => {},
  onRejectedPayload: () => {},
  score: () => 0,
  decay: () => {},
};
