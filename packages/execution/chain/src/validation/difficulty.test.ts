import { EMPTY_OMMERS_HASH, exactInteger } from "@rnode/primitives";
import { type BlockRules, type ChainConfig, type EvmFork, forkRules, positionFields } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { expectedDifficulty } from "./difficulty.ts";

const rules = (evm: EvmFork): BlockRules => ({
  ...forkRules(evm),
  chainId: 1n,
  blobParams: undefined,
  isDaoForkBlock: false,
});

const config: ChainConfig = { chainId: 1n, forkBlocks: {}, evmForkTimes: {}, blobSchedule: [] };

interface Case {
  readonly number: number;
  readonly elapsedSec: number;
  readonly difficulty: bigint;
  readonly hasOmmers?: boolean;
  readonly bombs?: ChainConfig["difficultyBombBlocks"];
}

function difficultyOf(evm: EvmFork, { number, elapsedSec, difficulty, hasOmmers = false, bombs }: Case): bigint {
  const ommersHash = hasOmmers ? new Uint8Array(32) : EMPTY_OMMERS_HASH;
  const parent = { number: number - 1, timestamp: 1000, difficulty, ommersHash };
  return expectedDifficulty({ ...config, difficultyBombBlocks: bombs }, rules(evm), parent, 1000 + elapsedSec);
}

const PARENT = 2048n * 1_000_000n;
const UNIT = 1_000_000n;

describe("expectedDifficulty", () => {
  it("of the main network's first blocks", () => {
    expect(difficultyOf("frontier", { number: 1, elapsedSec: 1_438_269_988, difficulty: 17_179_869_184n })).toBe(17_171_480_576n);
    expect(difficultyOf("frontier", { number: 2, elapsedSec: 29, difficulty: 17_171_480_576n })).toBe(17_163_096_064n);
  });

  const steps: [EvmFork, number, boolean, bigint][] = [
    ["frontier", 12, false, 1n],
    ["frontier", 13, false, -1n],
    ["frontier", 10_000, false, -1n],
    ["homestead", 9, false, 1n],
    ["homestead", 10, false, 0n],
    ["homestead", 19, true, 0n],
    ["homestead", 20, false, -1n],
    ["homestead", 999, false, -98n],
    ["homestead", 1000, false, -99n],
    ["homestead", 5000, false, -99n],
    ["byzantium", 8, false, 1n],
    ["byzantium", 9, false, 0n],
    ["byzantium", 8, true, 2n],
    ["byzantium", 9, true, 1n],
    ["byzantium", 18, false, -1n],
    ["byzantium", 5000, true, -99n],
    ["london", 17, false, 0n],
  ];
  it.each(steps)("%s after %d s, parent with ommers: %s: %d steps", (evm, elapsedSec, hasOmmers, step) => {
    expect(difficultyOf(evm, { number: 1000, elapsedSec, hasOmmers, difficulty: PARENT })).toBe(PARENT + step * UNIT);
  });

  it.each(["frontier", "homestead", "byzantium"] as const)("%s: never below the minimum", (evm) => {
    expect(difficultyOf(evm, { number: 1000, elapsedSec: 5000, difficulty: 131_072n })).toBe(131_072n);
  });

  it.each(["frontier", "homestead", "byzantium", "london"] as const)("%s: exact at timestamps above 2^53", (evm) => {
    const at = (parentTime: bigint, elapsed: bigint) => {
      const parent = { ...positionFields(999n, parentTime), difficulty: PARENT, ommersHash: EMPTY_OMMERS_HASH };
      return expectedDifficulty(config, rules(evm), parent, exactInteger(parentTime + elapsed));
    };
    for (const elapsed of [1n, 8n, 9n, 12n, 13n, 19n, 20n, 1000n]) {
      for (const late of [2n ** 53n - 5n, 2n ** 53n + 1n, 2n ** 64n - 1001n]) expect(at(late, elapsed)).toBe(at(1000n, elapsed));
    }
    expect(at(0n, 2n ** 64n - 1n)).toBe(at(0n, 5000n));
  });

  it.each(["frontier", "homestead", "byzantium", "london"] as const)("%s: no header has the bomb of block 2^53 - 1", (evm) => {
    const difficulty = difficultyOf(evm, { number: Number.MAX_SAFE_INTEGER, elapsedSec: 13, difficulty: PARENT });
    expect(difficulty >> 256n).toBeGreaterThan(0n);
  });

  const bombs: [string, EvmFork, Case["bombs"], number][] = [
    ["frontier", "frontier", undefined, 0],
    ["homestead", "homestead", undefined, 0],
    ["byzantium", "byzantium", undefined, 3_000_000],
    ["constantinople", "petersburg", undefined, 5_000_000],
    ["muir glacier", "istanbul", { muirGlacier: 100 }, 9_000_000],
    ["berlin without muir glacier", "berlin", undefined, 5_000_000],
    ["london", "london", { muirGlacier: 100 }, 9_700_000],
    ["arrow glacier", "london", { muirGlacier: 100, arrowGlacier: 100 }, 10_700_000],
    ["gray glacier", "london", { muirGlacier: 100, arrowGlacier: 100, grayGlacier: 100 }, 11_400_000],
    ["before gray glacier", "london", { arrowGlacier: 100, grayGlacier: 90_000_000 }, 10_700_000],
  ];
  it.each(bombs)("the bomb of %s begins two periods after its delay", (_name, evm, delays, delay) => {
    // at this time only the difficulty bomb changes the difficulty, except in Frontier, where it always falls
    const elapsedSec = evm === "frontier" ? 13 : 10;
    const calm = difficultyOf(evm, { number: 1, elapsedSec, difficulty: PARENT });
    const bombAt = (number: number) => difficultyOf(evm, { number, elapsedSec, difficulty: PARENT, bombs: delays }) - calm;
    expect(bombAt(delay + 199_999)).toBe(0n);
    expect(bombAt(delay + 200_000)).toBe(1n);
    expect(bombAt(delay + 299_999)).toBe(1n);
    expect(bombAt(delay + 4_200_000)).toBe(1n << 40n);
  });
});
