import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readOrCreateNetworkKey } from "./key-file.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-network-key-"));
});

describe("the network key", () => {
  it("is made once, as 64 hex digits that only the owner can read", () => {
    const path = join(folder, "made", "key.txt");
    const { key, isNew } = readOrCreateNetworkKey(path);
    expect(isNew).toBe(true);
    expect(readFileSync(path, "utf8")).toBe(Buffer.from(key).toString("hex"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readOrCreateNetworkKey(path)).toEqual({ key, isNew: false });
  });

  it("may have a prefix and white space around it", () => {
    const path = join(folder, "spaced.txt");
    writeFileSync(path, `\n 0x${"0A".repeat(32)} \n`);
    expect(readOrCreateNetworkKey(path).key).toEqual(new Uint8Array(32).fill(10));
  });

  it.each([
    ["nothing", "", /is empty: expected 64 hex digits/],
    ["63 digits", "a".repeat(63), /holds no key \(63 characters\): expected 64 hex digits/],
    ["no digits", "z".repeat(64), /holds no key \(64 characters\)/],
    ["zero", "0".repeat(64), /holds no key \(zero, or beyond/],
    ["more than the order of the curve", "f".repeat(64), /holds no key \(zero, or beyond/],
  ])("is refused: %s", (_, text, message) => {
    const path = join(folder, "bad.txt");
    writeFileSync(path, text);
    expect(() => readOrCreateNetworkKey(path)).toThrow(message);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("is refused where it cannot be read or written, with the reason", () => {
    expect(() => readOrCreateNetworkKey(folder)).toThrow(/cannot be read: EISDIR/);
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(() => readOrCreateNetworkKey(join(file, "key"))).toThrow(/cannot be read: ENOTDIR/);
  });
});
