import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import type { Hex } from "@rnode/primitives";
import { createRandomFraction } from "@rnode/primitives/testing";
import type { BlockId, L2BlockRef } from "@rnode/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimNetwork } from "../testing/sim-network.ts";
import { SafeHeadDatabase } from "./safe-head-database.ts";

const GENESIS: Hex = `0x${"99".repeat(32)}`;
const MINUTE_MS = 60_000;
let folder: string;
const open: SafeHeadDatabase[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-safedb-"));
});
afterEach(async () => {
  for (const database of open.splice(0)) await database.close();
});

function openIn(path: string, genesis = GENESIS): SafeHeadDatabase {
  const database = SafeHeadDatabase.open(path, genesis, silentLogger);
  open.push(database);
  return database;
}

/** What is left of a database when its process is killed: the file as it is at this moment. */
function afterKill(path: string): SafeHeadDatabase {
  const copy = mkdtempSync(join(folder, "killed-"));
  cpSync(join(path, "data.mdb"), join(copy, "data.mdb"));
  return openIn(copy);
}

const hash = (kind: number, number: number): Hex =>
  `0x${kind.toString(16).padStart(2, "0")}${number.toString(16).padStart(62, "0")}`;
const l1 = (number: number): BlockId => ({ hash: hash(1, number), number });
const l2 = (number: number): BlockId => ({ hash: hash(2, number), number });
/** Block n of the L2 has L1 block n as its origin. */
const ref = (number: number): L2BlockRef => ({
  ...l2(number),
  parentHash: hash(2, number - 1),
  timestamp: number,
  l1Origin: l1(number),
  sequenceNumber: 0,
});
const entry = (l1Number: number, l2Number: number) => ({ l1Block: l1(l1Number), safeHead: l2(l2Number) });

