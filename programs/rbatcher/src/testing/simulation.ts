import { L1AccountClient, L1Client, L1Endpoints } from "@rnode/l1";
import { type LogFields, type Logger, noMetrics } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import type { L1Access } from "@rnode/tx-manager";
import { SimL1, simFeeWei, simManager, simProver } from "@rnode/tx-manager/testing";
import { BatchSubmitter, type BatchSubmitterDeps, type BatchSubmitterOptions } from "../batch-submitter.ts";
import { createBatcherMetrics } from "../batcher-metrics.ts";
import type { ChannelOptions } from "../channels/channel-config.ts";
import type { SpendLimits } from "../spend/spend-limit.ts";
import { simChannelConfigs, simChannelOuts } from "./sim-channels.ts";
import { SIM_L1_CHAIN_ID, SimL1Rpc } from "./sim-l1-rpc.ts";
import { SimRollup, simRollupConfig } from "./sim-rollup.ts";

const GWEI = 10n ** 9n;
const L1_BLOCK_MS = 12_000;
const L2_BLOCK_MS = 2000;
const MAX_LOG_LINES = 20_000;

export interface SimOptions {
  readonly channels?: Partial<ChannelOptions>;
  readonly maxPendingTransactions?: number;
  readonly confirmations?: number;
  readonly spendLimits?: SpendLimits;
  readonly sendTimeoutMs?: number;
  readonly pollIntervalMs?: number;
  readonly seqWindowSize?: number;
  readonly receiptQueryIntervalMs?: number;
  /** L1 is behind its JSON-RPC interface, and the batcher has the client for it; otherwise the batcher calls the simulated L1 itself */
  readonly hasL1Rpc?: boolean;
}

export interface LogLine {
  readonly level: "error" | "warn" | "info";
  readonly text: string;
  readonly fields: LogFields;
}

/** How many calls a process may still make. At zero it is dead, and never gets another answer. */
interface Life {
  callsLeft: number;
}

/** `target` as seen by a process with this life. */
function seenBy<T extends object>(target: T, life: Life): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "unixMs" || name === "monotonicMs")
        return member instanceof Function ? member.bind(target) : member;
      return (...args: unknown[]): unknown => {
        if (life.callsLeft-- <= 0) return new Promise(() => {});
        return Reflect.apply(member, target, args);
      };
    },
  });
}

/** A batcher in a simulated world, which can be killed and started again. */
export class Simulation {
  readonly clock = new SimClock();
  readonly l1: SimL1;
  readonly rollup: SimRollup;
  readonly log: LogLine[] = [];
  /** the batcher that the SystemConfig names */
  batcherOnL1: Uint8Array | undefined;
  readonly #options: SimOptions;
  readonly #l1Rpc: SimL1Rpc | undefined;
  #timeMs = 0;
  #processes = 0;
  #life: Life = { callsLeft: 0 };

  constructor(options: SimOptions = {}) {
    this.#options = options;
    this.#l1Rpc = options.hasL1Rpc === true ? new SimL1Rpc() : undefined;
    this.l1 = this.#l1Rpc?.l1 ?? new SimL1();
    const { seqWindowSize } = options;
    this.rollup = new SimRollup(this.l1, simRollupConfig(seqWindowSize === undefined ? {} : { seq_window_size: seqWindowSize }));
  }

  /** The lines logged as errors. */
  get errors(): readonly LogLine[] {
    return this.log.filter(({ level }) => level === "error");
  }

  /** Paid to L1 so far. */
  get spentWei(): bigint {
    let sum = 0n;
    for (const block of this.l1.blocks) for (const tx of block.transactions) sum += simFeeWei(tx, block);
    return sum;
  }

  /** The cost without tips above the minimum and without transactions other than batches. */
  get spentAtBaseFeeWei(): bigint {
    const inbox = bytesToHex(this.rollup.config.batchInboxAddress);
    let sum = 0n;
    for (const block of this.l1.blocks) {
      for (const tx of block.transactions) {
        if (tx.to === undefined || bytesToHex(tx.to) !== inbox) continue;
        sum += simFeeWei({ ...tx, maxPriorityFeePerGas: GWEI, maxFeePerGas: block.baseFee + GWEI }, block);
      }
    }
    return sum;
  }

