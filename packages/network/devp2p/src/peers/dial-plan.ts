import { Backoff, type Clock, LruCache } from "@rnode/primitives";
import type { Enode } from "../enode.ts";

/** as in Geth: a node that refused is not dialled again at once */
const REDIAL_MS = 35_000;
const STATIC_DELAYS = { firstMs: 1_000, maxMs: 60_000 };
/** After two nodes have thrown each other out, one of them is the first again. */
const SHORTEST_COLLISION_DELAY_MS = 200;
const LONGEST_COLLISION_DELAY_MS = 3_200;
const MAX_CANDIDATES = 1_024;
/** maximum number of candidates per IP address: many keys at one address are probably one node */
const MAX_CANDIDATES_OF_HOST = 8;
const MAX_HISTORY = 8_192;

interface StaticNode {
  readonly enode: Enode;
  dueMs: number;
  readonly backoff: Backoff;
}

/** Selects the next node to dial: configured nodes when they are due, then discovered ones. */
export class DialPlan {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #static = new Map<string, StaticNode>();
  readonly #candidates = new LruCache<string, Enode>(MAX_CANDIDATES);
  /** by id: not before */
  readonly #notBefore = new LruCache<string, number>(MAX_HISTORY);

  /** @param random from 0 to below 1 */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  addStatic(enode: Enode): void {
    this.#static.set(enode.id, { enode, dueMs: 0, backoff: new Backoff(STATIC_DELAYS) });
  }

  removeStatic(id: string): void {
    this.#static.delete(id);
  }

  isStatic(id: string): boolean {
    return this.#static.has(id);
  }

  /** A node that was found; a later one of the same key replaces it. */
  offer(enode: Enode): void {
    if (enode.tcpPort === 0) return;
    if (!this.#candidates.has(enode.id)) {
      const own = [...this.#candidates.values()].filter(({ host }) => host === enode.host);
      if (own.length >= MAX_CANDIDATES_OF_HOST) this.#candidates.delete(own[0]!.id);
    }
    this.#candidates.set(enode.id, enode);
  }

  get candidateCount(): number {
    return this.#candidates.size;
  }

  /** Named nodes that are due, unless `isTaken`. */
  dueStatic(isTaken: (id: string) => boolean): Enode[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#static.values()].filter(({ enode, dueMs }) => dueMs <= nowMs && !isTaken(enode.id)).map(({ enode }) => enode);
  }

  /** Up to `count` nodes that were found, the latest first. */
  take(count: number, isTaken: (id: string) => boolean): Enode[] {
    const nowMs = this.#clock.monotonicMs();
    const taken: Enode[] = [];
    for (const enode of [...this.#candidates.values()].reverse()) {
      if (taken.length >= count) break;
      if (isTaken(enode.id) || this.#static.has(enode.id) || (this.#notBefore.get(enode.id) ?? 0) > nowMs) continue;
      this.#candidates.delete(enode.id);
      taken.push(enode);
    }
    return taken;
  }

  /** A dial has begun. */
  dialled(id: string): void {
    this.postpone(id, REDIAL_MS);
    const node = this.#static.get(id);
    if (node === undefined) return;
    node.dueMs = this.#clock.monotonicMs() + node.backoff.nextMs() * (0.5 + this.#random()); // jitter, so that two nodes do not dial each other at the same times
  }

  /**
   * The node that we dialled has a connection with us, which it dialled. If that one came to nothing, because ours was there first here,
   * neither has one: both try again soon, and not at once.
   */
  collided(enode: Enode): void {
    const { id } = enode;
    const span = LONGEST_COLLISION_DELAY_MS - SHORTEST_COLLISION_DELAY_MS;
    const dueMs = this.#clock.monotonicMs() + SHORTEST_COLLISION_DELAY_MS + Math.floor(this.#random() * span);
    const node = this.#static.get(id);
    if (node !== undefined) node.dueMs = dueMs;
    else this.offer(enode);
    this.#notBefore.set(id, dueMs);
  }

  /** Resets the backoff: after a loss, the first attempts come soon. */
  connected(id: string): void {
    const node = this.#static.get(id);
    node?.backoff.reset();
  }

  postpone(id: string, ms: number): void {
    const untilMs = this.#clock.monotonicMs() + ms;
    if ((this.#notBefore.get(id) ?? 0) < untilMs) this.#notBefore.set(id, untilMs);
  }
}
