import { type BlockFault, checkHeader, describeFault, rulesOfBlock } from "@rnode/chain";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import type { BlockId, ChainConfig, Header } from "@rnode/protocol";
import type { HeaderStore } from "./header-store.ts";
import type { HashedHeader } from "./verified-header.ts";

/** The chain to which a header chain connects. */
export interface ConnectedChain {
  readonly config: ChainConfig;
  readonly genesis: { readonly hash: Uint8Array; readonly block: { readonly header: Pick<Header, "number"> } };
  head(): BlockId;
  /** of a block with an available state */
  headerOf(selector: {
    readonly kind: "hash";
    readonly hash: Uint8Array;
    readonly requireCanonical: boolean;
  }): { readonly header: Header } | undefined;
}

/** A header that cannot be on this chain, although the target descends from it. */
export interface WrongHeader {
  readonly kind: "wrong";
  readonly number: number;
  readonly hash: Uint8Array;
  readonly reason: string;
}

interface MutableSegment {
  low: number;
  high: number;
  parentHash: Uint8Array;
}

/** Limit for the RLP of the lowest headers, which are needed again first. */
const MAX_RECENT_BYTES = 32 << 20;
/** Segments end where fork choice jumped; the lowest are fetched again if there are more. */
const MAX_SEGMENTS = 16;
/** By how much a segment is cut back when another chain comes down on it. */
const CUT_BLOCKS = 1_024;
/** How many headers may have to be fetched again after a kill. */
const SAVE_INTERVAL_BLOCKS = 65_536;

/**
 * The chain of headers from a target back to a block of the chain. It grows downwards: the hash in each header verifies its
 * parent. Only hashes are stored; an interrupted sync, or one with a new target, resumes with the stored hashes. There are
 * several segments until the newest one reaches those of earlier targets.
 */
export class HeaderChain {
  readonly #store: HeaderStore;
  readonly #chain: ConnectedChain;
  /** newest first; none overlap */
  #segments: MutableSegment[];
  #target: { readonly number: number; readonly hash: Uint8Array } | undefined;
  /** header of the lowest block of the newest segment; undefined after a start or a merge */
  #lowest: Header | undefined;
  readonly #recent = new Map<number, HashedHeader>();
  #recentBytes = 0;
  #unsaved = 0;
  #isConnected = false;

  constructor(store: HeaderStore, chain: ConnectedChain) {
    this.#store = store;
    this.#chain = chain;
    this.#segments = store.load().map((segment) => ({ ...segment }));
  }

  get target(): { readonly number: number; readonly hash: Uint8Array } | undefined {
    return this.#target;
  }

