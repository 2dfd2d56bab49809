import { EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { type ExecutionPayload, type ExecutionPayloadEnvelope, payloadHash, type RollupConfig } from "@rnode/protocol";
import { testRollupConfig } from "@rnode/protocol/testing";
import { orderedTrieRoot } from "@rnode/trie";
import type { UnsafeGap } from "../network.ts";

/** A chain of two-second blocks with Isthmus from its beginning. */
export const isthmusConfig = (): RollupConfig =>
  testRollupConfig({ forkTimes: { regolith: 0, canyon: 0, delta: 0, ecotone: 0, fjord: 0, granite: 0, holocene: 0, isthmus: 0 } });

export interface ChainOptions {
  /** bytes of the transactions of each block */
  readonly blockBytes?: number;
  /** chains of different seeds have no block in common */
  readonly seed?: number;
}

/** The payloads of blocks 1 to `count`, each the child of the one before. Nothing can execute them, but their hashes are right. */
export function chainOfBlocks(config: RollupConfig, count: number, { blockBytes = 200, seed = 0 }: ChainOptions = {}) {
  const blocks: ExecutionPayloadEnvelope[] = [];
  let parentHash: Uint8Array = new Uint8Array(32).fill(seed);
  for (let number = 1; number <= count; number++) {
    const block = sealed(config, {
      parentHash,
      feeRecipient: new Uint8Array(20).fill(0x11),
      stateRoot: new Uint8Array(32).fill(seed),
      receiptsRoot: EMPTY_TRIE_ROOT,
      logsBloom: new Uint8Array(256),
      prevRandao: new Uint8Array(32),
      blockNumber: number,
      gasLimit: 30_000_000n,
      gasUsed: 21_000n,
      timestamp: config.genesis.l2TimeSec + number * config.blockTimeSec,
      extraData: new Uint8Array(9),
      baseFeePerGas: 1_000n,
      blockHash: new Uint8Array(32),
      transactions: [new Uint8Array(blockBytes).fill(number & 0xff)],
      withdrawals: [],
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      withdrawalsRoot: new Uint8Array(32).fill(5),
    });
    blocks.push(block);
    parentHash = block.executionPayload.blockHash;
  }
  return blocks;
}

/** With the block hash of the content. */
export function sealed(config: RollupConfig, executionPayload: ExecutionPayload): ExecutionPayloadEnvelope {
  const envelope = { executionPayload, parentBeaconBlockRoot: new Uint8Array(32).fill(4) };
  const blockHash = payloadHash(config.forkTimes, envelope, orderedTrieRoot);
  return { ...envelope, executionPayload: { ...executionPayload, blockHash } };
}

/** The blocks that are missing between two blocks of a chain; 0: its genesis. */
export function gapBetween(blocks: readonly ExecutionPayloadEnvelope[], start: number, end: number): UnsafeGap {
  const { blockHash, parentHash } = blocks[end - 1]!.executionPayload;
  const startHash = start === 0 ? blocks[0]!.executionPayload.parentHash : blocks[start - 1]!.executionPayload.blockHash;
  return { start: { number: start, hash: startHash }, end: { number: end, hash: blockHash, parentHash } };
}