  /** Starts a new process; only the chains survive from the one before. @param callsLeft after this many calls it dies */
  start(callsLeft = Number.POSITIVE_INFINITY): BatchSubmitter {
    this.kill();
    this.#life = { callsLeft };
    return this.startAnother(this.#life);
  }

  /** Starts a second process while the first runs. */
  startAnother(life: Life = { callsLeft: Number.POSITIVE_INFINITY }): BatchSubmitter {
    const { maxPendingTransactions = 1, confirmations = 1, channels } = this.#options;
    const l1 = this.#l1Seen(life);
    const rollup = seenBy(this.rollup, life);
    const clock = seenBy(this.clock, life);
    const configs = simChannelConfigs({ maxChannelDuration: 2, ...channels }, this.rollup.config);
    const { receiptQueryIntervalMs = 1000, sendTimeoutMs = 600_000 } = this.#options;
    const transactions = simManager({ l1, clock, log: this.#logger() }, { confirmations, receiptQueryIntervalMs, sendTimeoutMs });
    const options: BatchSubmitterOptions = {
      maxPendingTransactions,
      pollIntervalMs: this.#options.pollIntervalMs ?? 1000,
      waitNodeSync: false,
      checkRecentTxsDepth: 0,
      stopTimeoutMs: 10_000,
      spendLimits: this.#options.spendLimits,
    };
    const submitter = new BatchSubmitter(options, {
      channels: configs,
      minTipWei: GWEI,
      batcherOnL1: () => Promise.resolve(this.batcherOnL1),
      batchInboxAddress: rollup.config.batchInboxAddress,
      stuckAfterMs: 96_000,
      blobProver: simProver,
      l1,
      node: rollup,
      blocks: rollup,
      transactions,
      createChannelOut: simChannelOuts(this.clock, 1000 * this.#processes++),
      clock,
      log: this.#logger(),
      metrics: createBatcherMetrics(noMetrics),
    });
    submitter.start();
    return submitter;
  }

  #l1Seen(life: Life): BatchSubmitterDeps["l1"] & L1Access {
    if (this.#l1Rpc === undefined) return seenBy(this.l1, life);
    const clock = seenBy(this.clock, life);
    const endpoints = new L1Endpoints(
      { chainId: SIM_L1_CHAIN_ID },
      { endpoints: [{ name: "l1", rpc: seenBy(this.#l1Rpc, life) }], clock, log: this.#logger() },
    );
    const deps = { endpoints, clock, log: this.#logger(), yieldToOthers: () => Promise.resolve() };
    return new L1AccountClient({ endpoints, l1: new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 100 }, deps) });
  }

  #logger(): Logger {
    const line =
      (level: LogLine["level"]) =>
      (text: string, fields: LogFields = {}): void => {
        if (this.log.length >= MAX_LOG_LINES) this.log.splice(0, MAX_LOG_LINES / 2);
        this.log.push({ level, text, fields });
      };
    const none = (): void => {};
    const logger: Logger = {
      error: line("error"),
      warn: line("warn"),
      info: line("info"),
      debug: none,
      trace: none,
      child: () => logger,
      isEnabled: () => false,
      level: "info",
    };
    return logger;
  }

  /** Like kill -9: the process stops at once, but its transactions stay in the pool. */
  kill(): void {
    this.#life.callsLeft = 0;
  }

  /** Lets both chains advance. */
  async run(seconds: number, isProducing = true): Promise<void> {
    for (let end = this.#timeMs + seconds * 1000; this.#timeMs < end; this.#timeMs += 1000) {
      if (isProducing && this.#timeMs % L2_BLOCK_MS === 0) this.rollup.produce();
      if (this.#timeMs % L1_BLOCK_MS === 0) this.l1.mine();
      await this.clock.advance(1000);
    }
  }

  get derived() {
    return this.rollup.derive(this.l1.headNumber);
  }

  /** Produces nothing new on L2: all existing blocks must become safe sooner or later. */
  async settle(): Promise<void> {
    for (let i = 0; i < 100 && this.derived.safe.number < this.rollup.unsafeHead.number; i++) await this.run(60, false);
    const [safe, unsafe] = [this.derived.safe.number, this.rollup.unsafeHead.number];
    if (safe !== unsafe) throw new Error(`block ${safe} is safe, of ${unsafe}`);
  }
}
