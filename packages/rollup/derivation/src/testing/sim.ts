import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type AltDaConfig,
  forksUpTo as allUpTo,
  type BlockId,
  batchInputFromPayload,
  encodeTransaction,
  type ForkTimes,
  type Frame,
  type L2BlockRef,
  type OpFork,
  signTransaction,
} from "@rnode/protocol";
import { singularBatch, spanBatch, testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import { prepareAttributes } from "../attributes/attributes.ts";
import type { DerivationConfig } from "../config.ts";
import type { DaInputs, Decompressor } from "../l1/providers.ts";
import type { DerivationObserver } from "../observer.ts";
import { createDerivationPipeline } from "../pipeline.ts";
import type { DerivationPipeline, DerivedAttributes, SafeSince } from "../pipeline-types.ts";
import type { ResetReason } from "../pull.ts";
import { BATCHER, SimL1 } from "./sim-l1.ts";
import { SimL2 } from "./sim-l2.ts";

export const GENESIS_TIME = 100_000;
const L2_CHAIN_ID = 901n;
const USER_KEY = new Uint8Array(32).fill(0x77);

/** Forks up to and including `fork` are active from the genesis, `later` ones at other times. */
export function forksUpTo(fork: OpFork, later: ForkTimes = {}): ForkTimes {
  return { ...allUpTo(fork), ...later };
}

export interface SimOptions {
  readonly forkTimes: ForkTimes;
  readonly decompressor: Decompressor;
  readonly seqWindowSize?: number;
  readonly channelTimeoutL1Blocks?: number;
  readonly maxSequencerDriftSec?: number;
  readonly checkSpanOverlapInStrictOrder?: boolean;
  /** an L1 to share; default: a new one */
  readonly l1?: SimL1;
  /** data is outside of L1 */
  readonly altDa?: AltDaConfig;
  readonly daInputs?: DaInputs;
}

/** An L1, a sequencer's L2 chain, and a verifier that derives its own from L1. */
export class Sim {
  readonly config: DerivationConfig;
  readonly l1: SimL1;
  /** the sequencer's chain */
  readonly sequencer: SimL2;
  readonly verifier: SimL2;
  readonly pipeline: DerivationPipeline;
  /** the observer's events, one line each */
  readonly events: string[] = [];
  readonly derived: DerivedAttributes[] = [];
  readonly resets: ResetReason[] = [];
  /** of the verifier's blocks, by hash */
  readonly derivedFrom = new Map<Hex, BlockId>();
  /** whether the verifier's engine finds these attributes invalid */
  isInvalid: (attributes: DerivedAttributes) => boolean = () => false;
  #userNonce = 0;
  #channelSeed = 0;
  #pending: { head: L2BlockRef; safe: L2BlockRef } | undefined;

  constructor(options: SimOptions) {
    this.l1 = options.l1 ?? new SimL1(1000, GENESIS_TIME);
    const [genesisL1] = this.l1.refs;
    const { forkTimes, maxSequencerDriftSec = 600, seqWindowSize = 20, channelTimeoutL1Blocks = 10, altDa } = options;
    const rollup = testRollupConfig({
      genesis: {
        l1: { hash: genesisL1!.hash, number: genesisL1!.number },
        l2: { hash: `0x${"b0".repeat(32)}`, number: 0 },
        l2TimeSec: GENESIS_TIME,
        systemConfig: testSystemConfig({ batcherAddress: BATCHER, scalar: new Uint8Array(32).fill(1, 0, 1) }),
      },
      forkTimes,
      maxSequencerDriftSec,
      seqWindowSize,
      channelTimeoutL1Blocks,
      ...(altDa === undefined ? {} : { altDa }),
    });
    this.config = {
      rollup,
      l1BlobSchedule: [],
      ...(options.checkSpanOverlapInStrictOrder === undefined
        ? {}
        : { checkSpanOverlapInStrictOrder: options.checkSpanOverlapInStrictOrder }),
    };
    this.sequencer = new SimL2(rollup);
    this.verifier = new SimL2(rollup);
    const { l1, verifier: l2 } = this;
    const observer = observerOf(this.events);
    this.pipeline = createDerivationPipeline(this.config, {
      l1,
      blobs: l1,
      l2,
      decompressor: options.decompressor,
      daInputs: options.daInputs,
      observer,
    });
  }

  userTransaction(): Uint8Array {
    const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n };
    const nonce = BigInt(this.#userNonce++);
    const data = Uint8Array.of(this.#userNonce);
    const to = new Uint8Array(20).fill(9);
    const tx = { type: 2 as const, chainId: L2_CHAIN_ID, ...fees, nonce, gasLimit: 21_000n, to, value: 1n, data, accessList: [] };
    return encodeTransaction(signTransaction(tx, USER_KEY));
  }

  /**
   * The sequencer builds one block. By default it adopts the next L1 origin as soon as its time allows, and includes one
   * transaction.
   */
  async sequence(options: { transactions?: readonly Uint8Array[]; keepOrigin?: boolean } = {}): Promise<L2BlockRef> {
    const parent = this.sequencer.head;
    const timestamp = parent.timestamp + this.config.rollup.blockTimeSec;
    const next = this.l1.refs.find(({ number }) => number === parent.l1Origin.number + 1);
    const canAdvance = next !== undefined && next.timestamp <= timestamp && options.keepOrigin !== true;
    const epoch = canAdvance ? { hash: next.hash, number: next.number } : parent.l1Origin;
    const prepared = await prepareAttributes(this.config, { l1: this.l1, l2: this.sequencer }, parent, epoch);
    if (prepared.kind !== "value") throw new Error(`the sequencer cannot build: ${JSON.stringify(prepared)}`);
    const user = options.transactions ?? [this.userTransaction()];
    const transactions = [...(prepared.value.transactions ?? []), ...user];
    return this.sequencer.build(parent, { ...prepared.value, transactions });
  }

  async sequenceMany(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.sequence();
  }

  /** Sequences up to the newest block that can have the L1 head as its origin. */
  async sequenceToL1Head(): Promise<void> {
    while (this.sequencer.head.l1Origin.number < this.l1.head.number) await this.sequence();
  }

  /** Channel content before compression: blocks `from` to `to` of the sequencer's chain. */
  batches(type: "singular" | "span", from: number, to: number): Uint8Array {
    const inputs = this.sequencer.payloads
      .filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to)
      .map((payload) => batchInputFromPayload(this.config.rollup, payload));
    return type === "span" ? spanBatch(this.config.rollup, inputs) : join(inputs.map(singularBatch));
  }

  /** Splits the content of a channel into frames. */
  frames(content: Uint8Array, count = 1): Frame[] {
    const channelId = new Uint8Array(16).fill(++this.#channelSeed);
    const size = Math.ceil(content.length / count);
    return Array.from({ length: count }, (_, number) => ({
      channelId,
      number,
      data: content.subarray(number * size, (number + 1) * size),
      isLast: number === count - 1,
    }));
  }

  /** Resets the verifier's pipeline to the verifier's safe head, which does not change. */
  async reset(madeSafeBy?: SafeSince): Promise<void> {
    await this.pipeline.reset(this.verifier.head, madeSafeBy);
    this.#pending = { head: this.verifier.head, safe: this.verifier.head };
  }

  /**
   * Steps until L1 is used up, acting as the driver: builds blocks from attributes, handles invalid ones, retries after provider
   * failures. Stops at a reset.
   */
  async derive(maxSteps = 5000): Promise<"idle" | "reset"> {
    if (this.#pending === undefined) await this.reset();
    const heads = this.#pending!;
    for (let i = 0; i < maxSteps; i++) {
      const outcome = await this.pipeline.step(heads.head);
      if (outcome.kind === "exhausted") return "idle";
      if (outcome.kind === "reset") {
        this.resets.push(outcome.reason);
        this.#pending = undefined;
        return "reset";
      }
      if (outcome.kind === "value") this.#apply(outcome.value, heads);
    }
    throw new Error("the pipeline does not come to rest");
  }

  #apply(attributes: DerivedAttributes, heads: { head: L2BlockRef; safe: L2BlockRef }): void {
    this.derived.push(attributes);
    let accepted = attributes;
    if (this.isInvalid(attributes)) {
      if (!attributes.isReplacedIfInvalid) {
        // back to the end of the last complete span
        heads.head = heads.safe;
        this.verifier.rewind(heads.safe.number);
        return;
      }
      accepted = this.pipeline.depositsOnly(attributes);
      this.derived.push(accepted);
    }
    heads.head = this.verifier.build(accepted.parent, accepted.attributes);
    this.derivedFrom.set(heads.head.hash, attributes.derivedFrom);
    if (accepted.isLastInSpan) heads.safe = heads.head;
  }

  /** The sequencer continues from the verifier's chain. */
  adoptDerived(): void {
    this.sequencer.adopt(this.verifier);
  }

  get safeHead(): L2BlockRef {
    return this.#pending?.safe ?? this.verifier.head;
  }

  /** Whether the verifier has derived the sequencer's blocks up to `number`. */
  agreesTo(number: number): boolean {
    const upTo = (hashes: Hex[]) => hashes.slice(0, number + 1).join();
    return this.verifier.hashes.length > number && upTo(this.verifier.hashes) === upTo(this.sequencer.hashes);
  }

  /** Verdicts on batches, in order. */
  get verdicts(): string[] {
    return this.events.filter((event) => event.startsWith("batch ")).map((event) => event.slice("batch ".length));
  }
}

function observerOf(events: string[]): DerivationObserver {
  return {
    onL1Block: (block) => events.push(`l1 ${block.number}`),
    onData: ({ source, sizeBytes }) => events.push(`data ${source} ${sizeBytes}`),
    onDataDropped: ({ reason }) => events.push(`data-dropped ${reason}`),
    onLogSkipped: ({ contract, logIndex, reason }) => events.push(`log-skipped ${contract} ${logIndex} ${reason}`),
    onFrame: ({ frame }) => events.push(`frame ${frame.channelId[0]}:${frame.number}`),
    onFrameDropped: ({ frame, reason }) => events.push(`frame-dropped ${frame.channelId[0]}:${frame.number} ${reason}`),
    onChannel: ({ channelId, event, detail }) =>
      events.push(`channel ${Number.parseInt(channelId.slice(2, 4), 16)} ${event}${detail === undefined ? "" : ` (${detail})`}`),
    onBatch: ({ batch, verdict }) =>
      events.push(
        `batch ${batch.type}${batch.fromSpan ? "-of-span" : ""} ${verdict.kind}${"reason" in verdict ? ` ${verdict.reason}` : ""}`,
      ),
  };
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const shown = (transactions: readonly Uint8Array[] | undefined): Hex[] => (transactions ?? []).map(bytesToHex);
