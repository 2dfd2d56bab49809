import { describe, expect, it } from "vitest";
import { defaultReaderCount } from "./start-readers.ts";

describe("readers, if nothing is said", () => {
  it.each([
    ["linux", 1, 2],
    ["linux", 2, 2],
    ["darwin", 3, 2],
    ["linux", 4, 3],
    ["linux", 16, 15],
    ["win32", 16, 0],
  ] as const)("on %s with %d cores: %d", (platform, cores, readers) => {
    expect(defaultReaderCount(cores, platform)).toBe(readers);
  });
});
