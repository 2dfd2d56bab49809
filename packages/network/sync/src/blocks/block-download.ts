import { type Abortable, Alarm, bytesToHex, type Clock, equalBytes } from "@rnode/primitives";
import type { ChainConfig } from "@rnode/protocol";
import type { HeaderChain } from "../headers/header-chain.ts";
import { type HashedHeader, hashedHeader } from "../headers/verified-header.ts";
import type { IdlePeer, PeerPool } from "../peers/peer-pool.ts";
import { type VerifiedBlock, verifiedBody } from "./verified-body.ts";

export interface BlockDownloadDeps {
  readonly config: ChainConfig;
  readonly headers: HeaderChain;
  readonly pool: PeerPool;
  readonly clock: Clock;
  /** a block that was received otherwise */
  readonly received: (hash: Uint8Array) => VerifiedBlock | undefined;
}

/** Limits for blocks that are downloaded, or being downloaded, and not executed. */
const MAX_WAITING_BYTES = 48 << 20;
const MAX_AHEAD_BLOCKS = 4_096;
/** If all peers wait for one answer for this time, another peer gets the same request. */
const PATIENCE_MS = 2_000;
/** If the next block does not come for this time, the earlier blocks are passed on without it. */
const PAUSE_MS = 2_000;
/** This number of failures in a row for the same block means that the stored hashes are invalid. */
const MAX_FAILURES = 40;

/** A request for consecutive blocks. */
interface Request {
  readonly first: number;
  readonly last: number;
  readonly startMs: number;
  readonly peers: Set<string>;
  readonly ended: Alarm;
}

interface Waiting extends VerifiedBlock {
  readonly hash: Uint8Array;
}

/** Fetches the blocks of a header chain from many peers at once, and gives them in order. */
export class BlockDownload {
  readonly #deps: BlockDownloadDeps;
  readonly #waiting = new Map<number, Waiting>();
  #waitingBytes = 0;
  readonly #requests = new Set<Request>();
  #next = 0;
  /** PERF: all blocks below it exist or are requested */
  #free = 0;
  #failures = 0;
  #failure: { readonly error: unknown } | undefined;
  #signal: Abortable = new Alarm();
  #isPaused = false;