describe("SafeHeadDatabase", () => {
  it("answers with the last safe head of the greatest L1 block up to the one asked for", () => {
    const database = openIn(folder);
    for (const [from, safe] of [
      [10, 3],
      [10, 4],
      [12, 5],
      [12, 7],
      [20, 9],
    ] as const)
      database.record(entry(from, safe));
    expect([9, 10, 11, 12, 19, 20, 1_000].map((number) => database.at(number)?.safeHead.number)).toEqual([
      undefined,
      4,
      4,
      7,
      7,
      9,
      9,
    ]);
    expect(database.at(11)).toEqual(entry(10, 4));
  });

  it("lists what was recorded above a block, with what is not committed yet", () => {
    const database = openIn(folder);
    expect([...database.after(ref(0))]).toEqual([]);
    for (const [from, safe] of [
      [10, 3],
      [12, 5],
      [12, 7],
      [20, 9],
      [20, 10],
    ] as const) {
      database.record(entry(from, safe));
    }
    expect([...database.after(ref(0))]).toEqual([entry(10, 3), entry(12, 7), entry(20, 10)]);
    expect([...database.after(ref(3))]).toEqual([entry(12, 7), entry(20, 10)]);
    expect([...database.after(ref(10))]).toEqual([]);
  });

  it("finds the L1 block that made a block safe", () => {
    const database = openIn(folder);
    expect(database.firstWithSafe(0)).toBe("not-safe-yet");
    for (const [from, safe] of [
      [10, 3],
      [10, 4],
      [12, 5],
      [20, 9],
    ] as const)
      database.record(entry(from, safe));
    const answers = [2, 3, 4, 5, 6, 9, 10].map((number) => database.firstWithSafe(number));
    // what the first entry made safe is known of its last block only
    expect(answers).toEqual(["unknown", "unknown", l1(10), l1(12), l1(20), l1(20), "not-safe-yet"]);
    database.reset(ref(15), undefined); // it ran without the database
    database.record(entry(30, 17));
    expect([9, 16, 17].map((number) => database.firstWithSafe(number))).toEqual([l1(20), "unknown", l1(30)]);
    database.reset(ref(16), undefined); // became safe at L1 block 30, or before
    expect([16, 17].map((number) => database.firstWithSafe(number))).toEqual(["not-safe-yet", "not-safe-yet"]);
  });

  it.each([1, 2])("finds it whatever was recorded, by the same rule: seed %i", (seed) => {
    const random = createRandomFraction(seed);
    const database = openIn(join(folder, String(seed)));
    let [from, safe] = [0, 0];
    for (let step = 0; step < 60; step++) {
      from += Math.floor(random() * 3);
      safe += 1 + Math.floor(random() * 3);
      const event = random();
      if (event < 0.05) database.reset(ref(safe), undefined);
      else if (event < 0.1) {
        safe = Math.max(0, safe - 6);
        from = Math.max(0, from - 3);
        database.reset(ref(safe), l1(from));
      } else database.record(entry(from, safe));
      if (event > 0.8) database.settle();
    }
    const expected = (number: number): unknown => {
      for (let at = 0; at <= from; at++) {
        const found = database.lastUpTo(at);
        if (found === undefined || found.safeHead.number < number) continue;
        return found.safeHead.number === number || database.at(at - 1) !== undefined ? found.l1Block : "unknown";
      }
      return "not-safe-yet";
    };
    for (let number = 0; number <= safe + 2; number++) expect(database.firstWithSafe(number)).toEqual(expected(number));
  });

  it("loses no L1 block to a kill, and nothing that was settled", () => {
    const database = openIn(folder);
    database.record(entry(10, 3));
    database.record(entry(10, 4));
    expect(afterKill(folder).at(10)).toEqual(entry(10, 3));
    database.settle();
    expect(afterKill(folder).at(10)).toEqual(entry(10, 4));
    database.record(entry(11, 5));
    database.record(entry(11, 6));
    database.record(entry(12, 7));
    const left = afterKill(folder);
    expect([left.at(11), left.at(12)]).toEqual([entry(11, 6), entry(12, 7)]);
  });

  it("loses nothing to a kill while it catches up, either", async () => {
    const database = openIn(folder);
    for (let number = 1; number <= 200; number++) database.record(entry(number, 2 * number), true);
    expect(afterKill(folder).last).toEqual(entry(200, 400));
    database.settle();
    expect(afterKill(folder).last).toEqual(entry(200, 400));
    for (const from of [201, 202]) database.record(entry(from, 500), true);
    await open.shift()!.close();
    expect(openIn(folder).last).toEqual(entry(202, 500));
  });

  it.each<[string, [number, number][], number, (number | undefined)[]]>([
    // asked for: L1 blocks 5 to 12
    [
      "replaces the first entry that is as far, and deletes those after it",
      [
        [5, 2],
        [7, 4],
        [9, 6],
        [11, 8],
      ],
      5,
      [2, 2, 4, 4, 5, 5, 5, 5],
    ],
    [
      "takes an entry of the same block as it",
      [
        [5, 2],
        [7, 4],
        [9, 6],
      ],
      6,
      [2, 2, 4, 4, 6, 6, 6, 6],
    ],
    [
      "leaves nothing where no earlier entry says what was safe before",
      [
        [7, 4],
        [9, 6],
      ],
      3,
      Array(8).fill(undefined),
    ],
    [
      "does not know what was safe between its end and a safe head beyond it",
      [
        [5, 2],
        [7, 4],
      ],
      9,
      [2, 2, ...Array(6).fill(undefined)],
    ],
    ["changes nothing in an empty database", [], 4, Array(8).fill(undefined)],
  ])("a reset %s", (_, entries, safe, expected) => {
    const database = openIn(folder);
    for (const [from, number] of entries) database.record(entry(from, number));
    database.reset(ref(safe), undefined);
    expect([5, 6, 7, 8, 9, 10, 11, 12].map((number) => database.at(number)?.safeHead.number)).toEqual(expected);
  });

  it("knows again after a gap, and still not within it", () => {
    const database = openIn(folder);
    database.record(entry(5, 2));
    database.reset(ref(9), undefined);
    database.record(entry(20, 10));
    const reopened = afterKill(folder);
    for (const known of [database, reopened]) {
      expect([4, 5, 19, 20, 21].map((number) => known.at(number)?.safeHead.number)).toEqual([
        undefined,
        undefined,
        undefined,
        10,
        10,
      ]);
      expect(known.lastUpTo(19)).toEqual(entry(5, 2));
    }
  });

  it("a reset to a safe head whose L1 block is known rewrites the record from there", () => {
    const database = openIn(folder);
    for (const number of [5, 6, 7, 8]) database.record(entry(number, number));
    database.reset(ref(6), l1(6));
    expect([5, 6, 7, 8].map((number) => database.at(number)?.safeHead.number)).toEqual([5, 6, 6, 6]);
    expect(database.last).toEqual(entry(6, 6));
    database.reset(ref(0), l1(0));
    expect(database.at(8)).toEqual(entry(0, 0));
    expect(database.first).toEqual(entry(0, 0));
  });

  it("refuses a database of another rollup, another database, and one that is open", async () => {
    const first = openIn(folder);
    expect(() => SafeHeadDatabase.open(folder, GENESIS, silentLogger)).toThrow(
      /^--safedb.path .*process \d+ has the database in .* open/,
    );
    await first.close();
    expect(() => SafeHeadDatabase.open(folder, hash(3, 3), silentLogger)).toThrow(
      /is of the rollup that begins with 0x9999.*give another folder/,
    );
    open.splice(0);
    openIn(folder);
  });

  it.each([
    ["is not a database", (file: string) => writeFileSync(file, "nonsense ".repeat(2_000))],
    ["was cut off", (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 6_000))],
  ])("puts a file aside that %s, and begins anew", async (_, damage) => {
    const database = openIn(folder);
    database.record(entry(5, 2));
    await database.close();
    open.splice(0);
    damage(join(folder, "data.mdb"));
    const again = openIn(folder);
    expect(again.last).toBeUndefined();
    expect(existsSync(join(folder, "data.mdb.damaged"))).toBe(true);
    again.record(entry(6, 3));
    expect(again.at(6)).toEqual(entry(6, 3));
  });
});

