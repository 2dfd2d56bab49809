import type { StaticPeers } from "../parts.ts";
import type { PeerRecords } from "./peer-records.ts";

/**
 * Peers that are not pruned: static ones (tag `static`), and those that the operator protects (tag `api-protected`), across
 * restarts.
 */
export class PeerProtection {
  readonly #records: PeerRecords;
  readonly #staticPeers: StaticPeers;
  readonly #nowSec: () => number;

  constructor(records: PeerRecords, staticPeers: StaticPeers, nowSec: () => number) {
    this.#records = records;
    this.#staticPeers = staticPeers;
    this.#nowSec = nowSec;
  }

  isProtected(peer: string): boolean {
    return this.#staticPeers.has(peer) || this.#records.protectedPeers.has(peer);
  }

  protect(peer: string): void {
    if (!this.#records.protectedPeers.has(peer)) this.#records.protectedPeers.set(peer, { lastUpdate: this.#nowSec() });
  }

  /** Static peers stay protected. */
  unprotect(peer: string): void {
    this.#records.protectedPeers.delete(peer);
  }
}
