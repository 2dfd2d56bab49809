import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { Pull } from "../pull.ts";
import type { BlockBatch } from "./read-batch.ts";

/** More epochs than real span batches have. If a batch with more is dropped, derivation restarts. */
const MAX_LEFT_BLOCKS = 1024;

/** The L1 blocks that can be origins of the next L2 blocks: from the current epoch to the block being read. */
export class L1Window {
  #origin: L1BlockRef | undefined;
  #blocks: L1BlockRef[] = [];
  /** the blocks before the window: the window moves back if blocks of a span batch are dropped */
  #left: L1BlockRef[] = [];

  get blocks(): readonly L1BlockRef[] {
    return this.#blocks;
  }

  reset(base: L1BlockRef): void {
    this.#origin = base;
    this.#blocks = [base];
    this.#left = [];
  }

  /** Updates the window for the block being read and the safe head. Blocks before the safe head's origin are not collected. */
  update(origin: L1BlockRef, l2SafeHead: L2BlockRef): void {
    if (this.#origin?.hash !== origin.hash) {
      this.#origin = origin;
      if (origin.number < l2SafeHead.l1Origin.number) {
        this.#blocks = [];
        this.#left = [];
      } else this.#blocks.push(origin);
    }
    const { number } = l2SafeHead.l1Origin;
    // PERF: this runs for every L2 block, which is hardly ever one of an epoch that was left.
    const isLeft = number <= (this.#left.at(-1)?.number ?? -1);
    const back = isLeft ? this.#left.findIndex((block) => block.number === number) : -1;
    if (back >= 0) this.#blocks.unshift(...this.#left.splice(back));
    const at = this.#blocks.findIndex((block) => block.number === number);
    if (at > 0) this.#leave(at);
  }

  #leave(count: number): void {
    this.#left.push(...this.#blocks.splice(0, count));
    if (this.#left.length > MAX_LEFT_BLOCKS) this.#left.splice(0, this.#left.length - MAX_LEFT_BLOCKS);
  }

  /** The window must begin with the safe head's origin, or the block after it (see `nextEmptyBatch`). */
  mismatch(l2SafeHead: L2BlockRef): Pull<never> | undefined {
    const [epoch] = this.#blocks;
    const { l1Origin } = l2SafeHead;
    if (epoch === undefined || epoch.hash === l1Origin.hash || epoch.number === l1Origin.number + 1) return undefined;
    const detail = `the safe head's L1 origin is ${l1Origin.number} ${l1Origin.hash}, derivation is at epoch ${epoch.number} ${epoch.hash}`;
    return { kind: "reset", reason: "origin-mismatch", detail };
  }

  /**
   * The empty batch that follows when the sequencing window of the current epoch has ended without a batch. If the next block
   * belongs to the next epoch, this moves the window there instead and returns no batch this time. Spec:
   * docs/protocol/02-derivation.md#empty-batches
   *
   * @param isOutOfData whether everything in the L1 block being read has been used
   */
  nextEmptyBatch(config: RollupConfig, l2SafeHead: L2BlockRef, isOutOfData: boolean): BlockBatch | undefined {
    const [epoch, nextEpoch] = this.#blocks;
    if (epoch === undefined || nextEpoch === undefined || this.#origin === undefined) return undefined;
    const expiresAt = epoch.number + config.seqWindowSize;
    const isExpired = this.#origin.number > expiresAt || (this.#origin.number === expiresAt && isOutOfData);
    if (!isExpired) return undefined;
    const timestamp = l2SafeHead.timestamp + config.blockTimeSec;
    const isFirstOfEpoch = epoch.number === l2SafeHead.l1Origin.number + 1;
    if (timestamp < nextEpoch.timestamp || isFirstOfEpoch) {
      return { parentHash: l2SafeHead.hash, epoch: { hash: epoch.hash, number: epoch.number }, timestamp, transactions: [] };
    }
    this.#blocks.shift();
    this.#left = []; // the window no longer begins with the safe head's origin
    return undefined;
  }
}
