import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { equalBytes } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { hashOf, type NamedLog, type SimContent, SimSetChain } from "../testing/sim-set.ts";
import { timeOf } from "./set-chain.ts";
import { SetDatabase } from "./set-database.ts";
import { SetVerifier } from "./set-verifier.ts";

const A = 901n;
const B = 902n;
const WINDOW = 40;
const NOTHING: SimContent = { logs: 0, executes: [] };

/** Two chains that begin at time 100, with blocks of two seconds and of one; Lagoon from 104 on. */
function makeSet(lagoonSec = 104, genesisOfB = 100) {
  const folder = mkdtempSync(join(tmpdir(), "set-"));
  let database = SetDatabase.open(folder, [A, B], silentLogger);
  onTestFinished(() => database.close());
  const fork = { generation: 0, from: Number.POSITIVE_INFINITY };
  const l1 = (number: number): BlockId => ({ number, hash: hashOf("l1", number, number >= fork.from ? fork.generation : 0) });
  const verifierOf = (...chains: readonly SimSetChain[]): SetVerifier =>
    new SetVerifier({
      chains,
      expiryWindowSec: WINDOW,
      database,
      checkL1: async ({ number, hash }) => (l1(number).hash === hash ? "canonical" : "replaced"),
      log: silentLogger,
    });
  const make = () => {
    const a = new SimSetChain(A, { genesisSec: 100, blockTimeSec: 2, lagoonSec }, database);
    const b = new SimSetChain(B, { genesisSec: genesisOfB, blockTimeSec: 1, lagoonSec }, database);
    return { a, b, verifier: verifierOf(a, b), database };
  };
  return {
    ...make(),
    l1,
    verifierOf,
    reorgL1: (from: number) => {
      fork.generation++;
      fork.from = from;
    },
    reopen: async () => {
      await database.close();
      database = SetDatabase.open(folder, [A, B], silentLogger);
      return database;
    },
  };
}

/** Rounds until nothing is left to do. @returns what they did, without what they waited for */
async function settle(verifier: SetVerifier): Promise<string[]> {
  const did: string[] = [];
  for (let rounds = 0; rounds < 10_000; rounds++) {
    const round = await verifier.round();
    if (round.kind === "waiting") return did;
    did.push(round.kind === "denied" ? `denied ${round.chainIds.join()}` : `${round.kind} ${round.timestamp}`);
  }
  throw new Error("no end");
}

const fill = (chain: SimSetChain, to: number, l1: BlockId, contents: Record<number, SimContent> = {}): void => {
  while (chain.length <= to) chain.say(contents[chain.length] ?? NOTHING, l1);
};
const named = (chainId: bigint, number: number, logIndex: number): NamedLog => ({
  chainId,
  number,
  logIndex,
  timestamp: chainId === A ? 100 + 2 * number : 100 + number,
});

