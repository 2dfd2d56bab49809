import type { BlockPeer, BlockPeers, HeaderRequest, PeerFault } from "@rnode/devp2p";
import { bytesToHex, type Clock, CodedError, encodeRlpListOfEncoded, readRlpSpan } from "@rnode/primitives";
import type { Random } from "@rnode/primitives/testing";
import { type Block, encodeBlock, encodeHeader, hashHeader } from "@rnode/protocol";

/** A block as a peer keeps it: encoded. */
interface KeptBlock {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

/** A simulated peer's reaction to a request. */
export type SimFault =
  /** no answer, ever */
  | "stall"
  /** the connection ends */
  | "gone"
  /** nothing */
  | "empty"
  /** bytes that are no RLP */
  | "junk"
  /** data of other blocks */
  | "swapped"
  /** each item with one byte changed */
  | "altered"
  /** more than requested */
  | "more";

export interface SimPeerOptions {
  readonly id: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly latencyMs?: number;
  /** for each header or body */
  readonly itemMs?: number;
  /** as the limits of Geth */
  readonly maxItems?: number;
  /** decides about each request */
  readonly fault?: ((kind: "headers" | "bodies") => SimFault | undefined) | undefined;
}

function keptBlock(block: Block): KeptBlock {
  const encoded = encodeBlock(block);
  const outer = readRlpSpan(encoded, 0);
  const header = encodeHeader(block.header);
  const body = encodeRlpListOfEncoded([encoded.subarray(outer.dataStart + header.length, outer.end)]);
  return { number: block.header.number, hash: hashHeader(block.header), header, body };
}

/** The source of a simulated peer's answers. */
export interface PeerBlocks {
  readonly head: { readonly number: number; readonly hash: Uint8Array };
  /** RLP of each */
  headers(request: HeaderRequest): Uint8Array[];
  bodies(hashes: readonly Uint8Array[]): Uint8Array[];
}

/** The peers' blocks: a canonical chain, and others by hash. */
export class SimBlocks implements PeerBlocks {
  readonly #byNumber = new Map<number, KeptBlock>();
  readonly #byHash = new Map<string, KeptBlock>();
  #head: KeptBlock | undefined;

  /** Makes these blocks canonical; they replace others at their heights and above. */
  add(blocks: readonly Block[]): this {
    for (const block of blocks) {
      const kept = keptBlock(block);
      for (let { number } = kept; this.#byNumber.delete(number); number++);
      this.#byNumber.set(kept.number, kept);
      this.#byHash.set(bytesToHex(kept.hash), kept);
      this.#head = kept;
    }
    return this;
  }

  get head(): { readonly number: number; readonly hash: Uint8Array } {
    if (this.#head === undefined) throw new Error("no blocks");
    return this.#head;
  }

  at(key: number | Uint8Array): KeptBlock | undefined {
    return typeof key === "number" ? this.#byNumber.get(key) : this.#byHash.get(bytesToHex(key));
  }

  headers({ start, limit, skip = 0, reverse = false }: HeaderRequest): Uint8Array[] {
    const found: Uint8Array[] = [];
    let at = this.at(start);
    while (at !== undefined && found.length < limit) {
      found.push(at.header);
      at = this.at(at.number + (reverse ? -1 - skip : 1 + skip));
    }
    return found;
  }

  bodies(hashes: readonly Uint8Array[]): Uint8Array[] {
    return hashes.flatMap((hash) => this.at(hash)?.body ?? []);
  }
}

/** A peer without a network. It answers after a delay of the simulated clock, or by its faults. */
export class SimPeer implements BlockPeer {
  readonly id: string;
  readonly blocks: PeerBlocks;
  readonly reports: { readonly fault: PeerFault; readonly detail: string }[] = [];
  /** number of bodies that were given */
  given = 0;
  asked = 0;
  readonly state = undefined;
  readonly #options: SimPeerOptions;

  constructor(options: SimPeerOptions, blocks: PeerBlocks) {
    this.id = options.id;
    this.blocks = blocks;
    this.#options = options;
  }

  get head(): BlockPeer["head"] {
    return this.blocks.head;
  }

  headers(request: HeaderRequest, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#answer("headers", this.blocks.headers(request), signal);
  }

  async bodies(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const bodies = await this.#answer("bodies", this.blocks.bodies(hashes), signal);
    this.given += bodies.length;
    return bodies;
  }

  async receipts(): Promise<readonly Uint8Array[]> {
    return [];
  }

  report(fault: PeerFault, detail: string): void {
    this.reports.push({ fault, detail });
  }

  async #answer(kind: "headers" | "bodies", all: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { clock, random, latencyMs = 20, itemMs = 0.2, maxItems = 1024, fault } = this.#options;
    this.asked++;
    const what = fault?.(kind);
    const items = what === "more" ? [...all, ...all] : all.slice(0, maxItems);
    await clock.sleep(what === "stall" ? 3_600_000 : latencyMs + items.length * itemMs, signal);
    if (signal.aborted) throw new CodedError("devp2p/request-aborted");
    switch (what) {
      case "gone":
        throw new CodedError("devp2p/peer-gone");
      case "empty":
        return [];
      case "junk":
        return items.map(() => Uint8Array.from({ length: 40 }, () => random(256)));
      case "swapped":
        return items.toReversed();
      case "altered":
        return items.map((item) => {
          const changed = item.slice();
          changed[random(changed.length)]! ^= 1 + random(255);
          return changed;
        });
      default:
        return items;
    }
  }
}

/** Peers that come and go. */
export class SimPeers implements BlockPeers {
  #peers: SimPeer[];
  readonly #listeners = new Set<() => void>();

  constructor(peers: readonly SimPeer[] = []) {
    this.#peers = [...peers];
  }

  list(): readonly SimPeer[] {
    return this.#peers;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(...peers: readonly SimPeer[]): void {
    this.#peers.push(...peers);
    this.announce();
  }

  remove(peer: SimPeer): void {
    this.#peers = this.#peers.filter((other) => other !== peer);
    this.announce();
  }

  /** Peers have announced new heads. */
  announce(): void {
    for (const listener of this.#listeners) listener();
  }
}
