import { type Clock, LruCache } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { encodeResponse } from "../wire/payload-by-number.ts";
import { Permits } from "./permits.ts";

export interface AnswersDeps {
  readonly config: RollupConfig;
  /** @returns `undefined`: this node does not have the block. @throws if the engine is not available */
  readonly payloadByNumber: (number: number) => Promise<ExecutionPayloadEnvelope | undefined>;
  readonly clock: Clock;
}

interface Answer {
  readonly bytes: Uint8Array;
  readonly untilMs: number;
}

/** Parallel requests of blocks from the engine: each block can have 10 MiB, in this thread and in that of the engine client. */
const LOOKUPS_AT_A_TIME = 4;
const MAX_ANSWERS = 256;
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Encoded blocks, so that a block with many requests is read and encoded once. They are cached for two block times, because
 * unsafe blocks can be replaced, and a peer counts a replaced block against this node.
 */
export class Answers {
  private readonly deps: AnswersDeps;
  private readonly lookups = new Permits(LOOKUPS_AT_A_TIME);
  private readonly underWay = new Map<number, Promise<Uint8Array | undefined>>();
  private readonly known = new LruCache<number, Answer>(MAX_ANSWERS);
  private bytes = 0;

  constructor(deps: AnswersDeps) {
    this.deps = deps;
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  /**
   * @returns `undefined`: this node does not have the block. @throws if the engine is not available, or the block is too large
   */
  async of(number: number): Promise<Uint8Array | undefined> {
    const known = this.known.get(number);
    if (known !== undefined && this.deps.clock.monotonicMs() < known.untilMs) return known.bytes;
    const underWay = this.underWay.get(number) ?? this.lookUp(number);
    this.underWay.set(number, underWay);
    return underWay;
  }

  private async lookUp(number: number): Promise<Uint8Array | undefined> {
    const { config, payloadByNumber, clock } = this.deps;
    // never aborted: other requests may wait for the same block
    const end = await this.lookups.acquire(1, new AbortController().signal);
    try {
      this.forget(number);
      const envelope = await payloadByNumber(number);
      if (envelope === undefined) return undefined;
      const bytes = encodeResponse(config.forkTimes, envelope);
      this.keep(number, { bytes, untilMs: clock.monotonicMs() + 2_000 * config.blockTimeSec });
      return bytes;
    } finally {
      end?.();
      this.underWay.delete(number);
    }
  }

  private keep(number: number, answer: Answer): void {
    if (answer.bytes.length > MAX_BYTES / 2) return;
    while (this.known.size >= MAX_ANSWERS || this.bytes + answer.bytes.length > MAX_BYTES) {
      const [oldest] = this.known;
      if (oldest === undefined) break;
      this.forget(oldest[0]);
    }
    this.known.set(number, answer);
    this.bytes += answer.bytes.length;
  }

  private forget(number: number): void {
    this.bytes -= this.known.get(number)?.bytes.length ?? 0;
    this.known.delete(number);
  }
}
