import { keccak_256 } from "@noble/hashes/sha3.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concatBytes } from "../bytes.ts";
import { keccak256, RunningKeccak256, writeKeccak256 } from "./keccak.ts";

/** longer than the input buffer */
const LONG = 115_000;
const pattern = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => Math.imul(i + seed, 0x9e3779b1) >>> 24);

describe("keccak256", () => {
  it("is that of another implementation, for every length around blocks, lanes and the buffer's end", () => {
    const lengths = [
      ...Array.from({ length: 280 }, (_, i) => i),
      // the buffer holds a multiple of 136 bytes
      ...Array.from({ length: 300 }, (_, i) => 114_500 + i).filter((length) => length % 136 <= 4 || length % 136 >= 132),
      229_296,
      400_001,
    ];
    const bytes = pattern(400_001);
    for (const length of lengths) {
      const data = bytes.subarray(0, length);
      const expected = keccak_256(data);
      expect(keccak256(data)).toEqual(expected);
      const out = new Uint8Array(40).fill(0xee);
      writeKeccak256(out, 3, data);
      expect(out).toEqual(concatBytes(new Uint8Array(3).fill(0xee), expected, new Uint8Array(5).fill(0xee)));
    }
  });

  it("is that of another implementation, for parts of any size", () => {
    const part = fc.oneof(
      { weight: 8, arbitrary: fc.uint8Array({ maxLength: 300 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: LONG }).map((length) => pattern(length)) },
      { weight: 1, arbitrary: fc.integer({ min: LONG, max: 2 * LONG }).map((length) => pattern(length, 7)) },
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        expect(keccak256(...parts)).toEqual(keccak_256(concatBytes(...parts)));
      }),
      { seed: 1, numRuns: 60 },
    );
  });
});

describe("RunningKeccak256", () => {
  it("has the digest of everything so far after each part, with several inputs under way", () => {
    const part = fc.oneof(
      { weight: 8, arbitrary: fc.uint8Array({ maxLength: 300 }) },
      { weight: 1, arbitrary: fc.integer({ min: LONG, max: 2 * LONG }).map((length) => pattern(length)) },
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const [running, other] = [new RunningKeccak256(), new RunningKeccak256()];
        parts.forEach((data, index) => {
          running.update(data);
          other.update(data.subarray(1));
          expect(running.digest()).toEqual(keccak_256(concatBytes(...parts.slice(0, index + 1))));
        });
        expect(other.digest()).toEqual(keccak_256(concatBytes(...parts.map((data) => data.subarray(1)))));
      }),
      { seed: 1, numRuns: 40 },
    );
  });
});
