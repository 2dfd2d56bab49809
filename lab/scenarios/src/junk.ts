import { deflateSync } from "node:zlib";
import { concatBytes, LruCache } from "@rnode/primitives";
import {
  batchInputFromPayload,
  type ExecutionPayload,
  encodeBatcherData,
  encodeChannelBatch,
  encodeTransaction,
  type Frame,
  type RollupConfig,
  type SpanBatchInput,
  signTransaction,
} from "@rnode/protocol";
import { unfairRefunds } from "./gas-refunds.ts";
import { type JunkKind, USER_KEY } from "./plan.ts";
import type { Random } from "./random.ts";
import type { ScenarioEngine } from "./scenario-engine.ts";
import { INVALID_VALUE } from "./sim-block.ts";

export interface JunkSources {
  readonly config: RollupConfig;
  readonly random: Random;
  /** the sequencer's */
  readonly engine: ScenarioEngine;
  /** number of a safe block */
  readonly safeNumber: number;
  /** data of batcher transactions that are already on L1 */
  readonly earlier: readonly Uint8Array[];
}

/** PERF: users of all scenarios send the same transactions, and a signature takes as long as much of a block. */
const signed = new LruCache<string, Uint8Array>(2_000);

/** A user transaction. @param value `INVALID_VALUE`: it cannot be executed */
export function userTransaction({ l2ChainId }: RollupConfig, nonce: number, value = 1n): Uint8Array {
  const key = `${l2ChainId} ${nonce} ${value}`;
  let encoded = signed.get(key);
  if (encoded === undefined) {
    encoded = signedTransaction(l2ChainId, nonce, value);
    signed.set(key, encoded);
  }
  return encoded;
}

function signedTransaction(chainId: bigint, nonce: number, value: bigint): Uint8Array {
  const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n };
  const to = new Uint8Array(20).fill(9);
  const data = new Uint8Array(nonce % 5 === 0 ? 300 : 0).fill(nonce);
  const tx = {
    type: 2 as const,
    chainId,
    ...fees,
    nonce: BigInt(nonce),
    gasLimit: 90_000n,
    to,
    value,
    data,
    accessList: [],
  };
  return encodeTransaction(signTransaction(tx, USER_KEY));
}

/** Invalid data for the inbox. */
export function junkData(kind: JunkKind, sources: JunkSources): Uint8Array {
  const { random, earlier } = sources;
  const channel = (content: Uint8Array, frames = random.between(1, 3)): Uint8Array =>
    encodeBatcherData(framesOf(content, frames, random));
  switch (kind) {
    case "noise":
      return concatBytes(Uint8Array.of(0), random.bytes(random.between(1, 200)));
    case "empty":
      return new Uint8Array(random.below(2)); // no byte at all, or the version and no frames
    case "unknown-version":
      return Uint8Array.of(random.between(1, 255), ...random.bytes(40));
    case "garbage-frame":
      return channel(random.bytes(random.between(0, 100)));
    case "truncated-frame": {
      const data = channel(deflated(batchesOf(sources, 1)));
      return data.subarray(0, data.length - random.between(1, 20));
    }
    case "bad-is-last": {
      const data = channel(deflated(batchesOf(sources, 1)), 1).slice();
      data[data.length - 1] = random.between(2, 255);
      return data;
    }
    case "bad-compression": {
      const content = deflated(batchesOf(sources, 3)).slice();
      content[random.below(content.length)]! ^= 1 << random.below(8);
      return channel(content);
    }
    case "repeat":
      return earlier.length === 0 ? new Uint8Array(0) : random.pick(earlier);
    case "shuffled-repeat":
      return earlier.length < 2 ? new Uint8Array(1) : concatBytes(random.pick(earlier), random.pick(earlier).subarray(1));
    case "other-parent":
      return channel(deflated(batchesOf(sources, 2, (input) => ({ ...input, parentHash: random.bytes(32) }))));
    case "late-block":
      return channel(deflated(batchesOf({ ...sources, safeNumber: Math.max(0, sources.safeNumber - 5) }, 2)));
    case "future-block":
      return channel(deflated(batchesOf({ ...sources, safeNumber: sources.safeNumber + random.between(1, 5) }, 2)));
    case "rival-block":
      return channel(
        deflated(
          batchesOf(sources, 2, (input) => ({ ...input, transactions: [userTransaction(sources.config, random.below(1e6))] })),
        ),
      );
    case "invalid-transaction":
      return channel(
        deflated(
          batchesOf(sources, 2, (input) => ({
            ...input,
            transactions: [userTransaction(sources.config, random.below(1e6), INVALID_VALUE)],
          })),
        ),
      );
    case "gas-refunds":
      return channel(
        deflated(
          batchesOf(sources, 3, (input, { blockNumber, transactions }) => ({
            ...input,
            transactions: unfairRefunds(
              random,
              BigInt(blockNumber),
              input.transactions,
              transactions.length - input.transactions.length,
            ),
          })),
        ),
      );
    case "broken-batch": {
      const batches = batchesOf(sources, 2);
      return channel(deflated(batches.subarray(0, Math.max(1, batches.length - random.between(1, 30)))));
    }
  }
}

const deflated = (bytes: Uint8Array): Uint8Array => new Uint8Array(deflateSync(bytes));

function framesOf(content: Uint8Array, count: number, random: Random): Frame[] {
  const channelId = random.bytes(16);
  const size = Math.max(1, Math.ceil(content.length / count));
  const actual = Math.max(1, Math.ceil(content.length / size));
  return Array.from({ length: actual }, (_, number) => ({
    channelId,
    number,
    data: content.subarray(number * size, (number + 1) * size),
    isLast: number === actual - 1,
  }));
}

/** Singular batches for the blocks after `safeNumber`, as far as the sequencer has them. */
function batchesOf(
  { config, engine, safeNumber }: JunkSources,
  count: number,
  change: (input: SpanBatchInput, payload: ExecutionPayload) => SpanBatchInput = (input) => input,
): Uint8Array {
  const batches: Uint8Array[] = [];
  for (let number = safeNumber + 1; number <= safeNumber + count; number++) {
    const payload = engine.canonicalPayload(number)?.executionPayload;
    if (payload === undefined) break;
    const { parentHash, epochNumber, epochHash, timestampSec, transactions } = change(
      batchInputFromPayload(config, payload),
      payload,
    );
    const batch = { parentHash, epochNumber: BigInt(epochNumber), epochHash, timestamp: BigInt(timestampSec), transactions };
    batches.push(encodeChannelBatch({ kind: "singular", ...batch }));
  }
  return concatBytes(...batches);
}
