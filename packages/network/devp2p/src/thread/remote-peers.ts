import type { BlockPeer, BlockPeers, HeaderRequest, PeerFault, StatePeer } from "../api.ts";
import { statePeerOf } from "../snap/state-requests.ts";
import type { PeerRequest, PeerView } from "./messages.ts";

/** Requests to a peer in another thread. */
export interface PeerLink {
  request(peer: string, request: PeerRequest, signal: AbortSignal): Promise<readonly Uint8Array[]>;
  report(peer: string, fault: PeerFault, detail: string): void;
}

class RemotePeer implements BlockPeer {
  readonly id: string;
  head: BlockPeer["head"];
  readonly state: StatePeer | undefined;
  readonly #link: PeerLink;

  constructor({ id, head, speaksSnap }: PeerView, link: PeerLink) {
    this.id = id;
    this.head = head;
    this.#link = link;
    if (!speaksSnap) return;
    this.state = statePeerOf(async (request, signal) => {
      const [message] = await link.request(id, { what: "state", request }, signal);
      return message!;
    });
  }

  headers(request: HeaderRequest, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#link.request(this.id, { what: "headers", request }, signal);
  }

  bodies(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#link.request(this.id, { what: "bodies", hashes }, signal);
  }

  receipts(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#link.request(this.id, { what: "receipts", hashes }, signal);
  }

  report(fault: PeerFault, detail: string): void {
    this.#link.report(this.id, fault, detail);
  }
}

/** The peers of a network in another thread. An object stays the same for as long as its peer is connected. */
export class RemotePeers implements BlockPeers {
  readonly #link: PeerLink;
  readonly #peers = new Map<string, RemotePeer>();
  readonly #listeners = new Set<() => void>();

  constructor(link: PeerLink) {
    this.#link = link;
  }

  list(): readonly BlockPeer[] {
    return [...this.#peers.values()];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All that are connected now. */
  set(views: readonly PeerView[]): void {
    const gone = new Set(this.#peers.keys());
    for (const view of views) {
      gone.delete(view.id);
      const known = this.#peers.get(view.id);
      if (known === undefined) this.#peers.set(view.id, new RemotePeer(view, this.#link));
      else known.head = view.head;
    }
    for (const id of gone) this.#peers.delete(id);
    for (const listener of this.#listeners) listener();
  }
}
