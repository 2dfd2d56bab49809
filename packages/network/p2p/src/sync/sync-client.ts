import { setMaxListeners } from "node:events";
import type { Logger } from "@rnode/observe";
import { backoffMs, bytesToHex, type Clock, type Hex, isCodedError, LruCache, TokenBucket } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { UnsafeGap } from "../network.ts";
import type { PayloadSink, ResponseScores } from "../parts.ts";
import { blockTimestampSec, RESULT } from "../wire/payload-by-number.ts";
import type { Answer } from "./payload-requests.ts";
import { MAX_QUARANTINED, Quarantine, type Quarantined } from "./quarantine.ts";
import { GLOBAL_RATE, PEER_RATE } from "./request-limits.ts";
import type { RequestMetrics } from "./request-metrics.ts";

export interface SyncClientDeps {
  readonly config: RollupConfig;
  /** @throws whatever goes wrong is the peer's fault */
  readonly ask: (peer: string, number: number, signal: AbortSignal) => Promise<Answer>;
  /** whether requests to a peer are allowed */
  readonly mayAsk: (peer: string) => boolean;
  readonly sink: PayloadSink;
  readonly scores: ResponseScores;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
}

const MAX_TRUSTED = 10_000;
/** Blocks before that are expected from L1, or from the execution clients' own network. */
const MAX_AGE_MS = 12 * 3_600_000;
/** tokens */
const ERROR_COST = PEER_RATE.burst;
/** The pause after an error, beyond its tokens; it doubles with every further one. */
const ERROR_PAUSES = { firstMs: 1_000, maxMs: 60_000 };
/** after a block that does not hash to its block hash, which no honest node sends */
const LIE_PAUSE_MS = 600_000;
/** A request takes this long only if this process was suspended: then the peer gets no penalty. */
const STOOD_STILL_MS = 40_000;
/** After this time, the block that blocks all others is requested from one more peer. */
const HEDGE_AFTER_MS = 3_000;
/** Delivered blocks are requested again if they are still missing after this time. */
const HANDED_OVER_MS = 10_000;
const FOREVER_MS = 3_600_000;

interface Peer {
  readonly id: string;
  readonly tokens: TokenBucket;
  readonly gone: AbortController;
  errors: number;
  pausedUntilMs: number;
}

/** The missing blocks, from the highest down. All blocks above `next` were delivered. */
interface Walk {
  /** the number of the block below the lowest that is missing */
  start: number;
  /** the highest block that is missing; a trusted block names it as its parent */
  next: { readonly number: number; readonly hash: Hex };
  /** peers that do not have a block of this range */
  readonly without: Set<string>;
}

/**
 * Fetches the blocks between the unsafe head and a block that waits for its ancestors, in reverse, because only a trusted block
 * determines its parent. Numbers are distributed among the peers, one at a time to each; early answers wait in quarantine.
 *
 * A number is requested only if the quarantine has room for all blocks between it and the last trusted block. So a slow peer
 * delays the others only briefly, and no honest peer is penalised for an evicted block.
 *
 * Spec: docs/protocol/03-p2p.md#request-response-payload-by-number
 */
export class SyncClient {
  private readonly deps: SyncClientDeps;
  private readonly peers = new Map<string, Peer>();
  private readonly workers = new Set<Promise<void>>();
  private readonly global: TokenBucket;
  /** trusted hashes, with the time of the block's delivery */
  private readonly trusted = new LruCache<Hex, { readonly handedOverMs: number | undefined }>(MAX_TRUSTED);
  private readonly quarantine = new Quarantine();
  /** hash that a waiting block names as its parent → peers that sent another block of that number: one of the two is of another chain */
  private readonly suspects = new LruCache<Hex, Set<string>>(MAX_TRUSTED);
  /** number → requested peers, and the time of the request */
  private readonly inFlight = new Map<number, Map<Peer, number>>();
  private walk: Walk | undefined;
  private changed = createSignal();
  private isClosing = false;

  constructor(deps: SyncClientDeps) {
    this.deps = deps;
    this.global = new TokenBucket(GLOBAL_RATE, deps.clock);
  }

  /** The number of the block that blocks all others; `undefined`: nothing is missing. */
  get waitingFor(): number | undefined {
    return this.walk?.next.number;
  }

  get quarantined(): { readonly count: number; readonly sizeBytes: number } {
    return { count: this.quarantine.size, sizeBytes: this.quarantine.sizeBytes };
  }

