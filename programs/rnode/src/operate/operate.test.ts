import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EngineError } from "@rnode/node-clients";
import { describe, expect, it } from "vitest";
import { L1View } from "../derive/l1-view.ts";
import { checkEngineKind } from "../engine/engine-kind.ts";
import { createHarness } from "../testing/harness.ts";
import { recordingLogger } from "../testing/recording-logger.ts";
import { SnapshotLog } from "./snapshot-log.ts";

describe("the snapshot log", () => {
  it("has a line each time a head has moved", async () => {
    const folder = mkdtempSync(join(tmpdir(), "snapshots-"));
    const path = join(folder, "snapshots.jsonl");
    const snapshots = new SnapshotLog(path, () => 1_700_000_000_000);
    const { driver, control, l1 } = createHarness({ l1Blocks: 2 });
    const view = new L1View();
    const note = () => snapshots.note({ heads: control.headsIfKnown, l1: view, currentL1: undefined, queuedUnsafe: undefined });
    note();
    note();
    view.update("latest", l1.blocks[1]!);
    note();
    await driver.turn();
    note();
    snapshots.close();
    const lines = readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ t: "2023-11-14T22:13:20.000Z", msg: "Rollup State Snapshot", l1Head: "", l2Head: "" });
    expect(lines[1]).toMatchObject({ l1Head: `${l1.blocks[1]!.hash}:1`, l2Head: "" });
    expect(lines[2]).toMatchObject({ l2Head: expect.stringMatching(/^0x[0-9a-f]{64}:0$/), l2Safe: expect.stringMatching(/:0$/) });
  });

  it("says which option is wrong", () => {
    expect(() => new SnapshotLog("/nowhere/at/all", () => 0)).toThrow(
      /^--snapshotlog\.file \/nowhere\/at\/all: ENOENT.*; name a file that can be written$/,
    );
  });
});

describe("the kind of execution client", () => {
  const check = async (kind: "geth" | "reth", answer: { code: string; name: string } | undefined | Error) => {
    const { log, logs } = recordingLogger();
    const clientVersion = async () => {
      if (answer instanceof Error) throw answer;
      return answer && { ...answer, version: "v1", commit: "" };
    };
    await checkEngineKind({ enginekind: kind }, { version: "v0" }, { engine: { clientVersion }, log });
    return logs.map(({ level, text }) => `${level}: ${text}`);
  };

  it("is what the operator says, or there is a warning", async () => {
    expect(await check("geth", { code: "GE", name: "Geth" })).toEqual(["info: execution client"]);
    expect(await check("geth", { code: "RN", name: "rengine" })).toEqual(["info: execution client"]);
    expect(await check("geth", { code: "RH", name: "Reth" })).toEqual([
      "info: execution client",
      "warn: --l2.enginekind is geth, but the execution client is Reth: give --l2.enginekind=reth; it decides how the node syncs",
    ]);
    expect(await check("reth", { code: "RH", name: "Reth" })).toEqual(["info: execution client"]);
    expect(await check("reth", undefined)).toEqual([]);
    expect(await check("reth", new EngineError("engine/unavailable", { reason: "away" }))).toEqual([
      "debug: the execution client does not say what it is",
    ]);
  });
});
