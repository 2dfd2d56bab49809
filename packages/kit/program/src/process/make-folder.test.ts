import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "./make-folder.ts";

it("makes all folders of a path, and says why it cannot", () => {
  const folder = mkdtempSync(join(tmpdir(), "folders-"));
  const deep = join(folder, "a/b/c");
  makeFolder(deep, { mode: 0o700 });
  makeFolder(deep);
  expect(statSync(deep).mode & 0o777).toBe(0o700);
  writeFileSync(join(folder, "file"), "");
  expect(() => makeFolder(join(folder, "file"))).toThrow("EEXIST");
  expect(() => makeFolder(join(folder, "file/below"))).toThrow("ENOTDIR");
  expect(() => makeFolder("/proc/none/at/all")).toThrow("ENOENT");
});
