import { createLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import type { Mutant } from "./testing/sim-cluster.ts";
import { type GreyLink, runDeath, runGreyLink, runSim, type SimReport } from "./testing/sim-run.ts";

/** `RNODE_CONDUCTOR_SEEDS=5000 npx vitest run programs/rconductor/src/sim-cluster.test.ts`; `RNODE_CONDUCTOR_SEED=7` replays one and prints it. */
const { RNODE_CONDUCTOR_SEEDS: SEEDS = "30", RNODE_CONDUCTOR_SEED: ONE } = process.env;
const MAX_TAKEOVER_MS = 5_000;
const HOUR_MS = 3_600_000;

/** the seeds from `first` to `last` */
const seedsOf = (first: number, last: number): number[] => Array.from({ length: last + 1 - first }, (_, index) => first + index);

type Takeover = SimReport["takeovers"][number];

function figuresOf(takeovers: readonly Takeover[]): string {
  const figures = (name: keyof Takeover): string => {
    const sorted = takeovers.map((takeover) => takeover[name] / 1000).sort((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1);
    return `median ${at(0.5)} s, 99 of 100 within ${at(0.99)} s, longest ${at(1)} s`;
  };
  return `next leader ${figures("leaderMs")}; next block ${figures("blockMs")}`;
}

describe("a simulated cluster", () => {
  const checkSeeds = async (seeds: readonly number[]): Promise<void> => {
    const broken: unknown[] = [];
    const takeovers: Takeover[] = [];
    let [committed, leaders, rewound] = [0, 0, 0];
    for (const seed of seeds) {
      const log = ONE === undefined ? undefined : createLogger({ level: "debug", format: "text", color: false, pid: false });
      const report = await runSim(seed, log === undefined ? {} : { log });
      committed += report.committed;
      leaders += report.leaders;
      rewound += report.rewound;
      takeovers.push(...report.takeovers);
      const isSlow = report.takeovers.some(({ leaderMs }) => leaderMs > MAX_TAKEOVER_MS);
      if (report.violations.length > 0 || isSlow)
        broken.push({ seed, violations: report.violations, takeovers: report.takeovers, faults: report.faults });
    }
    console.log(
      `${seeds.length} clusters: ${committed} blocks, of which ${rewound} went with L1 blocks, ${leaders} leaders, ${takeovers.length} deaths in quiet: ${figuresOf(takeovers)}`,
    );
    expect(broken).toEqual([]);
  };
  const checkDeaths = async (seeds: readonly number[]): Promise<void> => {
    const takeovers: Takeover[] = [];
    for (const seed of seeds) takeovers.push(await runDeath(seed));
    console.log(`${seeds.length} deaths: ${figuresOf(takeovers)}`);
    for (const { leaderMs } of takeovers) expect(leaderMs).toBeLessThan(MAX_TAKEOVER_MS);
  };
  const checkGreyLink = async (seeds: readonly number[], kind: GreyLink): Promise<void> => {
    const gapsMs: number[] = [];
    for (const seed of seeds) gapsMs.push(await runGreyLink(seed, kind));
    console.log(`no block for at most ${(Math.max(...gapsMs) / 1000).toFixed(1)} s`);
    expect(Math.max(...gapsMs)).toBeLessThan(12_000);
  };

  const CHAIN = "has one chain of committed blocks, loses none, and soon has another leader";
  it(CHAIN, { timeout: HOUR_MS }, () => checkSeeds([Number(ONE ?? 1)]));
  it.runIf(ONE === undefined)(`${CHAIN}, more seeds`, { tags: "long", timeout: HOUR_MS }, () =>
    checkSeeds(seedsOf(2, Number(SEEDS))),
  );

  const DEATH = "has another leader within five seconds of a death";
  it(DEATH, () => checkDeaths(seedsOf(1, 10)));
  it(`${DEATH}, more seeds`, { tags: "long" }, () => checkDeaths(seedsOf(11, 50)));

  describe.each<GreyLink>(["answers lost", 300, 600, 1_000, 1_500])(
    "goes on while the leader's requests reach etcd and answers are late or lost: %s",
    { timeout: 120_000 },
    (kind) => {
      it("one seed", { tags: "long" }, () => checkGreyLink([1], kind));
      it("more seeds", { tags: "long" }, () => checkGreyLink(seedsOf(2, 10), kind));
    },
  );

  // With faults that are likely to need the rule, from a seed on that is known to notice it: where the plan of faults changes, another does.
  const LATE = ["etcd's answers lost, requests late", "leadership given away by hand", "conductor killed"];
  it.each<[Mutant, readonly string[] | undefined, number]>([
    ["no-fence", LATE, 83],
    ["no-head-compare", LATE, 3],
    ["no-parent-check", LATE, 48],
    ["start-anywhere", undefined, 1],
    ["l1-believed-at-once", ["L1 is reorganised", "machine killed", "leadership given away by hand"], 90],
    ["no-lease", undefined, 1],
    ["leader-key-not-exclusive", undefined, 2],
  ])("notices a rule that is switched off: %s", { tags: "long", timeout: 600_000 }, async (mutant, only, first) => {
    for (let seed = first; seed < first + 300; seed++) {
      const { violations } = await runSim(seed, only === undefined ? { mutant } : { mutant, only });
      if (violations.length > 0) {
        console.log(`${mutant}: noticed by seed ${seed}: ${violations[0]}`);
        return;
      }
    }
    expect.fail("nothing was noticed");
  });
});
