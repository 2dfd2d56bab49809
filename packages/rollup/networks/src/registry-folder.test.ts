import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { registryFolder } from "./registry-folder.ts";
import { parseToml } from "./toml.ts";

const root = mkdtempSync(join(tmpdir(), "registry-"));
const configs = "superchain/configs/mainnet";
mkdirSync(join(root, configs), { recursive: true });
writeFileSync(join(root, configs, "op.toml"), "chain_id = 10\n");

describe("a registry in a folder", () => {
  const source = registryFolder(root);

  it("reads files, lists folders and says what is missing", async () => {
    expect(new TextDecoder().decode(await source.read(`${configs}/op.toml`, 100))).toBe("chain_id = 10\n");
    expect(await source.list?.(configs)).toEqual(["op.toml"]);
    expect(await source.read(`${configs}/none.toml`, 100)).toBeUndefined();
    expect(await source.read(`${configs}/op.toml/none.toml`, 100)).toBeUndefined();
    expect(await source.list?.("superchain/none")).toBeUndefined();
  });

  it("follows links to files and refuses loops, folders, devices and large files", async () => {
    symlinkSync("op.toml", join(root, configs, "link.toml"));
    symlinkSync("loop.toml", join(root, configs, "loop.toml"));
    symlinkSync("/dev/zero", join(root, configs, "device.toml"));
    expect(await source.read(`${configs}/link.toml`, 100)).toHaveLength(14);
    await expect(source.read(`${configs}/loop.toml`, 100)).rejects.toMatchObject({ code: "registry/unreadable" });
    await expect(source.read(`${configs}/device.toml`, 100)).rejects.toThrow(/device\.toml: not a regular file/);
    await expect(source.read(configs, 100)).rejects.toThrow(/not a regular file/);
    await expect(source.read(`${configs}/op.toml`, 13)).rejects.toThrow(/op\.toml is larger than 13 bytes/);
  });

  it.each(["", "../op.toml", "a//b", "/etc/passwd", "a/./b", "a\\b", "a\0b"])("refuses the path %j", async (path) => {
    await expect(Promise.resolve().then(() => source.read(path, 100))).rejects.toMatchObject({ code: "registry/bad-path" });
  });
});

describe("TOML", () => {
  const parse = (text: string): unknown => parseToml(new TextEncoder().encode(text), "a.toml");

  it("is read as plain objects", () => {
    expect(parse("a = 1\n[b.c]\nd = 9007199254740993")).toEqual({ a: 1, b: { c: { d: 9007199254740993n } } });
  });

  it.each(["a = ", "a = 1\na = 2", `a = ${"[".repeat(17)}${"]".repeat(17)}`, `a = ${"[".repeat(100_000)}`, "__proto__ = 1", "\0"])(
    "names the file that is none: %.20s",
    (text) => {
      expect(() => parse(text)).toThrow(/^a\.toml is not TOML: .* at line \d+, column \d+$/);
    },
  );

  it("has to be UTF-8", () => {
    expect(() => parseToml(Uint8Array.of(0xff), "a.toml")).toThrow(/^a\.toml is not TOML: /);
  });
});