  addPeer(id: string): void {
    if (this.isClosing || this.peers.has(id)) return;
    const tokens = new TokenBucket(PEER_RATE, this.deps.clock);
    const peer: Peer = { id, tokens, gone: new AbortController(), errors: 0, pausedUntilMs: 0 };
    this.peers.set(id, peer);
    const worker = this.work(peer).finally(() => this.workers.delete(worker));
    this.workers.add(worker);
  }

  removePeer(id: string): void {
    const peer = this.peers.get(id);
    if (peer === undefined) return;
    this.peers.delete(id);
    peer.gone.abort();
    this.wake();
  }

  /** A repeated request for a gap in progress has no effect. */
  requestGap({ start, end }: UnsafeGap): void {
    const { config, clock, log } = this.deps;
    if (this.isClosing || end.number <= start.number + 1) return;
    if (blockTimestampSec(config, start.number) * 1_000 < clock.unixMs() - MAX_AGE_MS) {
      log.debug("blocks this old are not asked of peers", { from: start.number, to: end.number });
      return;
    }
    const parentHash = bytesToHex(end.parentHash);
    this.trust(bytesToHex(end.hash));
    const next = { number: end.number - 1, hash: parentHash };
    if (!this.wasJustHandedOver(parentHash)) this.walk = { start: start.number, next, without: new Set() };
    if (this.walk === undefined) return;
    this.trust(parentHash);
    this.walk.start = start.number;
    this.quarantine.keepBetween(start.number + 1, this.walk.next.number);
    this.advance(this.walk);
    this.wake();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    this.walk = undefined;
    for (const id of [...this.peers.keys()]) this.removePeer(id);
    await Promise.all(this.workers);
  }

  /** Requests one block after the other from one peer, while it is connected. */
  private async work(peer: Peer): Promise<void> {
    const { clock } = this.deps;
    while (!peer.gone.signal.aborted) {
      const pauseMs = Math.max(peer.tokens.msUntilNext, peer.pausedUntilMs - clock.monotonicMs(), this.global.msUntilNext);
      const next = this.walk === undefined || pauseMs <= 0 ? this.nextFor(peer) : { kind: "wait" as const, ms: pauseMs };
      if (next.kind === "wait") await clock.sleep(next.ms, this.changed.signal);
      else {
        this.global.spend();
        peer.tokens.spend();
        await this.fetch(peer, next.number);
      }
    }
  }

  /** The highest unrequested number, or the one that blocks all others. */
  private nextFor(peer: Peer): { readonly kind: "ask"; readonly number: number } | { readonly kind: "wait"; readonly ms: number } {
    const { walk } = this;
    if (walk === undefined || walk.without.has(peer.id) || !this.deps.mayAsk(peer.id)) return { kind: "wait", ms: FOREVER_MS };
    const { number: top } = walk.next;
    const asked = this.inFlight.get(top);
    if (asked === undefined) return { kind: "ask", number: top };
    const low = this.quarantine.isNearlyFull ? top : Math.max(walk.start + 1, top - MAX_QUARANTINED + 1);
    for (let number = top - 1; number >= low; number--) {
      if (!this.inFlight.has(number) && !this.quarantine.has(number)) return { kind: "ask", number };
    }
    const askMoreMs = Math.max(...asked.values()) + HEDGE_AFTER_MS - this.deps.clock.monotonicMs();
    return askMoreMs <= 0 ? { kind: "ask", number: top } : { kind: "wait", ms: askMoreMs };
  }

  private async fetch(peer: Peer, number: number): Promise<void> {
    const { clock, ask, metrics } = this.deps;
    const startMs = clock.monotonicMs();
    const asked = this.inFlight.get(number) ?? new Map<Peer, number>();
    this.inFlight.set(number, asked.set(peer, startMs));
    let outcome: Answer | { readonly kind: "failed"; readonly error: unknown };
    try {
      outcome = await ask(peer.id, number, peer.gone.signal);
    } catch (error) {
      outcome = { kind: "failed", error };
    }
    asked.delete(peer);
    if (asked.size === 0) this.inFlight.delete(number);
    if (!peer.gone.signal.aborted) {
      metrics.asked(number, codeOf(outcome), clock.monotonicMs() - startMs);
      const isOurFault = outcome.kind === "failed" && clock.monotonicMs() - startMs > STOOD_STILL_MS;
      if (!isOurFault) this.onOutcome(peer, number, outcome);
    }
    metrics.quarantined(this.quarantine.size);
    this.wake();
  }

