import { setMaxListeners } from "node:events";
import type { ChannelOut } from "@rnode/compression";
import { isNewerL1 } from "@rnode/l1";
import { errorText, type LogFields, type Logger } from "@rnode/observe";
import { Backoff, type Clock, type Ether, etherOf, isCodedError } from "@rnode/primitives";
import { type DaBytes, daBytes, type L1BlockRef } from "@rnode/protocol";
import type { BlobProver, SendOutcome, TransactionManager } from "@rnode/tx-manager";
import type { BatcherMetrics } from "./batcher-metrics.ts";
import { channelEvents } from "./channel-events.ts";
import type { BatcherBlock } from "./channels/batcher-block.ts";
import type { ChannelConfig } from "./channels/channel-config.ts";
import { type BatcherResetReason, ChannelManager, type ManagerVerdict, type TxData } from "./channels/channel-manager.ts";
import type { DaChoice } from "./l1/da-choice.ts";
import type { L1Access } from "./l1/l1-access.ts";
import { derivationObstacle, keyObstacle, type Obstacle } from "./l1/obstacle.ts";
import { SecondSubmitterWatch, type StopReason } from "./l1/second-submitter.ts";
import { candidateOf } from "./l1/tx-data-candidate.ts";
import { isNodeReady, type Resynced, type ResyncOptions, resync } from "./rollup/resync.ts";
import type { BlockSource, RollupNode } from "./rollup/rollup-access.ts";
import { costOf, spendObstacle } from "./spend/spend-check.ts";
import { DAY_MS, pastPayments } from "./spend/spend-history.ts";
import type { SpendLedger } from "./spend/spend-limit.ts";

export interface PublishingRunOptions extends ResyncOptions {
  /** maximum number of pending transactions; 0: no limit */
  readonly maxPendingTransactions: number;
  /** how long a stop waits for pending transactions */
  readonly stopTimeoutMs: number;
}

export interface PublishingRunDeps {
  /** what channels are built for */
  readonly choice: DaChoice;
  readonly spend: SpendLedger;
  /** 20 bytes */
  readonly batchInboxAddress: Uint8Array;
  /** the batcher address in the SystemConfig on L1 now; undefined: unknown */
  readonly batcherOnL1?: (() => Promise<Uint8Array | undefined>) | undefined;
  /** how long transactions in the pool may take to be included before they are replaced */
  readonly stuckAfterMs: number;
  /** undefined: the batcher sends no blobs */
  readonly blobProver?: BlobProver | undefined;
  /** the least priority fee that is offered, wei */
  readonly minTipWei: bigint;
  /** see `CostDeps` */
  readonly commitmentBytes?: (() => number) | undefined;
  readonly l1: L1Access;
  readonly node: RollupNode;
  readonly blocks: BlockSource;
  readonly transactions: Pick<TransactionManager, "send" | "address">;
  /** an empty channel with a fresh random id */
  readonly createChannelOut: (config: ChannelConfig) => ChannelOut;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: BatcherMetrics;
}

const BLOCKS_PER_REQUEST = 20;
const MAX_BLOCKS_PER_ROUND = 400;
/** No more blocks are read while this many bytes wait to be published. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_BACKOFF_MS = 30_000;
const ACCOUNT_INTERVAL_MS = 60_000;
const L1_HEAD_INTERVAL_MS = 6_000;
/** Blocks do not begin exactly a day ago. */
const MISSING_HISTORY_MS = 3_600_000;

/** One run from a start to a stop. A single loop owns the channel manager; transactions report back to it. */
export class PublishingRun {
  readonly #options: PublishingRunOptions;
  readonly #deps: PublishingRunDeps;
  readonly #stopping = new AbortController();
  readonly #sending = new AbortController();
  readonly #watch: SecondSubmitterWatch;
  #manager: ChannelManager | undefined;
  readonly #settled: { readonly tx: TxData; readonly spendId: number; readonly outcome: SendOutcome }[] = [];
  /** promises of pending transactions */
  readonly #underWay = new Set<Promise<void>>();
  #sent = 0;
  #wake = new AbortController();
  #nextAccountMs = 0;
  #nextL1HeadMs = 0;
  /** number, when L1 was asked last */
  #l1Head = 0;
  #balance: Ether | undefined;
  #heads: { readonly l1Head: number; readonly unsafe: number; readonly safe: number } | undefined;
  #newestInclusion: number | undefined;
  #keyObstacle: Obstacle | undefined;
  #obstacle: Obstacle | undefined;
  /** of the round in progress, or else of the last one; empty: none */
  #lastError = "";
  /** it stops by itself for this reason */
  #stopReason: string | undefined;

