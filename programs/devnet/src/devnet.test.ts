import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { beforeEach, describe, expect, it } from "vitest";
import { startDevnet } from "./devnet.ts";
import { DatadirLock, devnetPaths } from "./files.ts";
import { DEFAULT_PARAMETERS } from "./parameters.ts";
import { choosePorts, PORT_USES } from "./ports.ts";
import { formatStatus } from "./status.ts";

const newScope = () => new Scope({ log: silentLogger, clock: systemClock });

describe("starting a devnet", () => {
  let datadir: string;
  beforeEach(() => {
    datadir = mkdtempSync(join(tmpdir(), "rnode-devnet-"));
  });

  it("is refused on a data directory that is in use", async () => {
    const lock = DatadirLock.acquire(datadir, devnetPaths(datadir));
    await expect(startDevnet(newScope(), { datadir })).rejects.toThrow(
      `a devnet is running on ${datadir} (process ${process.pid})`,
    );
    lock.release();
  });

  it("takes over the lock of a process that is gone", () => {
    mkdirSync(datadir, { recursive: true });
    writeFileSync(devnetPaths(datadir).lock, '{"pid": 999999999, "programs": [999999998]}');
    DatadirLock.acquire(datadir, devnetPaths(datadir)).release();
  });

  it("is refused while programs of a killed one are running", async () => {
    writeFileSync(devnetPaths(datadir).lock, `{"pid": 999999999, "programs": [999999998, ${process.pid}]}`);
    await expect(startDevnet(newScope(), { datadir })).rejects.toThrow(`end them with kill ${process.pid}`);
  });

  it("is refused when a port is taken, naming the option", async () => {
    const ports = await choosePorts(0);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(ports.sequencerWs, "127.0.0.1", resolve));
    const basePort = ports.sequencerWs - PORT_USES.indexOf("sequencerWs");
    const refused = startDevnet(newScope(), { datadir, basePort });
    await expect(refused).rejects.toThrow(/port \d+ \(\w+\) is in use: .*--base-port/);
    await new Promise((resolve) => server.close(resolve));
  });

  it("is refused with L2 blocks slower than L1 blocks", async () => {
    const refused = startDevnet(newScope(), { datadir, basePort: 0, parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 3 } });
    await expect(refused).rejects.toThrow(
      "the L2 block time (3 s) must not exceed the L1 block time (2 s): every L1 block is the origin of an L2 block; give a smaller --block-time",
    );
  });

  it("is refused with another L1 than the chain has", async () => {
    const paths = devnetPaths(datadir);
    writeFileSync(paths.info, JSON.stringify({ version: 1, l1: "anvil", parameters: DEFAULT_PARAMETERS }));
    writeFileSync(paths.l1State, "{}");
    await expect(startDevnet(newScope(), { datadir, basePort: 0, l1: "rengine" })).rejects.toThrow(
      `the chain in ${datadir} has --l1 anvil, not rengine: start with --fresh for a new chain`,
    );
  });

  it("is refused on files of another version", async () => {
    const paths = devnetPaths(datadir);
    writeFileSync(paths.info, '{"version": 0}');
    writeFileSync(paths.l1State, "{}");
    await expect(startDevnet(newScope(), { datadir, basePort: 0 })).rejects.toThrow("--fresh");
  });
});

describe("the status line", () => {
  it("shows both nodes and the last batch", () => {
    const line = formatStatus(
      {
        l1Head: 40,
        sequencer: { unsafe: 80, safe: 70, finalized: 50 },
        verifier: { unsafe: 70, safe: 70, finalized: 50 },
        lastBatch: { l1Block: 39, l1TimeSec: 1000, sizeBytes: 321 },
      },
      1004.4,
    );
    expect(line).toBe(
      "L1 40 | sequencer unsafe 80 safe 70 finalized 50 | verifier unsafe 70 safe 70 finalized 50 | last batch L1 39, 321 bytes, 4 s ago",
    );
  });

  it("shows the third node where there is one", () => {
    const nothing = { l1Head: undefined, sequencer: undefined, verifier: undefined, lastBatch: undefined };
    expect(formatStatus({ ...nothing, follower: { unsafe: 7, safe: 6, finalized: 5 } }, 0)).toContain(
      "| verifier no answer | follower unsafe 7 safe 6 finalized 5 |",
    );
    expect(formatStatus({ ...nothing, follower: undefined }, 0)).toContain("| follower no answer |");
  });

  it("says who does not answer", () => {
    const nothing = { l1Head: undefined, sequencer: undefined, verifier: undefined, lastBatch: undefined };
    expect(formatStatus(nothing, 0)).toBe("L1 no answer | sequencer no answer | verifier no answer | last batch none yet");
  });
});
