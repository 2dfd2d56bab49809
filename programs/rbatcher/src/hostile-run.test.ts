import { describe, expect, it } from "vitest";
import { hostileFaults, parseHostileCli } from "./testing/hostile-cli.ts";
import { hostileRun } from "./testing/hostile-run.ts";

// The long form: npm run hostile-l1 -- --hours=2000
describe("the submitter on a hostile L1", () => {
  describe.each<["calldata" | "blobs" | "auto", number]>([
    ["calldata", 11],
    ["blobs", 12],
    ["auto", 13],
  ])("with %s", (dataAvailabilityType, seed) => {
    it("leaves no gap, repeats nothing and pays at most a tenth more", { tags: "long", timeout: 120_000 }, async () => {
      const options = { seed, hours: 5, dataAvailabilityType };
      const [ideal, hostile] = [
        await hostileRun({ ...options, isHostile: false }),
        await hostileRun({ ...options, isHostile: true }),
      ];
      expect(hostileFaults(ideal, ideal)).toEqual([]);
      expect(hostileFaults(hostile, ideal)).toEqual([]);
      expect(Object.values(hostile.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(30);
      for (const { l1Blocks, l1BlocksSinceAmsterdam: since } of [ideal, hostile]) {
        expect(Math.min(since, l1Blocks - since)).toBeGreaterThan(100);
      }
      expect(hostile.faults["head replaced"]).toBeGreaterThan(10);
    });
  });

  it("would be found to do harm", async () => {
    const ideal = await hostileRun({ seed: 1, hours: 1, dataAvailabilityType: "calldata", isHostile: false });
    const dearer = { ...ideal, spentWei: ideal.spentWei * 2n, repeated: 3, unfit: 1, timedOut: 1, safeBlocks: 4 };
    expect(hostileFaults(dearer, ideal)).toHaveLength(5);
  });

  it("takes its options", () => {
    expect(parseHostileCli(["--hours=5", "--da=blobs"])).toEqual({ hours: 5, seed: 1, dataAvailabilityType: "blobs" });
    expect(parseHostileCli(["--hours=x"])).toMatchObject({ exitCode: 1 });
  });
});
