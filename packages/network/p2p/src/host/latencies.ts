import type { PeerId } from "@libp2p/interface";
import type { Clock } from "@rnode/primitives";

export interface LatenciesDeps {
  readonly node: {
    getPeers(): PeerId[];
    getConnections(peer: PeerId): readonly unknown[];
    addEventListener(type: "peer:disconnect", listener: (event: CustomEvent<PeerId>) => void): void;
  };
  /** @returns milliseconds */
  readonly ping: (peer: PeerId, signal: AbortSignal) => Promise<number>;
  readonly clock: Clock;
}

const ROUND_INTERVAL_MS = 3 * 60_000;
/** one ping a second, and ten at once */
const PING_INTERVAL_MS = 1_000;
const BURST = 10;
const PING_LIMIT_MS = 10_000;
/** weight of a new value in the moving average */
const SMOOTHING = 0.1;
const NS_PER_MS = 1_000_000;

/** Pings all connected peers in the background. Spec: docs/protocol/03-p2p.md#identity-and-transport */
export class Latencies {
  readonly #deps: LatenciesDeps;
  readonly #byPeer = new Map<string, number>();
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(deps: LatenciesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.node.addEventListener("peer:disconnect", ({ detail }) => this.#byPeer.delete(detail.toString()));
    this.#loop = this.#run();
  }

  /** nanoseconds, moving average; 0: unknown */
  ofPeer(peer: string): number {
    return this.#byPeer.get(peer) ?? 0;
  }

  async #run(): Promise<void> {
    const { clock, node } = this.#deps;
    const { signal } = this.#closing;
    for (;;) {
      await clock.sleep(ROUND_INTERVAL_MS, signal);
      if (signal.aborted) return;
      const pings: Promise<void>[] = [];
      for (const peer of node.getPeers()) {
        if (pings.length >= BURST) await clock.sleep(PING_INTERVAL_MS, signal);
        if (signal.aborted) break;
        pings.push(this.#ping(peer));
      }
      await Promise.all(pings);
    }
  }

  async #ping(peer: PeerId): Promise<void> {
    const { node, ping } = this.#deps;
    try {
      const ns = (await ping(peer, AbortSignal.any([this.#closing.signal, AbortSignal.timeout(PING_LIMIT_MS)]))) * NS_PER_MS;
      if (node.getConnections(peer).length === 0) return;
      const id = peer.toString();
      const before = this.#byPeer.get(id);
      this.#byPeer.set(id, Math.round(before === undefined ? ns : before * (1 - SMOOTHING) + ns * SMOOTHING));
    } catch {
      // A peer need not answer pings; yamux and TCP detect dead connections.
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }
}
