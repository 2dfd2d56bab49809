import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bigintToBytes, concatBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { Arithmetic } from "./arithmetic.ts";
import { bls12381Precompiles } from "./bls12-381.ts";

/** Everything is compared with @noble/curves, an independent implementation. */
const limits = { g1MsmBytes: 1_000_000, g2MsmBytes: 1_000_000, pairingBytes: 1_000_000 };
const [g1Add, g1Msm, g2Add, g2Msm, pairing, mapToG1, mapToG2] = bls12381Precompiles(new Arithmetic(engineModule), limits).map(
  (precompile) => (input: Uint8Array) => precompile.run(input),
) as [Run, Run, Run, Run, Run, Run, Run];
type Run = (input: Uint8Array) => Uint8Array | undefined;

const G1 = bls12_381.G1.Point;
const G2 = bls12_381.G2.Point;
type PointG1 = InstanceType<typeof G1>;
type PointG2 = InstanceType<typeof G2>;
const { Fp, Fp2, Fr } = bls12_381.fields;

const field = (value: bigint) => bigintToBytes(value, 64);
const word = (value: bigint) => bigintToBytes(value, 32);

function encodeG1(point: PointG1): Uint8Array {
  if (point.is0()) return new Uint8Array(128);
  const { x, y } = point.toAffine();
  return concatBytes(field(x), field(y));
}

function encodeG2(point: PointG2): Uint8Array {
  if (point.is0()) return new Uint8Array(256);
  const { x, y } = point.toAffine();
  return concatBytes(...[x.c0, x.c1, y.c0, y.c1].map(field));
}

/** Scalar multiplication of points of any order, by the order of no subgroup. */
function times<P extends PointG1 | PointG2>(point: P, scalar: bigint): P {
  let result = point.subtract(point as never) as P;
  for (const bit of scalar.toString(2)) {
    result = result.double() as P;
    if (bit === "1") result = result.add(point as never) as P;
  }
  return result;
}

/** Some point of E or the twist: of the order of its whole group with overwhelming probability. */
function curvePointG1(seed: bigint): PointG1 {
  for (let x = seed; ; x++) {
    try {
      return G1.fromAffine({ x, y: Fp.sqrt(Fp.add(Fp.pow(x, 3n), 4n)) });
    } catch {
      // not a square
    }
  }
}

function curvePointG2(seed: bigint): PointG2 {
  for (let c0 = seed; ; c0++) {
    const x = Fp2.fromBigTuple([c0, 1n]);
    try {
      return G2.fromAffine({ x, y: Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), Fp2.fromBigTuple([4n, 4n]))) });
    } catch {
      // not a square
    }
  }
}

const scalars = fc.oneof(
  fc.bigInt({ min: 0n, max: Fr.ORDER - 1n }),
  fc.bigInt({ min: 0n, max: 300n }),
  fc.constantFrom(
    1n,
    2n,
    Fr.ORDER - 1n,
    (Fr.ORDER - 1n) / 2n,
    0xd201000000010000n,
    0xd201000000010000n ** 2n,
    0xd201000000010000n ** 3n,
  ),
);
const wideScalars = fc.oneof(
  scalars,
  fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
  fc.constantFrom(0n, Fr.ORDER, Fr.ORDER + 1n, 2n * Fr.ORDER - 1n, 2n * Fr.ORDER, 2n * Fr.ORDER + 3n, (1n << 256n) - 1n),
);
const multipleG1 = (scalar: bigint): PointG1 => (scalar === 0n ? G1.ZERO : G1.BASE.multiplyUnsafe(scalar));
const multipleG2 = (scalar: bigint): PointG2 => (scalar === 0n ? G2.ZERO : G2.BASE.multiplyUnsafe(scalar));
const pair = (a: PointG1, b: PointG2) => concatBytes(encodeG1(a), encodeG2(b));
const outcome = (output: Uint8Array | undefined) => output?.[31];

/** 1 − x; the twist's cofactor in its prime factors, those of E's with their multiplicity */
const COFACTOR_PRIMES_G1 = [3n, 11n, 11n, 10177n, 10177n, 859267n, 859267n, 52437899n, 52437899n];
const COFACTOR_PRIMES_G2 = [
  ...[13n, 13n, 23n, 23n, 2713n, 11953n, 262069n],
  402096035359507321594726366720466575392706800671181159425656785868777272553337714697862511267018014931937703598282857976535744623203249n,
];
const product = (values: readonly bigint[]) => values.reduce((a, b) => a * b, 1n);

