import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runGenesisTests } from "./genesis-test.ts";
import { vectorsFolder } from "./vectors.ts";

const folder = vectorsFolder();
if (folder === undefined) console.warn("not run: genesis files of real chains (no vectors folder; set RNODE_VECTORS)");

describe.skipIf(folder === undefined)("genesis files of real chains", () => {
  it("give the published block hashes", () => {
    const report = runGenesisTests(join(folder!, "genesis"));
    expect(report.failures).toEqual([]);
    expect(report.passed).toBeGreaterThanOrEqual(5);
  });
});
