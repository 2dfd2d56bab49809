import type { ChannelOut } from "@rnode/compression";
import { errorText, type LogFields } from "@rnode/observe";
import { type DaBytes, daBytes } from "@rnode/protocol";
import type { ChannelConfig, ChannelConfigs } from "./channels/channel-config.ts";
import { DaChoice } from "./l1/da-choice.ts";
import { PublishingRun, type PublishingRunDeps, type PublishingRunOptions } from "./publishing-run.ts";
import { SpendLedger, type SpendLimits } from "./spend/spend-limit.ts";
import type { Throttle } from "./throttle/throttle.ts";

export interface BatchSubmitterOptions extends PublishingRunOptions {
  readonly spendLimits?: SpendLimits | undefined;
}

export interface BatchSubmitterDeps extends Omit<PublishingRunDeps, "choice" | "spend" | "createChannelOut"> {
  readonly channels: ChannelConfigs;
  /** an empty channel with a fresh random id */
  readonly createChannelOut: (config: ChannelConfig) => ChannelOut;
  /** undefined: block builders are not throttled */
  readonly throttle?: Pick<Throttle, "run" | "isThrottling"> | undefined;
}

/**
 * After so long without a transaction of another program with the batcher's key, publishing starts again. It doubles with each stop: a second
 * submitter that goes on must not be disputed with for ever.
 */
const FIRST_QUIET_MS = 5 * 60_000;
const LONGEST_QUIET_MS = 3_600_000;

/** Publishes the sequencer's chain on L1. It can be started and stopped repeatedly; all its state is rebuilt from the chains. */
export class BatchSubmitter {
  readonly #options: BatchSubmitterOptions;
  readonly #deps: BatchSubmitterDeps;
  readonly #runDeps: PublishingRunDeps;
  #run: { readonly publishing: PublishingRun; readonly done: Promise<void> } | undefined;
  /** why it stopped by itself, and the wait for its next start */
  #stopped: { readonly reason: string; readonly waiting: AbortController } | undefined;
  #stops = 0;

  constructor(options: BatchSubmitterOptions, deps: BatchSubmitterDeps) {
    this.#options = options;
    this.#deps = deps;
    const { channels, throttle } = deps;
    this.#runDeps = {
      ...deps,
      choice: new DaChoice(channels, { ...deps, isThrottling: () => throttle?.isThrottling ?? false }),
      spend: new SpendLedger(options.spendLimits ?? {}, deps.clock),
    };
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** Estimated DA bytes of the blocks that are not safe yet. */
  get unsafeDaBytes(): DaBytes {
    return this.#run?.publishing.unsafeDaBytes ?? daBytes(0);
  }

  /** @returns false if it is already running */
  start(): boolean {
    if (this.#run !== undefined) return false;
    const { log, metrics, throttle } = this.#deps;
    const publishing = new PublishingRun(this.#options, this.#runDeps);
    const throttling = new AbortController();
    const throttled = throttle?.run(throttling.signal);
    const done = publishing.run().then(async (stoppedBy) => {
      throttling.abort();
      await throttled;
      this.#run = undefined;
      metrics.up.set(0);
      log.info("batcher stopped");
      if (stoppedBy !== undefined) void this.#startWhenQuiet(stoppedBy);
    });
    this.#run = { publishing, done };
    this.#endWait();
    metrics.up.set(1);
    log.info("batcher started");
    return true;
  }

  /** Starts again once nobody else sends with the batcher's key: one stray transaction must not end publishing. */
  async #startWhenQuiet(reason: string): Promise<void> {
    const { clock, l1, log, transactions } = this.#deps;
    const waiting = new AbortController();
    this.#stopped = { reason, waiting };
    const quietMs = Math.min(LONGEST_QUIET_MS, FIRST_QUIET_MS * 2 ** this.#stops++);
    log.info("the batcher starts again by itself when no other program has used its key for some time", { quietMs });
    for (let before: bigint | undefined; ; ) {
      const nonce = await l1.nonce(transactions.address, "latest").catch((error: unknown) => {
        log.warn("cannot find out whether another program uses the batcher's key", { error: errorText(error) });
        return undefined;
      });
      if (waiting.signal.aborted) return;
      if (nonce !== undefined && nonce === before) break;
      before = nonce;
      await clock.sleep(quietMs, waiting.signal);
      if (waiting.signal.aborted) return;
    }
    log.info("no other program has used the batcher's key: starting again", { quietMs });
    this.start();
  }

  /** @returns whether there was one */
  #endWait(): boolean {
    const stopped = this.#stopped;
    this.#stopped = undefined;
    stopped?.waiting.abort();
    return stopped !== undefined;
  }

  /**
   * Sends the remaining frames of channels that have frames on L1, then stops. Data not sent by then is rebuilt at the next
   * start.
   *
   * @returns false if it neither runs nor waits to start again
   */
  async stop(): Promise<boolean> {
    const run = this.#run;
    if (run === undefined) return this.#endWait();
    run.publishing.stop();
    await run.done;
    this.#endWait(); // it may have stopped by itself meanwhile
    return true;
  }

  /** Progress of publishing and, if there is none, the reason. */
  status(): LogFields {
    if (this.#run !== undefined) return this.#run.publishing.status();
    if (this.#stopped === undefined) return { waitingFor: "admin_startBatcher" };
    return { trouble: this.#stopped.reason, waitingFor: "no more transactions of the other program, or admin_startBatcher" };
  }

  /** Publishes all available blocks without waiting for channels to fill. @returns false if it is not running */
  flush(): boolean {
    this.#run?.publishing.flush();
    return this.#run !== undefined;
  }
}
