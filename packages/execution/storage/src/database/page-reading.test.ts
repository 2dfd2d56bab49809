import { mkdtempSync, readFileSync } from "node:fs";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openChainStore } from "../lmdb-chain-store.ts";
import { choosePageReading, describePageReading, memoryBytesOfProcess } from "./page-reading.ts";

const MIB = 2 ** 20;

describe("pages are read", () => {
  it.each([
    ["one by one of a file that has yet to grow", 63, 8192, false, false],
    ["ahead of a file that fits into memory", 64, 256, false, true],
    ["ahead up to a quarter of it", 2048, 8192, false, true],
    ["one by one beyond", 2049, 8192, false, false],
    ["ahead of any file that is read in its order", 100_000, 8192, true, true],
  ])("%s", (_, fileMib, memoryMib, inOrder, readsAhead) => {
    expect(choosePageReading(fileMib * MIB, memoryMib * MIB, inOrder).readsAhead).toBe(readsAhead);
  });

  it("with a reason that people understand", () => {
    expect(describePageReading(choosePageReading(3000 * MIB, 8192 * MIB, false))).toBe(
      "pages are read one by one: the file is large for the memory (3000 MiB of 8192 MiB)",
    );
    expect(describePageReading(choosePageReading(1000 * MIB, 8192 * MIB, false))).toBe(
      "pages are read with what lies around them: the file fits into memory (1000 MiB of 8192 MiB)",
    );
  });
});

it("memory is a number of bytes that a machine has", () => {
  expect(memoryBytesOfProcess()).toBeGreaterThan(64 * MIB);
  expect(memoryBytesOfProcess()).toBeLessThan(2 ** 50);
});

describe("LMDB maps the file", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "rnode-page-reading-"));
  });

  // Linux shows "rr" among the flags of a mapping that is read at random.
  it.skipIf(platform() !== "linux").each([
    ["one by one", false],
    ["ahead", true],
  ])("to read pages %s", async (_, inOrder) => {
    const folder = join(root, String(inOrder));
    const store = openChainStore(folder, { inOrder });
    store.writeMeta("large", new Uint8Array(4 * MIB)); // the map grows as well
    const maps = readFileSync("/proc/self/smaps", "utf8").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
    const flags = maps
      .filter((map) => map.includes(join(folder, "data.mdb")))
      .map((map) => /VmFlags:(.*)/.exec(map)![1]!.split(" "));
    await store.close();
    expect(flags.length).toBeGreaterThan(0);
    expect(flags.map((each) => each.includes("rr"))).toEqual(flags.map(() => !inOrder));
    expect(store.pageReading.readsAhead).toBe(inOrder);
  });
});
