import type { Peer, PeerId, PeerStore } from "@libp2p/interface";
import type { Logger } from "@rnode/observe";
import { type Clock, LruCache } from "@rnode/primitives";

export interface PeerFinderDeps {
  readonly node: {
    readonly peerId: PeerId;
    readonly peerStore: Pick<PeerStore, "all">;
    getPeers(): readonly PeerId[];
    dial(peer: PeerId, options: { signal: AbortSignal }): Promise<unknown>;
  };
  /** connections wanted */
  readonly goal: number;
  readonly clock: Clock;
  /** 0 ≤ x < 1 */
  readonly random: () => number;
  readonly log: Logger;
}

const INTERVAL_MS = { wanting: 5_000, content: 20_000 } as const;
const WORKERS = 4;
const ATTEMPT_LIMIT_MS = 10_000;
const ROUND_LIMIT_MS = 30_000;
/** Rounds do not follow each other faster, whatever is discovered. */
const PAUSE_MS = 1_000;
/** A peer that could not be reached is left alone for so long. */
const FAILURE_PAUSE_MS = 60_000;
const MAX_REMEMBERED = 2_048;

/** Dials known peers while there are fewer connections than wanted. Spec: docs/protocol/03-p2p.md#discovery */
export class PeerFinder {
  readonly #deps: PeerFinderDeps;
  readonly #closing = new AbortController();
  /** ends the wait between two rounds */
  #waiting = new AbortController();
  /** when peers could not be reached, by peer id */
  readonly #failedAtMs = new LruCache<string, number>(MAX_REMEMBERED);
  #loop: Promise<void> | undefined;

  constructor(deps: PeerFinderDeps) {
    this.#deps = deps;
  }

  get wantsPeers(): boolean {
    return this.#deps.node.getPeers().length < this.#deps.goal;
  }

  start(): void {
    this.#closing.signal.addEventListener("abort", () => this.#waiting.abort(), { once: true });
    this.#loop = this.#run();
  }

  /** A peer became known that may be dialled. */
  wake(): void {
    if (this.wantsPeers) this.#waiting.abort();
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    while (!this.#closing.signal.aborted) {
      await clock.sleep(this.wantsPeers ? INTERVAL_MS.wanting : INTERVAL_MS.content, this.#waiting.signal);
      if (this.#closing.signal.aborted) return;
      this.#waiting = new AbortController();
      if (!this.wantsPeers) continue;
      await this.#round();
      await clock.sleep(PAUSE_MS, this.#closing.signal);
    }
  }

  async #round(): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(ROUND_LIMIT_MS)]);
    const candidates = await this.#candidates();
    const worker = async (): Promise<void> => {
      for (let peer = candidates.pop(); peer !== undefined; peer = candidates.pop()) {
        if (signal.aborted || !this.wantsPeers) return;
        await this.#attempt(peer.id, signal);
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, worker));
  }

  /** All known peers that have an address and are not connected, in random order. */
  async #candidates(): Promise<Peer[]> {
    const { node, random, clock } = this.#deps;
    const connected = new Set(node.getPeers().map(String));
    const retryBeforeMs = clock.monotonicMs() - FAILURE_PAUSE_MS;
    const peers = (await node.peerStore.all()).filter(
      ({ id, addresses }) =>
        addresses.length > 0 &&
        !id.equals(node.peerId) &&
        !connected.has(id.toString()) &&
        (this.#failedAtMs.get(id.toString()) ?? Number.NEGATIVE_INFINITY) <= retryBeforeMs,
    );
    for (let i = peers.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [peers[i], peers[j]] = [peers[j]!, peers[i]!];
    }
    return peers;
  }

  async #attempt(peer: PeerId, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.node.dial(peer, { signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_LIMIT_MS)]) });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failedAtMs.set(peer.toString(), this.#deps.clock.monotonicMs());
      this.#deps.log.debug("peer cannot be reached", {
        peer: peer.toString(),
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }
}