/** Points outside the subgroup, among them points of each small order. */
function intrudersG1(): PointG1[] {
  const cofactor = product(COFACTOR_PRIMES_G1);
  const some = curvePointG1(1n << 200n);
  expect(times(some, cofactor * Fr.ORDER).is0()).toBe(true);
  const intruders = [some, times(some, Fr.ORDER), G1.fromAffine({ x: 0n, y: 2n }), G1.fromAffine({ x: 0n, y: Fp.ORDER - 2n })];
  for (const prime of new Set(COFACTOR_PRIMES_G1)) {
    let small = times(some, (Fr.ORDER * cofactor) / prime);
    // not cyclic: the points of this order may all need the prime once only
    if (small.is0()) small = times(some, (Fr.ORDER * cofactor) / prime ** 2n);
    if (small.is0()) throw new Error(`no point of order ${prime}`);
    expect(times(small, prime).is0()).toBe(true);
    intruders.push(small, small.negate(), small.add(G1.BASE));
  }
  return intruders;
}

function intrudersG2(): PointG2[] {
  const cofactor = product(COFACTOR_PRIMES_G2);
  const some = curvePointG2(1n << 200n);
  expect(times(some, cofactor * Fr.ORDER).is0()).toBe(true);
  const intruders = [some, times(some, Fr.ORDER)];
  for (const prime of new Set(COFACTOR_PRIMES_G2)) {
    let small = times(some, (Fr.ORDER * cofactor) / prime);
    if (small.is0()) small = times(some, (Fr.ORDER * cofactor) / prime ** 2n);
    if (small.is0()) throw new Error(`no point of order ${prime}`);
    expect(times(small, prime).is0()).toBe(true);
    intruders.push(small, small.negate(), small.add(G2.BASE));
  }
  return intruders;
}

