import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "@rnode/primitives";
import { beforeEach, describe, expect, it } from "vitest";
import { recordingLogger } from "../testing/recording-logger.ts";
import { TimedOutPayloads } from "./timed-out-payloads.ts";

const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, "0")}`;

describe("TimedOutPayloads", () => {
  let folder: string;
  let path: string;
  const { log, logs } = recordingLogger();
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-timeouts-"));
    path = join(folder, "a", "list.json");
    logs.length = 0;
  });

  it("counts over a restart, in a file of its owner", () => {
    const list = new TimedOutPayloads(path, log);
    list.add(hash(1));
    list.add(hash(1));
    list.add(hash(2));
    const again = new TimedOutPayloads(path, log);
    expect([1, 2, 3].map((n) => again.count(hash(n)))).toEqual([2, 1, 0]);
    expect(readdirSync(join(folder, "a"))).toEqual(["list.json"]);
  });

  it("keeps the newest thousand, in memory and in the file", () => {
    const list = new TimedOutPayloads(path, log);
    for (let n = 0; n < 1_010; n++) list.add(hash(n));
    expect(Object.keys(JSON.parse(readFileSync(path, "utf8")) as object)).toHaveLength(1_000);
    expect([hash(9), hash(10), hash(1_009)].map((key) => new TimedOutPayloads(path, log).count(key))).toEqual([0, 1, 1]);
  });

  it.each(["", "{", "null", "[1]", '{"0x01": 5}', `{"${hash(1)}": "2"}`, "\u0000".repeat(99)])("starts empty from %j", (text) => {
    const file = join(folder, "list.json");
    writeFileSync(file, text);
    const list = new TimedOutPayloads(file, log);
    expect(list.count(hash(1))).toBe(0);
    list.add(hash(1));
    expect(new TimedOutPayloads(file, log).count(hash(1))).toBe(1);
  });

  it("goes on in memory where nothing can be written", () => {
    writeFileSync(join(folder, "file"), "");
    const list = new TimedOutPayloads(join(folder, "file", "list.json"), log);
    list.add(hash(1));
    expect(list.count(hash(1))).toBe(1);
    expect(logs.map(({ text }) => text)).toEqual(["cannot write the list of timed-out payloads: a restart forgets it"]);
  });
});