  /** Sets the target. Segments of earlier targets are reused. */
  aim(header: Header, hash: Uint8Array): void {
    const { number, parentHash } = header;
    this.#target = { number, hash };
    const within = this.#segments.findIndex(({ low, high }) => low <= number && number <= high);
    if (within >= 0 && equalBytes(this.#hashOf(number), hash)) {
      this.#dropAbove(within);
      return;
    }
    const top = this.#segments[0];
    if (top !== undefined && this.isNext(header)) {
      this.#store.write(number, hash);
      top.high = number;
      return;
    }
    this.#cutTo(number - 1);
    this.#store.write(number, hash);
    const [below] = this.#segments;
    if (below?.high === number - 1 && equalBytes(parentHash, this.#hashOf(below.high))) below.high = number;
    else this.#segments.unshift({ low: number, high: number, parentHash });
    this.#segments.length = Math.min(this.#segments.length, MAX_SEGMENTS);
    this.#lowest = this.#segments[0]!.low === number ? header : undefined;
    this.#forgetRecent();
    this.#isConnected = false;
    this.#save();
  }

  /** Whether a block continues the segment. */
  isNext({ number, parentHash }: Pick<Header, "number" | "parentHash">): boolean {
    const [top] = this.#segments;
    return top !== undefined && number === top.high + 1 && equalBytes(parentHash, this.#hashOf(top.high));
  }

  /**
   * The highest block below the newest segment, which is requested next; `undefined`: there is no target, or the chain has the
   * block.
   */
  get wanted(): { readonly number: number; readonly hash: Uint8Array } | undefined {
    const [top] = this.#segments;
    if (this.#target === undefined || top === undefined) return undefined;
    this.#isConnected ||= this.#has(top.parentHash);
    return this.#isConnected ? undefined : { number: top.low - 1, hash: top.parentHash };
  }

  /**
   * Why the wanted block cannot be of this chain; `undefined` if it can. @param finalized number of the finalized block, if any
   */
  contradiction(finalized: number | undefined): WrongHeader | undefined {
    const { wanted } = this;
    if (wanted === undefined) return undefined;
    const { genesis } = this.#chain;
    if (wanted.number <= genesis.block.header.number) {
      return { kind: "wrong", ...wanted, reason: `it descends from another genesis than ${bytesToHex(genesis.hash)}` };
    }
    if (finalized === undefined || wanted.number > finalized) return undefined;
    return { kind: "wrong", ...wanted, reason: `it does not descend from the finalized block ${finalized}` };
  }

  /**
   * Adds headers below the newest segment, as far as they are needed.
   *
   * @param headers descending; the first is the wanted one
   * @returns how many were added, or the first one that breaks a rule
   */
  add(headers: readonly HashedHeader[]): { readonly kind: "added"; readonly count: number } | WrongHeader {
    const top = this.#segments[0]!;
    const taken: HashedHeader[] = [];
    let wrong: WrongHeader | undefined;
    for (const hashed of headers) {
      const fault = this.#lowest === undefined ? undefined : this.#faultOf(hashed.header, this.#lowest);
      if (fault !== undefined) {
        wrong = { kind: "wrong", number: top.low - taken.length, hash: this.#lowestHash(taken), reason: describeFault(fault) };
        break;
      }
      const { number } = hashed.header;
      taken.push(hashed);
      this.#lowest = hashed.header;
      if (this.#meets(number, hashed.header.parentHash) || this.#has(hashed.header.parentHash)) break;
    }
    if (taken.length > 0) this.#take(top, taken);
    return wrong ?? { kind: "added", count: taken.length };
  }

  /** The first block that the chain lacks on the way to the target. Only while nothing is wanted. */
  get firstMissing(): number {
    const [top] = this.#segments;
    if (top === undefined) throw new Error("no header chain");
    // The chain has a prefix of the segment.
    let [has, lacks] = [top.low - 1, top.high + 1];
    while (lacks - has > 1) {
      const middle = Math.floor((has + lacks) / 2);
      if (this.#has(this.#hashOf(middle))) has = middle;
      else lacks = middle;
    }
    return has + 1;
  }

  /** Hashes of blocks of the newest segment. */
  hashes(firstNumber: number, count: number): readonly Uint8Array[] {
    const bytes = this.#store.read(firstNumber, count);
    return Array.from({ length: count }, (_, index) => bytes.subarray(index * 32, index * 32 + 32));
  }

  /** A header of the newest segment, if it is still in memory. */
  recent(number: number): HashedHeader | undefined {
    return this.#recent.get(number);
  }

  /** Forgets the header of a block that is executed. */
  forget(number: number): void {
    const known = this.#recent.get(number);
    if (known === undefined) return;
    this.#recent.delete(number);
    this.#recentBytes -= known.rlp.length;
  }

  /** number of headers from the target on that are known */
  get length(): number {
    const [top] = this.#segments;
    return top === undefined || this.#target === undefined ? 0 : this.#target.number - top.low + 1;
  }

  /** Drops the target, and keeps verified hashes. */
  pause(): void {
    this.#target = undefined;
    if (this.#unsaved > 0) this.#save();
  }

  /** Deletes everything: the target is reached, or the stored hashes are invalid. */
  clear(): void {
    this.#target = undefined;
    this.#segments = [];
    this.#lowest = undefined;
    this.#forgetRecent();
    this.#unsaved = 0;
    this.#isConnected = false;
    this.#store.clear();
  }

  close(): void {
    if (this.#unsaved > 0) this.#save();
    this.#store.close();
  }

  #take(top: MutableSegment, taken: readonly HashedHeader[]): void {
    const last = taken.at(-1)!;
    const { number: low, parentHash } = last.header;
    const next = this.#segments[1];
    if (next !== undefined && next.high >= low) this.#cutBelow(low);
    const hashes = new Uint8Array(taken.length * 32);
    for (const [index, { hash }] of taken.entries()) hashes.set(hash, (taken.length - 1 - index) * 32);
    this.#store.write(low, hashes);
    top.low = low;
    top.parentHash = parentHash;
    this.#isConnected = false;
    for (const hashed of taken) this.#remember(hashed);
    this.#unsaved += taken.length;
    if (this.#meets(low, parentHash)) {
      const merged = this.#segments.splice(1, 1)[0]!;
      top.low = merged.low;
      top.parentHash = merged.parentHash;
      this.#lowest = undefined;
      this.#save();
    } else if (this.#unsaved >= SAVE_INTERVAL_BLOCKS) this.#save();
  }

  /** Whether the segment below continues downwards from this block. */
  #meets(number: number, parentHash: Uint8Array): boolean {
    const next = this.#segments[1];
    return next !== undefined && next.high === number - 1 && equalBytes(this.#hashOf(next.high), parentHash);
  }

  #faultOf(parent: Header, header: Header): BlockFault | undefined {
    const { config } = this.#chain;
    return checkHeader(config, rulesOfBlock(config, header), parent, header);
  }

  #lowestHash(taken: readonly HashedHeader[]): Uint8Array {
    return taken.at(-1)?.hash ?? this.#hashOf(this.#segments[0]!.low);
  }

  #has(hash: Uint8Array): boolean {
    return this.#chain.headerOf({ kind: "hash", hash, requireCanonical: false }) !== undefined;
  }

  #hashOf(number: number): Uint8Array {
    return this.#store.read(number, 1);
  }

  #remember(hashed: HashedHeader): void {
    this.#recent.set(hashed.header.number, hashed);
    this.#recentBytes += hashed.rlp.length;
    for (const [number, { rlp }] of this.#recent) {
      if (this.#recentBytes <= MAX_RECENT_BYTES) return;
      this.#recent.delete(number);
      this.#recentBytes -= rlp.length;
    }
  }

  #forgetRecent(): void {
    this.#recent.clear();
    this.#recentBytes = 0;
  }

  /** The fork choice went back: blocks above the segment are on another chain. */
  #dropAbove(index: number): void {
    if (index === 0) return;
    this.#segments.splice(0, index);
    this.#lowest = undefined;
    this.#forgetRecent();
    this.#isConnected = false;
    this.#save();
  }

  /** Removes blocks above `high` from the list before they are overwritten. */
  #cutTo(high: number): void {
    const before = this.#segments;
    this.#segments = before.filter(({ low }) => low <= high).map((segment) => ({ ...segment, high: Math.min(segment.high, high) }));
    if (this.#segments.length !== before.length || this.#segments[0]?.high !== before[0]?.high) this.#save();
  }

  /** Likewise for the segment below, which turned out to be of another chain. */
  #cutBelow(low: number): void {
    const [top, next, ...rest] = this.#segments;
    const high = Math.min(low - 1, next!.high - CUT_BLOCKS);
    this.#segments = [top!, ...(high < next!.low ? [] : [{ ...next!, high }]), ...rest];
    this.#save();
    const following = this.#segments[1];
    if (following !== undefined && following.high >= low) this.#cutBelow(low);
  }

  #save(): void {
    this.#unsaved = 0;
    this.#store.save(this.#segments);
  }
}
