import { isCodedError } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { findSyncStart, type SyncStartL1, type SyncStartL2 } from "./sync-start.ts";

const WINDOW = 4;
const config = testConfig({ seqWindowSize: WINDOW });
const { l1: L1_GENESIS, l2: L2_GENESIS } = config.genesis;

interface Chains {
  readonly l1: SyncStartL1;
  readonly l2: Required<SyncStartL2>;
}

interface Plan {
  /** number of L2 blocks of each L1 origin */
  readonly epochs: readonly number[];
  readonly l1Head: number;
  /** L1 blocks from this number on are of another branch */
  readonly forkAt: number;
  readonly unsafe: number;
  readonly safe: number | undefined;
  readonly finalized: number | undefined;
}

const l1Hash = (number: number, branch: number) =>
  number === L1_GENESIS.number && branch === 0 ? L1_GENESIS.hash : hashOf(number + branch * 1_000_000);

function chainsOf({ epochs, l1Head, forkAt, unsafe, safe, finalized }: Plan): Chains {
  const blocks: L2BlockRef[] = [];
  for (const [epoch, count] of epochs.entries()) {
    const l1Number = L1_GENESIS.number + epoch;
    for (let sequenceNumber = 0; sequenceNumber < count; sequenceNumber++) {
      const number = L2_GENESIS.number + blocks.length;
      blocks.push({
        number,
        hash: number === L2_GENESIS.number ? L2_GENESIS.hash : hashOf(49_000_000 + number),
        parentHash: blocks.at(-1)?.hash ?? hashOf(1),
        timestamp: 1000 + 2 * blocks.length,
        l1Origin: { number: l1Number, hash: l1Hash(l1Number, 0) },
        sequenceNumber,
      });
    }
  }
  const at = (number: number | undefined) => (number === undefined ? undefined : blocks[number - L2_GENESIS.number]);
  const head = at(unsafe)!;
  const labels = { unsafe: head, safe: at(safe), finalized: at(finalized) };
  const byHash = new Map(blocks.map((block) => [block.hash, block]));
  const branchOf = (number: number) => (number >= forkAt ? 1 : 0);
  return {
    l1: {
      blockByNumber: async (number): Promise<L1BlockRef | undefined> =>
        number > l1Head
          ? undefined
          : {
              number,
              hash: l1Hash(number, branchOf(number)),
              parentHash: l1Hash(number - 1, branchOf(number - 1)),
              timestamp: 1000,
            },
    },
    l2: {
      blockRefByLabel: async (label) => labels[label],
      blockRefByHash: async (hash) => byHash.get(hash),
      blockRefByNumber: async (number) => (number > unsafe ? undefined : at(number)),
    },
  };
}

function randomPlan(seed: number): Plan {
  const below = createRandom(seed);
  const epochs = Array.from({ length: 1 + below(60) }, () => 1 + below(5));
  const count = epochs.reduce((sum, each) => sum + each, 0);
  const unsafe = L2_GENESIS.number + below(count);
  const upTo = (number: number) => L2_GENESIS.number + below(number - L2_GENESIS.number + 1);
  const safe = below(8) === 0 ? undefined : upTo(unsafe);
  const finalized = below(8) === 0 ? undefined : upTo(safe ?? unsafe);
  return {
    epochs,
    l1Head: L1_GENESIS.number + below(epochs.length + 10),
    forkAt: below(2) === 0 ? Number.POSITIVE_INFINITY : L1_GENESIS.number + below(epochs.length + 5),
    unsafe,
    safe,
    finalized,
  };
}

async function outcomeOf(l1: SyncStartL1, l2: SyncStartL2): Promise<unknown> {
  try {
    const { unsafe, safe, finalized, highestFormerSafe } = await findSyncStart(config, l1, l2);
    return [unsafe, safe, finalized, highestFormerSafe].map(({ number }) => number);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.code;
  }
}

describe("the search for where to start", () => {
  it("finds what a walk over every block finds, on any chain, wherever L1 was reorganised or is behind", async () => {
    const codes = new Set<string>();
    for (let seed = 1; seed <= 1500; seed++) {
      const { l1, l2 } = chainsOf(randomPlan(seed));
      const { blockRefByNumber: _, ...walking } = l2;
      const [searched, walked] = [await outcomeOf(l1, l2), await outcomeOf(l1, walking)];
      expect({ seed, found: searched }).toEqual({ seed, found: walked });
      codes.add(typeof walked === "string" ? walked : "found");
    }
    const all = ["found", "sync-start/finalized-reorg", "sync-start/too-deep-reorg", "sync-start/wrong-chain"];
    expect(codes).toEqual(new Set(all));
  });

  it("takes some dozens of questions for sixty thousand blocks", async () => {
    const long = {
      epochs: Array.from({ length: 20_000 }, () => 3),
      l1Head: L1_GENESIS.number + 30_000,
      forkAt: Number.POSITIVE_INFINITY,
    };
    const heads = { unsafe: L2_GENESIS.number + 59_500, safe: L2_GENESIS.number + 55_000, finalized: L2_GENESIS.number + 20 };
    for (const forkAt of [Number.POSITIVE_INFINITY, L1_GENESIS.number + 19_820]) {
      const { l1, l2 } = chainsOf({ ...long, ...heads, forkAt });
      let asked = 0;
      const counted =
        <T>(ask: (number: number) => Promise<T>) =>
        (number: number) => {
          asked++;
          return ask(number);
        };
      const found = await findSyncStart(
        config,
        { blockByNumber: counted((number) => l1.blockByNumber(number)) },
        { ...l2, blockRefByNumber: counted((number) => l2.blockRefByNumber(number)) },
      );
      expect(found.safe.number).toBeGreaterThan(heads.safe - 100);
      expect(asked).toBeLessThan(80);
    }
  });

  it("leaves a chain that contradicts itself to the walk, which says where", async () => {
    const plan = { epochs: Array.from({ length: 30 }, () => 2), l1Head: L1_GENESIS.number + 40, forkAt: Number.POSITIVE_INFINITY };
    const { l1, l2 } = chainsOf({ ...plan, unsafe: L2_GENESIS.number + 59, safe: L2_GENESIS.number + 59, finalized: undefined });
    const wrong = (ref: L2BlockRef | undefined) => ref && { ...ref, sequenceNumber: 7 };
    const lying: SyncStartL2 = {
      ...l2,
      blockRefByHash: async (hash) => wrong(await l2.blockRefByHash(hash)),
      blockRefByNumber: async (number) => wrong(await l2.blockRefByNumber(number)),
    };
    expect(await outcomeOf(l1, lying)).toBe("sync-start/inconsistent-chain");
    const forgetful: SyncStartL2 = { ...l2, blockRefByNumber: async () => undefined };
    expect(await outcomeOf(l1, forgetful)).toEqual(await outcomeOf(l1, l2));
  });
});
