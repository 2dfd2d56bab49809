import { createLogger } from "@rnode/observe";
import { expect, it } from "vitest";
import { SourceHealth } from "./source-health.ts";

it("says that the source is followed again, also if its first right report had to wait", () => {
  const lines: string[] = [];
  const log = createLogger({ level: "info", format: "logfmt", destination: { write: (line) => lines.push(line) } });
  let nowMs = 0;
  const health = new SourceHealth({ name: "S", clock: { monotonicMs: () => nowMs }, log, metrics: { request: () => {} } });
  const block = { number: 1 } as never;
  const report = { localSafe: block, safe: block, finalized: block, currentL1: block } as never;
  health.troubled({ result: "error_fetch_status", reason: "refused" });
  nowMs = 5_000;
  health.waiting("the engine syncs");
  expect(lines.join()).not.toContain("followed again");
  nowMs = 7_000;
  health.followed(report);
  health.followed(report);
  const said = lines.filter((line) => line.includes("the source is followed again"));
  expect(said).toEqual([expect.stringContaining("afterSec=7")]);
});
