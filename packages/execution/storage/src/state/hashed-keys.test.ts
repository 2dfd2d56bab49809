import { keccak256 } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { expect, it } from "vitest";
import { HashedKeys } from "./hashed-keys.ts";

const KEY = 20;

it.each([1, 8, 65_536])("gives the hash of every key, one or many at once, with %i kept", (entries) => {
  const random = createRandom(entries);
  const hashed = new HashedKeys(KEY, entries);
  // Few different bytes, so that keys come again, and differ in any byte.
  const keys = Array.from({ length: 600 }, (_, i) => new Uint8Array(KEY).fill(i % 3, random(KEY)));
  const found = new Uint8Array(3 + 32);
  for (const key of [new Uint8Array(KEY), ...keys]) {
    hashed.write(found, 3, Uint8Array.of(9, ...key), 1);
    expect(found.subarray(3)).toEqual(keccak256(key));
  }
  const STRIDE = KEY + 4;
  const bytes = new Uint8Array(keys.length * STRIDE);
  for (const [i, key] of keys.entries()) bytes.set(key, i * STRIDE + 4);
  const all = new Uint8Array(32 * keys.length);
  hashed.writeAll(all, bytes, keys.length, 4, STRIDE);
  for (const [i, key] of keys.entries()) expect(all.subarray(32 * i, 32 * i + 32)).toEqual(keccak256(key));
});
