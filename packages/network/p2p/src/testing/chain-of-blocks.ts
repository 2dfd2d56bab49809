import { type ExecutionPayloadEnvelope, forksUpTo, type RollupConfig } from "@rnode/protocol";
import { testRollupConfig } from "@rnode/protocol/testing";
import type { UnsafeGap } from "../network.ts";
import { testBlock } from "./test-blocks.ts";

/** A chain of two-second blocks with all forks up to Isthmus from its beginning. */
export const isthmusConfig = (): RollupConfig => testRollupConfig({ forkTimes: forksUpTo("isthmus") });

export interface ChainOptions {
  /** bytes of the transactions of each block */
  readonly blockBytes?: number;
  /** chains of different salts have no block in common */
  readonly salt?: number;
}

/** The payloads of blocks 1 to `count`, each the child of the previous one. */
export function chainOfBlocks(config: RollupConfig, count: number, { blockBytes = 200, salt = 0 }: ChainOptions = {}) {
  const blocks: ExecutionPayloadEnvelope[] = [];
  let parentHash: Uint8Array = new Uint8Array(32).fill(salt);
  for (let number = 1; number <= count; number++) {
    const timestampSec = config.genesis.l2TimeSec + number * config.blockTimeSec;
    const transactions = [new Uint8Array(blockBytes).fill(number & 0xff)];
    const block = testBlock(config, { number, timestampSec, parentHash, transactions, salt });
    blocks.push(block);
    parentHash = block.executionPayload.blockHash;
  }
  return blocks;
}

/** The blocks that are missing between two blocks of a chain; 0: its genesis. */
export function gapBetween(blocks: readonly ExecutionPayloadEnvelope[], start: number, end: number): UnsafeGap {
  const { blockHash, parentHash } = blocks[end - 1]!.executionPayload;
  const startHash = start === 0 ? blocks[0]!.executionPayload.parentHash : blocks[start - 1]!.executionPayload.blockHash;
  return { start: { number: start, hash: startHash }, end: { number: end, hash: blockHash, parentHash } };
}
