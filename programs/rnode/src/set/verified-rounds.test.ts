import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { expect, it, onTestFinished } from "vitest";
import { hashOf } from "../testing/sim-set.ts";
import { SetDatabase } from "./set-database.ts";
import type { VerifiedRound } from "./verified-rounds.ts";

it("finds rounds by time, and the last one that rests on L1 blocks up to a number", () => {
  let state = 5;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 20; round++) {
    const database = SetDatabase.open(mkdtempSync(join(tmpdir(), "set-")), [1n], silentLogger);
    onTestFinished(() => database.close());
    const { verified } = database;
    const rounds: VerifiedRound[] = [];
    for (let timestamp = 10, l1 = 3; rounds.length < random(20); timestamp += 1 + random(4), l1 += random(3)) {
      rounds.push({
        timestamp,
        l1: { number: l1, hash: hashOf(l1) },
        heads: new Map([[1n, { number: timestamp, hash: hashOf(timestamp) }]]),
      });
    }
    database.atomically(
      () => {
        for (const one of rounds) verified.append(one);
      },
      { isFlushed: false },
    );
    for (let number = 0; number < 50; number++) {
      expect(verified.derivedUpTo(number)).toEqual(rounds.findLast(({ l1 }) => l1.number <= number));
      expect(verified.upTo(number)).toEqual(rounds.findLast(({ timestamp }) => timestamp <= number));
    }
    const [kept] = rounds;
    database.atomically(() => verified.rewind(12), { isFlushed: false });
    expect(verified.first).toEqual(kept);
    expect(verified.last).toEqual(rounds.findLast(({ timestamp }) => timestamp <= 12));
  }
});
