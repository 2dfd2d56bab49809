import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { BlockMaker } from "./block-maker.ts";
import type { ChainTime } from "./chain-time.ts";
import type { DevPool } from "./dev-pool.ts";

/** When blocks are made: with each transaction, at intervals, or only on request. */
export type MiningMode =
  | { readonly kind: "auto" }
  | { readonly kind: "interval"; readonly ms: number }
  | { readonly kind: "manual" };

export interface MiningDeps {
  readonly maker: BlockMaker;
  readonly pool: DevPool;
  readonly time: ChainTime;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A transaction that makes others executable may be followed by at most so many blocks. */
const MAX_BLOCKS_A_TRANSACTION = 16;
/** OP Stack chains have one in every block. */
const DEPOSIT = 0x7e;

/** Makes blocks in their time. */
export class Mining {
  readonly #deps: MiningDeps;
  #mode: MiningMode = { kind: "manual" };
  #timer: AbortController | undefined;
  #isStalled = false;
  #slotsToMiss = 0;

  constructor(deps: MiningDeps) {
    this.#deps = deps;
  }

  get mode(): MiningMode {
    return this.#mode;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  setMode(mode: MiningMode): void {
    this.#timer?.abort();
    this.#timer = undefined;
    this.#mode = mode;
    if (mode.kind === "interval") {
      this.#timer = new AbortController();
      void this.#run(mode.ms, this.#timer.signal);
    } else this.onTransaction();
  }

  /** While it is stalled, blocks are made only on request. */
  setStalled(isStalled: boolean): void {
    this.#isStalled = isStalled;
    if (!isStalled) this.onTransaction();
  }

  /**
   * Skips the next due blocks. Without an interval, the next block is `count` slots later, and the clock continues from there.
   */
  missSlots(count: number): void {
    if (this.#mode.kind === "interval") {
      this.#slotsToMiss += count;
      return;
    }
    const { maker, time } = this.#deps;
    const { timestamp } = maker.head.header;
    time.setNext(time.peek(timestamp) + count * time.slotSec, timestamp);
  }

  /**
   * Takes in a transaction that has come into the pool. If blocks are made with transactions and none can include this one, nothing would ever
   * change that: it is removed.
   *
   * @throws {RpcError} it is removed
   */
  admit(hash: Uint8Array): void {
    const { maker, pool } = this.#deps;
    const refuse = (): never => {
      pool.remove(hash);
      throw new RpcError(
        SERVER_ERROR,
        `transaction ${bytesToHex(hash)} fits into no block, and automine makes none without it: the next block has base fee ${maker.nextBaseFee} and gas limit ${maker.gasLimit}; raise its fees, lower its gas, or turn automine off`,
      );
    };
    const makesBlocks = this.#mode.kind === "auto" && !this.#isStalled;
    const offer = makesBlocks ? pool.offerOf(hash) : undefined;
    if (offer !== undefined && (offer.gasLimit > maker.gasLimit || offer.maxFeeWei < maker.nextBaseFee)) refuse();
    if (this.onTransaction() && pool.offerOf(hash) !== undefined) refuse(); // another reason, such as its blob fee
  }

  /** Called whenever the pool may have new executable transactions. @returns whether blocks were made until there were none */
  onTransaction(): boolean {
    if (this.#mode.kind !== "auto" || this.#isStalled) return false;
    const { maker, pool, log } = this.#deps;
    try {
      for (let made = 0; made < MAX_BLOCKS_A_TRANSACTION && pool.hasExecutable(maker.nextBaseFee); made++) {
        const { transactions } = maker.make().block;
        if (transactions.every(({ type }) => type === DEPOSIT)) return true; // the remaining transactions do not fit into any block
      }
      return true;
    } catch (error) {
      log.error("no block was made", { error });
      return false;
    }
  }

  close(): void {
    this.#timer?.abort();
  }

  async #run(intervalMs: number, signal: AbortSignal): Promise<void> {
    const { maker, clock, log } = this.#deps;
    for (;;) {
      await clock.sleep(this.#untilNext(intervalMs), signal);
      if (signal.aborted) return;
      if (this.#isStalled) continue;
      if (this.#slotsToMiss > 0) {
        this.#slotsToMiss--;
        continue;
      }
      try {
        maker.make();
      } catch (error) {
        log.error("no block was made", { error });
      }
    }
  }

  /** An interval of whole slots keeps to them, so that a block is there as soon as its slot begins. */
  #untilNext(intervalMs: number): number {
    const { time, clock } = this.#deps;
    const slotMs = time.slotSec * 1000;
    if (intervalMs % slotMs !== 0) return intervalMs;
    const sinceGenesisMs = clock.unixMs() + (time.offsetSec - time.genesisSec) * 1000;
    return intervalMs - (((sinceGenesisMs % intervalMs) + intervalMs) % intervalMs);
  }
}
