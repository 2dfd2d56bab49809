import { createLogger } from "@rnode/observe";
import { expect, it } from "vitest";
import { DiskEstimate } from "./disk-estimate.ts";

it("the need of disk is said once some rows are there, again when they are twice as many, and refused without room", () => {
  const said: string[] = [];
  const log = createLogger({ level: "info", format: "logfmt", destination: { write: (line: string) => said.push(line) } });
  let free = 100 * 2 ** 30;
  const estimate = new DiskEstimate("/data", log, () => free);
  const at = (share: number): void =>
    estimate.at({ accounts: 10_000_000 * share, slots: 20_000_000 * share, share, healedNodes: 0 });
  at(0.009);
  expect(estimate.bytes).toBe(0);
  for (const share of [0.01, 0.015, 0.02, 0.03]) at(share);
  expect(said).toEqual([expect.stringContaining("rows=30000000 needMiB="), expect.stringContaining("rows=30000000 needMiB=")]);
  expect(estimate.bytes).toBeGreaterThan(30_000_000 * 200);
  free = estimate.bytes / 2;
  at(0.03);
  expect(() => at(0.05)).toThrow(/takes about \d+ MiB more of the disk of .data, which has \d+ MiB free: make room/);
});

it("a small state is not worth a line", () => {
  const estimate = new DiskEstimate(
    "/data",
    createLogger({ level: "info", format: "logfmt", destination: { write: () => expect.unreachable() } }),
    () => 0,
  );
  estimate.at({ accounts: 1_000, slots: 1_000, share: 0.5, healedNodes: 0 });
  expect(estimate.bytes).toBeGreaterThan(0);
});
