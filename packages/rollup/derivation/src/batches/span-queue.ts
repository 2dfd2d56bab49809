import type { Hex } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef, SpanBlock } from "@rnode/protocol";
import type { BlockBatch, SpanRead } from "./read-batch.ts";

/** The blocks of an accepted span batch that are still to be derived. PERF: expanded one at a time. */
export class SpanQueue {
  #blocks: Iterator<SpanBlock, void> | undefined;
  #next: SpanBlock | undefined;
  #origins = new Map<number, L1BlockRef>();
  #channelId: Hex | undefined;

  get isEmpty(): boolean {
    return this.#next === undefined;
  }
  get nextTimestamp(): number | undefined {
    return this.#next?.timestamp;
  }
  get channelId(): Hex | undefined {
    return this.#channelId;
  }

  clear(): void {
    this.#blocks = undefined;
    this.#next = undefined;
    this.#channelId = undefined;
  }

  /**
   * Takes the blocks after the safe head.
   *
   * @returns false, without taking anything, if the first of them has an origin outside `l1Blocks`
   */
  fill(read: SpanRead, l1Blocks: readonly L1BlockRef[], l2SafeHead: L2BlockRef): boolean {
    this.clear();
    this.#origins = new Map(l1Blocks.map((block) => [block.number, block]));
    this.#blocks = read.span.blocks();
    this.#channelId = read.channelId;
    do this.#step();
    while (this.#next !== undefined && this.#next.timestamp <= l2SafeHead.timestamp);
    // Origins ascend one by one up to that of the last block, which is known: if the first one is known, all are.
    if (this.#next !== undefined && this.#origins.has(this.#next.epochNumber)) return true;
    this.clear();
    return false;
  }

  /** Removes the next block. */
  pop(): BlockBatch {
    const { timestamp, epochNumber, transactions } = this.#next!;
    const { hash, number } = this.#origins.get(epochNumber)!;
    this.#step();
    return { parentHash: undefined, epoch: { hash, number }, timestamp, transactions };
  }

  #step(): void {
    this.#next = this.#blocks?.next().value ?? undefined;
  }
}
