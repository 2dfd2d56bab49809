import { createRandomFraction } from "@rnode/primitives/testing";
import { expandSpanBatch, type L1BlockRef, type L2BlockRef, type RollupConfig, type SpanBatch } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { forksUpTo } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import type { BatchContext } from "./batch-checks.ts";
import type { BatchVerdict } from "./batch-verdict.ts";
import { checkSpanPrefix, checkWholeSpan } from "./span-batch-checks.ts";

/*
 * Span batches with integers of up to 64 bits, checked by rnode and by two models over bigints: one with unlimited sums, and one
 * in which each sum wraps at 2^64, as in op-node. The results must be equal (docs/protocol/02-derivation.md#integer-widths).
 */

const CASES = 6_000;
const WINDOW = 20;
const BLOCK_TIME = 2;
const GENESIS = { number: 10, timestamp: 940 };
const SAFE_NUMBER = 50;
const MAX = 2n ** 64n;

const l1 = (number: number): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: 1000 + (number - 100) * 12,
});
/** six blocks an origin */
const ref = (number: number): L2BlockRef => {
  const l1Number = 100 - Math.floor((SAFE_NUMBER - number) / 6);
  return {
    number,
    hash: hashOf(50_000 + number),
    parentHash: hashOf(49_999 + number),
    timestamp: GENESIS.timestamp + (number - GENESIS.number) * BLOCK_TIME,
    l1Origin: { number: l1Number, hash: hashOf(l1Number) },
    sequenceNumber: 0,
  };
};

interface Drawn {
  readonly batch: SpanBatch;
  readonly hasStrictOrder: boolean;
  readonly l1Blocks: readonly L1BlockRef[];
  readonly inclusion: L1BlockRef;
}

function draw(random: () => number): Drawn {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(...of: readonly T[]): T => of[below(of.length)]!;
  const near = (middle: bigint, spread: number): bigint => middle + BigInt(below(2 * spread + 1) - spread);
  const anywhere = (): bigint =>
    BigInt.asUintN(64, pick(0n, 2n ** 32n, 2n ** 53n, 2n ** 63n, MAX - BigInt(GENESIS.timestamp), MAX) + near(0n, 130));
  const safe = ref(SAFE_NUMBER);
  const count = 1 + below(6);
  const fits = BigInt.asUintN(64, near(BigInt(safe.timestamp + BLOCK_TIME - GENESIS.timestamp), 12));
  const batch: SpanBatch = {
    kind: "span",
    relTimestamp: random() < 0.5 ? fits : anywhere(),
    l1OriginNumber: BigInt.asUintN(64, random() < 0.5 ? near(101n, 4) : anywhere()),
    parentCheck: new Uint8Array(20),
    l1OriginCheck: new Uint8Array(20),
    originBits: Array.from({ length: count }, () => random() < 0.4),
    transactionCounts: Array.from({ length: count }, () => 0),
    transactions: [],
  };
  const l1Blocks = [l1(100), l1(101), l1(102), l1(103)].slice(0, 1 + below(4));
  return { batch, hasStrictOrder: random() < 0.5, l1Blocks, inclusion: l1(pick(101, 103, 110, 120, 122, 130)) };
}