  constructor(deps: BlockDownloadDeps) {
    this.#deps = deps;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** number of the last block that was given */
  get downloadedTo(): number {
    return this.#next - 1;
  }

  /** Whether no block seems to have the stored hashes. */
  get isHopeless(): boolean {
    return this.#failures >= MAX_FAILURES;
  }

  /** Begins with a block. @param signal ends everything */
  begin(first: number, signal: Abortable): void {
    this.#next = first;
    this.#free = first;
    this.#failures = 0;
    this.#failure = undefined;
    this.#signal = signal;
    for (const number of this.#waiting.keys()) if (number < first) this.#drop(number);
  }

  /** Whether the blocks ended only because of a pause. Requests continue meanwhile. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * The next blocks, up to the target. Ends earlier if the target moves beyond the header chain, at the signal, or if no block
   * comes for a while after the first: the caller can store the blocks, and call again.
   */
  async *blocks(): AsyncGenerator<VerifiedBlock> {
    const { headers, pool, clock } = this.#deps;
    const signal = this.#signal;
    this.#isPaused = false;
    let waitsSinceMs: number | undefined;
    while (!signal.aborted && !this.isHopeless) {
      if (this.#failure !== undefined) throw this.#failure.error;
      const { target } = headers;
      if (target === undefined || headers.wanted !== undefined || this.#next > target.number) return;
      const { version } = pool;
      this.#ask(target.number, signal);
      const block = this.#take();
      if (block !== undefined) {
        yield block;
        waitsSinceMs = clock.monotonicMs();
        continue;
      }
      const leftMs = waitsSinceMs === undefined ? PATIENCE_MS : waitsSinceMs + PAUSE_MS - clock.monotonicMs();
      if (leftMs <= 0) {
        this.#isPaused = true;
        return;
      }
      await pool.changedSince(version, signal, Math.min(leftMs, PATIENCE_MS));
    }
  }

  /** Aborts pending requests. */
  end(): void {
    for (const { ended } of this.#requests) ended.ring();
  }

  /** The next block, if it has arrived and is still on the target's chain. */
  #take(): VerifiedBlock | undefined {
    const { headers, received } = this.#deps;
    const number = this.#next;
    const [hash] = headers.hashes(number, 1);
    const waiting = this.#waiting.get(number);
    let block: VerifiedBlock | undefined = waiting;
    if (waiting !== undefined) this.#drop(number);
    if (waiting === undefined || !equalBytes(waiting.hash, hash!)) block = received(hash!);
    if (block === undefined) {
      this.#free = number;
      return undefined;
    }
    headers.forget(number);
    this.#next++;
    this.#failures = 0;
    return block;
  }

  #drop(number: number): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    this.#waitingBytes -= waiting.sizeBytes;
  }

  #ask(target: number, signal: Abortable): void {
    if (this.#waitingBytes >= MAX_WAITING_BYTES && this.#waiting.has(this.#next)) return;
    const idle = this.#deps.pool.idle(this.#next);
    for (const peer of idle) {
      const range = this.#nextRange(peer.items("bodies"), target) ?? this.#impatientRange(peer);
      if (range === undefined) return;
      this.#request(peer, range, signal);
    }
  }

  /** The lowest unrequested blocks. */
  #nextRange(items: number, target: number): { readonly first: number; readonly last: number } | undefined {
    const isTaken = (number: number): boolean => {
      if (this.#waiting.has(number)) return true;
      for (const { first, last } of this.#requests) if (first <= number && number <= last) return true;
      return false;
    };
    const end = Math.min(target, this.#next + MAX_AHEAD_BLOCKS);
    let first = Math.max(this.#free, this.#next);
    while (first <= end && isTaken(first)) first++;
    this.#free = first;
    if (first > end || (this.#waitingBytes >= MAX_WAITING_BYTES && first !== this.#next)) return undefined;
    let last = first;
    while (last < end && last - first + 1 < items && !isTaken(last + 1)) last++;
    return { first, last };
  }

  /** The next needed blocks, if another peer's request for them is slow. */
  #impatientRange(peer: IdlePeer): { readonly first: number; readonly last: number } | undefined {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { first, last, startMs, peers } of this.#requests) {
      const isWaitedFor = first <= this.#next && this.#next <= last && !this.#waiting.has(this.#next);
      if (!isWaitedFor) continue;
      if (nowMs - startMs < PATIENCE_MS || peers.has(peer.id)) return undefined;
      peers.add(peer.id);
      return { first: this.#next, last };
    }
    return undefined;
  }

  #request(peer: IdlePeer, { first, last }: { readonly first: number; readonly last: number }, signal: Abortable): void {
    const { pool, clock } = this.#deps;
    const ended = new Alarm();
    const end = (): void => ended.ring();
    const request: Request = { first, last, startMs: clock.monotonicMs(), peers: new Set([peer.id]), ended };
    this.#requests.add(request);
    signal.addEventListener("abort", end);
    this.#fetch(peer, request)
      .catch((error: unknown) => {
        this.#failure = { error };
      })
      .finally(() => {
        signal.removeEventListener("abort", end);
        this.#requests.delete(request);
        this.#free = Math.min(this.#free, first); // some may be missing in the answer
        pool.notify();
      });
  }

  async #fetch(peer: IdlePeer, { first, last, ended }: Request): Promise<void> {
    const { headers } = this.#deps;
    const hashes = headers.hashes(first, last - first + 1);
    const wanted = await this.#headersOf(peer, first, hashes, ended);
    const lacking = wanted.filter(({ header: { number } }) => !this.#waiting.has(number) && number >= this.#next);
    if (lacking.length === 0) return;
    const asked = lacking.map(({ hash }) => hash);
    const answer = await peer.ask("bodies", asked.length, (to, signal) => to.bodies(asked, signal), ended);
    if (answer.kind === "none") {
      if (!ended.aborted) this.#fail(first);
      return;
    }
    if (answer.value.length === 0) {
      this.#fail(first);
      peer.lacks(lacking[0]!.header.number, "the body of block");
      return;
    }
    this.#takeBodies(peer, lacking, answer.value);
  }

  /** Headers that are not in memory are fetched again, and compared with their hashes. */
  async #headersOf(peer: IdlePeer, first: number, hashes: readonly Uint8Array[], ended: Alarm): Promise<readonly HashedHeader[]> {
    const { headers } = this.#deps;
    const known: HashedHeader[] = [];
    for (const [index, hash] of hashes.entries()) {
      const recent = headers.recent(first + index);
      if (recent === undefined || !equalBytes(recent.hash, hash)) break;
      known.push(recent);
    }
    if (known.length > 0) return known;
    const request = { start: hashes[0]!, limit: hashes.length };
    const answer = await peer.ask("headers", hashes.length, (to, signal) => to.headers(request, signal), ended);
    if (answer.kind === "none") {
      if (!ended.aborted) this.#fail(first);
      return [];
    }
    for (const [index, rlp] of answer.value.slice(0, hashes.length).entries()) {
      const hashed = hashedHeader(rlp);
      if (typeof hashed === "string") peer.blame("lied", `header ${first + index} cannot be decoded: ${hashed}`);
      else if (!equalBytes(hashed.hash, hashes[index]!)) {
        // The first was requested by its hash. The next ones are of the peer's branch, which can be another one.
        peer.blame(index === 0 ? "lied" : "useless", `it has another block ${first + index}`);
      } else {
        known.push(hashed);
        continue;
      }
      break;
    }
    if (answer.value.length === 0) peer.lacks(first, "header");
    if (known.length === 0) this.#fail(first);
    return known;
  }

  #takeBodies(peer: IdlePeer, wanted: readonly HashedHeader[], bodies: readonly Uint8Array[]): void {
    if (bodies.length > wanted.length) {
      peer.blame("lied", `${bodies.length} bodies instead of ${wanted.length}`);
      return;
    }
    let rest = wanted;
    for (const body of bodies) {
      const verified = rest.length === 0 ? "it was not asked for" : verifiedBody(this.#deps.config, rest, body);
      if (typeof verified === "string") {
        const { header, hash } = rest[0] ?? wanted.at(-1)!;
        this.#fail(header.number);
        peer.blame("lied", `its body of block ${header.number} ${bytesToHex(hash)} is another: ${verified}`);
        return;
      }
      const { index, block } = verified;
      const { hash } = rest[index]!;
      const { number } = block.block.header;
      rest = rest.slice(index + 1); // a peer omits missing bodies
      if (number < this.#next || this.#waiting.has(number)) continue;
      this.#waiting.set(number, { ...block, hash });
      this.#waitingBytes += block.sizeBytes;
    }
  }

  #fail(number: number): void {
    if (number <= this.#next) this.#failures++;
  }
}
