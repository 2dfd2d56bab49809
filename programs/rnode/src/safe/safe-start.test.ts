import type { L1BlockHeader } from "@rnode/derivation";
import type { L2Block } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { testConfig } from "../testing/fake-chain.ts";
import { headsFinder } from "./find-heads.ts";
import type { SafeHeadEntry } from "./safe-head-database.ts";
import { type SafeHeadRecord, startFromRecord } from "./safe-start.ts";

const hash = (kind: number, number: number, branch = 0): Hex =>
  `0x${kind.toString(16).padStart(2, "0")}${branch.toString(16).padStart(2, "0")}${number.toString(16).padStart(60, "0")}`;

interface World {
  /** the L1 has blocks 0 to this one */
  l1Head: number;
  /** L1 blocks from here on were replaced */
  l1ReplacedFrom: number;
  /** labels of the engine */
  unsafe: number;
  safe: number;
  finalized: number;
  /** L2 blocks from here on are others than those recorded */
  l2ReplacedFrom: number;
  /** the record has an entry for every L1 block up to this one */
  recordedTo: number;
}

/** L1 block n has the data of L2 blocks up to 2n; the L1 origin of an L2 block is half its number, less three. */
function world(over: Partial<World>) {
  const w: World = {
    l1Head: 1_000,
    l1ReplacedFrom: 2_000,
    unsafe: 1_900,
    safe: 1_800,
    finalized: 1_000,
    l2ReplacedFrom: 9_999,
    recordedTo: 900,
    ...over,
  };
  const requests = { l1: 0, l2: 0 };
  const originOf = (number: number): number => Math.max(0, Math.floor(number / 2) - 3);
  const ref = (number: number): L2BlockRef => ({
    hash: hash(2, number, number >= w.l2ReplacedFrom ? 1 : 0),
    number,
    parentHash: hash(2, number - 1),
    timestamp: number,
    l1Origin: { hash: hash(1, originOf(number)), number: originOf(number) },
    sequenceNumber: number % 2,
  });
  const entryOf = (number: number): SafeHeadEntry => ({
    l1Block: { hash: hash(1, number), number },
    safeHead: { hash: hash(2, 2 * number), number: 2 * number },
  });
  const record: SafeHeadRecord = {
    first: w.recordedTo < 10 ? undefined : entryOf(10),
    last: w.recordedTo < 10 ? undefined : entryOf(w.recordedTo),
    lastUpTo: (number) => (number < 10 ? undefined : entryOf(Math.min(number, w.recordedTo))),
  };
  const deps = {
    l1: {
      blockByNumber: async (number: number) => {
        requests.l1++;
        if (number > w.l1Head) return undefined;
        return {
          hash: hash(1, number, number >= w.l1ReplacedFrom ? 1 : 0),
          number,
          parentHash: hash(1, number - 1),
        } as L1BlockHeader;
      },
    },
    l2: {
      blockByLabel: async (label: "latest" | "safe" | "finalized") =>
        ({ ref: ref({ latest: w.unsafe, safe: w.safe, finalized: w.finalized }[label]) }) as L2Block,
      blockRefByNumber: async (number: number) => {
        requests.l2++;
        return number > w.unsafe ? undefined : ref(number);
      },
    },
    log: silentLogger,
  };
  const genesis = { hash: hash(2, 0), number: 0 };
  return { start: () => startFromRecord(record, deps, genesis), record, deps, requests };
}

