import { type Abortable, equalBytes } from "@rnode/primitives";
import type { IdlePeer, PeerPool } from "../peers/peer-pool.ts";
import type { SyncMetrics } from "../sync-metrics.ts";
import type { HeaderChain, WrongHeader } from "./header-chain.ts";
import { descendingHeaders, type HashedHeader } from "./verified-header.ts";

export interface HeaderDownloadDeps {
  readonly headers: HeaderChain;
  readonly pool: PeerPool;
  readonly metrics: Pick<SyncMetrics, "headers">;
  /** blocks at or below it cannot be replaced; `undefined`: none is finalized */
  readonly finalized: () => number | undefined;
  /** a header that was received otherwise */
  readonly received: (hash: Uint8Array) => HashedHeader | undefined;
}

/** Limit of headers requested ahead that wait for the ones above them. */
const MAX_AHEAD = 16 * 1_024;

/** An answer that cannot be verified before the headers above it are there. */
interface Waiting {
  readonly headers: readonly HashedHeader[];
  readonly peer: IdlePeer;
}

/**
 * Extends the header chain downwards until it reaches the chain. The wanted header is requested by hash; at the same time, the
 * next ones are requested by number from other peers, and verified in their turn.
 */
export class HeaderDownload {
  readonly #deps: HeaderDownloadDeps;
  /** by the number of their first header */
  readonly #waiting = new Map<number, Waiting>();
  /** requested ranges, by the number of their first header */
  readonly #asked = new Map<number, { readonly low: number }>();
  #running: Promise<void>[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(deps: HeaderDownloadDeps) {
    this.#deps = deps;
  }

  /**
   * @param signal stops the download; verified headers are kept
   * @returns `undefined`: no header is wanted any more, or it was stopped
   */
  async run(signal: Abortable): Promise<WrongHeader | undefined> {
    const { headers, pool, finalized } = this.#deps;
    try {
      while (!signal.aborted) {
        if (this.#failure !== undefined) throw this.#failure.error;
        const contradiction = headers.contradiction(finalized());
        if (contradiction !== undefined) return contradiction;
        const { wanted } = headers;
        if (wanted === undefined) return undefined;
        const { version } = pool;
        const taken = this.#takeNext(wanted);
        if (taken === "taken") continue;
        if (taken !== undefined) return taken;
        this.#askIdle(wanted, signal);
        await pool.changedSince(version, signal);
      }
      return undefined;
    } finally {
      this.#waiting.clear();
      await Promise.all(this.#running);
      this.#running = [];
    }
  }

  /** Adds the received ones of the wanted headers. */
  #takeNext(wanted: { readonly number: number; readonly hash: Uint8Array }): "taken" | WrongHeader | undefined {
    const { received } = this.#deps;
    const known = received(wanted.hash);
    if (known !== undefined) return this.#add([known]);
    for (const first of this.#waiting.keys()) if (first > wanted.number) this.#waiting.delete(first);
    const next = this.#waiting.get(wanted.number);
    if (next === undefined) return undefined;
    this.#waiting.delete(wanted.number);
    if (!equalBytes(next.headers[0]!.hash, wanted.hash)) {
      // It was requested by number, so a peer on another branch can be honest.
      next.peer.blame("useless", `it has another block ${wanted.number}`);
      return undefined;
    }
    return this.#add(next.headers);
  }

  #add(headers: readonly HashedHeader[]): "taken" | WrongHeader {
    const outcome = this.#deps.headers.add(headers);
    if (outcome.kind === "wrong") return outcome;
    this.#deps.metrics.headers.add(outcome.count);
    return "taken";
  }

  #askIdle(wanted: { readonly number: number; readonly hash: Uint8Array }, signal: Abortable): void {
    let number = wanted.number;
    const lowest = wanted.number - MAX_AHEAD;
    for (const peer of this.#deps.pool.idle(wanted.number)) {
      // The next unrequested block.
      for (;;) {
        const asked = this.#asked.get(number);
        const low = asked?.low ?? this.#waiting.get(number)?.headers.at(-1)?.header.number;
        if (low === undefined) break;
        number = low - 1;
      }
      if (number < 1 || number <= lowest) return;
      const above = number;
      const nextKnown = Math.max(-1, ...[...this.#asked.keys(), ...this.#waiting.keys()].filter((first) => first < above));
      const limit = Math.min(peer.items("headers"), number, number - Math.max(nextKnown, lowest));
      this.#ask(peer, number === wanted.number ? wanted.hash : number, number, limit, signal);
    }
  }

  #ask(peer: IdlePeer, start: number | Uint8Array, first: number, limit: number, signal: Abortable): void {
    const range = { low: first - limit + 1 };
    this.#asked.set(first, range);
    const asking = peer
      .ask("headers", limit, (asked, given) => asked.headers({ start, limit, reverse: true }, given), signal)
      .then((answer) => {
        if (answer.kind === "answer") this.#onAnswer(peer, start, first, limit, answer.value);
      })
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        if (this.#asked.get(first) === range) this.#asked.delete(first);
        this.#running = this.#running.filter((other) => other !== asking);
        this.#deps.pool.notify();
      });
    this.#running.push(asking);
  }

  #onAnswer(peer: IdlePeer, start: number | Uint8Array, first: number, limit: number, encoded: readonly Uint8Array[]): void {
    if (encoded.length === 0) {
      peer.lacks(first, "header");
      return;
    }
    const verdict = descendingHeaders(encoded, first, limit);
    if (verdict.kind === "lie") peer.blame("lied", verdict.detail);
    else if (typeof start !== "number" && !equalBytes(verdict.headers[0]!.hash, start)) {
      peer.blame("lied", `it gave another header ${first} than the one with the hash that it was asked for`);
    } else this.#waiting.set(first, { headers: verdict.headers, peer });
  }
}
