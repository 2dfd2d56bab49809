import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runStatelessTests } from "./stateless-test.ts";
import { vectorsFolder } from "./vectors.ts";

const folder = vectorsFolder();
if (folder === undefined) console.warn("not run: real blocks (no vectors folder; set RNODE_VECTORS)");

describe.skipIf(folder === undefined)("real blocks", () => {
  it("give the hashes the chains have", { timeout: 120_000 }, () => {
    const report = runStatelessTests(join(folder!, "blocks"));
    expect(report.failures).toEqual([]);
    expect(report.passed).toBeGreaterThanOrEqual(6);
  });
});
