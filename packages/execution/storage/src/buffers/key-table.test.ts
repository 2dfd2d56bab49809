import { bytesToHex, compareBytes, concatBytes, keccak256 } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyTable, sortedKeys } from "./key-table.ts";

const KEY_SIZE = 8;
/** many with the same beginning, many that come twice */
const keys = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 255), fc.constantFrom(0, 7), fc.nat(40), fc.nat(3)).map(([first, last, a, b]) => {
    return Uint8Array.of(first, 0, 0, 0, 0, a, b, last);
  }),
  { maxLength: 300 },
);

describe("KeyTable", () => {
  it("numbers keys as a map of strings does, and is empty after it is cleared", () => {
    const table = new KeyTable(KEY_SIZE);
    fc.assert(
      fc.property(keys, (added) => {
        const numbers = new Map<string, number>();
        for (const key of added) {
          const hex = bytesToHex(key);
          expect(table.find(key)).toBe(numbers.get(hex) ?? -1);
          if (!numbers.has(hex)) numbers.set(hex, numbers.size);
          // only the beginning counts
          expect(table.add(concatBytes(key, Uint8Array.of(numbers.size)))).toBe(numbers.get(hex));
        }
        expect(table.count).toBe(numbers.size);
        expect([...table.sorted()]).toEqual([...numbers.keys()].sort().map((hex) => numbers.get(hex)));
        table.clear();
        expect(table.count).toBe(0);
        for (const key of added) expect(table.find(key)).toBe(-1);
      }),
      { numRuns: 50 },
    );
  });

  it("finds each of many keys", () => {
    const table = new KeyTable(32);
    const many = Array.from({ length: 5000 }, (_, i) => keccak256(Uint8Array.of(i >> 8, i)));
    for (const [number, key] of many.entries()) expect(table.add(key)).toBe(number);
    for (const [number, key] of many.entries()) expect(table.find(key)).toBe(number);
    const sorted = Array.from(table.sorted(), (number) => many[number]!);
    expect(sorted).toEqual([...many].sort(compareBytes));
  });
});

describe("sortedKeys", () => {
  it("leaves equal keys in their order", () => {
    fc.assert(
      fc.property(keys, (given) => {
        const order = [...given.keys()].sort((a, b) => compareBytes(given[a]!, given[b]!) || a - b);
        expect([...sortedKeys(concatBytes(...given), KEY_SIZE, given.length)]).toEqual(order);
      }),
      { numRuns: 50 },
    );
  });
});
