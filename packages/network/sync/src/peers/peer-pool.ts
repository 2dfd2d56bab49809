import type { BlockPeer, BlockPeers, PeerFault } from "@rnode/devp2p";
import type { Logger } from "@rnode/observe";
import { type Abortable, Alarm, backoffMs, type Clock, equalBytes, isCodedError } from "@rnode/primitives";
import type { SyncMetrics } from "../sync-metrics.ts";

export type RequestKind = "headers" | "bodies";

export type PeerAnswer<T> = { readonly kind: "answer"; readonly value: T } | { readonly kind: "none" };

/** How large requests are: as much as a peer answers in this time. */
const REQUEST_MS = 1_000;
const FIRST_ITEMS: Readonly<Record<RequestKind, number>> = { headers: 192, bodies: 32 };
/** After a timeout, a peer gets requests of half the size, down to this minimum. */
const MIN_ITEMS: Readonly<Record<RequestKind, number>> = { headers: 64, bodies: 4 };
/** Geth returns at most 1024 of either; bodies are limited earlier by 2 MiB. */
const MAX_ITEMS: Readonly<Record<RequestKind, number>> = { headers: 1024, bodies: 512 };
/** share of the newest measurement in the average */
const NEWEST = 0.3;

const MIN_TIMEOUT_MS = 5_000;
const MAX_TIMEOUT_MS = 15_000;
/** after a fault, doubled with each in a row */
const RESTS = { firstMs: 2_000, maxMs: 120_000 };
const BUSY_REST_MS = 250;
/** Peers announce their head every 32 blocks, or only on connecting, so they can have some more blocks. */
const UNTOLD_BLOCKS = 1_024;
/** Number of times in a row that a peer may lack blocks beyond its announcement before it gets a fault. */
const PATIENCE = 5;

/** The state of a peer. */
interface Standing {
  readonly peer: BlockPeer;
  seenHead: Uint8Array;
  isAsked: boolean;
  /** items per millisecond */
  readonly rates: Partial<Record<RequestKind, number>>;
  latencyMs: number | undefined;
  /** half of the request that timed out; doubled with each later answer */
  readonly atMost: Partial<Record<RequestKind, number>>;
  /** it was wrong in a way that no honest peer is */
  hasLied: boolean;
  faultsInRow: number;
  restsUntilMs: number;
}

export interface PeerPoolDeps {
  readonly peers: BlockPeers;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: SyncMetrics;
}

/** A peer that has nothing else to do. */
export interface IdlePeer {
  readonly id: string;
  /** number of items to request */
  items(kind: RequestKind): number;
  /**
   * Sends a request to the peer, with a timeout.
   *
   * @param items number of requested items
   * @param signal aborts without a fault
   */
  ask<T>(
    kind: RequestKind,
    items: number,
    request: (peer: BlockPeer, signal: AbortSignal) => Promise<readonly T[]>,
    signal?: Abortable,
  ): Promise<PeerAnswer<readonly T[]>>;
  blame(fault: PeerFault, detail: string): void;
  /** It lacks a block, which is a fault only if it announced it. */
  lacks(number: number, what: string): void;
}

/**
 * Selects the peer for the next request. Each peer has one request at a time; fast peers get requests first and larger ones. A
 * peer that fails rests with backoff; a peer that lied gets no more requests.
 */
export class PeerPool {
  readonly #deps: PeerPoolDeps;
  readonly #standings = new Map<string, Standing>();
  readonly #liars = new Set<string>();
  #changed = new Alarm();
  #version = 0;
  readonly #forget: () => void;

  constructor(deps: PeerPoolDeps) {
    this.#deps = deps;
    this.#forget = deps.peers.onChange(() => this.#onPeers());
    this.#onPeers();
  }

