import type { Hex } from "@rnode/primitives";
import type { AltDaConfig, L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { findSyncStart, type SyncStartOptions } from "./sync-start.ts";

const WINDOW = 4;
/** Two L2 blocks per L1 block; L2 genesis 10 on L1 genesis 90. */
const config = testConfig({ seqWindowSize: WINDOW });
const GENESIS = config.genesis;

/** L1 blocks of branch 0, or of another branch from `fork` on. */
const l1Hash = (number: number, branch = 0) => hashOf(number + branch * 1_000_000);
function l1Chain(head: number, branch = 0, forkAt = Number.POSITIVE_INFINITY) {
  const blocks = new Map<number, L1BlockRef>();
  for (let number = 90; number <= head; number++) {
    const of = (n: number) => l1Hash(n, n >= forkAt ? branch : 0);
    blocks.set(number, { number, hash: of(number), parentHash: of(number - 1), timestamp: 1000 + number });
  }
  return { blockByNumber: async (number: number) => blocks.get(number) };
}

const l2Hash = (number: number) => (number === 10 ? GENESIS.l2.hash : hashOf(49_950 + number));
const originOf = (number: number) => 90 + Math.floor((number - 10) / 2);
const block = (number: number): L2BlockRef => ({
  number,
  hash: l2Hash(number),
  parentHash: l2Hash(number - 1),
  timestamp: 940 + 2 * number,
  l1Origin: { number: originOf(number), hash: l1Hash(originOf(number)) },
  sequenceNumber: number % 2,
});

interface L2 {
  readonly unsafe: number;
  readonly safe?: number | undefined;
  readonly finalized?: number | undefined;
  readonly patch?: (ref: L2BlockRef) => L2BlockRef;
}
function l2Chain({ unsafe, safe, finalized, patch = (ref) => ref }: L2) {
  const byHash = new Map<Hex, L2BlockRef>();
  for (let number = 10; number <= unsafe + 50; number++) byHash.set(l2Hash(number), patch(block(number)));
  const labels = { unsafe, safe, finalized };
  return {
    blockRefByHash: async (hash: Hex) => byHash.get(hash),
    blockRefByLabel: async (label: "unsafe" | "safe" | "finalized") => {
      const number = labels[label];
      return number === undefined ? undefined : byHash.get(l2Hash(number));
    },
  };
}

async function heads(l1: ReturnType<typeof l1Chain>, l2: L2, options: SyncStartOptions = {}) {
  const { unsafe, safe, finalized } = await findSyncStart(config, l1, l2Chain(l2), options);
  return [unsafe.number, safe.number, finalized.number];
}

describe("sync start", () => {
  it.each<[string, ReturnType<typeof l1Chain>, L2, number]>([
    ["what is called safe", l1Chain(120), { unsafe: 40, safe: 36, finalized: 10 }, 36],
    ["also beyond what L1 has", l1Chain(103), { unsafe: 40, safe: 40, finalized: 10 }, 40],
    [
      "only what is final when L1 took back the origin of the safe block",
      l1Chain(120, 1, 102),
      { unsafe: 40, safe: 36, finalized: 12 },
      12,
    ],
    ["the head of a rewound engine", l1Chain(120), { unsafe: 30, safe: 35, finalized: 12 }, 30],
  ])("the highest former safe block is %s", async (_, l1, l2, expected) => {
    expect((await findSyncStart(config, l1, l2Chain(l2))).highestFormerSafe.number).toBe(expected);
  });

  it.each<[AltDaConfig["daCommitmentType"], number]>([
    ["KeccakCommitment", 12],
    ["GenericCommitment", 29],
  ])("what an expired challenge of data may take back is derived again: %s", async (daCommitmentType, expected) => {
    const altDa = { daCommitmentType, daChallengeContractAddress: undefined, daChallengeWindow: 2, daResolveWindow: 1 };
    const l2 = l2Chain({ unsafe: 40, safe: 36, finalized: 12 });
    for (const more of [{}, { blockRefByNumber: async (number: number) => block(number) }]) {
      const { unsafe, safe, finalized } = await findSyncStart({ ...config, altDa }, l1Chain(120), { ...l2, ...more });
      expect([unsafe.number, safe.number, finalized.number]).toEqual([40, expected, 12]);
    }
  });

  it.each<[string, ReturnType<typeof l1Chain>, L2, number[]]>([
    // Origin of 40: 105. The safe head must be more than a window behind: the first block of origin 100 is 30, its parent 29.
    ["goes back a window from the highest canonical block", l1Chain(120), { unsafe: 40, safe: 40, finalized: 10 }, [40, 29, 10]],
    ["goes back to the safe head first", l1Chain(120), { unsafe: 40, safe: 20, finalized: 10 }, [40, 19, 10]],
    ["not beyond the finalized block", l1Chain(120), { unsafe: 40, safe: 40, finalized: 35 }, [40, 35, 35]],
    ["not beyond the genesis", l1Chain(120), { unsafe: 14, safe: 13, finalized: 10 }, [14, 10, 10]],
    ["of a chain at its genesis", l1Chain(90), { unsafe: 10 }, [10, 10, 10]],
    ["without labels: genesis", l1Chain(120), { unsafe: 16 }, [16, 10, 10]],
    ["without a safe label: finalized", l1Chain(120), { unsafe: 40, finalized: 38 }, [40, 38, 38]],
    // L1 has only blocks up to 103: the unsafe head is kept, and the canonical part begins at 103 (block 37).
    ["keeps unsafe blocks ahead of L1", l1Chain(103), { unsafe: 40, safe: 40, finalized: 10 }, [40, 25, 10]],
    // Reorganised from L1 block 102 on: the first block with a good origin is 33 (101); 5 blocks of L1 before: 26 of origin 98… 96
    ["drops unsafe blocks with reorganised origins", l1Chain(120, 1, 102), { unsafe: 40, safe: 40, finalized: 10 }, [33, 21, 10]],
    [
      "drops unsafe blocks with reorganised origins, not safe ones",
      l1Chain(120, 1, 104),
      { unsafe: 40, safe: 30, finalized: 28 },
      [37, 28, 28],
    ],
    ["of an engine that was rewound: its head", l1Chain(120), { unsafe: 30, safe: 35, finalized: 12 }, [30, 30, 30]],
    ["of an engine rewound below finalized: its head", l1Chain(120), { unsafe: 30, safe: 30, finalized: 31 }, [30, 30, 30]],
    // 14 windows of 4 blocks after the L1 genesis: origin 147 is block 124.
    ["of an engine without labels far from the genesis: its head", l1Chain(200), { unsafe: 124 }, [124, 124, 124]],
  ])("%s", async (_, l1, l2, expected) => {
    expect(await heads(l1, l2)).toEqual(expected);
  });

  it.each([
    ["that far behind the tip", 20, [124, 104, 104]],
    ["not below the genesis", 1_000, [124, 10, 10]],
  ] as const)("of an engine without labels: safe and finalized %s", async (_, labelsBehindTip, expected) => {
    const l2 = { ...l2Chain({ unsafe: 124 }), blockRefByNumber: async (number: number) => block(number) };
    const { unsafe, safe, finalized } = await findSyncStart(config, l1Chain(200), l2, { labelsBehindTip });
    expect([unsafe, safe, finalized].map(({ number }) => number)).toEqual(expected);
  });

  it("just before 14 windows the genesis is believed", async () => {
    expect(await heads(l1Chain(200), { unsafe: 123 })).toEqual([123, 10, 10]);
  });

  it("reads each L1 block once, each L2 block once, and reports", async () => {
    const l1 = l1Chain(120);
    const asked: number[] = [];
    const counting = {
      blockByNumber: (number: number) => {
        asked.push(number);
        return l1.blockByNumber(number);
      },
    };
    const seen: number[] = [];
    await findSyncStart(config, counting, l2Chain({ unsafe: 40, safe: 40, finalized: 10 }), {
      onProgress: ({ number }) => seen.push(number),
    });
    expect(asked).toEqual([105, 104, 103, 102, 101, 100]);
    expect(seen).toEqual([40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30]);
  });

  it("jumps to the safe head when the check is skipped", async () => {
    const seen: number[] = [];
    const options = { skipCheck: true, onProgress: ({ number }: L2BlockRef) => seen.push(number) };
    expect(await heads(l1Chain(120), { unsafe: 60, safe: 40, finalized: 10 }, options)).toEqual([60, 39, 10]);
    expect(seen).toEqual([60, 40]);
    expect(await heads(l1Chain(120), { unsafe: 40, safe: 40, finalized: 10 }, { skipCheck: true })).toEqual([40, 29, 10]);
  });

  const otherOrigin =
    (number: number, l1Number: number): NonNullable<L2["patch"]> =>
    (ref) =>
      ref.number === number ? { ...ref, l1Origin: { number: l1Number, hash: l1Hash(l1Number) } } : ref;
  it.each<[string, ReturnType<typeof l1Chain>, L2, string]>([
    [
      "another L2 genesis",
      l1Chain(95),
      { unsafe: 12, finalized: 10, patch: (ref) => (ref.number === 10 ? { ...ref, hash: hashOf(1) } : ref) },
      "sync-start/wrong-chain",
    ],
    ["another L1", l1Chain(95, 1, 90), { unsafe: 12 }, "sync-start/wrong-chain"],
    [
      "a finalized block whose origin is gone",
      l1Chain(120, 1, 95),
      { unsafe: 40, safe: 36, finalized: 30 },
      "sync-start/finalized-reorg",
    ],
    [
      "a reorganisation deeper than 5 windows",
      l1Chain(200, 1, 110),
      { unsafe: 100, safe: 60, finalized: 12 },
      "sync-start/too-deep-reorg",
    ],
    [
      "an origin that jumps",
      l1Chain(120),
      { unsafe: 40, safe: 40, finalized: 10, patch: otherOrigin(39, 102) },
      "sync-start/inconsistent-chain",
    ],
    [
      "a sequence number that does not follow",
      l1Chain(120),
      { unsafe: 41, safe: 40, finalized: 10, patch: (ref) => ({ ...ref, sequenceNumber: 5 }) },
      "sync-start/inconsistent-chain",
    ],
    [
      "a new origin without the sequence number 0",
      l1Chain(120),
      { unsafe: 40, safe: 40, finalized: 10, patch: (ref) => (ref.number === 40 ? { ...ref, sequenceNumber: 2 } : ref) },
      "sync-start/inconsistent-chain",
    ],
    [
      "a parent that is missing",
      l1Chain(120),
      { unsafe: 40, safe: 40, finalized: 10, patch: (ref) => ({ ...ref, parentHash: hashOf(7) }) },
      "sync-start/l2-block-missing",
    ],
  ])("refuses %s", async (_, l1, l2, code) => {
    await expect(heads(l1, l2)).rejects.toMatchObject({ code });
  });

  it.each<[string, number, (ref: L2BlockRef) => Partial<L2BlockRef>, string]>([
    ["a sequence number that does not follow", 37, () => ({ sequenceNumber: 5 }), "sequence number"],
    ["an origin two after the parent's", 37, () => ({ l1Origin: { number: 102, hash: l1Hash(102) } }), "L1 origin number"],
    [
      "a parent whose origin is of another branch than the block's",
      37,
      ({ l1Origin }) => ({ l1Origin: { ...l1Origin, hash: l1Hash(l1Origin.number, 1) } }),
      "L1 origin of the parent",
    ],
  ])("refuses a chain with %s", async (_, number, change, what) => {
    const patch = (ref: L2BlockRef): L2BlockRef => (ref.number === number ? { ...ref, ...change(ref) } : ref);
    const chain = l2Chain({ unsafe: 40, safe: 40, finalized: 10, patch });
    await expect(findSyncStart(config, l1Chain(120), chain)).rejects.toMatchObject({
      code: "sync-start/inconsistent-chain",
      data: { what },
    });
  });

  it("refuses a finalized block that is not in the chain of the head", async () => {
    const l2 = l2Chain({ unsafe: 40, safe: 36, finalized: 30 });
    const other = { ...block(30), hash: hashOf(1) };
    const labels = {
      ...l2,
      blockRefByLabel: async (label: "unsafe" | "safe" | "finalized") =>
        label === "finalized" ? other : l2.blockRefByLabel(label),
    };
    await expect(findSyncStart(config, l1Chain(120), labels)).rejects.toMatchObject({ code: "sync-start/finalized-reorg" });
  });

  it("refuses an engine without a head", async () => {
    const empty = { blockRefByLabel: async () => undefined, blockRefByHash: async () => block(10) };
    await expect(findSyncStart(config, l1Chain(120), empty)).rejects.toMatchObject({ code: "sync-start/l2-block-missing" });
  });
});
