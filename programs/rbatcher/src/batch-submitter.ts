import type { ChannelOut } from "@rnode/compression";
import type { LogFields } from "@rnode/observe";
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

/** Publishes the sequencer's chain on L1. It can be started and stopped repeatedly; all its state is rebuilt from the chains. */
export class BatchSubmitter {
  readonly #options: BatchSubmitterOptions;
  readonly #deps: BatchSubmitterDeps;
  readonly #runDeps: PublishingRunDeps;
  #run: { readonly publishing: PublishingRun; readonly done: Promise<void> } | undefined;
  /** why it stopped by itself */
  #stoppedBy: string | undefined;

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
      this.#stoppedBy = stoppedBy;
      this.#run = undefined;
      metrics.up.set(0);
      log.info("batcher stopped");
    });
    this.#run = { publishing, done };
    this.#stoppedBy = undefined;
    metrics.up.set(1);
    log.info("batcher started");
    return true;
  }

  /**
   * Sends the remaining frames of channels that have frames on L1, then stops. Data not sent by then is rebuilt at the next
   * start.
   *
   * @returns false if it is not running
   */
  async stop(): Promise<boolean> {
    const run = this.#run;
    if (run === undefined) return false;
    run.publishing.stop();
    await run.done;
    return true;
  }

  /** Progress of publishing and, if there is none, the reason. */
  status(): LogFields {
    if (this.#run !== undefined) return this.#run.publishing.status();
    return { ...(this.#stoppedBy === undefined ? {} : { trouble: this.#stoppedBy }), waitingFor: "admin_startBatcher" };
  }

  /** Publishes all available blocks without waiting for channels to fill. @returns false if it is not running */
  flush(): boolean {
    this.#run?.publishing.flush();
    return this.#run !== undefined;
  }
}
