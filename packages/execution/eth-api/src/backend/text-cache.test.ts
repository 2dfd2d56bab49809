import { JsonText } from "@rnode/jsonrpc";
import { expect, it } from "vitest";
import { TextCache } from "./text-cache.ts";

const text = (size: number): JsonText => new JsonText(Buffer.alloc(size, "1"));

it("keeps what was asked for twice, the latest first, within its bytes", () => {
  const cache = new TextCache(10_000);
  const ask = (key: string, size: number): boolean => {
    if (cache.get(key) !== undefined) return true;
    cache.set(key, text(size));
    return false;
  };
  expect([ask("a", 2000), ask("a", 2000), ask("a", 2000)]).toEqual([false, false, true]);
  for (const key of ["b", "c", "d", "e"]) expect([ask(key, 2000), ask(key, 2000), ask(key, 2000)]).toEqual([false, false, true]);
  expect(ask("a", 2000)).toBe(false); // evicted
  expect(ask("e", 2000)).toBe(true);
  expect([ask("large", 3000), ask("large", 3000), ask("large", 3000)]).toEqual([false, false, false]);
});
