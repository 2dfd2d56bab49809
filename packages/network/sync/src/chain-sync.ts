import {
  describeImportRefusal,
  type ExtendResult,
  type ForcedBlock,
  type ForkchoiceResult,
  type ForkchoiceState,
  type ImportRefusal,
  type PreparedBlock,
} from "@rnode/chain";
import type { BlockPeers } from "@rnode/devp2p";
import { type Logger, type MetricFactory, noMetrics } from "@rnode/observe";
import { Alarm, Backoff, bytesToHex, type Clock, equalBytes, type Hex, isCodedError, LruCache, ZERO_HASH } from "@rnode/primitives";
import type { Header, PayloadAttributes, PayloadStatusV1 } from "@rnode/protocol";
import type { StateTaker, SyncedChain, SyncStatus } from "./api.ts";
import { BlockDownload } from "./blocks/block-download.ts";
import { HeaderChain, type WrongHeader } from "./headers/header-chain.ts";
import { HeaderDownload } from "./headers/header-download.ts";
import type { HeaderStore } from "./headers/header-store.ts";
import { hashedHeader } from "./headers/verified-header.ts";
import { PeerPool } from "./peers/peer-pool.ts";
import { ReceivedBlocks } from "./received-blocks.ts";
import { createSyncMetrics, type SyncMetrics } from "./sync-metrics.ts";
import { SyncProgress } from "./sync-progress.ts";

export interface ChainSyncDeps {
  readonly chain: SyncedChain;
  readonly peers: BlockPeers;
  readonly store: HeaderStore;
  /** `undefined`: all blocks are synced */
  readonly stateTaker?: StateTaker | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: MetricFactory | undefined;
  /** the operator's remedy if there are no peers */
  readonly adviceWithoutPeers: string;
}

/** A block that a sync is about. */
interface Goal {
  readonly hash: Uint8Array;
  /** `undefined`: its header is not known yet */
  readonly number: number | undefined;
  /** `undefined`: a payload that no fork choice has made the head */
  readonly choice: { readonly state: ForkchoiceState; readonly version: 1 | 2 | 3 } | undefined;
}

/** Why a block and its descendants cannot be the head. */
interface Invalid {
  readonly reason: string;
  readonly latestValidHash: Hex | null;
}

type MaybePromise<T> = T | Promise<T>;

/** as `rengine import` */
const BLOCKS_PER_GROUP = 32;
const TICK_MS = 1_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const MAX_INVALID = 1_024;
/** Time for a peer to return the header of a head known only by a fork choice; then the request is repeated. */
const RESOLVE_PAUSE_MS = 2_000;
/**
 * A target that is no longer the fork choice's is dropped if none of its blocks comes for this time: about the time limit of a
 * peer's answer.
 */
const STANDSTILL_MS = 15_000;

/**
 * The heads of a chain, as a rollup node sets them, for a chain that can also get blocks from peers. Payloads and heads with
 * missing ancestors answer SYNCING. After a fork choice with such a head, headers are fetched back to a block of the chain, then
 * bodies, and the chain imports them in groups. When the head is imported, its fork choice takes effect. Spec:
 * docs/protocol/01-execution.md#engine-semantics
 */
export class ChainSync {
  readonly #deps: ChainSyncDeps;
  readonly #headers: HeaderChain;
  readonly #pool: PeerPool;
  readonly #download: BlockDownload;
  readonly #received = new ReceivedBlocks();
  readonly #invalid = new LruCache<Hex, Invalid>(MAX_INVALID);
  readonly #metrics: SyncMetrics;
  readonly #progress: SyncProgress;
  readonly #listeners = new Set<(status: SyncStatus | undefined) => void>();
  #goal: Goal | undefined;
  /** whether the goal waits for the previous target */
  #isPostponed = false;
  /** a state is fetched in place of blocks */
  #takesState = false;
  #startingBlock = 0;
  /** settles when the import in progress has ended */
  #importing: Promise<unknown> | undefined;
  /** how many callers need the chain for themselves */
  #holds = 0;
  /** rung when there is something new to do */
  #wake = new Alarm();
  /** stops the current sync */
  #stop = new Alarm();
  readonly #closing = new Alarm();
  readonly #running: Promise<void>;

