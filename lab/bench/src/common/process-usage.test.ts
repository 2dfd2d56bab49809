import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { processUsage, treeCpuSec, UsageWatch } from "./process-usage.ts";

describe("process usage", () => {
  it("sees the CPU time and memory of this process", () => {
    const before = processUsage(process.pid)!;
    // CPU time, not wall time: the machine may be busy
    const { user, system } = process.cpuUsage();
    for (let used = 0; used < 150_000; ) {
      const now = process.cpuUsage();
      used = now.user - user + (now.system - system);
    }
    const after = processUsage(process.pid)!;
    expect(after.cpuSec - before.cpuSec).toBeGreaterThanOrEqual(0.05);
    expect(after.rssBytes / process.memoryUsage().rss).toBeGreaterThan(0.5);
    expect(after.rssBytes / process.memoryUsage().rss).toBeLessThan(2);
  });

  it.runIf(process.platform === "linux")("counts what children use", async () => {
    const burn = "while (process.cpuUsage().user < 300_000); console.log(); setTimeout(() => {}, 60_000)";
    const child = spawn(process.execPath, ["-e", burn], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      await once(child.stdout, "data");
      const own = processUsage(process.pid)!.cpuSec;
      expect(treeCpuSec(process.pid) - own).toBeGreaterThan(0.25);
      expect(treeCpuSec(child.pid!)).toBeGreaterThan(0.25);
    } finally {
      child.kill();
    }
  });

  it("has nothing to say of a process that does not exist", () => {
    expect(processUsage(999_999_999)).toBeUndefined();
  });

  it("sums up what it watched", () => {
    const watch = new UsageWatch(
      new Map<string, () => number | undefined>([
        ["me", () => process.pid],
        ["gone", () => undefined],
      ]),
      10_000,
    );
    const [me, gone] = watch.stop();
    expect(me!.peakRssMiB).toBeGreaterThan(10);
    expect(gone).toEqual({ name: "gone", cores: 0, peakRssMiB: 0 });
  });
});