  constructor(options: PublishingRunOptions, deps: PublishingRunDeps) {
    this.#options = options;
    this.#deps = deps;
    const { transactions, batchInboxAddress } = deps;
    this.#watch = new SecondSubmitterWatch({ ...deps, address: transactions.address, inbox: batchInboxAddress });
    setMaxListeners(0, this.#sending.signal, this.#stopping.signal); // every pending transaction listens
  }

  get unsafeDaBytes(): DaBytes {
    return this.#manager?.unsafeDaBytes ?? daBytes(0);
  }

  stop(): void {
    this.#stopping.abort();
    this.#wake.abort();
  }

  flush(): void {
    this.#manager?.requestFlush();
    this.#wake.abort();
  }

  status(): LogFields {
    const manager = this.#manager;
    const trouble = this.#obstacle?.text ?? this.#lastError;
    return {
      ...this.#heads,
      waitingBlocks: manager?.unsubmittedBlockCount,
      waitingBytes: manager?.unsubmittedBytes,
      pendingTransactions: this.#underWay.size,
      lastInclusionL1Block: this.#newestInclusion,
      balanceEther: this.#balance,
      ...(trouble === "" ? {} : { trouble }),
      ...(manager === undefined && trouble === "" ? { waitingFor: "the rollup node and own transactions on L1" } : {}),
    };
  }

  /** @returns the reason if it stopped because of a fault; undefined: the signal was aborted */
  async run(): Promise<string | undefined> {
    const backoff = new Backoff({ firstMs: this.#options.pollIntervalMs, maxMs: MAX_BACKOFF_MS });
    while (!this.#stopping.signal.aborted) {
      try {
        const hasMore = await this.#round();
        backoff.reset();
        this.#lastError = "";
        if (!hasMore) await this.#sleep(this.#options.pollIntervalMs);
      } catch (error) {
        this.#logFailure(error);
        await this.#deps.clock.sleep(backoff.nextMs(), this.#stopping.signal);
      }
    }
    await this.#finish();
    return this.#stopReason;
  }

  /** Reads the state of both chains once and acts on it. @returns whether there is more to do at once */
  async #round(): Promise<boolean> {
    const { node } = this.#deps;
    const manager = await this.#startedManager();
    if (manager === undefined) return false;
    if (await this.#resetUnless(await this.#applyOutcomes(manager))) return true;

    const status = await node.syncStatus();
    if (!isNodeReady(status)) return false;
    const { headL1, safeL2, unsafeL2 } = status;
    const l1Head = await this.#l1HeadFor(headL1);
    this.#heads = { l1Head, unsafe: unsafeL2.number, safe: safeL2.number };
    this.#recordRefs([
      ["l1", "latest", headL1],
      ["l2", "l2_unsafe", unsafeL2],
      ["l2", "l2_safe", safeL2],
    ]);
    await this.#readAccount();
    const verdict = manager.update({ safeL2, unsafeL2, currentL1: status.currentL1.number, l1Head });
    if (await this.#resetUnless(verdict)) return true;

    const loaded = await this.#loadBlocks(manager, unsafeL2.number);
    if (await this.#resetUnless(loaded.verdict)) return true;
    this.#noteObstacle(await this.#publish(manager, l1Head));
    this.#recordWaiting(manager);
    return loaded.hasMore && this.#obstacle === undefined;
  }

  /** PERF: between transactions the node's view of L1 does for deadlines, and L1 is asked only so that an outage is noticed. */
  async #l1HeadFor(headL1: L1BlockRef): Promise<number> {
    const { clock, l1 } = this.#deps;
    if (clock.monotonicMs() >= this.#nextL1HeadMs) {
      this.#l1Head = (await l1.head()).number;
      this.#nextL1HeadMs = clock.monotonicMs() + L1_HEAD_INTERVAL_MS;
    }
    return Math.max(this.#l1Head, headL1.number);
  }

  async #startedManager(): Promise<ChannelManager | undefined> {
    if (this.#manager !== undefined) return this.#manager;
    const resynced = await this.#resync();
    if (resynced === undefined) return undefined;
    if (this.#deps.spend.wantsHistory) await this.#readPastPayments();
    this.#watch.begin(resynced.leftOverNonce);
    const config = await this.#deps.choice.choose();
    const { createChannelOut } = this.#deps;
    this.#manager = new ChannelManager(config, { createChannelOut, events: channelEvents(this.#deps) }, resynced.safeHead);
    return this.#manager;
  }

  /** What earlier processes have paid counts, too. */
  async #readPastPayments(): Promise<void> {
    const { l1, transactions, clock, spend, log } = this.#deps;
    const { payments, sinceMs } = await pastPayments(l1, transactions.address, clock);
    spend.restore(payments);
    const spent = { spentHourEther: etherOf(spend.spentWei(3_600_000)), spentDayEther: etherOf(spend.spentWei(86_400_000)) };
    log.info("what was paid before counts towards the limits of --max-l1-spend-per-hour and --max-l1-spend-per-day", spent);
    if (clock.unixMs() - sinceMs < DAY_MS - MISSING_HISTORY_MS) {
      const since = new Date(sinceMs).toISOString();
      log.warn("the L1 endpoint has no older states: what was paid before does not count towards --max-l1-spend-per-day", {
        since,
      });
    }
  }

  async #resync(): Promise<Resynced | undefined> {
    const { transactions, log } = this.#deps;
    const onForeignNonce = async (nonce: bigint): Promise<void> => this.#stopFor(await this.#watch.inspectForeign(nonce));
    const deps = { ...this.#deps, address: transactions.address, onForeignNonce };
    const resynced = await resync(this.#options, deps, this.#stopping.signal);
    if (resynced === undefined) return undefined;
    const { number, hash } = resynced.safeHead;
    log.info("publishing from the safe head on", { number, hash });
    return resynced;
  }

  /** @returns whether everything was discarded */
  async #resetUnless(verdict: ManagerVerdict): Promise<boolean> {
    if (verdict.kind === "ok") return false;
    await this.#reset(verdict.reason);
    return true;
  }

  async #reset(reason: BatcherResetReason): Promise<void> {
    const { log, metrics, spend } = this.#deps;
    log.warn("starting again from the safe head", { reason, transactionsUnderWay: this.#underWay.size });
    metrics.resets.inc({ reason });
    if (reason === "channel-timed-out") metrics.channels.inc({ stage: "timed_out" });
    // Pending transactions have their nonces: only once they are settled is it certain what L1 contains.
    await Promise.race([Promise.all(this.#underWay), aborted(this.#stopping.signal)]);
    if (this.#stopping.signal.aborted) return;
    this.#manager?.destroy();
    this.#manager = undefined;
    for (const { tx, spendId, outcome } of this.#settled.splice(0)) {
      spend.settle(spendId, outcome);
      await this.#watchNonce(tx, outcome);
    }
  }

  async #applyOutcomes(manager: ChannelManager): Promise<ManagerVerdict> {
    let verdict: ManagerVerdict = { kind: "ok" };
    for (const { tx, spendId, outcome } of this.#settled.splice(0)) {
      this.#deps.spend.settle(spendId, outcome);
      const next = await this.#applyOutcome(manager, tx, outcome);
      if (verdict.kind === "ok") verdict = next;
    }
    return verdict;
  }

  async #applyOutcome(manager: ChannelManager, tx: TxData, outcome: SendOutcome): Promise<ManagerVerdict> {
    const { log } = this.#deps;
    switch (outcome.kind) {
      case "confirmed": {
        const { blockNumber } = outcome.inclusion;
        this.#countTransaction("success");
        this.#deps.metrics.lastInclusion.set(blockNumber);
        this.#newestInclusion = blockNumber;
        await this.#watchNonce(tx, outcome);
        log.info("batch transaction confirmed", { hash: outcome.hash, l1Block: blockNumber, channelId: tx.channelId });
        return manager.confirm(tx.id, blockNumber);
      }
      case "failed":
        this.#countTransaction("failed");
        log.warn("batch transaction given up", { reason: outcome.reason, channelId: tx.channelId });
        return outcome.isPublished ? { kind: "reset", reason: "transaction-abandoned" } : manager.fail(tx.id);
      case "nonce-consumed":
        this.#countTransaction("failed");
        await this.#watchNonce(tx, outcome);
        return { kind: "reset", reason: "nonce-consumed" };
      case "cancelled":
        return { kind: "ok" };
    }
  }

  /** Stops if another submitter has used the nonce. */
  async #watchNonce(tx: TxData, outcome: SendOutcome): Promise<void> {
    if (outcome.kind === "confirmed") this.#watch.confirmed(outcome.nonce);
    if (outcome.kind !== "nonce-consumed") return;
    this.#stopFor(await this.#watch.inspect(outcome.nonce, tx));
  }

  #stopFor(reason: StopReason | undefined): void {
    if (reason === undefined) return;
    this.#deps.log.error(reason.text, reason.fields);
    this.#stopReason = reason.text;
    this.stop();
  }

  async #loadBlocks(manager: ChannelManager, unsafeNumber: number): Promise<{ verdict: ManagerVerdict; hasMore: boolean }> {
    const { blocks, metrics } = this.#deps;
    for (let count = 0; count < MAX_BLOCKS_PER_ROUND && manager.unsubmittedBytes < MAX_WAITING_BYTES; ) {
      const missing = unsafeNumber - manager.tip.number;
      if (missing <= 0) return { verdict: { kind: "ok" }, hasMore: false };
      const loaded = await blocks.blocks(manager.tip.number + 1, Math.min(missing, BLOCKS_PER_REQUEST));
      if (loaded.length === 0) return { verdict: { kind: "ok" }, hasMore: false }; // a reorganisation: the next status shows it
      for (const block of loaded) {
        const verdict = manager.addBlock(block);
        if (verdict.kind === "reset") return { verdict, hasMore: false };
        metrics.pendingBytesTotal.add(block.sizeBytes);
      }
      this.#recordRefs([["l2", "loaded", loaded.at(-1)!.ref]]);
      count += loaded.length;
    }
    return { verdict: { kind: "ok" }, hasMore: this.#canSend() && manager.tip.number < unsafeNumber };
  }

  #canSend(): boolean {
    const { maxPendingTransactions } = this.#options;
    return maxPendingTransactions === 0 || this.#underWay.size < maxPendingTransactions;
  }

  /** Sends the ready transactions. @returns the reason why no more can be sent */
  async #publish(manager: ChannelManager, l1Head: number): Promise<Obstacle | undefined> {
    const { choice } = this.#deps;
    const [next, newest] = [manager.nextToPublish, manager.newestBlock];
    if (next === undefined || newest === undefined) return undefined;
    if (this.#keyObstacle !== undefined) return this.#keyObstacle;
    while (this.#canSend()) {
      const tx = await manager.nextTxData(l1Head, () => choice.choose());
      if (tx === undefined) return undefined;
      let isSent = false;
      try {
        const verdict = await this.#costUnlessObstacle(tx, next, newest);
        if (verdict.kind === "obstacle") return verdict.obstacle;
        this.#send(tx, verdict.costWei);
        isSent = true;
      } finally {
        if (!isSent) manager.withdraw(tx); // also where L1 did not answer
      }
    }
    return undefined;
  }

  /** Checks whether a transaction may be sent now, and computes its cost at current prices. */
  async #costUnlessObstacle(
    tx: TxData,
    next: BatcherBlock,
    newest: BatcherBlock,
  ): Promise<{ readonly kind: "ok"; readonly costWei: bigint } | { readonly kind: "obstacle"; readonly obstacle: Obstacle }> {
    const { choice, l1, spend } = this.#deps;
    const l1Head = (await l1.head()).number;
    const { seqWindowSize } = choice.current;
    const costWei = spend.hasLimit ? await costOf(tx, this.#deps) : 0n;
    const obstacle =
      (await derivationObstacle({ next, newest, l1Head, seqWindowSize }, l1)) ?? spendObstacle(spend.check(costWei), costWei);
    return obstacle === undefined ? { kind: "ok", costWei } : { kind: "obstacle", obstacle };
  }

  #noteObstacle(obstacle: Obstacle | undefined): void {
    const { log, metrics } = this.#deps;
    const before = this.#obstacle?.reason;
    this.#obstacle = obstacle;
    if (obstacle?.reason === before) return;
    if (before !== undefined) metrics.obstacle.set(0, { reason: before });
    if (obstacle === undefined) {
      log.info("nothing is in the way of publishing any more");
      return;
    }
    metrics.obstacle.set(1, { reason: obstacle.reason });
    log.error(obstacle.text, obstacle.fields);
  }

  /** @param costWei its cost at current prices */
  #send(tx: TxData, costWei: bigint): void {
    const { transactions, log, metrics, spend } = this.#deps;
    this.#countTransaction("submitted");
    if (tx.carrier === "blobs") for (const { length } of tx.data) metrics.blobUsedBytes.observe(length);
    log.debug("sending a batch transaction", {
      channelId: tx.channelId,
      frames: tx.frameNumbers.join(","),
      carrier: tx.carrier,
      sizeBytes: tx.data.reduce((sum, { length }) => sum + length, 0),
    });
    const spendId = this.#sent++;
    spend.reserve(spendId, costWei);
    const underWay = transactions.send(candidateOf(tx, this.#deps.batchInboxAddress), this.#sending.signal).then((outcome) => {
      this.#underWay.delete(underWay);
      this.#settled.push({ tx, spendId, outcome });
      this.#wake.abort();
    });
    this.#underWay.add(underWay);
  }

  #countTransaction(stage: "submitted" | "success" | "failed"): void {
    const { clock, metrics } = this.#deps;
    metrics.transactions.inc({ stage });
    metrics.lastTransaction.set(Math.floor(clock.unixMs() / 1000), { stage });
  }