  private onOutcome(peer: Peer, number: number, outcome: Answer | { readonly kind: "failed"; readonly error: unknown }): void {
    const { scores, log } = this.deps;
    if (outcome.kind === "block") {
      peer.errors = 0;
      scores.onValidResponse(peer.id);
      this.onBlock({ block: outcome.block, peer: peer.id });
      return;
    }
    peer.tokens.spend(ERROR_COST);
    if (outcome.kind === "refused" && outcome.code === RESULT.notFound) {
      this.onNotFound(peer, number);
      return;
    }
    const reason = outcome.kind === "refused" ? `result code ${outcome.code}` : String(outcome.error);
    log.debug("a peer does not answer as it should", { peer: peer.id, number, reason });
    scores.onErrorResponse(peer.id);
    const isLie = outcome.kind === "failed" && isCodedError(outcome.error, "answer/");
    this.pause(peer, isLie ? LIE_PAUSE_MS : undefined);
  }

  /** No penalty for the peer. Ends the range for this peer; for all when no peer is left that may have the blocks. */
  private onNotFound(peer: Peer, number: number): void {
    const { walk } = this;
    if (walk === undefined || number > walk.next.number) return;
    walk.without.add(peer.id);
    const others = [...this.peers.keys()].filter((id) => this.deps.mayAsk(id) && !walk.without.has(id));
    if (others.length > 0) return;
    this.deps.log.debug("no peer has the missing blocks", { from: walk.start, to: walk.next.number });
    this.walk = undefined;
  }

  private onBlock(entry: Quarantined): void {
    const { walk } = this;
    const { number, hash } = entry.block;
    if (walk !== undefined && number === walk.next.number) {
      if (hash === walk.next.hash) {
        this.handOver(walk, entry);
        this.advance(walk);
      } else this.reject(walk, entry);
    } else if (walk !== undefined && number > walk.start && number < walk.next.number) this.quarantine.add(entry);
    else if (this.trusted.get(hash)?.handedOverMs === undefined && this.trusted.has(hash)) this.handOver(undefined, entry);
  }

  /** Delivers blocks in quarantine whose child was delivered. */
  private advance(walk: Walk): void {
    for (;;) {
      if (walk.next.number <= walk.start) {
        if (this.walk === walk) this.walk = undefined;
        return;
      }
      const waiting = this.quarantine.take(walk.next.number);
      if (waiting === undefined) return;
      if (waiting.block.hash === walk.next.hash) this.handOver(walk, waiting);
      else {
        this.reject(walk, waiting);
        return;
      }
    }
  }

  /** @param walk `undefined`: the block belongs to an obsolete range */
  private handOver(walk: Walk | undefined, { block, peer }: Quarantined): void {
    for (const suspect of this.suspects.get(block.hash) ?? []) this.deps.scores.onRejectedPayload(suspect);
    this.suspects.delete(block.hash);
    this.trusted.set(block.hash, { handedOverMs: this.deps.clock.monotonicMs() });
    this.trust(block.parentHash);
    if (walk !== undefined) walk.next = { number: block.number - 1, hash: block.parentHash };
    this.deps.sink.accept(block.envelope, peer);
  }

  /**
   * The block is not the parent of the waiting block. The peer gets the penalty only when the parent exists, because until then
   * the waiting block can be wrong: a holder of the signer's key can sign any parent.
   */
  private reject({ next }: Walk, { block, peer }: Quarantined): void {
    this.deps.log.debug("a peer sent a block of another chain", { peer, number: block.number, hash: block.hash });
    this.suspects.set(next.hash, (this.suspects.get(next.hash) ?? new Set()).add(peer));
    const sender = this.peers.get(peer);
    if (sender === undefined) return;
    sender.tokens.spend(ERROR_COST);
    this.pause(sender);
  }

  private pause(peer: Peer, ms = backoffMs(peer.errors + 1, ERROR_PAUSES)): void {
    peer.errors++;
    peer.pausedUntilMs = this.deps.clock.monotonicMs() + ms;
  }

  private trust(hash: Hex): void {
    if (!this.trusted.has(hash)) this.trusted.set(hash, { handedOverMs: undefined });
  }

  private wasJustHandedOver(hash: Hex): boolean {
    const handedOverMs = this.trusted.get(hash)?.handedOverMs;
    return handedOverMs !== undefined && this.deps.clock.monotonicMs() < handedOverMs + HANDED_OVER_MS;
  }

  private wake(): void {
    this.changed.abort();
    this.changed = createSignal();
  }
}

/** Every idle worker listens. */
function createSignal(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** A peer that did not answer counts as one that does not have the block, as in op-node's metrics. */
function codeOf(outcome: Answer | { readonly kind: "failed" }): number {
  if (outcome.kind === "block") return RESULT.success;
  return outcome.kind === "refused" ? outcome.code : RESULT.notFound;
}
