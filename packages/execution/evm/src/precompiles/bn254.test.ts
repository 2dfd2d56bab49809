import { bn254 } from "@noble/curves/bn254.js";
import { bigintToBytes, concatBytes, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { Arithmetic } from "./arithmetic.ts";
import { bn254Add, bn254Multiply, bn254Pairing, splitScalar } from "./bn254.ts";

const arithmetic = new Arithmetic(engineModule);
const add = bn254Add(arithmetic, true);
const multiply = bn254Multiply(arithmetic, true);
const pairing = bn254Pairing(arithmetic, true, Number.MAX_SAFE_INTEGER);

const G1 = bn254.G1.Point;
const G2 = bn254.G2.Point;
type PointG1 = InstanceType<typeof G1>;
type PointG2 = InstanceType<typeof G2>;
const { Fp, Fp2, Fr } = bn254.fields;

function encodeG1(point: PointG1): Uint8Array {
  const { x, y } = point.toAffine();
  return point.is0() ? new Uint8Array(64) : concatBytes(bigintToBytes(x, 32), bigintToBytes(y, 32));
}

function encodeG2(point: PointG2): Uint8Array {
  if (point.is0()) return new Uint8Array(128);
  const { x, y } = point.toAffine();
  return concatBytes(...[x.c1, x.c0, y.c1, y.c0].map((value) => bigintToBytes(value, 32)));
}

const timesG1 = (point: PointG1, scalar: bigint) => (scalar === 0n ? G1.ZERO : point.multiplyUnsafe(scalar));
const timesG2 = (point: PointG2, scalar: bigint) => (scalar === 0n ? G2.ZERO : point.multiplyUnsafe(scalar));
const scalars = fc.oneof(
  fc.bigInt({ min: 0n, max: Fr.ORDER - 1n }),
  fc.constantFrom(0n, 1n, 2n, Fr.ORDER - 1n, (Fr.ORDER - 1n) / 2n),
);
const pointsG1 = scalars.map((scalar) => timesG1(G1.BASE, scalar));
const word = (value: bigint) => bigintToBytes(value, 32);
const pair = (a: PointG1, b: PointG2) => concatBytes(encodeG1(a), encodeG2(b));
const outcome = (output: Uint8Array | undefined) => output?.[31];

/** Some point of the twist, of the order of its whole group with overwhelming probability. */
function twistPoint(seed: bigint): PointG2 {
  const b = Fp2.div(Fp2.fromBigTuple([3n, 0n]), Fp2.fromBigTuple([9n, 1n]));
  for (let c0 = seed; ; c0++) {
    const x = Fp2.fromBigTuple([c0 % Fp.ORDER, 1n]);
    try {
      const y = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), b));
      return G2.fromAffine({ x, y });
    } catch {
      // not a square
    }
  }
}

/** Scalar multiplication that takes scalars beyond the order of G2. */
function timesAny(point: PointG2, scalar: bigint): PointG2 {
  let result = G2.ZERO;
  for (const bit of scalar.toString(2)) {
    result = result.double();
    if (bit === "1") result = result.add(point);
  }
  return result;
}

