import type { Libp2p, Peer, PeerId } from "@libp2p/interface";
import { peerIdFromString } from "@libp2p/peer-id";
import { multiaddr } from "@multiformats/multiaddr";

/** One connection to a peer. */
export interface PeerConnection {
  readonly direction: "inbound" | "outbound";
  /** multiaddress, without `/p2p/` */
  readonly remoteAddress: string;
  /** milliseconds since the epoch */
  readonly openedMs: number;
  readonly streams: number;
}

/** libp2p's data about a peer, connected or not. */
export interface KnownPeer {
  readonly id: string;
  /** multiaddresses */
  readonly addresses: readonly string[];
  readonly protocols: readonly string[];
  /** empty until identify has completed */
  readonly userAgent: string;
  readonly protocolVersion: string;
  /** sum over all tags */
  readonly tagValue: number;
}

/** The used part of libp2p for scoring, pruning and `rnodep2p_*`. Peer ids are base58 texts. */
export interface PeerHost {
  readonly peerId: string;
  /** addresses of this node, with `/p2p/<id>` */
  addresses(): readonly string[];
  protocols(): readonly string[];
  /** by peer; every peer has at least one connection */
  connections(): ReadonlyMap<string, readonly PeerConnection[]>;
  /** @param max maximum number of peers */
  knownPeers(max: number): Promise<readonly KnownPeer[]>;
  countKnown(): Promise<number>;
  /** @returns `undefined`: unknown peer */
  knownPeer(peer: string): Promise<KnownPeer | undefined>;
  tag(peer: string, name: string, value: number): Promise<void>;
  /** @throws when there is no connection before `signal` */
  dial(multiaddress: string, signal: AbortSignal): Promise<void>;
  disconnect(peer: string): Promise<void>;
  /** Deletes a peer's records. */
  forget(peer: string): Promise<void>;
  /** @returns stops listening */
  onConnection(listener: () => void): () => void;
}

/** @returns `undefined` if no key has this id, because its bytes are not a point of the curve. Such a peer cannot exist. */
function possiblePeerId(peer: string): ReturnType<typeof peerIdFromString> | undefined {
  try {
    return peerIdFromString(peer);
  } catch {
    return undefined;
  }
}

/**
 * More peers are not listed, and are deleted eventually. A connected peer stays known for a week, and can use any number of ids.
 */
export const MAX_KNOWN_PEERS = 5000;
/** A peer writes these texts: longer ones are cut. */
const MAX_TEXT_LENGTH = 256;
const CLOSE_LIMIT_MS = 1000;

export function libp2pHost(node: Libp2p): PeerHost {
  const self = node.peerId.toString();
  const stored = (peer: string): Promise<Peer | undefined> => getPeer(node, peerIdFromString(peer));
  return {
    peerId: self,
    addresses: () => node.getMultiaddrs().map(String),
    protocols: () => node.getProtocols(),
    connections() {
      const byPeer = new Map<string, PeerConnection[]>();
      for (const connection of node.getConnections()) {
        if (connection.status !== "open") continue;
        const peer = connection.remotePeer.toString();
        const ofPeer = byPeer.get(peer);
        const entry: PeerConnection = {
          direction: connection.direction,
          remoteAddress: withoutPeerId(connection.remoteAddr.toString()),
          openedMs: connection.timeline.open,
          streams: connection.streams.length,
        };
        if (ofPeer === undefined) byPeer.set(peer, [entry]);
        else ofPeer.push(entry);
      }
      return byPeer;
    },
    async knownPeers(max) {
      const peers = await node.peerStore.all({ limit: max + 1 });
      return peers
        .map(toKnownPeer)
        .filter(({ id }) => id !== self)
        .slice(0, max);
    },
    async countKnown() {
      let count = 0;
      await node.peerStore.forEach(({ id }) => {
        if (!id.equals(node.peerId)) count++;
      });
      return count;
    },
    async knownPeer(peer) {
      const found = await stored(peer);
      return found && toKnownPeer(found);
    },
    async tag(peer, name, value) {
      await node.peerStore.merge(peerIdFromString(peer), { tags: { [name]: { value } } });
    },
    async dial(multiaddress, signal) {
      await node.dial(multiaddr(multiaddress), { signal });
    },
    // Without a limit, a peer that does not answer to the end of a connection could hold it open.
    async disconnect(peer) {
      const id = possiblePeerId(peer);
      if (id !== undefined) await node.hangUp(id, { signal: AbortSignal.timeout(CLOSE_LIMIT_MS) });
    },
    async forget(peer) {
      const id = possiblePeerId(peer);
      if (id !== undefined) await node.peerStore.delete(id);
    },
    onConnection(listener) {
      node.addEventListener("connection:open", listener);
      return () => node.removeEventListener("connection:open", listener);
    },
  };
}

async function getPeer(node: Libp2p, id: PeerId): Promise<Peer | undefined> {
  try {
    return await node.peerStore.get(id);
  } catch (error) {
    if (error instanceof Error && error.name === "NotFoundError") return undefined;
    throw error;
  }
}

const toKnownPeer = (peer: Peer): KnownPeer => ({
  id: peer.id.toString(),
  addresses: peer.addresses.map(({ multiaddr }) => withoutPeerId(multiaddr.toString())),
  protocols: peer.protocols,
  userAgent: metadataText(peer, "AgentVersion"),
  protocolVersion: metadataText(peer, "ProtocolVersion"),
  tagValue: [...peer.tags.values()].reduce((sum, { value }) => sum + value, 0),
});

const metadataText = (peer: Peer, name: string): string =>
  new TextDecoder().decode(peer.metadata.get(name)).slice(0, MAX_TEXT_LENGTH);

const withoutPeerId = (address: string): string => address.replace(/\/p2p\/[^/]+$/, "");
