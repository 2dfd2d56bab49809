import type { PeerId, PeerStore } from "@libp2p/interface";
import { peerIdFromString } from "@libp2p/peer-id";
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { peerIdOf } from "../multiaddresses.ts";
import { P2PSettingError } from "../settings-error.ts";

export interface StaticPeer {
  readonly peerId: PeerId;
  readonly addresses: readonly Multiaddr[];
}

/**
 * The peers that the operator named, without ourselves; several addresses of one peer count as one.
 *
 * @throws {P2PSettingError} static
 */
export function parseStaticPeers(texts: readonly string[], self: string): ReadonlyMap<string, StaticPeer> {
  const peers = new Map<string, StaticPeer>();
  for (const text of texts) {
    const { peerId, address } = parseStaticPeer(text);
    const id = peerId.toString();
    if (id === self) continue;
    peers.set(id, { peerId, addresses: [...(peers.get(id)?.addresses ?? []), address] });
  }
  return peers;
}

/** @throws {P2PSettingError} static */
export function parseStaticPeer(text: string): { readonly peerId: PeerId; readonly address: Multiaddr } {
  const bad = (what: string, cause?: unknown): P2PSettingError =>
    new P2PSettingError("static", `"${text}" ${what}: expected an address such as /ip4/203.0.113.5/tcp/9222/p2p/16Uiu2HA…`, {
      cause,
    });
  let address: Multiaddr;
  let peerId: PeerId;
  try {
    address = multiaddr(text);
  } catch (cause) {
    throw bad("is not a multiaddress", cause);
  }
  const id = peerIdOf(address);
  if (id === undefined) throw bad("does not name the peer (/p2p/<peer id>)");
  try {
    peerId = peerIdFromString(id);
  } catch (cause) {
    throw bad("has a peer id that is none", cause);
  }
  if (!address.getComponents().some(({ name }) => name === "tcp")) throw bad("has no TCP port");
  return { peerId, address };
}

export interface StaticDialerDeps {
  readonly node: {
    readonly peerStore: Pick<PeerStore, "merge">;
    getConnections(peer: PeerId): readonly unknown[];
    dial(peer: PeerId, options: { signal: AbortSignal }): Promise<unknown>;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

const REDIAL_INTERVAL_MS = 60_000;
const DIAL_LIMIT_MS = 30_000;

/** Dials static peers at the start, and disconnected ones every minute. Spec: docs/protocol/03-p2p.md#static-peers */
export class StaticDialer {
  readonly #peers: readonly StaticPeer[];
  readonly #deps: StaticDialerDeps;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(peers: readonly StaticPeer[], deps: StaticDialerDeps) {
    this.#peers = peers;
    this.#deps = deps;
  }

  start(): void {
    if (this.#peers.length > 0) this.#loop = this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const round = Promise.all(this.#peers.map((peer) => this.#dial(peer)));
      await this.#deps.clock.sleep(REDIAL_INTERVAL_MS, signal);
      await round;
    }
  }

  async #dial({ peerId, addresses }: StaticPeer): Promise<void> {
    const { node, log } = this.#deps;
    if (node.getConnections(peerId).length > 0) return;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(DIAL_LIMIT_MS)]);
    try {
      await node.peerStore.merge(peerId, { multiaddrs: [...addresses] });
      await node.dial(peerId, { signal });
      log.info("connected to static peer", { peer: peerId.toString() });
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      log.warn("static peer cannot be reached: trying again in a minute", {
        peer: peerId.toString(),
        address: addresses.map(String).join(" "),
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }
}