  /** Sleeps for `ms`, or until a transaction is settled or something is requested. */
  async #sleep(ms: number): Promise<void> {
    if (this.#settled.length === 0 && !this.#stopping.signal.aborted) await this.#deps.clock.sleep(ms, this.#wake.signal);
    this.#wake = new AbortController();
  }

  /** After a stop: sends the remaining frames of channels that have frames on L1, within the time limit. */
  async #finish(): Promise<void> {
    const { clock, l1, log } = this.#deps;
    const deadlineMs = clock.monotonicMs() + this.#options.stopTimeoutMs;
    const manager = this.#stopReason === undefined ? this.#manager : undefined;
    try {
      await manager?.terminate();
      while (manager !== undefined && clock.monotonicMs() < deadlineMs) {
        if ((await this.#applyOutcomes(manager)).kind === "reset" || this.#stopReason !== undefined) break;
        if ((await this.#publish(manager, (await l1.head()).number)) !== undefined) break;
        if (this.#underWay.size === 0) break;
        await Promise.race([...this.#underWay, clock.sleep(Math.max(0, deadlineMs - clock.monotonicMs()), this.#sending.signal)]);
      }
    } catch (error) {
      this.#logFailure(error);
    }
    if (this.#underWay.size > 0) log.info("stopping with transactions under way", { count: this.#underWay.size });
    this.#sending.abort();
    await Promise.all(this.#underWay);
    this.#manager?.destroy();
  }

  /** Whether the account can pay, and whether derivation listens to it. */
  async #readAccount(): Promise<void> {
    const { batcherOnL1, clock, l1, metrics, spend, transactions } = this.#deps;
    if (clock.monotonicMs() < this.#nextAccountMs) return;
    this.#balance = etherOf(await l1.balance(transactions.address));
    metrics.balance.set(this.#balance);
    metrics.spentHour.set(etherOf(spend.spentWei(3_600_000)));
    metrics.spentDay.set(etherOf(spend.spentWei(86_400_000)));
    this.#keyObstacle = keyObstacle(transactions.address, await batcherOnL1?.());
    this.#nextAccountMs = clock.monotonicMs() + ACCOUNT_INTERVAL_MS;
  }

  #recordRefs(refs: readonly (readonly ["l1" | "l2", string, { readonly number: number; readonly timestamp: number }])[]): void {
    const { refNumbers, refTimes } = this.#deps.metrics;
    for (const [layer, type, { number, timestamp }] of refs) {
      refNumbers.set(number, { layer, type });
      refTimes.set(timestamp, { layer, type });
    }
  }

  #recordWaiting(manager: ChannelManager): void {
    const { metrics } = this.#deps;
    metrics.pendingBlocks.set(manager.unsubmittedBlockCount, { stage: "added" });
    metrics.pendingBytes.set(manager.unsubmittedBytes);
    metrics.pendingDaBytes.set(manager.unsubmittedDaBytes);
    metrics.unsafeDaBytes.set(manager.unsafeDaBytes);
    metrics.channelQueue.set(manager.channelCount);
    metrics.readyBytes.set(manager.openChannelReadyBytes);
  }

  /** Failures of endpoints are temporary; a block that cannot be published needs the operator. */
  #logFailure(error: unknown): void {
    const { log } = this.#deps;
    const text = errorText(error);
    const isNews = text !== this.#lastError && !isNewerL1(error);
    this.#lastError = text;
    if (isCodedError(error, "batcher/block-too-large") || isCodedError(error, "span-batch/")) {
      log.error("a block cannot be published", { error: text });
    } else if (isNews) {
      log.warn("cannot go on for now", { error: text });
    } else {
      log.debug("cannot go on for now", { error: text });
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
