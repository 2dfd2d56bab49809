import { describe, expect, it } from "vitest";
import { LruCache } from "./lru-cache.ts";

function cacheOf(...keys: string[]): LruCache<string, number> {
  const cache = new LruCache<string, number>(3);
  for (const [index, key] of keys.entries()) cache.set(key, index);
  return cache;
}
const keysOf = (cache: LruCache<string, number>): string[] => [...cache].map(([key]) => key);

describe("LruCache", () => {
  it("forgets what was used least recently", () => {
    expect(keysOf(cacheOf("a", "b", "c", "d"))).toEqual(["b", "c", "d"]);
  });

  it("counts reading and writing again as use", () => {
    const cache = cacheOf("a", "b", "c");
    expect(cache.get("a")).toBe(0);
    cache.set("b", 9);
    cache.set("d", 3);
    expect([...cache]).toEqual([
      ["a", 0],
      ["b", 9],
      ["d", 3],
    ]);
  });

  it("counts neither asking nor iterating as use", () => {
    const cache = cacheOf("a", "b", "c");
    expect(cache.has("a")).toBe(true);
    expect([...cache.values()]).toEqual([0, 1, 2]);
    cache.set("d", 3);
    expect(cache.has("a")).toBe(false);
    expect(cache.get("a")).toBeUndefined();
  });

  it("has room again after a value was deleted", () => {
    const cache = cacheOf("a", "b", "c");
    expect(cache.delete("b")).toBe(true);
    expect(cache.delete("b")).toBe(false);
    cache.set("d", 3);
    expect(keysOf(cache)).toEqual(["a", "c", "d"]);
    expect(cache.size).toBe(3);
  });
});
