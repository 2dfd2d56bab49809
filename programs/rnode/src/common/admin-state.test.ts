import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminStateFile } from "./admin-state.ts";

describe("AdminStateFile", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rnode-admin-"));
  });

  it("keeps the state over a restart, making folders as needed", () => {
    const path = join(folder, "a", "b", "state.json");
    const file = new AdminStateFile(path);
    expect(file.load()).toBeUndefined();
    file.save({ sequencerStarted: true });
    expect(new AdminStateFile(path).load()).toEqual({ sequencerStarted: true });
    file.save({ sequencerStarted: false });
    expect(new AdminStateFile(path).load()).toEqual({ sequencerStarted: false });
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ sequencerStarted: false });
    expect(existsSync(`${path}.tmp`)).toBe(false);
  });

  it.each(["", "{", "[]", "null", "{}", '{"sequencerStarted": 1}', '{"sequencerStarted": true, "other": 1}'])(
    "refuses %j",
    (text) => {
      const path = join(folder, "state.json");
      writeFileSync(path, text);
      expect(() => new AdminStateFile(path).load()).toThrow(path);
    },
  );

  it("does nothing without a path", () => {
    const file = new AdminStateFile(undefined);
    file.save({ sequencerStarted: true });
    expect(file.load()).toBeUndefined();
  });
});
