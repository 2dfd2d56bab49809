import type { HeaderRequest } from "@rnode/devp2p";
import type { Clock } from "@rnode/primitives";
import { type PeerBlocks, type SimFault, SimPeer, SimPeers } from "@rnode/sync/testing";
import type { Random } from "./random.ts";
import type { RealEngine } from "./real-engine.ts";

/** Temporary faults of a peer or the connection to it, without false data. */
export type PeerTrouble = Extract<SimFault, "stall" | "gone" | "empty"> | "leaves";

/** A malicious peer. */
export interface Stranger {
  readonly how: SimFault;
  /** the affected requests; default: all */
  readonly about?: "headers" | "bodies" | undefined;
  /** share of these requests */
  readonly rate: number;
}

export interface SyncPeersOptions {
  readonly latencyMs: number;
  /** for each header or body */
  readonly itemMs: number;
}

/** An execution client's blocks for its peers, from its database; none while it is not running. */
class ServedBlocks implements PeerBlocks {
  readonly #engine: RealEngine;
  #head: PeerBlocks["head"];

  constructor(engine: RealEngine) {
    this.#engine = engine;
    this.#head = engine.served!.head();
  }

  get head(): PeerBlocks["head"] {
    this.#head = this.#engine.served?.head() ?? this.#head;
    return this.#head;
  }

  headers(request: HeaderRequest): Uint8Array[] {
    return this.#engine.served?.headers(request) ?? [];
  }

  bodies(hashes: readonly Uint8Array[]): Uint8Array[] {
    return this.#engine.served?.bodies(hashes) ?? [];
  }
}

/** The peers of a syncing execution client: those of the other nodes, which are honest, and malicious ones. */
export class SyncPeers {
  readonly peers = new SimPeers();
  readonly strangers: SimPeer[] = [];
  readonly honest = new Map<string, SimPeer>();
  readonly #options: SyncPeersOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #troubles = new Map<string, PeerTrouble>();

  constructor(options: SyncPeersOptions, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
  }

  addNode(name: string, engine: RealEngine): void {
    const fault = (): SimFault | undefined => {
      const trouble = this.#troubles.get(name);
      return trouble === "leaves" ? undefined : trouble;
    };
    const peer = this.#peer(name, engine, fault);
    this.honest.set(name, peer);
    this.peers.add(peer);
  }

  /** @param engine whose blocks it has */
  addStranger({ how, about, rate }: Stranger, engine: RealEngine): void {
    const fault = (kind: "headers" | "bodies"): SimFault | undefined =>
      (about ?? kind) === kind && this.#random.chance(rate) ? how : undefined;
    const peer = this.#peer(`stranger-${this.strangers.length + 1}`, engine, fault);
    this.strangers.push(peer);
    this.peers.add(peer);
  }

  /** @returns a function that ends the fault */
  trouble(name: string, how: PeerTrouble): () => void {
    const peer = this.honest.get(name);
    if (peer === undefined) throw new Error(`there is no peer ${name}`);
    this.#troubles.set(name, how);
    if (how === "leaves") this.peers.remove(peer);
    return () => {
      this.#troubles.delete(name);
      if (how === "leaves") this.peers.add(peer);
    };
  }

  #peer(id: string, engine: RealEngine, fault: (kind: "headers" | "bodies") => SimFault | undefined): SimPeer {
    const random = (limit: number): number => this.#random.below(limit);
    return new SimPeer({ id, clock: this.#clock, random, ...this.#options, fault }, new ServedBlocks(engine));
  }
}
