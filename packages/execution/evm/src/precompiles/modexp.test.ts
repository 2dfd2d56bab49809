import { bigintToBytes, concatBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { Arithmetic } from "./arithmetic.ts";
import { modexpBerlin, modexpByzantium, modexpOsaka } from "./modexp.ts";

const arithmetic = new Arithmetic(engineModule);
const berlin = modexpBerlin(arithmetic);

const word = (value: number) => bigintToBytes(BigInt(value), 32);

function input(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Uint8Array {
  return concatBytes(word(base.length), word(exponent.length), word(modulus.length), base, exponent, modulus);
}

const toBigint = (bytes: Uint8Array) => [...bytes].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** A plain implementation: one bit at a time, reduced by division. */
function reference(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === "1") result = (result * base) % modulus;
  }
  return result;
}

const numbers = (maxLength: number) =>
  fc
    .tuple(
      fc.uint8Array({ maxLength }),
      fc.constantFrom("as it is", "ones", "zeros", "even", "power of two", "below a power of two", "blocks"),
      fc.nat({ max: maxLength }),
    )
    .map(([bytes, kind, at]) => {
      const copy = bytes.slice();
      if (kind === "ones") copy.fill(255, at);
      if (kind === "zeros") copy.fill(0, at);
      if (kind === "even" && copy.length > 0) copy[copy.length - 1]! &= 0xf0;
      if (kind === "power of two") {
        copy.fill(0);
        if (at < copy.length) copy[at] = 16;
      }
      if (kind === "below a power of two" && at < copy.length) {
        copy.fill(0, 0, at);
        copy[at] = 16;
        for (let i = copy.length - 1; i > at; i--) copy[i] = 255;
        if (copy.length > 2) copy[copy.length - 1]! -= bytes[0]! % 8;
      }
      if (kind === "blocks") for (let i = 0; i < copy.length; i++) copy[i] = (i >> 3) & 1 ? 255 : 0;
      return copy;
    });

describe("modexp", () => {
  it.each([
    [8, 1000],
    [16, 500],
    [24, 500],
    [33, 500],
    [130, 200],
    [300, 100],
    [700, 30],
    [1200, 15],
  ])("agrees with plain arithmetic, up to %i bytes", (length, numRuns) => {
    fc.assert(
      fc.property(numbers(length), numbers(40), numbers(length), (base, exponent, modulus) => {
        const m = toBigint(modulus);
        const wanted = m === 0n ? 0n : reference(toBigint(base), toBigint(exponent), m);
        expect(berlin.run(input(base, exponent, modulus))).toEqual(bigintToBytes(wanted, modulus.length));
      }),
      { numRuns },
    );
  });

  it.each([100, 300, 900, 2000])("takes exponents of %i bits", (bits) => {
    fc.assert(
      fc.property(
        numbers(40),
        fc.bigInt({ min: 1n << BigInt(bits - 1), max: (1n << BigInt(bits)) - 1n }),
        numbers(40),
        (base, e, modulus) => {
          const m = toBigint(modulus);
          const wanted = m === 0n ? 0n : reference(toBigint(base), e, m);
          const exponent = bigintToBytes(e, Math.ceil(bits / 8));
          expect(berlin.run(input(base, exponent, modulus))).toEqual(bigintToBytes(wanted, modulus.length));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("takes a base much longer than the modulus, and the other way round", () => {
    fc.assert(
      fc.property(numbers(2000), numbers(3), numbers(30), (long, exponent, short) => {
        for (const [base, modulus] of [
          [long, short],
          [short, long],
        ] as const) {
          const m = toBigint(modulus);
          const wanted = m === 0n ? 0n : reference(toBigint(base) % (m === 0n ? 1n : m), toBigint(exponent), m);
          expect(berlin.run(input(base, exponent, modulus))).toEqual(bigintToBytes(wanted, modulus.length));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("takes small exponents", () => {
    fc.assert(
      fc.property(numbers(300), fc.integer({ min: 0, max: 20 }), numbers(300), (base, exponent, modulus) => {
        const m = toBigint(modulus);
        const wanted = m === 0n ? 0n : reference(toBigint(base), BigInt(exponent), m);
        expect(berlin.run(input(base, Uint8Array.of(exponent), modulus))).toEqual(bigintToBytes(wanted, modulus.length));
      }),
      { numRuns: 300 },
    );
  });

  it("asks for more than any call has when a length is beyond what can be paid for", () => {
    const header = (base: bigint, exponent: bigint, modulus: bigint) =>
      concatBytes(...[base, exponent, modulus].map((n) => bigintToBytes(n, 32)));
    const contracts = [modexpByzantium(arithmetic), berlin, modexpOsaka(arithmetic)];
    for (const huge of [1n << 24n, 1n << 64n, (1n << 256n) - 1n]) {
      for (const contract of contracts) {
        for (const data of [header(huge, 1n, 1n), header(1n, 1n, huge)]) expect(contract.gas(data) >= 1n << 40n).toBe(true);
        if (huge > 1n << 40n) expect(contract.gas(header(1n, huge, 1n)) >= 1n << 40n).toBe(true);
      }
      // if base and modulus are empty, a long exponent costs nothing before Osaka
      expect(berlin.gas(header(0n, huge, 0n))).toBe(200n);
      expect(berlin.run(header(0n, huge, 0n))).toEqual(new Uint8Array(0));
    }
    // a long exponent that can be paid for: beyond the end of the input it is zeros
    expect(berlin.gas(header(1n, 1n << 26n, 1n))).toBe((8n * ((1n << 26n) - 32n)) / 3n);
    expect(berlin.run(concatBytes(header(1n, 1n << 26n, 1n), new Uint8Array([7, 1])))).toEqual(new Uint8Array(1));
  });

  it("reads zeros after the end of its input", () => {
    const full = input(new Uint8Array([3]), new Uint8Array([2, 0]), new Uint8Array([1, 0, 0]));
    expect(berlin.run(full.subarray(0, full.length - 2))).toEqual(berlin.run(full));
    expect(berlin.run(new Uint8Array(0))).toEqual(new Uint8Array(0));
  });

  it.each([
    ["0^0 mod 5", [0], [0], [5], 1],
    ["0^0 mod 1", [0], [0], [1], 0],
    ["7^0 mod 0", [7], [0], [0], 0],
    ["0^3 mod 7", [0], [3], [7], 0],
    ["3^5 mod 2", [3], [5], [2], 1],
    ["3^5 mod 128", [3], [5], [128], 243 - 128],
  ])("%s", (_, base, exponent, modulus, wanted) => {
    const bytes = (values: number[]) => Uint8Array.from(values);
    expect(berlin.run(input(bytes(base), bytes(exponent), bytes(modulus)))).toEqual(bytes([wanted]));
  });

  it("is priced by EIP-198, EIP-2565 and EIP-7883", () => {
    const data = input(new Uint8Array(64).fill(255), new Uint8Array(32).fill(255), new Uint8Array(64).fill(255));
    expect(modexpByzantium(arithmetic).gas(data)).toBe((64n * 64n * 255n) / 20n);
    expect(berlin.gas(data)).toBe((8n * 8n * 255n) / 3n);
    expect(modexpOsaka(arithmetic).gas(data)).toBe(2n * 8n * 8n * 255n);
  });
});
