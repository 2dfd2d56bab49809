import { describe, expect, it } from "vitest";
import { memoryMapOf, parseMemoryMap } from "./memory-map.ts";

const KIB = 1024;
const mapping = (head: string, rss: number, anonymous: number): string =>
  `${head}\nSize: 4096 kB\nRss:          ${rss} kB\nAnonymous:    ${anonymous} kB\n`;

describe("a memory map", () => {
  it("tells what belongs to no file, to programs and to the database, and finds memories of WebAssembly by their guard", () => {
    const smaps = [
      mapping("00400000-02000000 r-xp 00000000 08:01 77    /usr/bin/node", 40, 3),
      mapping("02000000-03000000 rw-p 00000000 00:00 0     [heap]", 7, 7),
      mapping("7f0000000000-7f0000400000 rw-p 00000000 00:00 0 ", 500, 500),
      mapping("7f0000400000-7f0200000000 ---p 00000000 00:00 0 ", 0, 0),
      mapping("7f0300000000-7f0300400000 rw-p 00000000 00:00 0 ", 90, 90),
      mapping("7f0300400000-7f0300401000 ---p 00000000 00:00 0 ", 0, 0),
      mapping("7f0400000000-7f0500000000 r--s 00000000 08:01 9 /data/chain data/data.mdb", 1000, 0),
    ].join("");
    expect(parseMemoryMap(smaps)).toEqual({
      ownBytes: 600 * KIB,
      wasmBytes: 500 * KIB,
      mallocBytes: 7 * KIB,
      programBytes: 37 * KIB,
      databaseBytes: 1000 * KIB,
    });
  });

  it.runIf(process.platform === "linux")("of this process holds at least its heap", () => {
    const { ownBytes, programBytes } = memoryMapOf(process.pid)!;
    expect(ownBytes).toBeGreaterThan(process.memoryUsage().heapUsed / 2);
    expect(programBytes).toBeGreaterThan(1_000_000);
    expect(memoryMapOf(999_999_999)).toBeUndefined();
  });
});