describe("a set of two chains", () => {
  it("is verified at each time of a block, as far as L1 makes all chains safe", async () => {
    const { a, b, l1, verifier, database } = makeSet();
    fill(a, 4, l1(1)); // up to time 109
    fill(b, 6, l1(2)); // up to time 106
    expect(await settle(verifier)).toEqual(["verified 104", "verified 105", "verified 106"]);
    expect(database.verified.last).toEqual({
      timestamp: 106,
      l1: l1(2),
      heads: new Map([
        [A, { number: 3, hash: (await a.blockAt(3))!.hash }],
        [B, { number: 6, hash: (await b.blockAt(6))!.hash }],
      ]),
    });
    fill(b, 9, l1(3));
    expect(await settle(verifier)).toEqual(["verified 107", "verified 108", "verified 109"]);
    expect(database.messageLog(B).last).toMatchObject({ number: 9 });
  });

  it("passes a message at one time, and denies it where its log is missing, then what relied on the denied block", async () => {
    const { a, b, l1, verifier, database } = makeSet();
    fill(a, 4, l1(1), { 3: { logs: 1, executes: [named(B, 6, 0)] } });
    fill(b, 8, l1(1), { 6: { logs: 1, executes: [] }, 8: { logs: 0, executes: [named(A, 3, 0)] } });
    expect(await settle(verifier)).toEqual(["verified 104", "verified 105", "verified 106", "verified 107", "verified 108"]);

    const other = makeSet();
    fill(other.a, 4, l1(1), { 3: { logs: 1, executes: [named(B, 6, 1)] } });
    fill(other.b, 8, l1(1), { 6: { logs: 1, executes: [] }, 8: { logs: 0, executes: [named(A, 3, 0)] } });
    expect(await settle(other.verifier)).toEqual([
      "verified 104",
      "verified 105",
      "denied 901",
      "verified 106",
      "verified 107",
      "denied 902",
      "verified 108",
    ]);
    expect([...other.database.denied.list()].map(({ chainId, block, reason }) => [chainId, block.number, reason])).toEqual([
      [A, 3, "message of log 1: chain 902 has no such log at block 6, index 1, time 106"],
      [B, 8, "message of log 0: chain 901 has no such log at block 3, index 0, time 106"],
    ]);
    expect([...database.denied.list()]).toEqual([]);
  });

  it.each<[string, NamedLog]>([
    ["a time between two blocks of the chain", { chainId: A, number: 4, logIndex: 0, timestamp: 107 }],
    ["a block that comes later", { chainId: A, number: 5, logIndex: 0, timestamp: 107 }],
    ["a block from before the log", { chainId: A, number: 1, logIndex: 0, timestamp: 107 }],
    ["a block beyond all numbers", { chainId: A, number: Number.MAX_SAFE_INTEGER, logIndex: 0, timestamp: 107 }],
    ["another content", { chainId: A, number: 3, logIndex: 0, timestamp: 106, content: 5 }],
  ])("is never held up by a message that names %s", async (_, executed) => {
    const { a, b, l1, verifier } = makeSet();
    fill(a, 6, l1(1), { 3: { logs: 1, executes: [] } });
    fill(b, 12, l1(1), { 7: { logs: 0, executes: [executed] } });
    const did = await settle(verifier);
    expect(did.filter((what) => what.startsWith("denied"))).toEqual(["denied 902"]);
    expect(did.at(-1)).toBe("verified 112");
  });

  it("is never held up by a message that names a time before a chain's genesis", async () => {
    const { a, b, l1, verifier } = makeSet(0, 104);
    fill(a, 4, l1(1), { 3: { logs: 0, executes: [{ chainId: B, number: 1, logIndex: 0, timestamp: 103 }] } });
    fill(b, 4, l1(1));
    const did = await settle(verifier);
    expect(did.filter((what) => what.startsWith("denied"))).toEqual(["denied 901"]);
    expect(did.at(-1)).toBe("verified 108");
  });

  it("knows messages as old as the window, and begins its log no earlier", async () => {
    const { a, b, l1, verifier, database } = makeSet(100);
    fill(a, 22, l1(1), { 1: { logs: 1, executes: [] } });
    fill(b, 44, l1(1), { 42: { logs: 0, executes: [named(A, 1, 0)] }, 43: { logs: 0, executes: [named(A, 1, 0)] } });
    const did = await settle(verifier);
    expect(did.filter((what) => what.startsWith("denied"))).toEqual(["denied 902"]);
    expect([...database.denied.list(B)].map(({ block }) => block.number)).toEqual([43]);
    const late = makeSet(0);
    fill(late.a, 100, l1(1));
    fill(late.b, 200, l1(1));
    expect((await settle(late.verifier)).at(-1)).toBe("verified 300");
    expect(late.database.messageLog(A).first!.number).toBe(0);
  });

  it("takes verdicts back whose ground L1 took away, and derives their chains again", async () => {
    const { a, b, l1, reorgL1, verifier, database } = makeSet();
    fill(a, 6, l1(1), { 3: { logs: 0, executes: [named(B, 6, 0)] } });
    fill(b, 5, l1(1));
    fill(b, 12, l1(2));
    expect(await settle(verifier)).toContain("denied 901");
    const replaced = (await a.blockAt(3))!.hash;
    reorgL1(2);
    b.takeBack(6);
    expect(await settle(verifier)).toEqual(["rewound 105"]);
    expect((await a.blockAt(3))!.hash).not.toBe(replaced);
    expect([...database.denied.list()]).toEqual([]);
    fill(b, 12, l1(2), { 6: { logs: 1, executes: [] } });
    expect(await settle(verifier)).toEqual([6, 7, 8, 9, 10, 11, 12].map((n) => `verified ${100 + n}`));
  });

  it("takes a verdict back whose ground L1 takes away before its time is verified, also after a restart", async () => {
    for (const restarts of [false, true]) {
      const set = makeSet();
      const { a, b, l1, reorgL1, database } = set;
      let { verifier } = set;
      fill(a, 6, l1(1), { 3: { logs: 0, executes: [named(B, 6, 0)] } });
      fill(b, 5, l1(1));
      fill(b, 12, l1(2));
      const acts = a.onVerdict.bind(a);
      a.onVerdict = () => {};
      expect(await settle(verifier)).toEqual(["verified 104", "verified 105", "denied 901"]);
      if (restarts) verifier = set.verifierOf(a, b);
      reorgL1(2);
      b.takeBack(6);
      expect(await settle(verifier)).toEqual(["rewound 105"]);
      expect([...database.denied.list()]).toEqual([]);
      acts();
      fill(b, 12, l1(2), { 6: { logs: 1, executes: [] } });
      expect(await settle(verifier)).toEqual([6, 7, 8, 9, 10, 11, 12].map((n) => `verified ${100 + n}`));
    }
  });

  it("verifies no block that has to be derived again, until its chain has done so", async () => {
    const { a, b, l1, reorgL1, verifier } = makeSet();
    fill(a, 6, l1(1), { 3: { logs: 0, executes: [named(B, 6, 0)] } });
    fill(b, 5, l1(1));
    fill(b, 12, l1(2));
    await settle(verifier);
    const replacement = (await a.blockAt(3))!.hash;
    const acts = a.onVerdict.bind(a);
    a.onVerdict = () => {};
    reorgL1(2);
    b.takeBack(6);
    expect(await settle(verifier)).toEqual(["rewound 105"]);
    fill(b, 12, l1(2), { 6: { logs: 1, executes: [] } });
    expect(await settle(verifier)).toEqual([]);
    expect((await a.blockAt(3))!.hash).toBe(replacement);
    acts();
    expect((await settle(verifier)).at(-1)).toBe("verified 112");
    expect((await a.blockAt(3))!.hash).not.toBe(replacement);
  });

  it("keeps its verdicts, and goes on from them after a restart", async () => {
    const set = makeSet();
    fill(set.a, 6, set.l1(1), { 3: { logs: 0, executes: [named(B, 6, 0)] } });
    fill(set.b, 12, set.l1(1));
    await settle(set.verifier);
    const { hash } = [...set.database.denied.list(A)][0]!.block;
    const last = set.database.verified.last!;
    const database = await set.reopen();
    expect(database.verified.last).toEqual(last);
    expect(database.denied.has(A, 3, hash)).toBe(true);
  });

  it("refuses the database of another set", async () => {
    const folder = mkdtempSync(join(tmpdir(), "set-"));
    await SetDatabase.open(folder, [A], silentLogger).close();
    expect(() => SetDatabase.open(folder, [A, B], silentLogger)).toThrow(
      "is of another set than chains 901, 902: give a folder of its own",
    );
  });

  it("has no verified block with an unmet message, and loses no block without one, whatever the chains do", {
    tags: "long",
  }, async () => {
    let denials = 0;
    let rewinds = 0;
    for (let seed = 1; seed <= 60; seed++) {
      let state = seed;
      const random = (below: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return (state >>> 8) % below;
      };
      const { a, b, l1, reorgL1, verifier, database } = makeSet();
      const chains = [a, b];
      const isHonest = seed % 5 === 0;
      let l1Number = 1;
      for (let step = 0; step < 60; step++) {
        const chain = chains[random(2)]!;
        const number = chain.length;
        const executes = Array.from({ length: random(3) === 0 ? 1 + random(2) : 0 }, (): NamedLog => {
          const other = chains[random(2)]!;
          const at = isHonest ? random(Math.max(1, Math.min(other.length, 30))) : Math.max(0, other.length - 3 + random(5));
          return { chainId: other.chainId, number: at, logIndex: random(3), timestamp: timeOf(other.config, at) };
        });
        const isMet = (one: NamedLog): boolean => {
          const other = one.chainId === A ? a : b;
          const now = timeOf(chain.config, number);
          const inTime = one.timestamp < now && now - one.timestamp <= WINDOW && one.timestamp >= 104 + other.config.blockTimeSec;
          return inTime && one.number < other.length && one.logIndex < other.contentOf(one.number).logs && now >= 106;
        };
        chain.say({ logs: random(4), executes: isHonest ? executes.filter(isMet) : executes }, l1(l1Number));
        if (random(4) === 0) l1Number++;
        if (random(3) === 0) await settle(verifier);
        if (!isHonest && random(25) === 0 && l1Number > 3) {
          const from = l1Number - random(3);
          reorgL1(from);
          for (const one of chains) {
            let kept = one.length;
            while (kept > 0 && (await one.localSafe(kept - 1))!.derivedFrom.number >= from) kept--;
            one.takeBack(kept);
          }
          rewinds++;
        }
      }
      await settle(verifier);
      denials += [...database.denied.list()].length;
      if (isHonest) expect([...database.denied.list()]).toEqual([]);
      const { last } = database.verified;
      if (last === undefined) continue;
      for (const chain of chains) {
        const head = last.heads.get(chain.chainId)!;
        for (let number = 0; number <= head.number; number++) {
          const { block, executing } = chain.messagesAt(number);
          if (block.timestamp < 104) continue;
          for (const message of executing) {
            const from = message.chainId === A ? a : b;
            const place = Number(message.blockNumber);
            const initiating = place < from.length ? from.messagesAt(place) : undefined;
            expect(initiating !== undefined && equalBytes(initiating.checksums[message.logIndex]!, message.checksum)).toBe(true);
            expect(block.timestamp - Number(message.timestamp)).toBeGreaterThanOrEqual(0);
            expect(block.timestamp - Number(message.timestamp)).toBeLessThanOrEqual(WINDOW);
          }
        }
        expect((await chain.blockAt(head.number))!.hash).toBe(head.hash);
      }
    }
    expect(denials).toBeGreaterThan(30);
    expect(rewinds).toBeGreaterThan(20);
  });
});