  /** number of usable peers, now or after a rest */
  get size(): number {
    let count = 0;
    for (const { hasLied } of this.#standings.values()) if (!hasLied) count++;
    return count;
  }

  /** Idle peers that may have the block with this number, the best first. */
  idle(number: number): IdlePeer[] {
    const nowMs = this.#deps.clock.monotonicMs();
    const free = [...this.#standings.values()].filter(
      ({ peer, isAsked, hasLied, restsUntilMs }) =>
        !isAsked &&
        !hasLied &&
        restsUntilMs <= nowMs &&
        (peer.head.number === undefined || peer.head.number + UNTOLD_BLOCKS >= number),
    );
    // An unmeasured peer comes first, so its speed becomes known.
    const speed = ({ rates, latencyMs }: Standing): number =>
      latencyMs === undefined ? Number.POSITIVE_INFINITY : (rates.bodies ?? rates.headers ?? 0);
    return free.sort((a, b) => speed(b) - speed(a)).map((standing) => this.#idlePeer(standing));
  }

  /** Changes whenever a peer may have become idle, or `notify` is called. */
  get version(): number {
    return this.#version;
  }

  /** Resolves when the version is another one, a peer has rested, `signal` is given, or `limitMs` have passed. */
  async changedSince(version: number, signal: Abortable, limitMs = RESTS.maxMs): Promise<void> {
    if (version !== this.#version || signal.aborted) return;
    const nowMs = this.#deps.clock.monotonicMs();
    let wakeMs = nowMs + limitMs;
    for (const { restsUntilMs, isAsked } of this.#standings.values()) {
      if (!isAsked && restsUntilMs > nowMs) wakeMs = Math.min(wakeMs, restsUntilMs);
    }
    const either = new Alarm();
    const ring = (): void => either.ring();
    const changed = this.#changed;
    changed.addEventListener("abort", ring);
    signal.addEventListener("abort", ring);
    await this.#deps.clock.sleep(wakeMs - nowMs, either);
    changed.removeEventListener("abort", ring);
    signal.removeEventListener("abort", ring);
  }

  /** Wakes all waiters in `changedSince`. */
  notify(): void {
    this.#version++;
    const before = this.#changed;
    this.#changed = new Alarm();
    before.ring();
  }

  close(): void {
    this.#forget();
    this.notify();
  }

  #onPeers(): void {
    const now = new Map(this.#deps.peers.list().map((peer) => [peer.id, peer]));
    for (const id of this.#standings.keys()) if (!now.has(id)) this.#standings.delete(id);
    for (const [id, peer] of now) {
      const known = this.#standings.get(id);
      if (known?.peer === peer) {
        if (!equalBytes(known.seenHead, peer.head.hash)) {
          known.seenHead = peer.head.hash;
          known.restsUntilMs = 0; // it may have more blocks now
        }
        continue;
      }
      this.#standings.set(id, {
        peer,
        seenHead: peer.head.hash,
        isAsked: false,
        rates: {},
        atMost: {},
        latencyMs: undefined,
        hasLied: this.#liars.has(id),
        faultsInRow: 0,
        restsUntilMs: 0,
      });
    }
    this.notify();
  }

  #idlePeer(standing: Standing): IdlePeer {
    return {
      id: standing.peer.id,
      items: (kind) => {
        const rate = standing.rates[kind];
        const wanted = rate === undefined ? FIRST_ITEMS[kind] : Math.round(rate * REQUEST_MS);
        return Math.min(standing.atMost[kind] ?? MAX_ITEMS[kind], Math.max(MIN_ITEMS[kind], Math.min(MAX_ITEMS[kind], wanted)));
      },
      ask: (kind, items, request, signal) => this.#ask(standing, kind, items, request, signal),
      blame: (fault, detail) => this.#blame(standing, fault, detail),
      lacks: (number, what) => {
        const { head } = standing.peer;
        const hasSaidSo = head.number !== undefined && head.number >= number;
        if (hasSaidSo || standing.faultsInRow >= PATIENCE) this.#blame(standing, "useless", `it does not have ${what} ${number}`);
        else this.#rest(standing);
      },
    };
  }

  async #ask<T>(
    standing: Standing,
    kind: RequestKind,
    items: number,
    request: (peer: BlockPeer, signal: AbortSignal) => Promise<readonly T[]>,
    signal?: Abortable,
  ): Promise<PeerAnswer<readonly T[]>> {
    const { clock } = this.#deps;
    const { peer } = standing;
    const startMs = clock.monotonicMs();
    const controller = new AbortController();
    const ended = new Alarm();
    const giveUp = (): void => {
      controller.abort();
      ended.ring();
    };
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted) giveUp();
    standing.isAsked = true;
    let outcome: { readonly values: readonly T[] } | { readonly error: unknown } | undefined;
    const asked = request(peer, controller.signal).then(
      (values) => {
        outcome = { values };
        ended.ring();
      },
      (error: unknown) => {
        outcome = { error };
        ended.ring();
      },
    );
    await clock.sleep(timeoutOf(standing), ended);
    if (outcome !== undefined) await asked;
    signal?.removeEventListener("abort", giveUp);
    standing.isAsked = false;
    const isGivenUp = controller.signal.aborted;
    controller.abort();
    try {
      if (outcome === undefined) {
        if (!isGivenUp) {
          standing.atMost[kind] = Math.max(1, Math.floor(items / 2));
          this.#blame(standing, "slow", `no answer to a request for ${items} ${kind} in ${timeoutOf(standing)} ms`);
        }
        return { kind: "none" };
      }
      if ("error" in outcome) {
        this.#onError(standing, outcome.error, isGivenUp);
        return { kind: "none" };
      }
      this.#measure(standing, kind, outcome.values.length, Math.max(1, clock.monotonicMs() - startMs));
      return { kind: "answer", value: outcome.values };
    } finally {
      this.notify();
    }
  }

  #measure(standing: Standing, kind: RequestKind, items: number, elapsedMs: number): void {
    const average = (before: number | undefined, now: number): number =>
      before === undefined ? now : before * (1 - NEWEST) + now * NEWEST;
    standing.latencyMs = average(standing.latencyMs, elapsedMs);
    if (items === 0) return;
    const atMost = standing.atMost[kind];
    if (atMost !== undefined) standing.atMost[kind] = 2 * atMost;
    standing.rates[kind] = average(standing.rates[kind], items / elapsedMs);
    standing.faultsInRow = 0;
  }

  /** @throws the error, unless it is one of a connection */
  #onError(standing: Standing, error: unknown, isGivenUp: boolean): void {
    if (!isCodedError(error)) throw error;
    if (isGivenUp) return;
    const { clock, log } = this.#deps;
    log.debug("a peer does not answer", { peer: standing.peer.id, reason: error.message });
    if (error.code === "devp2p/busy") standing.restsUntilMs = clock.monotonicMs() + BUSY_REST_MS;
    else this.#rest(standing);
  }

  #rest(standing: Standing): void {
    standing.faultsInRow++;
    standing.restsUntilMs = this.#deps.clock.monotonicMs() + backoffMs(standing.faultsInRow, RESTS);
  }

  #blame(standing: Standing, fault: PeerFault, detail: string): void {
    const { log, metrics } = this.#deps;
    log.debug("a peer is at fault", { peer: standing.peer.id, fault, detail });
    metrics.peerFaults.inc({ fault });
    if (fault === "lied") {
      standing.hasLied = true;
      this.#liars.add(standing.peer.id);
      if (this.#liars.size > MAX_LIARS) this.#liars.delete(this.#liars.values().next().value!);
    } else this.#rest(standing);
    standing.peer.report(fault, detail);
    this.notify();
  }
}

/** The network bans liars; these are remembered here only in case that one comes back before it does. */
const MAX_LIARS = 1_000;

const timeoutOf = ({ latencyMs }: Standing): number =>
  latencyMs === undefined ? MAX_TIMEOUT_MS / 2 : Math.max(MIN_TIMEOUT_MS, Math.min(MAX_TIMEOUT_MS, 4 * latencyMs + REQUEST_MS));