/** Rules 1 to 13 over bigints. The hashes of the batch fit whatever it names. @param sum adds; differences are sums with a negative number */
function modelVerdict(
  { batch, hasStrictOrder, l1Blocks, inclusion }: Drawn,
  sum: (a: bigint, b: bigint) => bigint,
): BatchVerdict["kind"] {
  const blockTime = BigInt(BLOCK_TIME);
  const safe = ref(SAFE_NUMBER);
  const safeTime = BigInt(safe.timestamp);
  const epoch = BigInt(l1Blocks[0]!.number);
  // these two wrap in every implementation
  const first = BigInt.asUintN(64, BigInt(GENESIS.timestamp) + batch.relTimestamp);
  const startEpoch = BigInt.asUintN(64, batch.l1OriginNumber - BigInt(batch.originBits.slice(1).filter(Boolean).length));
  const last = sum(first, blockTime * BigInt(batch.originBits.length - 1));
  if (startEpoch === epoch + 1n && l1Blocks.length < 2) return "undecided";
  const next = safeTime + blockTime;
  if (first > next) return hasStrictOrder ? "drop" : "future";
  if (last < next) return hasStrictOrder ? "past" : "drop";
  if (first < next && (first > safeTime || (safeTime - first) % blockTime !== 0n)) return "drop";
  const parentNumber = first === next ? safe.number : safe.number - Number((safeTime - first) / blockTime) - 1;
  if (parentNumber < GENESIS.number) return "drop";
  const parentEpoch = BigInt(ref(parentNumber).l1Origin.number);
  if (sum(startEpoch, BigInt(WINDOW)) < BigInt(inclusion.number)) return "drop";
  if (startEpoch > parentEpoch + 1n) return "drop";
  if (!l1Blocks.some(({ number }) => BigInt(number) === batch.l1OriginNumber)) return "undecided";
  return startEpoch < parentEpoch ? "drop" : "accept";
}

function setUp({ batch, hasStrictOrder, l1Blocks, inclusion }: Drawn) {
  const config: RollupConfig = testConfig({ forkTimes: forksUpTo(hasStrictOrder ? "holocene" : "granite"), seqWindowSize: WINDOW });
  const chain = { genesisTimeSec: GENESIS.timestamp, blockTimeSec: BLOCK_TIME, chainId: config.l2ChainId };
  const span = expandSpanBatch(batch, chain);
  const parent = SAFE_NUMBER - Math.floor((ref(SAFE_NUMBER).timestamp - span.firstTimestamp) / BLOCK_TIME) - 1;
  const check = (hash: string): `0x${string}` => hash.slice(0, 42) as `0x${string}`;
  const isKnown = parent >= GENESIS.number && parent <= SAFE_NUMBER;
  const read = {
    kind: "span" as const,
    channelId: "0x01" as const,
    span,
    parentCheck: check(ref(isKnown ? parent : SAFE_NUMBER).hash),
    l1OriginCheck: check(hashOf(span.lastEpochNumber < 200 ? span.lastEpochNumber : 1)),
  };
  const context: BatchContext = { config, l1Blocks, l2SafeHead: ref(SAFE_NUMBER), inclusion };
  const l2 = {
    blockRefByNumber: async (number: number) => (number >= GENESIS.number && number <= SAFE_NUMBER ? ref(number) : undefined),
    payloadByNumber: async () => undefined,
  };
  return { context, read, l2 };
}

describe("span batches with integers anywhere in 64 bits", () => {
  it(`are judged as by bigints, with sums that wrap and without: ${CASES} cases`, async () => {
    const random = createRandomFraction(64);
    const seen: Partial<Record<BatchVerdict["kind"], number>> = {};
    for (let i = 0; i < CASES; i++) {
      const drawn = draw(random);
      const { context, read, l2 } = setUp(drawn);
      const { verdict } = await checkSpanPrefix(context, read, l2);
      const shown = { i, rel: drawn.batch.relTimestamp, origin: drawn.batch.l1OriginNumber, bits: drawn.batch.originBits };
      for (const sum of [(a: bigint, b: bigint) => a + b, (a: bigint, b: bigint) => BigInt.asUintN(64, a + b)]) {
        expect({ ...shown, kind: verdict.kind }).toEqual({ ...shown, kind: modelVerdict(drawn, sum) });
      }
      seen[verdict.kind] = (seen[verdict.kind] ?? 0) + 1;
      if (verdict.kind !== "accept") expect((await checkWholeSpan(context, read, l2)).kind).toBe(verdict.kind);
    }
    for (const kind of ["accept", "drop", "future", "past", "undecided"] as const) expect(seen[kind]).toBeGreaterThan(CASES / 400);
  });
});
