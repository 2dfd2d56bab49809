import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bareEngine } from "../testing/engine.ts";
import { EngineMemory } from "./memory.ts";

const engine = bareEngine();
const memory = new EngineMemory();
memory.refresh(engine.memory.buffer);

/** Addresses in the engine's memory that nothing else uses in these tests. */
const [A, B, C, RESULT] = [0x200000, 0x200040, 0x200080, 0x2000c0] as const;

const MASK = (1n << 256n) - 1n;
const signed = (value: bigint): bigint => BigInt.asIntN(256, value);
const unsigned = (value: bigint): bigint => BigInt.asUintN(256, value);

/** Words of every size, and words around the borders of limbs, where carries are most likely to be wrong. */
const word = fc.oneof(
  fc.bigInt(0n, MASK),
  fc.integer({ min: 0, max: 256 }).chain((bits) => fc.bigInt(0n, (1n << BigInt(bits)) - (bits === 0 ? 0n : 1n))),
  fc.integer({ min: 0, max: 255 }).map((bit) => 1n << BigInt(bit)),
  fc.integer({ min: 0, max: 256 }).map((bit) => (1n << BigInt(bit)) - 1n),
  fc.bigInt(0n, 1n << 64n).map((value) => MASK - value),
  fc
    .array(fc.constantFrom(0n, 1n, 0xffff_ffffn, 0x1_0000_0000n, 0x8000_0000_0000_0000n, 0xffff_ffff_ffff_ffffn), {
      minLength: 4,
      maxLength: 4,
    })
    .map((limbs) => limbs.reduce<bigint>((sum, limb) => (sum << 64n) | limb, 0n)),
);
const small = fc.oneof(fc.bigInt(0n, 300n), word);

function run(name: string, ...args: bigint[]): bigint {
  const places = [A, B, C].slice(0, args.length);
  for (const [index, value] of args.entries()) memory.setWord(places[index]!, value);
  engine[name]!(...places, RESULT);
  return memory.word(RESULT);
}

const powerMod = (base: bigint, exponent: bigint): bigint => {
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = unsigned(result * square);
    square = unsigned(square * square);
  }
  return result;
};

const BINARY: Record<string, (a: bigint, b: bigint) => bigint> = {
  add: (a, b) => unsigned(a + b),
  subtract: (a, b) => unsigned(a - b),
  multiply: (a, b) => unsigned(a * b),
  divide: (a, b) => (b === 0n ? 0n : a / b),
  remainder: (a, b) => (b === 0n ? 0n : a % b),
  divideSigned: (a, b) => (b === 0n ? 0n : unsigned(signed(a) / signed(b))),
  remainderSigned: (a, b) => (b === 0n ? 0n : unsigned(signed(a) % signed(b))),
};

const BY_INDEX: Record<string, (a: bigint, b: bigint) => bigint> = {
  shiftLeft: (shift, a) => (shift > 255n ? 0n : unsigned(a << shift)),
  shiftRight: (shift, a) => (shift > 255n ? 0n : a >> shift),
  shiftRightSigned: (shift, a) => unsigned(signed(a) >> (shift > 255n ? 255n : shift)),
  signExtend: (index, a) => (index > 30n ? a : unsigned(BigInt.asIntN(8 * (Number(index) + 1), a))),
  byteAt: (index, a) => (index > 31n ? 0n : (a >> (8n * (31n - index))) & 0xffn),
};

describe("words", () => {
  it.each(Object.keys(BINARY))("%s", (name) => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(run(name, a, b)).toBe(BINARY[name]!(a, b));
      }),
      { numRuns: 4000 },
    );
  });

  it.each(Object.keys(BY_INDEX))("%s", (name) => {
    fc.assert(
      fc.property(small, word, (index, a) => {
        expect(run(name, index, a)).toBe(BY_INDEX[name]!(index, a));
      }),
      { numRuns: 3000 },
    );
  });

  it("writes over its arguments", () => {
    for (const name of ["add", "subtract", "multiply", "divide", "remainder", "divideSigned", "remainderSigned"]) {
      fc.assert(
        fc.property(word, word, fc.boolean(), (a, b, overFirst) => {
          memory.setWord(A, a);
          memory.setWord(B, b);
          const to = overFirst ? A : B;
          engine[name]!(A, B, to);
          expect(memory.word(to)).toBe(BINARY[name]!(a, b));
        }),
        { numRuns: 300 },
      );
    }
  });

  it("compares", () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        memory.setWord(A, a);
        memory.setWord(B, b);
        expect(engine.less!(A, B)).toBe(a < b ? 1 : 0);
        expect(engine.lessSigned!(A, B)).toBe(signed(a) < signed(b) ? 1 : 0);
        expect(engine.less!(A, A)).toBe(0);
      }),
      { numRuns: 3000 },
    );
  });

  it("addModulo and multiplyModulo keep all bits", () => {
    fc.assert(
      fc.property(word, word, word, (a, b, n) => {
        expect(run("addModulo", a, b, n)).toBe(n === 0n ? 0n : (a + b) % n);
        expect(run("multiplyModulo", a, b, n)).toBe(n === 0n ? 0n : (a * b) % n);
      }),
      { numRuns: 6000 },
    );
  });

  it("power", () => {
    fc.assert(
      fc.property(fc.oneof(fc.constant(2n), word), small, (a, e) => {
        expect(run("power", a, e)).toBe(powerMod(a, e));
      }),
      { numRuns: 500 },
    );
  });

  it("leadingZeros", () => {
    fc.assert(
      fc.property(word, (a) => {
        memory.setWord(A, a);
        expect(engine.leadingZeros!(A)).toBe(BigInt(a === 0n ? 256 : 256 - a.toString(2).length));
      }),
      { numRuns: 1000 },
    );
  });

  it("round-trips raw bytes", () => {
    fc.assert(
      fc.property(word, (a) => {
        memory.setWord(A, a);
        expect(memory.word(A)).toBe(a);
        const raw = memory.rawWord(A);
        expect(BigInt(`0x${[...raw].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`)).toBe(a);
        memory.setRawWord(B, raw);
        expect(memory.word(B)).toBe(a);
      }),
    );
  });
});