describe("bls12-381 addition", () => {
  it("agrees in G1", () => {
    fc.assert(
      fc.property(scalars.map(multipleG1), scalars.map(multipleG1), (a, b) => {
        for (const other of [b, a, a.negate(), G1.ZERO]) {
          expect(g1Add(concatBytes(encodeG1(a), encodeG1(other)))).toEqual(encodeG1(a.add(other)));
          expect(g1Add(concatBytes(encodeG1(other), encodeG1(a)))).toEqual(encodeG1(a.add(other)));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("agrees in G2", () => {
    fc.assert(
      fc.property(scalars.map(multipleG2), scalars.map(multipleG2), (a, b) => {
        for (const other of [b, a, a.negate(), G2.ZERO]) {
          expect(g2Add(concatBytes(encodeG2(a), encodeG2(other)))).toEqual(encodeG2(a.add(other)));
          expect(g2Add(concatBytes(encodeG2(other), encodeG2(a)))).toEqual(encodeG2(a.add(other)));
        }
      }),
      { numRuns: 15 },
    );
  });

  it("takes points outside of the subgroups", () => {
    for (let seed = 1n; seed < 20n; seed++) {
      const [a, b] = [curvePointG1(seed), curvePointG1(seed ** 40n)];
      expect(g1Add(concatBytes(encodeG1(a), encodeG1(b)))).toEqual(encodeG1(a.add(b)));
      const [c, d] = [curvePointG2(seed), curvePointG2(seed ** 40n)];
      expect(g2Add(concatBytes(encodeG2(c), encodeG2(d)))).toEqual(encodeG2(c.add(d)));
    }
    const order3 = G1.fromAffine({ x: 0n, y: 2n });
    expect(g1Add(concatBytes(encodeG1(order3), encodeG1(order3)))).toEqual(encodeG1(order3.negate()));
  });
});

describe("bls12-381 multi-scalar multiplication", () => {
  it("multiplies one point of G1", () => {
    fc.assert(
      fc.property(scalars, wideScalars, (k, scalar) => {
        const wanted = multipleG1((k * scalar) % Fr.ORDER);
        expect(g1Msm(concatBytes(encodeG1(multipleG1(k)), word(scalar)))).toEqual(encodeG1(wanted));
      }),
      { numRuns: 100 },
    );
  });

  it("multiplies one point of G2", () => {
    fc.assert(
      fc.property(scalars, wideScalars, (k, scalar) => {
        const wanted = multipleG2((k * scalar) % Fr.ORDER);
        expect(g2Msm(concatBytes(encodeG2(multipleG2(k)), word(scalar)))).toEqual(encodeG2(wanted));
      }),
      { numRuns: 40 },
    );
  });

  /** Points k·G with small k, negative ones, equal ones and infinity among them: [k, encoded] */
  const small = fc.integer({ min: -20, max: 20 });
  const cacheG1 = new Map<number, Uint8Array>();
  const cacheG2 = new Map<number, Uint8Array>();
  const smallG1 = (k: number): Uint8Array => {
    const known = cacheG1.get(k) ?? encodeG1(k < 0 ? multipleG1(BigInt(-k)).negate() : multipleG1(BigInt(k)));
    cacheG1.set(k, known);
    return known;
  };
  const smallG2 = (k: number): Uint8Array => {
    const known = cacheG2.get(k) ?? encodeG2(k < 0 ? multipleG2(BigInt(-k)).negate() : multipleG2(BigInt(k)));
    cacheG2.set(k, known);
    return known;
  };
  const sizes = [1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 128, 130];

  it.each(sizes)("adds up %i products", (size) => {
    const items = fc.array(fc.tuple(small, wideScalars), { minLength: size, maxLength: size });
    fc.assert(
      fc.property(items, (list) => {
        const sum = Fr.create(list.reduce((total, [k, scalar]) => total + BigInt(k) * scalar, 0n));
        expect(g1Msm(concatBytes(...list.flatMap(([k, scalar]) => [smallG1(k), word(scalar)])))).toEqual(encodeG1(multipleG1(sum)));
        expect(g2Msm(concatBytes(...list.flatMap(([k, scalar]) => [smallG2(k), word(scalar)])))).toEqual(encodeG2(multipleG2(sum)));
      }),
      { numRuns: size > 20 ? 3 : 12 },
    );
  });

  it("adds up sums that vanish on the way", () => {
    const one = concatBytes(smallG1(1), word(5n), smallG1(-1), word(5n));
    expect(g1Msm(one)).toEqual(new Uint8Array(128));
    expect(g1Msm(concatBytes(one, smallG1(0), word(7n), smallG1(3), word(1n)))).toEqual(smallG1(3));
    const equal = concatBytes(...Array.from({ length: 20 }, () => concatBytes(smallG2(1), word(1n))));
    expect(g2Msm(equal)).toEqual(smallG2(20));
  });

  it("refuses points outside of the subgroup, with every order there is, whatever their scalar", () => {
    for (const point of intrudersG1()) {
      for (const scalar of [0n, 1n, Fr.ORDER]) {
        expect(g1Msm(concatBytes(encodeG1(point), word(scalar)))).toBeUndefined();
        expect(g1Msm(concatBytes(smallG1(1), word(1n), encodeG1(point), word(scalar)))).toBeUndefined();
      }
    }
    for (const point of intrudersG2()) {
      for (const scalar of [0n, 1n, Fr.ORDER]) expect(g2Msm(concatBytes(encodeG2(point), word(scalar)))).toBeUndefined();
      expect(g2Msm(concatBytes(smallG2(1), word(1n), encodeG2(point), word(9n)))).toBeUndefined();
    }
  });
});

describe("bls12-381 pairing", () => {
  it("is bilinear", () => {
    fc.assert(
      fc.property(scalars, scalars, scalars, (a, b, c) => {
        const left = pair(multipleG1(a), multipleG2(b));
        const right = pair(multipleG1(Fr.neg(Fr.mul(a, b))), G2.BASE);
        expect(outcome(pairing(concatBytes(left, right)))).toBe(1);
        const other = pair(multipleG1(c), multipleG2(b));
        expect(outcome(pairing(concatBytes(left, right, other)))).toBe(c === 0n || b === 0n ? 1 : 0);
      }),
      { numRuns: 20 },
    );
  });

  it.each([1, 15, 16, 17, 40])("multiplies %i pairs and the one that makes up for them", (count) => {
    const pairs: Uint8Array[] = [];
    let sum = 0n;
    for (let i = 1n; i <= BigInt(count); i++) {
      pairs.push(pair(multipleG1(i), multipleG2(i * i + 1n)));
      sum += i * (i * i + 1n);
    }
    expect(outcome(pairing(concatBytes(...pairs)))).toBe(0);
    expect(outcome(pairing(concatBytes(...pairs, pair(multipleG1(sum).negate(), G2.BASE))))).toBe(1);
  });

  it("takes infinity for one", () => {
    const one = pair(G1.BASE, G2.BASE);
    const infinities = [pair(G1.ZERO, G2.BASE), pair(G1.BASE, G2.ZERO), pair(G1.ZERO, G2.ZERO)];
    for (const infinity of infinities) {
      expect(outcome(pairing(infinity))).toBe(1);
      expect(outcome(pairing(concatBytes(infinity, one)))).toBe(0);
      expect(outcome(pairing(concatBytes(one, infinity, pair(G1.BASE.negate(), G2.BASE))))).toBe(1);
    }
    expect(outcome(pairing(concatBytes(...infinities)))).toBe(1);
  });

  it("refuses points outside of the subgroups, beside infinity too", () => {
    const one = pair(G1.BASE, G2.BASE);
    for (const point of intrudersG1()) {
      for (const other of [G2.BASE, G2.ZERO]) {
        expect(pairing(pair(point, other))).toBeUndefined();
        expect(pairing(concatBytes(one, pair(point, other)))).toBeUndefined();
      }
    }
    for (const point of intrudersG2()) {
      for (const other of [G1.BASE, G1.ZERO]) {
        expect(pairing(pair(other, point))).toBeUndefined();
        expect(pairing(concatBytes(one, pair(other, point)))).toBeUndefined();
      }
    }
  });
});

describe("bls12-381 maps", () => {
  const edges = [0n, 1n, Fp.ORDER - 1n, (Fp.ORDER - 1n) / 2n];
  // z u² = −1, where the first fraction of the map has no denominator
  edges.push(Fp.sqrt(Fp.neg(Fp.inv(11n))));
  const elements = fc.oneof(fc.bigInt({ min: 0n, max: Fp.ORDER - 1n }), fc.constantFrom(...edges));

  it("agree in G1", () => {
    fc.assert(
      fc.property(elements, (u) => {
        // for a field without extension, the library expects a plain number and returns a point, although its types say otherwise
        const wanted = bls12_381.G1.mapToCurve(u as unknown as bigint[]) as unknown as PointG1;
        expect(mapToG1(field(u))).toEqual(encodeG1(wanted));
      }),
      { numRuns: 40, examples: edges.map((u) => [u]) },
    );
  });

  it("agree in G2", () => {
    fc.assert(
      fc.property(elements, elements, (c0, c1) => {
        const wanted = bls12_381.G2.mapToCurve([c0, c1]) as unknown as PointG2;
        expect(mapToG2(concatBytes(field(c0), field(c1)))).toEqual(encodeG2(wanted));
      }),
      { numRuns: 25, examples: edges.flatMap((u) => [[u, 0n] as [bigint, bigint], [0n, u] as [bigint, bigint]]) },
    );
  });
});

describe("bls12-381 encoding", () => {
  const g1 = encodeG1(G1.BASE);
  const g2 = encodeG2(G2.BASE);
  const contracts: readonly [string, Run, Uint8Array][] = [
    ["g1 add", g1Add, concatBytes(g1, g1)],
    ["g1 msm", g1Msm, concatBytes(g1, word(2n), g1, word(3n))],
    ["g2 add", g2Add, concatBytes(g2, g2)],
    ["g2 msm", g2Msm, concatBytes(g2, word(2n), g2, word(3n))],
    ["pairing", pairing, concatBytes(g1, g2, g1, g2)],
    ["map to g1", mapToG1, field(7n)],
    ["map to g2", mapToG2, concatBytes(field(7n), field(8n))],
  ];
  /** The positions at which the field elements of an input begin. */
  const elementsOf = (name: string, length: number): number[] => {
    const item = name === "g1 msm" ? 160 : name === "g2 msm" ? 288 : length;
    const starts = Array.from({ length: Math.floor(item / 64) }, (_, i) => 64 * i);
    return Array.from({ length: length / item }, (_, i) => starts.map((start) => i * item + start)).flat();
  };

  it.each(contracts)("%s: refuses other lengths", (_, run, input) => {
    expect(run(input)).toBeDefined();
    expect(run(new Uint8Array(0))).toBeUndefined();
    for (const length of [1, 64, input.length - 1, input.length + 1, input.length - 32]) {
      if (length % input.length === 0 || run === mapToG1) continue;
      const other = new Uint8Array(length);
      other.set(input.subarray(0, length));
      expect(run(other)).toBeUndefined();
    }
  });

  it.each(contracts)("%s: refuses elements not below the modulus and with other padding than zeros", (name, run, input) => {
    for (const start of elementsOf(name, input.length)) {
      const changed = (at: number, bytes: Uint8Array) => {
        const copy = input.slice();
        copy.set(bytes, at);
        return copy;
      };
      for (let at = 0; at < 16; at++) expect(run(changed(start + at, Uint8Array.of(1)))).toBeUndefined();
      const value = BigInt(`0x${Buffer.from(input.subarray(start, start + 64)).toString("hex")}`);
      expect(run(changed(start, field(value + Fp.ORDER)))).toBeUndefined();
      expect(run(changed(start, field(Fp.ORDER)))).toBeUndefined();
      expect(run(changed(start + 16, new Uint8Array(48).fill(255)))).toBeUndefined();
    }
  });

  it.each(contracts.slice(0, 5))("%s: refuses points off their curve", (name, run, input) => {
    for (const start of elementsOf(name, input.length)) {
      const copy = input.slice();
      copy[start + 63]! ^= 1;
      expect(run(copy)).toBeUndefined();
      copy.fill(0, start, start + 64);
      expect(run(copy)).toBeUndefined();
    }
  });
});
