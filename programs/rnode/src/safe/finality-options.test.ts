import { silentLogger } from "@rnode/observe";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { Finalizer, type FinalizerDeps } from "./finalizer.ts";

const l1Block = (number: number): L1BlockRef => ({
  number,
  hash: `0x${number.toString(16).padStart(64, "1")}`,
  parentHash: "0x",
  timestamp: 12 * number,
});
const l2Block = (number: number): L2BlockRef => ({ ...l1Block(number), l1Origin: l1Block(number), sequenceNumber: 0 });

/** Derives a block from each of L1 blocks 1 to `count`, while L1 calls `l1Finalized` final. @returns the numbers that became final */
async function derive(count: number, l1Finalized: number, options: Partial<FinalizerDeps>): Promise<number[]> {
  const raised: number[] = [];
  let safe = l2Block(0);
  const finalizer = new Finalizer({
    l1: { blockByNumber: async (number) => l1Block(number) },
    finalized: () => l2Block(raised.at(-1) ?? 0),
    safe: () => safe,
    finalize: ({ number }) => raised.push(number),
    log: silentLogger,
    ...options,
  });
  for (let number = 1; number <= count; number++) {
    safe = l2Block(number);
    finalizer.onSafe(safe, l1Block(number));
    if (number === 1) finalizer.onL1Finalized(l1Block(l1Finalized));
    await finalizer.turn();
  }
  finalizer.onL1Finalized(l1Block(l1Finalized + 1));
  await finalizer.turn();
  return raised;
}

describe("the options of finality", () => {
  it.each([
    [undefined, [1, 66, 131, 196]],
    [20, [1, 22, 43, 64, 85, 106, 127, 148, 169, 190]],
  ] as const)(
    "--finality.delay of %s L1 blocks decides when it is checked while catching up",
    async (l1BlocksBetweenAttempts, expected) => {
      const raised = await derive(200, 1_000, { l1BlocksBetweenAttempts });
      expect(raised.slice(0, expected.length)).toEqual(expected);
    },
  );

  it.each([
    [undefined, []],
    [300, [20, 21]],
  ] as const)(
    "--finality.lookback of %s L1 blocks decides how old an L1 block may be when it becomes final",
    async (rememberedL1Blocks, expected) => {
      const late = await derive(300, 20, { rememberedL1Blocks, l1BlocksBetweenAttempts: 1_000 });
      expect(late.filter((number) => number > 1)).toEqual(expected.slice(-1));
    },
  );
});
