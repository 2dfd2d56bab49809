import { describe, expect, test } from "vitest";
import { planOf } from "./plan.ts";
import { runPlan } from "./run-scenario.ts";
import { SimNetwork } from "./sim-network.ts";

const TIMEOUT_MS = 120_000;

/** L1 crosses Amsterdam in the midst, after which slots are empty, heads are replaced, and users deposit. */
const CROSSING_SEEDS = [118, 138];
/** After Amsterdam, L1 brings transactions of type 0x06: with a foreign receipt; and where endpoints have no raw methods at first, with a 24th field. */
const NEXT_FORK_SEEDS = [
  { seed: 11, wanted: { receipts: "foreign", hasHeaderField: false, isRawLater: false } },
  { seed: 13, wanted: { receipts: "known", hasHeaderField: true, isRawLater: false } },
  { seed: 56, wanted: { receipts: "foreign", hasHeaderField: true, isRawLater: true } },
];

describe("L1's own forks", () => {
  describe.each(CROSSING_SEEDS)("Amsterdam in the midst, seed %i", (seed) => {
    test("all nodes derive across it", { tags: seed === CROSSING_SEEDS[0] ? [] : "long", timeout: TIMEOUT_MS }, async () => {
      const plan = planOf(seed, { hasUpgradeCode: false });
      const { violations, passed } = await runPlan(plan);
      expect(violations).toEqual([]);
      expect(passed.before).toBeGreaterThan(2);
      expect(passed.since).toBeGreaterThan(5);
      for (const many of [passed.depositsSince, passed.emptySlots, passed.replacedHeads]) expect(many).toBeGreaterThan(0);
    });
  });

  describe.each(NEXT_FORK_SEEDS)("a transaction type that no program knows, seed $seed", ({ seed, wanted }) => {
    test("all nodes derive across it", { tags: seed === 56 ? [] : "long", timeout: TIMEOUT_MS }, async () => {
      const plan = planOf(seed, { hasUpgradeCode: false });
      const { receipts, hasHeaderField, rawMethodsSec, atSec } = plan.l1Forks.next!;
      expect({ receipts, hasHeaderField, isRawLater: rawMethodsSec > atSec }).toEqual(wanted);
      const { violations, passed } = await runPlan(plan);
      expect(violations).toEqual([]);
      expect(passed.unknownTransactions).toBeGreaterThan(0);
      expect(passed.unknownFields > 0).toBe(hasHeaderField);
    });
  });

  test.each([
    ["a transaction type", false, /type 0x6.*update this program, or name an L1 endpoint that offers eth_getRawTransactionByHash/],
    ["a header field", true, /inclusionListRoot.*update this program, or name an L1 endpoint that offers debug_getRawHeader/],
  ])(
    "%s that no program knows, and no endpoint with raw methods: each program says once what helps, and resumes when there is one",
    { tags: "long", timeout: TIMEOUT_MS },
    async (_, hasHeaderField, remedy) => {
      const [atSec, stuckSec] = [60, 400];
      const next = { atSec, receipts: "foreign" as const, hasHeaderField, rawMethodsSec: atSec + stuckSec };
      const plan = { ...planOf(56, { hasUpgradeCode: false }), late: [], l1Forks: { amsterdamSec: 0, next } };
      const network = new SimNetwork(plan, { isLogKept: true });
      network.start();
      await network.run(1000 * (atSec + stuckSec));
      const { nodes, log, violations } = network;
      const programs = [...nodes.map(({ name }) => name), "batcher"];
      const linesOf = (who: string, what: RegExp): string[] =>
        log.lines.filter((line) => line.includes(` ${who} `) && what.test(line));
      for (const who of programs) {
        // what follows from it is said as well: the sequencer continues without L1, and the batcher may not know who took its nonce
        const said = linesOf(who, / warn .*so its bytes are needed/).filter(
          (line) => !/sequencing is delayed|cannot find out which transaction took/.test(line),
        );
        expect(said).toEqual([expect.stringMatching(remedy)]);
      }
      // unreadable blocks are not requested again at each attempt: a request has four attempts
      for (const { name } of nodes) {
        const ranges = linesOf(name, /L1 request failed .*what=blocks/).map((line) => /blocks \d+ to \d+/.exec(line)![0]);
        for (const range of ranges) expect(ranges.filter((other) => other === range).length, `${name}, ${range}`).toBeLessThan(5);
      }
      const safeBefore = nodes.map(({ heads }) => heads!.safe.number);
      await network.run(120_000);
      for (const [i, { heads }] of nodes.entries()) expect(heads!.safe.number).toBeGreaterThan(safeBefore[i]!);
      expect(violations).toEqual([]);
      await network.remove();
    },
  );
});
