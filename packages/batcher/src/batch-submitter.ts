import { setMaxListeners } from "node:events";
import type { ChannelOut } from "@rnode/compression";
import { errorText, type LogFields, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { isCodedError } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import type { SendOutcome, TransactionManager } from "@rnode/tx-manager";
import type { BatcherMetrics } from "./batcher-metrics.ts";
import type { ChannelConfig } from "./channel-config.ts";
import {
  type BatcherResetReason,
  type ChannelEvents,
  ChannelManager,
  type ManagerVerdict,
  type TxData,
} from "./channel-manager.ts";
import type { L1Access } from "./l1-access.ts";
import { isNodeReady, type ResyncOptions, resync } from "./resync.ts";
import type { BlockSource, RollupNode } from "./rollup-access.ts";

export interface BatchSubmitterOptions extends ResyncOptions {
  /** maximum number of pending transactions; 0: no limit */
  readonly maxPendingTransactions: number;
  /** how long a stop waits for pending transactions */
  readonly stopTimeoutMs: number;
}

export interface BatchSubmitterDeps {
  readonly channels: ChannelConfig;
  /** 20 bytes */
  readonly batchInboxAddress: Uint8Array;
  /** how long transactions in the pool may take to be included before they are replaced */
  readonly stuckAfterMs: number;
  readonly l1: L1Access;
  readonly node: RollupNode;
  readonly blocks: BlockSource;
  readonly transactions: Pick<TransactionManager, "send" | "address">;
  /** an empty channel with a fresh random id */
  readonly createChannelOut: () => ChannelOut;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: BatcherMetrics;
}

const BLOCKS_PER_REQUEST = 20;
const MAX_BLOCKS_PER_ROUND = 400;
/** No more blocks are read while this many bytes wait to be published. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const MAX_BACKOFF_MS = 30_000;
const BALANCE_INTERVAL_MS = 60_000;

/** Publishes the sequencer's chain on L1. It can be started and stopped repeatedly; all its state is rebuilt from the chains. */
export class BatchSubmitter {
  readonly #options: BatchSubmitterOptions;
  readonly #deps: BatchSubmitterDeps;
  #run: { readonly publishing: PublishingRun; readonly done: Promise<void> } | undefined;

  constructor(options: BatchSubmitterOptions, deps: BatchSubmitterDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** @returns false if it is already running */
  start(): boolean {
    if (this.#run !== undefined) return false;
    const publishing = new PublishingRun(this.#options, this.#deps);
    this.#run = { publishing, done: publishing.run() };
    this.#deps.metrics.up.set(1);
    this.#deps.log.info("batcher started");
    return true;
  }

  /**
   * Finishes the channels begun on L1 and stops; what has not been sent by then is rebuilt at the next start.
   *
   * @returns false if it is not running
   */
  async stop(): Promise<boolean> {
    const run = this.#run;
    if (run === undefined) return false;
    run.publishing.stop();
    await run.done;
    if (this.#run === run) {
      this.#run = undefined;
      this.#deps.metrics.up.set(0);
      this.#deps.log.info("batcher stopped");
    }
    return true;
  }

  /** How far publishing has come and, if it makes no progress, what the matter is. */
  status(): LogFields {
    return this.#run === undefined ? { waitingFor: "admin_startBatcher" } : this.#run.publishing.status();
  }

  /** Publishes all available blocks without waiting for channels to fill. @returns false if it is not running */
  flush(): boolean {
    this.#run?.publishing.flush();
    return this.#run !== undefined;
  }
}

/** One run from a start to a stop. A single loop owns the channel manager; transactions report back to it. */
class PublishingRun {
  readonly #options: BatchSubmitterOptions;
  readonly #deps: BatchSubmitterDeps;
  readonly #stopping = new AbortController();
  readonly #sending = new AbortController();
  #manager: ChannelManager | undefined;
  readonly #settled: { readonly tx: TxData; readonly outcome: SendOutcome }[] = [];
  /** promises of pending transactions */
  readonly #underWay = new Set<Promise<void>>();
  #wake = new AbortController();
  #nextBalanceMs = 0;
  /** in ether */
  #balance: number | undefined;
  #heads: { readonly l1Head: number; readonly unsafe: number; readonly safe: number } | undefined;
  #newestInclusion: number | undefined;
  /** of the round in progress, or else of the last one; empty: none */
  #lastError = "";

  constructor(options: BatchSubmitterOptions, deps: BatchSubmitterDeps) {
    this.#options = options;
    this.#deps = deps;
    setMaxListeners(0, this.#sending.signal, this.#stopping.signal); // every pending transaction listens
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
    return {
      ...this.#heads,
      waitingBlocks: manager?.unsubmittedBlockCount,
      waitingBytes: manager?.unsubmittedBytes,
      pendingTransactions: this.#underWay.size,
      lastInclusionL1Block: this.#newestInclusion,
      balanceEther: this.#balance,
      ...(this.#lastError === "" ? {} : { trouble: this.#lastError }),
      ...(manager === undefined && this.#lastError === "" ? { waitingFor: "the rollup node and own transactions on L1" } : {}),
    };
  }

  async run(): Promise<void> {
    let backoffMs = this.#options.pollIntervalMs;
    while (!this.#stopping.signal.aborted) {
      try {
        const hasMore = await this.#round();
        backoffMs = this.#options.pollIntervalMs;
        this.#lastError = "";
        if (!hasMore) await this.#sleep(this.#options.pollIntervalMs);
      } catch (error) {
        this.#logFailure(error);
        await this.#deps.clock.sleep(backoffMs, this.#stopping.signal);
        backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
      }
    }
    await this.#finish();
  }

  /** Reads the state of both chains once and acts on it. @returns whether there is more to do at once */
  async #round(): Promise<boolean> {
    const { node, l1, metrics } = this.#deps;
    const manager = await this.#startedManager();
    if (manager === undefined) return false;
    if (await this.#resetUnless(this.#applyOutcomes(manager))) return true;

    const status = await node.syncStatus();
    if (!isNodeReady(status)) return false;
    const l1Head = (await l1.head()).number;
    metrics.l1Head.set(l1Head);
    metrics.l2Unsafe.set(status.unsafeL2.number);
    metrics.l2Safe.set(status.safeL2.number);
    this.#heads = { l1Head, unsafe: status.unsafeL2.number, safe: status.safeL2.number };
    await this.#readBalance();
    const { safeL2, unsafeL2 } = status;
    const verdict = manager.update({ safeL2, unsafeL2, currentL1: status.currentL1.number, l1Head });
    if (await this.#resetUnless(verdict)) return true;

    const loaded = await this.#loadBlocks(manager, unsafeL2.number);
    if (await this.#resetUnless(loaded.verdict)) return true;
    await this.#publish(manager, l1Head);
    metrics.pendingBlocks.set(manager.unsubmittedBlockCount);
    metrics.pendingBytes.set(manager.unsubmittedBytes);
    return loaded.hasMore;
  }

  async #startedManager(): Promise<ChannelManager | undefined> {
    if (this.#manager !== undefined) return this.#manager;
    const safeHead = await this.#resync();
    if (safeHead === undefined) return undefined;
    const { createChannelOut } = this.#deps;
    this.#manager = new ChannelManager(this.#deps.channels, { createChannelOut, events: this.#channelEvents() }, safeHead);
    return this.#manager;
  }

  async #resync(): Promise<L2BlockRef | undefined> {
    const { transactions, log } = this.#deps;
    const safeHead = await resync(this.#options, { ...this.#deps, address: transactions.address }, this.#stopping.signal);
    if (safeHead !== undefined) log.info("publishing from the safe head on", { number: safeHead.number, hash: safeHead.hash });
    return safeHead;
  }

  /** @returns whether everything was discarded */
  async #resetUnless(verdict: ManagerVerdict): Promise<boolean> {
    if (verdict.kind === "ok") return false;
    await this.#reset(verdict.reason);
    return true;
  }

  async #reset(reason: BatcherResetReason): Promise<void> {
    const { log, metrics } = this.#deps;
    log.warn("starting again from the safe head", { reason, transactionsUnderWay: this.#underWay.size });
    metrics.resets.inc({ reason });
    // Pending transactions have their nonces: only once they are settled is it certain what L1 contains.
    await Promise.race([Promise.all(this.#underWay), aborted(this.#stopping.signal)]);
    if (this.#stopping.signal.aborted) return;
    this.#settled.length = 0;
    this.#manager = undefined;
  }

  #applyOutcomes(manager: ChannelManager): ManagerVerdict {
    const { log, metrics } = this.#deps;
    let verdict: ManagerVerdict = { kind: "ok" };
    for (const { tx, outcome } of this.#settled.splice(0)) {
      let next: ManagerVerdict = { kind: "ok" };
      switch (outcome.kind) {
        case "confirmed":
          metrics.transactions.inc({ stage: "confirmed" });
          metrics.lastInclusion.set(outcome.inclusion.blockNumber);
          this.#newestInclusion = outcome.inclusion.blockNumber;
          log.info("batch transaction confirmed", {
            hash: outcome.hash,
            l1Block: outcome.inclusion.blockNumber,
            channelId: tx.channelId,
          });
          next = manager.confirm(tx.id, outcome.inclusion.blockNumber);
          break;
        case "failed":
          metrics.transactions.inc({ stage: "failed" });
          log.warn("batch transaction given up", { reason: outcome.reason, channelId: tx.channelId });
          next = outcome.isPublished ? { kind: "reset", reason: "transaction-abandoned" } : manager.fail(tx.id);
          break;
        case "nonce-consumed":
          metrics.transactions.inc({ stage: "nonce-consumed" });
          log.warn("another transaction has taken the batcher's nonce", { nonce: outcome.nonce });
          next = { kind: "reset", reason: "nonce-consumed" };
          break;
        case "cancelled":
          break;
      }
      if (verdict.kind === "ok") verdict = next;
    }
    return verdict;
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
        metrics.blocksLoaded.inc();
      }
      count += loaded.length;
    }
    return { verdict: { kind: "ok" }, hasMore: this.#canSend() && manager.tip.number < unsafeNumber };
  }

  #canSend(): boolean {
    const { maxPendingTransactions } = this.#options;
    return maxPendingTransactions === 0 || this.#underWay.size < maxPendingTransactions;
  }

  async #publish(manager: ChannelManager, l1Head: number): Promise<void> {
    while (this.#canSend()) {
      const tx = await manager.nextTxData(l1Head);
      if (tx === undefined) return;
      this.#send(tx);
    }
  }

  #send(tx: TxData): void {
    const { transactions, log, metrics } = this.#deps;
    metrics.transactions.inc({ stage: "submitted" });
    log.debug("sending a batch transaction", {
      channelId: tx.channelId,
      frames: tx.frameNumbers.join(","),
      sizeBytes: tx.data.length,
    });
    const underWay = transactions
      .send({ to: this.#deps.batchInboxAddress, carries: { kind: "calldata", data: tx.data } }, this.#sending.signal)
      .then((outcome) => {
        this.#underWay.delete(underWay);
        this.#settled.push({ tx, outcome });
        this.#wake.abort();
      });
    this.#underWay.add(underWay);
  }

  /** Sleeps for `ms`, or until a transaction is settled or something is requested. */
  async #sleep(ms: number): Promise<void> {
    if (this.#settled.length === 0 && !this.#stopping.signal.aborted) await this.#deps.clock.sleep(ms, this.#wake.signal);
    this.#wake = new AbortController();
  }

  /** After a stop: finishes what was begun on L1, as far as the time allows. */
  async #finish(): Promise<void> {
    const { clock, l1, log } = this.#deps;
    const deadlineMs = clock.nowMs() + this.#options.stopTimeoutMs;
    const manager = this.#manager;
    try {
      await manager?.terminate();
      while (manager !== undefined && clock.nowMs() < deadlineMs) {
        if (this.#applyOutcomes(manager).kind === "reset") break;
        await this.#publish(manager, (await l1.head()).number);
        if (this.#underWay.size === 0) break;
        await Promise.race([...this.#underWay, clock.sleep(Math.max(0, deadlineMs - clock.nowMs()), this.#sending.signal)]);
      }
    } catch (error) {
      this.#logFailure(error);
    }
    if (this.#underWay.size > 0) log.info("stopping with transactions under way", { count: this.#underWay.size });
    this.#sending.abort();
    await Promise.all(this.#underWay);
  }

  async #readBalance(): Promise<void> {
    const { clock, l1, metrics, transactions } = this.#deps;
    if (clock.nowMs() < this.#nextBalanceMs) return;
    this.#nextBalanceMs = clock.nowMs() + BALANCE_INTERVAL_MS;
    this.#balance = Number(await l1.balance(transactions.address)) / 1e18;
    metrics.balance.set(this.#balance);
  }

  #channelEvents(): ChannelEvents {
    const { log, metrics } = this.#deps;
    return {
      opened: () => metrics.channelsOpened.inc(),
      closed: (channel, reason) => {
        const { id, blockCount, frameCount, inputBytes, outputBytes } = channel;
        metrics.channelsClosed.inc({ reason });
        metrics.inputBytes.add(inputBytes);
        metrics.outputBytes.add(outputBytes);
        metrics.channelFrames.observe(frameCount);
        if (inputBytes > 0) metrics.compressionRatio.observe(outputBytes / inputBytes);
        const lastBlock = channel.lastBlock?.ref.number ?? 0;
        log.info("channel closed", { channelId: id, reason, blockCount, lastBlock, inputBytes, outputBytes, frameCount });
      },
      confirmed: ({ id, lastBlock }) => {
        metrics.channelsConfirmed.inc();
        log.debug("channel is on L1", { channelId: id, lastBlock: lastBlock?.ref.number ?? 0 });
      },
    };
  }

  /** Failures of endpoints are temporary; a block that cannot be published needs the operator. */
  #logFailure(error: unknown): void {
    const { log } = this.#deps;
    const text = errorText(error);
    const isNews = text !== this.#lastError;
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