describe("bn254 addition", () => {
  it("agrees with @noble/curves", () => {
    fc.assert(
      fc.property(pointsG1, pointsG1, (a, b) => {
        for (const other of [b, a, a.negate(), G1.ZERO]) {
          expect(add.run(concatBytes(encodeG1(a), encodeG1(other)))).toEqual(encodeG1(a.add(other)));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("pads short inputs and cuts long ones", () => {
    const base = encodeG1(G1.BASE);
    expect(add.run(new Uint8Array(0))).toEqual(new Uint8Array(64));
    expect(add.run(base)).toEqual(base);
    expect(add.run(concatBytes(base, new Uint8Array(64), new Uint8Array(5).fill(7)))).toEqual(base);
  });

  it.each([
    ["x not below the modulus", concatBytes(word(Fp.ORDER + 1n), word(2n))],
    ["y not below the modulus", concatBytes(word(1n), word(Fp.ORDER + 2n))],
    ["the modulus for 0", concatBytes(word(Fp.ORDER), word(Fp.ORDER))],
    ["all bits set", new Uint8Array(64).fill(255)],
    ["not on the curve", concatBytes(word(1n), word(3n))],
    ["x = 0", concatBytes(word(0n), word(1n))],
    ["y = 0", concatBytes(word(1n), word(0n))],
  ])("refuses a point: %s", (_, point) => {
    expect(add.run(point)).toBeUndefined();
    expect(add.run(concatBytes(encodeG1(G1.BASE), point))).toBeUndefined();
    expect(multiply.run(concatBytes(point, word(1n)))).toBeUndefined();
    expect(pairing.run(concatBytes(point, encodeG2(G2.BASE)))).toBeUndefined();
  });
});

describe("bn254 multiplication", () => {
  it("agrees with @noble/curves", () => {
    fc.assert(
      fc.property(pointsG1, fc.oneof(scalars, fc.bigInt({ min: 0n, max: 300n })), (point, scalar) => {
        expect(multiply.run(concatBytes(encodeG1(point), word(scalar)))).toEqual(encodeG1(timesG1(point, scalar)));
      }),
      { numRuns: 200 },
    );
  });

  it("takes any 32 bytes as scalar", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: Fr.ORDER, max: (1n << 256n) - 1n }), (scalar) => {
        expect(multiply.run(concatBytes(encodeG1(G1.BASE), word(scalar)))).toEqual(encodeG1(timesG1(G1.BASE, scalar % Fr.ORDER)));
      }),
      { numRuns: 30 },
    );
  });

  it("splits every scalar into two halves", () => {
    const lambda = 4407920970296243842393367215006156084916469457145843978461n;
    fc.assert(
      fc.property(scalars, (scalar) => {
        const { k1, k2 } = splitScalar(scalar);
        expect((k1 + k2 * lambda - scalar) % Fr.ORDER).toBe(0n);
        for (const k of [k1, k2]) expect(k < 1n << 128n && -k < 1n << 128n).toBe(true);
      }),
    );
  });
});

describe("bn254 pairing", () => {
  it("is bilinear", () => {
    fc.assert(
      fc.property(scalars, scalars, scalars, (a, b, c) => {
        const left = pair(timesG1(G1.BASE, a), timesG2(G2.BASE, b));
        const right = pair(timesG1(G1.BASE, Fr.neg(Fr.mul(a, b))), G2.BASE);
        expect(outcome(pairing.run(concatBytes(left, right)))).toBe(1);
        const other = pair(timesG1(G1.BASE, c), timesG2(G2.BASE, b));
        expect(outcome(pairing.run(concatBytes(left, right, other)))).toBe(c === 0n || b === 0n ? 1 : 0);
      }),
      { numRuns: 25 },
    );
  });

  it.each([1, 15, 16, 17, 40])("multiplies %i pairs and the one that makes up for them", (count) => {
    const pairs: Uint8Array[] = [];
    let sum = 0n;
    for (let i = 1n; i <= BigInt(count); i++) {
      pairs.push(pair(timesG1(G1.BASE, i), timesG2(G2.BASE, i * i + 1n)));
      sum += i * (i * i + 1n);
    }
    expect(outcome(pairing.run(concatBytes(...pairs)))).toBe(0);
    expect(outcome(pairing.run(concatBytes(...pairs, pair(timesG1(G1.BASE, sum).negate(), G2.BASE))))).toBe(1);
  });

  it("takes infinity for one", () => {
    const one = pair(G1.BASE, G2.BASE);
    expect(outcome(pairing.run(new Uint8Array(0)))).toBe(1);
    expect(outcome(pairing.run(new Uint8Array(192)))).toBe(1);
    expect(outcome(pairing.run(concatBytes(pair(G1.ZERO, G2.BASE), pair(G1.BASE, G2.ZERO))))).toBe(1);
    expect(outcome(pairing.run(concatBytes(pair(G1.ZERO, G2.BASE), one, pair(G1.BASE, G2.ZERO))))).toBe(0);
  });

  it("refuses a length that is not whole pairs", () => {
    for (const length of [1, 64, 191, 193]) expect(pairing.run(new Uint8Array(length))).toBeUndefined();
  });

  it("refuses points of the twist outside of the subgroup, with every order there is", () => {
    // the twist has r·h points; these are the primes of h
    const primes = [10069n, 5864401n, 1875725156269n, 197620364512881247228717050342013327560683201906968909n];
    const cofactor = primes.reduce((product, prime) => product * prime);
    expect(cofactor).toBe(2n * Fp.ORDER - Fr.ORDER);
    const some = twistPoint(12345n);
    const intruders = [some, timesAny(some, Fr.ORDER)];
    for (const prime of primes) {
      const small = timesAny(some, (Fr.ORDER * cofactor) / prime);
      expect(small.is0()).toBe(false);
      expect(timesAny(small, prime).is0()).toBe(true);
      intruders.push(small, small.negate(), small.double(), small.add(timesG2(G2.BASE, 99n)));
    }
    for (const point of intruders) {
      expect(pairing.run(pair(G1.BASE, point))).toBeUndefined();
      expect(pairing.run(pair(G1.ZERO, point))).toBeUndefined();
      expect(pairing.run(concatBytes(pair(G1.BASE, G2.BASE), pair(G1.BASE, point)))).toBeUndefined();
    }
    expect(outcome(pairing.run(pair(G1.BASE, timesAny(some, cofactor))))).toBe(0);
  });

  it("refuses coordinates of the twist not below the modulus, and points off it", () => {
    const good = pair(G1.BASE, G2.BASE);
    for (let coordinate = 0; coordinate < 4; coordinate++) {
      const bad = good.slice();
      const at = 64 + 32 * coordinate;
      const value = BigInt(`0x${[...bad.subarray(at, at + 32)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`);
      bad.set(word(value + Fp.ORDER), at);
      expect(pairing.run(bad)).toBeUndefined();
      bad.set(word((value + 1n) % Fp.ORDER), at);
      expect(pairing.run(bad)).toBeUndefined();
    }
  });

  it("knows e(P, Q) = e(−P, −Q) in bytes", () => {
    const bytes = hexToBytes(`0x${"00".repeat(31)}01${"00".repeat(31)}02`);
    expect(encodeG1(G1.BASE)).toEqual(bytes);
    const input = concatBytes(bytes, encodeG2(G2.BASE), bytes, encodeG2(G2.BASE.negate()));
    expect(outcome(pairing.run(input))).toBe(1);
  });
});
