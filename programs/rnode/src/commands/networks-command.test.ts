import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NETWORKS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { networksCommand } from "./networks-command.ts";

const folder = mkdtempSync(join(tmpdir(), "networks-"));
async function run(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const io = { out: (line: string) => void out.push(line), err: (line: string) => void err.push(line), progress: () => {} };
  const code = await networksCommand(args, {}, io);
  return { code, out, err };
}

describe("rnode networks", () => {
  it("lists the table, of which day it is, and the last fork of each network", async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    expect(out[0]).toMatch(/^\d+ networks of superchain-registry 8336d2ae \(2026-08-04\), with facts of releases up to 2026-11-25/);
    expect(out).toHaveLength(NETWORKS.length + 2);
    expect(out.find((line) => line.startsWith("op-mainnet "))).toMatch(/^op-mainnet +10 +1 +lagoon_time +2027-01-11T16:00:01Z$/);
    expect(out.find((line) => line.startsWith("worldchain-mainnet "))).toMatch(/karst_time +2026-09-21T12:00:00Z$/);
    const report = JSON.parse((await run("--json")).out.join("")) as { networks: unknown[]; source: object };
    expect(report.source).toMatchObject({ day: "2026-08-04", commit: expect.stringMatching(/^8336d2ae/) as string });
    expect(report.networks).toHaveLength(NETWORKS.length);
  });

  it("says what a registry changes, and which files it cannot read", async () => {
    const configs = join(folder, "superchain/configs/mainnet");
    mkdirSync(configs, { recursive: true });
    writeFileSync(join(configs, "superchain.toml"), "[l1]\nchain_id = 1\n");
    writeFileSync(join(configs, "op.toml"), "hardforks = 1");
    const { code, out, err } = await run(`--registry=${folder}`);
    expect(code).toBe(1);
    expect(out[1]).toBe(`${folder}: 0 networks, ${NETWORKS.length} of them or of the table differ`);
    expect(out).toContain("removed op-mainnet (10)");
    expect(err).toEqual([
      expect.stringMatching(/op\.toml is not the configuration of a chain: hardforks: expected an object, got 1$/),
    ]);
    const report = JSON.parse((await run(`--registry=${folder}`, "--json")).out.join("")) as { registry: { badFiles: unknown[] } };
    expect(report.registry.badFiles).toHaveLength(1);
  });

  it("refuses a folder that is no registry", async () => {
    await expect(run(`--registry=${join(folder, "none")}`)).rejects.toThrow(/none has no superchain\/configs: give the root/);
  });
});
