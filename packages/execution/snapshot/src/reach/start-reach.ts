import { type ChainConfig, derivationFactsAt } from "@rnode/protocol";
import type { L1Origin } from "./l1-origin.ts";
import { CHANNEL_TIMEOUT_L1_BLOCKS } from "./rollup-reach.ts";

/** How far back the blocks of a snapshot reach, as a rollup node sees it that starts from the last of them. */
export interface StartReach {
  /** number of L1 blocks between the L1 origins of the first and the last block; `undefined`: the chain's blocks have none */
  readonly l1Blocks: number | undefined;
  /** required number, unless the first block is the chain's first */
  readonly neededL1Blocks: number;
  readonly isEnough: boolean;
}

/**
 * Compares L1 origins as `pipelineStart` in packages/rollup/derivation/src/pipeline.ts does: reading begins with a block whose L1 origin is a channel
 * timeout older, and how long that is depends on the time of that L1 origin.
 */
export class StartReachMeter {
  readonly #config: Pick<ChainConfig, "optimism">;
  /** the first block is the child of the genesis block */
  readonly #isWhole: boolean;
  /** number of the oldest L1 origin for each timeout */
  readonly #oldest = new Map<number, number>();
  #first: L1Origin | undefined;
  #last: L1Origin | undefined;

  constructor(config: Pick<ChainConfig, "optimism">, isWhole: boolean) {
    this.#config = config;
    this.#isWhole = isWhole;
  }

  /** Adds the next block's L1 origin. @param origin `undefined`: it has none */
  take(origin: L1Origin | undefined): void {
    if (origin === undefined) return;
    this.#first ??= origin;
    this.#last = origin;
    const timeout = channelTimeoutAt(this.#config, origin);
    if (!this.#oldest.has(timeout)) this.#oldest.set(timeout, origin.number);
  }

  get reach(): StartReach {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return { l1Blocks: undefined, neededL1Blocks: 0, isEnough: true };
    const isFarEnough = [...this.#oldest].some(([timeout, number]) => number + timeout <= last.number);
    return {
      l1Blocks: last.number - first.number,
      neededL1Blocks: channelTimeoutAt(this.#config, first),
      isEnough: this.#isWhole || isFarEnough,
    };
  }
}

/** Channel timeout in L1 blocks at the time of an L1 origin. */
export function channelTimeoutAt({ optimism }: Pick<ChainConfig, "optimism">, { timestamp }: L1Origin): number {
  return derivationFactsAt(optimism?.forkTimes ?? {}, timestamp).channelTimeoutL1Blocks ?? CHANNEL_TIMEOUT_L1_BLOCKS;
}