  constructor(deps: ChainSyncDeps) {
    const { chain, peers, store, clock, log, metrics = noMetrics, adviceWithoutPeers } = deps;
    this.#deps = deps;
    this.#metrics = createSyncMetrics(metrics, {
      active: () => this.#goal !== undefined,
      targetBlock: () => this.status?.highestBlock ?? 0,
      remainingBlocks: () => {
        const { status } = this;
        return status === undefined ? 0 : Math.max(0, status.highestBlock - status.currentBlock);
      },
      waitingBytes: () => this.#download.waitingBytes,
    });
    this.#headers = new HeaderChain(store, chain);
    this.#pool = new PeerPool({ peers, clock, log, metrics: this.#metrics });
    this.#progress = new SyncProgress(clock, log, adviceWithoutPeers);
    this.#download = new BlockDownload({
      config: chain.config,
      headers: this.#headers,
      pool: this.#pool,
      clock,
      received: (hash) => this.#received.block(hash),
    });
    this.#running = this.#run();
  }

  /** `undefined` if there is no sync */
  get status(): SyncStatus | undefined {
    if (this.#goal === undefined) return undefined;
    const headers = this.#headers;
    const currentBlock = this.#deps.chain.head().number;
    const { target, wanted } = headers;
    return {
      stage: target === undefined || wanted !== undefined ? "headers" : "blocks",
      startingBlock: this.#startingBlock,
      currentBlock,
      highestBlock: Math.max(currentBlock, target?.number ?? 0, this.#goal.number ?? 0),
      downloadedBlock: Math.max(currentBlock, this.#download.downloadedTo),
      lowestHeader: headers.length === 0 ? undefined : target!.number - headers.length + 1,
      state: this.#deps.stateTaker?.counts,
      peers: this.#pool.size,
    };
  }

  /** @param listener called when a sync begins, about once a second while it lasts, and when it ends. @returns ends it */
  onStatus(listener: (status: SyncStatus | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As `Chain.newPayload`. A payload whose parent is missing is kept for when it is needed. */
  newPayload(block: PreparedBlock): MaybePromise<PayloadStatusV1> {
    const { hash, hashHex, header } = block;
    const bad = this.#invalid.get(hashHex) ?? this.#invalid.get(bytesToHex(header.parentHash));
    if (bad !== undefined) {
      this.#invalid.set(hashHex, bad);
      return invalidStatus(bad);
    }
    const status = this.#deps.chain.newPayload(block);
    if (status.status !== "SYNCING") return status;
    if (this.#importing !== undefined && this.#has(header.parentHash)) return this.#alone(() => this.newPayload(block));
    this.#received.add(block);
    if (this.#goal?.choice === undefined) this.#pursue(hash, undefined);
    return status;
  }

  /** As `Chain.forkchoiceUpdated`. A head that is missing is synced to. */
  forkchoiceUpdated(
    state: ForkchoiceState,
    attributes: PayloadAttributes | undefined,
    version: 1 | 2 | 3,
  ): MaybePromise<ForkchoiceResult> {
    const hash = state.headBlockHash;
    const bad = this.#invalid.get(bytesToHex(hash));
    if (bad !== undefined) return { kind: "updated", status: invalidStatus(bad), payloadId: undefined };
    if (this.#importing !== undefined && this.#has(hash)) {
      return this.#alone(() => this.forkchoiceUpdated(state, attributes, version));
    }
    const result = this.#deps.chain.forkchoiceUpdated(state, attributes, version);
    if (result.kind === "updated" && result.status.status === "SYNCING") this.#pursue(hash, { state, version });
    else if (result.kind === "updated" && result.status.status === "VALID") this.#giveUp("fork choice named a head that is there");
    return result;
  }

  /** As `Chain.extend`. */
  extend(state: ForkchoiceState, wanted: readonly ForcedBlock[], limitMs: number): MaybePromise<ExtendResult> {
    if (this.#importing !== undefined && this.#has(state.headBlockHash))
      return this.#alone(() => this.extend(state, wanted, limitMs));
    const result = this.#deps.chain.extend(state, wanted, limitMs);
    if (result.kind === "extended" && result.status.status === "VALID") this.#giveUp("fork choice named a head that is there");
    return result;
  }

  /** Stops the current sync; the next start resumes it. Close it before the chain. */
  async close(): Promise<void> {
    this.#closing.ring();
    this.#stop.ring();
    this.#wake.ring();
    await this.#running;
    this.#pool.close();
    this.#headers.close();
    this.#listeners.clear();
  }

  /** Runs another component's action while no import is running. */
  async #alone<T>(action: () => MaybePromise<T>): Promise<T> {
    this.#holds++;
    this.#stop.ring();
    try {
      await this.#importing;
      return await action();
    } finally {
      this.#holds--;
      this.#wake.ring();
    }
  }

  /**
   * A running sync continues with the new target if that continues the previous one. Otherwise the previous target is reached
   * first, because a target that changes before peers answer would never get its blocks.
   */
  #pursue(hash: Uint8Array, choice: Goal["choice"]): void {
    const isFirst = this.#goal === undefined;
    const header = this.#received.header(hash)?.header;
    this.#isPostponed = this.#isUnderWay(header?.number) && (header === undefined || !this.#headers.isNext(header));
    this.#goal = { hash, number: header?.number, choice };
    if (isFirst) this.#startingBlock = this.#deps.chain.head().number;
    if (!this.#isPostponed) {
      if (header !== undefined) this.#headers.aim(header, hash);
      else if (!this.#isAimedAt(hash)) this.#stop.ring();
    }
    if (isFirst) void this.#report();
    this.#pool.notify();
    this.#wake.ring();
  }

  /** Whether blocks up to the present target are coming. @param next number of the head that fork choice has moved to, if it is known */
  #isUnderWay(next: number | undefined): boolean {
    const { target } = this.#headers;
    if (this.#goal?.choice === undefined || target === undefined || this.#has(target.hash)) return false;
    const isBranch = next !== undefined && next <= target.number;
    return !isBranch && this.#progress.stillMs < STANDSTILL_MS;
  }

  #giveUp(reason: string): void {
    if (this.#goal === undefined) return;
    if (this.#goal.choice !== undefined) this.#deps.log.info("the sync is given up", { reason });
    this.#goal = undefined;
    this.#isPostponed = false;
    this.#headers.pause();
    this.#stop.ring();
    this.#wake.ring();
  }

  /** Tells about the sync until it ends. */
  async #report(): Promise<void> {
    const { clock, chain } = this.#deps;
    let last = this.status!;
    let isSaid = false;
    while (this.#goal !== undefined && !this.#closing.aborted) {
      last = this.status!;
      // A payload alone, or a gap that closes at once, is not worth a line.
      if (!isSaid && this.#goal.choice !== undefined) {
        this.#progress.begin(last);
        isSaid = true;
      } else if (isSaid && !this.#takesState) this.#progress.tick(last);
      if (this.#isPostponed && !this.#isUnderWay(this.#goal.number)) {
        this.#isPostponed = false;
        this.#stop.ring();
      }
      this.#tell(last);
      await clock.sleep(TICK_MS, this.#closing);
    }
    if (this.#closing.aborted) return;
    if (isSaid && chain.head().number >= last.highestBlock) this.#progress.end(last, chain.head());
    this.#tell(undefined);
  }

  #tell(status: SyncStatus | undefined): void {
    for (const listener of this.#listeners) listener(status);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const backoff = new Backoff({ firstMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS });
    while (!this.#closing.aborted) {
      this.#wake = new Alarm();
      this.#stop = new Alarm();
      try {
        await this.#step();
        backoff.reset();
      } catch (error) {
        if (this.#closing.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        const pauseMs = backoff.nextMs();
        if (isCodedError(error)) log.error("the sync failed, trying again after a pause", { reason, pauseMs });
        else log.error("the sync failed, trying again after a pause", { error, pauseMs });
        await clock.sleep(pauseMs, this.#closing);
      }
    }
  }

  /** Does the next thing, until it ends or there is something else to do. */
  async #step(): Promise<void> {
    const goal = this.#goal;
    const headers = this.#headers;
    if (goal === undefined || this.#holds > 0) return rung(this.#wake);
    if (goal.choice !== undefined && this.#has(goal.hash)) return this.#finish(goal, goal.choice);
    this.#isPostponed &&= this.#isUnderWay(goal.number);
    if (!this.#isPostponed && !this.#isAimedAt(goal.hash)) return this.#resolve(goal);
    this.#takesState = this.#deps.stateTaker?.takes(headers.target!, goal.choice !== undefined) ?? false;
    if (this.#takesState) return rung(this.#wake);
    if (headers.wanted !== undefined) return this.#syncHeaders(goal);
    if (goal.choice === undefined) return rung(this.#wake);
    return this.#syncBlocks(goal);
  }

  /** Finds the header of a head that only fork choice has named. */
  async #resolve({ hash }: Goal): Promise<void> {
    const { version } = this.#pool;
    const received = this.#received.header(hash)?.header;
    const header = received ?? (await this.#askForHeader(hash));
    if (this.#goal === undefined || !equalBytes(this.#goal.hash, hash)) return;
    if (header !== undefined) this.#headers.aim(header, hash);
    else await this.#pool.changedSince(version, this.#stop, RESOLVE_PAUSE_MS);
  }

  async #askForHeader(hash: Uint8Array): Promise<Header | undefined> {
    for (const peer of this.#pool.idle(0)) {
      const request = { start: hash, limit: 1 };
      const answer = await peer.ask("headers", 1, (to, signal) => to.headers(request, signal), this.#stop);
      const [rlp] = answer.kind === "answer" ? answer.value : [];
      if (this.#stop.aborted) return undefined;
      if (rlp === undefined) continue; // it may not have the newest block yet
      const hashed = hashedHeader(rlp);
      if (typeof hashed !== "string" && equalBytes(hashed.hash, hash)) return hashed.header;
      peer.blame("lied", `it gave another header than the one with the hash ${bytesToHex(hash)}`);
    }
    return undefined;
  }

  async #syncHeaders(goal: Goal): Promise<void> {
    const download = new HeaderDownload({
      headers: this.#headers,
      pool: this.#pool,
      metrics: this.#metrics,
      finalized: () => this.#finalized(),
      received: (hash) => this.#received.header(hash),
    });
    const wrong = await download.run(this.#stop);
    if (wrong !== undefined) this.#onWrong(this.#goal ?? goal, wrong, null);
  }

  async #syncBlocks(goal: Goal): Promise<void> {
    const first = this.#headers.firstMissing;
    const finalized = this.#finalized();
    if (finalized !== undefined && first <= finalized) {
      const [hash] = this.#headers.hashes(first, 1);
      const reason = `it does not descend from the finalized block ${finalized}`;
      this.#onWrong(goal, { kind: "wrong", number: first, hash: hash!, reason }, null);
      return;
    }
    const importing = this.#import(first, this.#stop);
    this.#importing = importing;
    let refusal: ImportRefusal | undefined;
    try {
      refusal = await importing;
    } finally {
      this.#importing = undefined;
    }
    if (this.#download.isHopeless) {
      this.#deps.log.warn("no peer has the blocks whose hashes were kept: the headers are fetched again");
      this.#headers.clear();
    }
    if (refusal === undefined) return;
    const { block, hash, validationError } = refusal;
    if (validationError === undefined) {
      // The chain has lost the parent, because the fork choice changed meanwhile.
      this.#deps.log.info("the sync looks for our chain again", { reason: describeImportRefusal(refusal) });
      this.#headers.clear();
      return;
    }
    const { number, parentHash } = block.header;
    this.#onWrong(this.#goal ?? goal, { kind: "wrong", number, hash, reason: validationError }, bytesToHex(parentHash));
  }

  /** An import stores all executed blocks when its input ends, so executed blocks do not wait for slow peers. */
  async #import(first: number, stop: Alarm): Promise<ImportRefusal | undefined> {
    const { chain } = this.#deps;
    const download = this.#download;
    const options = {
      groupBlocks: BLOCKS_PER_GROUP,
      trustedHead: this.#headers.target?.number, // its headers have been followed down to the chain
      onStored: () => this.#metrics.blocks.inc(),
    };
    download.begin(first, stop);
    try {
      for (;;) {
        const refusal = await chain.import(download.blocks(), options);
        if (refusal !== undefined || !download.isPaused) return refusal;
      }
    } finally {
      download.end();
    }
  }

  /** The peers' data is proven, so the target is invalid. */
  #onWrong(goal: Goal, wrong: WrongHeader, latestValidHash: Hex | null): void {
    const { number, reason } = wrong;
    const target = this.#isPostponed ? this.#headers.target!.hash : goal.hash;
    this.#deps.log.error("the head that the rollup node names is not a block of this chain: the sync to it ends", {
      head: bytesToHex(target),
      number,
      hash: bytesToHex(wrong.hash),
      reason,
    });
    const invalid: Invalid = { reason: `block ${number} ${bytesToHex(wrong.hash)}: ${reason}`, latestValidHash };
    this.#invalid.set(bytesToHex(wrong.hash), invalid);
    this.#invalid.set(bytesToHex(target), invalid);
    if (!this.#isPostponed) this.#goal = undefined;
    this.#headers.clear();
  }

  /** The head is imported: the fork choice takes effect. */
  #finish({ hash }: Goal, { state, version }: NonNullable<Goal["choice"]>): void {
    const { chain, log } = this.#deps;
    let result = chain.forkchoiceUpdated(state, undefined, version);
    if (result.kind === "invalid-state") {
      log.warn("the labels of the fork choice that named the head are not on its chain: only the head is set", {
        head: bytesToHex(hash),
        reason: result.reason,
      });
      result = chain.forkchoiceUpdated(
        { headBlockHash: hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH },
        undefined,
        version,
      );
    }
    if (result.kind !== "updated" || result.status.status !== "VALID") {
      throw new Error(`the synced head ${bytesToHex(hash)} cannot be chosen: ${JSON.stringify(result)}`);
    }
    this.#goal = undefined;
    this.#headers.clear();
    this.#received.clear();
  }

  #finalized(): number | undefined {
    return this.#deps.chain.headerOf({ kind: "tag", tag: "finalized" })?.header.number;
  }

  #isAimedAt(hash: Uint8Array): boolean {
    const { target } = this.#headers;
    return target !== undefined && equalBytes(target.hash, hash);
  }

  #has(hash: Uint8Array): boolean {
    return this.#deps.chain.headerOf({ kind: "hash", hash, requireCanonical: false }) !== undefined;
  }
}

const invalidStatus = ({ reason, latestValidHash }: Invalid): PayloadStatusV1 => ({
  status: "INVALID",
  latestValidHash,
  validationError: reason,
});

const rung = (alarm: Alarm): Promise<void> =>
  new Promise((resolve) => {
    if (alarm.aborted) resolve();
    else alarm.addEventListener("abort", () => resolve());
  });