describe("nodes with a safe-head database", () => {
  function network(): SimNetwork {
    let count = 0;
    const folders = new Map<SafeHeadDatabase, string>();
    return new SimNetwork((before) => {
      const path = join(folder, `node-${count++}`);
      const source = before && folders.get(before);
      if (source !== undefined)
        cpSync(source, path, { recursive: true, filter: (file) => !file.endsWith(".lock") && !file.endsWith("lock.mdb") });
      const database = openIn(path);
      folders.set(database, path);
      return database;
    });
  }

  /** What a node's record says about each L1 block. */
  const recordOf = (database: SafeHeadDatabase, upTo: number): (Hex | undefined)[] =>
    Array.from({ length: upTo + 1 }, (_, number) => database.at(number)?.safeHead.hash);

  it("record the same, and know the genesis as safe from L1 block 0 on", async () => {
    const sim = network();
    await sim.run(2 * MINUTE_MS);
    const upTo = sim.l1.head.number - 1;
    const record = recordOf(sim.verifier.safeHeads!, upTo);
    expect(record).toEqual(recordOf(sim.sequencer.safeHeads!, upTo));
    expect(record[0]).toBe(sim.config.genesis.l2.hash);
    expect(new Set(record).size).toBeGreaterThan(6);
  });

  it("start where they were, with few requests however long the chain is", async () => {
    const sim = network();
    await sim.run(4 * MINUTE_MS);
    const { verifier, l1: fakeL1 } = sim;
    const { safe, unsafe } = verifier.harness.control.heads;
    expect(safe.number).toBeGreaterThan(90);
    verifier.restart();
    const [l1Calls, l2Calls] = [fakeL1.calls.length, verifier.engine.calls.length];
    await verifier.harness.driver.turn(); // finds the heads
    expect(verifier.harness.control.heads.safe).toEqual(safe);
    expect(verifier.harness.control.heads.unsafe).toEqual(unsafe);
    const questions = (calls: readonly string[], from: number, pattern: RegExp): number =>
      calls.slice(from).filter((call) => pattern.test(call)).length;
    // the pipeline then asks for one block of each L1 origin of a channel timeout
    const origins = safe.l1Origin.number;
    expect(questions(verifier.engine.calls, l2Calls, /blockBy/)).toBeLessThan(10 + origins);
    expect(questions(fakeL1.calls, l1Calls, /number/)).toBeLessThan(10);
  });

  it("finalize at once what was recorded before a restart", async () => {
    const sim = network();
    await sim.run(2 * MINUTE_MS);
    const { verifier } = sim;
    verifier.restart();
    const finalized = sim.l1.blocks[sim.l1.head.number - 3]!;
    verifier.harness.finalizer.onL1Finalized(finalized);
    await verifier.harness.untilIdle();
    const expected = sim.sequencer.safeHeads!.at(finalized.number)!;
    expect(verifier.harness.control.heads.finalized.hash).toBe(expected.safeHead.hash);
  });

  const RECORD = "never show a safe head behind the one before, and have the same record after kills";
  const checkRecord = async (seed: number): Promise<void> => {
    const random = createRandomFraction(seed);
    const sim = network();
    await sim.run(MINUTE_MS);
    let reorganised = 0;
    for (let event = 0; event < 16; event++) {
      await sim.run(Math.floor(random() * 14) * 1_000 + 500);
      if (event === 8 || random() < 0.15) {
        sim.reorgL1(1 + Math.floor(random() * 3));
        reorganised++;
        if (event === 8) sim.verifier.restart(); // it learns of the reorganisation at its start
        await sim.run(12_000);
        continue;
      }
      const { verifier } = sim;
      // some turns without waiting for anything, so that the kill comes in the middle of an L1 block
      for (let turns = Math.floor(random() * 20); turns > 0; turns--) await verifier.harness.driver.turn();
      const before = verifier.harness.control.heads.safe;
      verifier.restart();
      for (let turns = 0; turns < 5 && verifier.harness.driver.resetUnderWay !== undefined; turns++)
        await verifier.harness.driver.turn();
      expect(verifier.harness.control.heads.safe.number).toBeGreaterThanOrEqual(before.number);
    }
    await sim.run(MINUTE_MS);
    const upTo = sim.l1.head.number - 1;
    expect(recordOf(sim.verifier.safeHeads!, upTo)).toEqual(recordOf(sim.sequencer.safeHeads!, upTo));
    expect(sim.verifier.restarts).toBeGreaterThan(8);
    expect(reorganised).toBeGreaterThan(0);
    expect(sim.verifier.harness.logs.filter(({ level }) => level === "error")).toEqual([]);
  };
  it(`${RECORD}: seed 3`, () => checkRecord(3));
  it.each([4, 5, 6, 7])(`${RECORD}: seed %i`, { tags: "long" }, checkRecord);
});
