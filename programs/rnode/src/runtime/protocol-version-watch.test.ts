import { EngineError } from "@rnode/node-clients";
import { Halt } from "@rnode/program";
import { encodeProtocolVersion } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../testing/recording-logger.ts";
import { type HaltLevel, ProtocolVersionWatch, readsProtocolVersions } from "./protocol-version-watch.ts";

const version = (text: string): Uint8Array => {
  const [major = 0, minor = 0, patch = 0] = text.split(".").map(Number);
  return encodeProtocolVersion({ major, minor, patch, preRelease: 0 });
};

function setUp(halt: HaltLevel, engineVersion: string | EngineError = "9.0.0") {
  const { log, logs } = recordingLogger();
  const signalled: string[] = [];
  const deltas: Record<string, number> = {};
  const labels: unknown[] = [];
  const watch = new ProtocolVersionWatch(
    { halt },
    {
      engine: {
        signalSuperchain: async ({ required, recommended }) => {
          signalled.push(`${Buffer.from(required).toString("hex")} ${Buffer.from(recommended).toString("hex")}`);
          if (engineVersion instanceof EngineError) throw engineVersion;
          return engineVersion === "" ? undefined : version(engineVersion);
        },
      },
      log,
      metrics: { distance: (type, distance) => (deltas[type] = distance), versions: (versions) => labels.push(versions) },
    },
  );
  const take = (required: string, recommended = required) =>
    watch.take({ required: version(required), recommended: version(recommended) });
  return { take, logs, signalled, deltas, labels };
}

describe("the watch over protocol versions", () => {
  // this node implements 9.0.0
  it.each([
    ["none", "10.0.0", false],
    ["major", "10.0.0", true],
    ["major", "9.1.0", false],
    ["minor", "9.1.0", true],
    ["minor", "10.0.0", true],
    ["minor", "9.0.1", false],
    ["patch", "9.0.1", true],
    ["patch", "9.0.0", false],
    ["patch", "8.0.0", false],
  ] as const)("with --rollup.halt=%s, L1 requiring %s: halts %s", async (level, required, halts) => {
    const { take, logs } = setUp(level);
    const taken = take(required, "0.0.0");
    if (!halts) return expect(await taken).toBeUndefined();
    const error = await taken.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Halt);
    expect((error as Halt).message).toBe(
      `--rollup.halt=${level}: L1 requires protocol v${required}, and this node implements v9.0.0: install a release that implements it`,
    );
    expect((error as Halt).idleMs).toBe(300_000);
    expect(logs.at(-1)).toMatchObject({ level: "error", text: "Opted to halt, unprepared for protocol change" });
  });

  it("halts for what is required, not for what is recommended", async () => {
    const { take, logs, deltas } = setUp("patch");
    await take("9.0.0", "10.0.0");
    expect(logs).toEqual([expect.objectContaining({ level: "warn", text: expect.stringContaining("recommends a newer") })]);
    expect(deltas).toEqual({ local_required: 0, local_recommended: -4, engine_required: 0, engine_recommended: -4 });
  });

  it("tells the execution client each time, and the log once", async () => {
    const { take, logs, signalled, labels } = setUp("none");
    await take("9.0.0");
    await take("9.0.0");
    expect(signalled).toHaveLength(2);
    expect(logs.map(({ level }) => level)).toEqual(["info", "debug"]);
    expect(labels[0]).toEqual({ local: "v9.0.0", engine: "v9.0.0", recommended: "v9.0.0", required: "v9.0.0" });
    await take("10.0.0");
    expect(logs.at(-1)).toMatchObject({ level: "error", text: expect.stringContaining("requires a newer") });
  });

  it("goes on with an execution client that does not take part, or fails", async () => {
    const silent = setUp("none", "");
    await silent.take("9.0.0");
    expect(silent.labels[0]).toMatchObject({ engine: "" });
    expect(silent.deltas).toEqual({ local_required: 0, local_recommended: 0 });
    const failing = setUp("none", new EngineError("engine/unavailable", { reason: "away" }));
    await failing.take("9.0.0");
    expect(failing.logs[0]).toMatchObject({ level: "warn" });
  });

  it("does nothing where L1 signals nothing", async () => {
    const { take, signalled } = setUp("patch");
    await take("0.0.0");
    expect(signalled).toEqual([]);
  });
});

describe("whether protocol versions are read", () => {
  const named = { protocolVersionsAddress: new Uint8Array(20).fill(1) };
  const unnamed = { protocolVersionsAddress: new Uint8Array(20) };

  it.each([
    ["none", false, named, false, 0],
    ["none", true, named, true, 0],
    ["major", false, named, true, 0],
    ["major", false, unnamed, false, 1],
    ["none", true, unnamed, false, 1],
  ] as const)("--rollup.halt=%s --rollup.load-protocol-versions=%s: %#", (halt, loadProtocolVersions, config, reads, warnings) => {
    const { log, logs } = recordingLogger();
    expect(readsProtocolVersions({ halt, loadProtocolVersions }, config, log)).toBe(reads);
    expect(logs.map(({ text }) => text)).toEqual(
      Array.from({ length: warnings }, () => expect.stringMatching(/^--rollup.* does nothing: .*protocol_versions_address/)),
    );
  });
});