describe("startFromRecord", () => {
  it.each<[string, Partial<World>, { unsafe: number; safe: number; highestFormerSafe: number; derivedFrom: number }]>([
    ["goes on from the newest entry", {}, { unsafe: 1_900, safe: 1_800, highestFormerSafe: 1_800, derivedFrom: 900 }],
    [
      "takes the label of the engine, which was told more of the same L1 block than was recorded",
      { safe: 1_801 },
      { unsafe: 1_900, safe: 1_801, highestFormerSafe: 1_801, derivedFrom: 900 },
    ],
    [
      "does not take a label that comes from later L1 blocks than the record",
      { safe: 1_850 },
      { unsafe: 1_900, safe: 1_800, highestFormerSafe: 1_850, derivedFrom: 900 },
    ],
    [
      "goes back to the last entry whose L1 block is still canonical, and drops unsafe blocks of replaced origins",
      { l1ReplacedFrom: 880 },
      { unsafe: 1_765, safe: 1_758, highestFormerSafe: 1_758, derivedFrom: 879 },
    ],
    [
      "goes back to the last entry whose block the engine still has",
      { unsafe: 1_700, safe: 1_700 },
      { unsafe: 1_700, safe: 1_700, highestFormerSafe: 1_700, derivedFrom: 850 },
    ],
    [
      "keeps the label of an engine that lost only the newest of an L1 block's safe blocks in a crash",
      { unsafe: 1_701, safe: 1_701 },
      { unsafe: 1_701, safe: 1_701, highestFormerSafe: 1_701, derivedFrom: 851 },
    ],
    [
      "does not keep a label at or beyond a block that is recorded and lost",
      { l2ReplacedFrom: 1_702, unsafe: 1_705, safe: 1_702 },
      { unsafe: 1_705, safe: 1_700, highestFormerSafe: 1_700, derivedFrom: 850 },
    ],
    [
      "does not keep a label whose L1 data may have been replaced",
      { l1ReplacedFrom: 851, unsafe: 1_705, safe: 1_701 },
      { unsafe: 1_705, safe: 1_700, highestFormerSafe: 1_700, derivedFrom: 850 },
    ],
    [
      "keeps unsafe blocks whose origin L1 does not have yet",
      { l1Head: 920 },
      { unsafe: 1_900, safe: 1_800, highestFormerSafe: 1_800, derivedFrom: 900 },
    ],
  ])("%s", async (_, over, expected) => {
    const { start, requests } = world(over);
    const found = await start();
    if (found.kind !== "found") throw new Error(JSON.stringify(found));
    const { unsafe, safe, highestFormerSafe, derivedFrom } = found;
    expect({
      unsafe: unsafe.number,
      safe: safe.number,
      highestFormerSafe: highestFormerSafe.number,
      derivedFrom: derivedFrom.number,
    }).toEqual(expected);
    expect(requests.l1 + requests.l2).toBeLessThan(60);
  });

  it.each<[string, Partial<World>, object]>([
    ["nothing is recorded", { recordedTo: 0 }, { kind: "unknown" }],
    ["L1 does not have the newest recorded block yet", { l1Head: 890 }, { kind: "l1-behind", needs: 900 }],
    ["the engine has another chain", { l2ReplacedFrom: 1 }, { kind: "unknown" }],
    ["L1 is another one from the first entry on", { l1ReplacedFrom: 5 }, { kind: "unknown" }],
    ["the finalized head is beyond the record", { recordedTo: 400 }, { kind: "unknown" }],
    ["the engine was rewound below its finalized head", { unsafe: 900 }, { kind: "unknown" }],
  ])("leaves it to the walk if %s", async (_, over, expected) => {
    expect(await world(over).start()).toMatchObject(expected);
  });

  it("waits for an L1 endpoint that is behind, but not for ever", async () => {
    const { record, deps } = world({ l1Head: 890 });
    const rollup = { ...testConfig(), seqWindowSize: 5, genesis: { ...testConfig().genesis, l2: { hash: hash(2, 0), number: 0 } } };
    const walk = {
      ...deps,
      l2: { ...deps.l2, blockRefByHash: async (of: Hex) => deps.l2.blockRefByNumber(Number.parseInt(of.slice(6), 16)) },
    };
    const find = headsFinder({ rollup, l1BlobSchedule: [] }, walk as never, silentLogger, record);
    for (let i = 0; i < 5; i++)
      expect(await find(undefined)).toMatchObject({ kind: "temporary", reason: expect.stringContaining("block 900") });
    expect((await find(undefined)).kind).toBe("found");
  });
});
