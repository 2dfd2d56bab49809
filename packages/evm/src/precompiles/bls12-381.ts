import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bigintToBytes, bytesToBigint, concatBytes, isZeroBytes } from "@rnode/primitives";
import { G1_DISCOUNTS, G2_DISCOUNTS } from "./bls12-381-discounts.ts";
import { type Precompile, UNPAYABLE } from "./precompile.ts";

/** BLS12-381 precompiles 0x0b … 0x11. Spec: EIP-2537. A field element is 64 bytes of which the first 16 are zero. */

const { Fp, Fp2, Fp12, Fr } = bls12_381.fields;
const G1 = bls12_381.G1.Point;
const G2 = bls12_381.G2.Point;
type PointG1 = InstanceType<typeof G1>;
type PointG2 = InstanceType<typeof G2>;

const FIELD_BYTES = 64;
const G1_BYTES = 128;
const G2_BYTES = 256;
const SCALAR_BYTES = 32;
const CURVE_B = 4n;
const TWIST_B = Fp2.fromBigTuple([4n, 4n]);

function fieldElement(bytes: Uint8Array): bigint | undefined {
  if (!isZeroBytes(bytes.subarray(0, 16))) return undefined;
  const value = bytesToBigint(bytes.subarray(16, FIELD_BYTES));
  return value < Fp.ORDER ? value : undefined;
}

function extensionElement(bytes: Uint8Array) {
  const c0 = fieldElement(bytes.subarray(0, FIELD_BYTES));
  const c1 = fieldElement(bytes.subarray(FIELD_BYTES, 2 * FIELD_BYTES));
  return c0 === undefined || c1 === undefined ? undefined : Fp2.fromBigTuple([c0, c1]);
}

/** A point on the curve (infinity is zeros), and of the subgroup when that is asked for. */
function pointG1(bytes: Uint8Array, inSubgroup: boolean): PointG1 | undefined {
  const x = fieldElement(bytes.subarray(0, FIELD_BYTES));
  const y = fieldElement(bytes.subarray(FIELD_BYTES, G1_BYTES));
  if (x === undefined || y === undefined) return undefined;
  if (x === 0n && y === 0n) return G1.ZERO;
  if (Fp.sqr(y) !== Fp.add(Fp.mul(Fp.sqr(x), x), CURVE_B)) return undefined;
  const point = G1.fromAffine({ x, y });
  return !inSubgroup || point.isTorsionFree() ? point : undefined;
}

function pointG2(bytes: Uint8Array, inSubgroup: boolean): PointG2 | undefined {
  const x = extensionElement(bytes.subarray(0, 2 * FIELD_BYTES));
  const y = extensionElement(bytes.subarray(2 * FIELD_BYTES, G2_BYTES));
  if (x === undefined || y === undefined) return undefined;
  if (Fp2.is0(x) && Fp2.is0(y)) return G2.ZERO;
  if (!Fp2.eql(Fp2.sqr(y), Fp2.add(Fp2.mul(Fp2.sqr(x), x), TWIST_B))) return undefined;
  const point = G2.fromAffine({ x, y });
  return !inSubgroup || point.isTorsionFree() ? point : undefined;
}

interface Affine<F> {
  readonly x: F;
  readonly y: F;
}

const encodeField = (value: bigint): Uint8Array => bigintToBytes(value, FIELD_BYTES);

function encodeG1({ x, y }: Affine<bigint>): Uint8Array {
  return concatBytes(encodeField(x), encodeField(y));
}

function encodeG2({ x, y }: Affine<{ readonly c0: bigint; readonly c1: bigint }>): Uint8Array {
  return concatBytes(encodeField(x.c0), encodeField(x.c1), encodeField(y.c0), encodeField(y.c1));
}

/** What both groups have in common for addition and multi-scalar multiplication. */
interface Group<P> {
  readonly pointBytes: number;
  readonly decode: (bytes: Uint8Array, inSubgroup: boolean) => P | undefined;
  readonly encode: (point: P) => Uint8Array;
  readonly zero: P;
  readonly add: (a: P, b: P) => P;
  /** scalar not 0 */
  readonly multiply: (point: P, scalar: bigint) => P;
}

const GROUP_1: Group<PointG1> = {
  pointBytes: G1_BYTES,
  decode: pointG1,
  encode: (point) => encodeG1(point.toAffine()),
  zero: G1.ZERO,
  add: (a, b) => a.add(b),
  multiply: (point, scalar) => point.multiplyUnsafe(scalar),
};

const GROUP_2: Group<PointG2> = {
  pointBytes: G2_BYTES,
  decode: pointG2,
  encode: (point) => encodeG2(point.toAffine()),
  zero: G2.ZERO,
  add: (a, b) => a.add(b),
  multiply: (point, scalar) => point.multiplyUnsafe(scalar),
};

function addition<P>(group: Group<P>, gas: bigint): Precompile {
  const { pointBytes } = group;
  return {
    gas: () => gas,
    run(input) {
      if (input.length !== 2 * pointBytes) return undefined;
      const a = group.decode(input.subarray(0, pointBytes), false);
      const b = group.decode(input.subarray(pointBytes), false);
      return a === undefined || b === undefined ? undefined : group.encode(group.add(a, b));
    },
  };
}

function multiplication<P>(group: Group<P>, gas: number, discounts: readonly number[], maxBytes: number): Precompile {
  const { pointBytes } = group;
  const itemBytes = pointBytes + SCALAR_BYTES;
  return {
    gas(input) {
      if (input.length > maxBytes) return UNPAYABLE;
      const count = Math.floor(input.length / itemBytes);
      if (count === 0) return 0n;
      const discount = discounts[Math.min(count, discounts.length) - 1]!;
      return (BigInt(count) * BigInt(gas) * BigInt(discount)) / 1000n;
    },
    run(input) {
      if (input.length === 0 || input.length % itemBytes !== 0) return undefined;
      let sum = group.zero;
      for (let at = 0; at < input.length; at += itemBytes) {
        const point = group.decode(input.subarray(at, at + pointBytes), true);
        if (point === undefined) return undefined;
        const scalar = bytesToBigint(input.subarray(at + pointBytes, at + itemBytes)) % Fr.ORDER;
        if (scalar !== 0n && point !== group.zero) sum = group.add(sum, group.multiply(point, scalar));
      }
      return group.encode(sum);
    },
  };
}

const PAIR_BYTES = G1_BYTES + G2_BYTES;

function pairing(input: Uint8Array): Uint8Array | undefined {
  if (input.length === 0 || input.length % PAIR_BYTES !== 0) return undefined;
  const pairs: { g1: PointG1; g2: PointG2 }[] = [];
  for (let at = 0; at < input.length; at += PAIR_BYTES) {
    const g1 = pointG1(input.subarray(at, at + G1_BYTES), true);
    if (g1 === undefined) return undefined;
    const g2 = pointG2(input.subarray(at + G1_BYTES, at + PAIR_BYTES), true);
    if (g2 === undefined) return undefined;
    if (g1 !== G1.ZERO && g2 !== G2.ZERO) pairs.push({ g1, g2 });
  }
  const output = new Uint8Array(32);
  if (pairs.length === 0 || Fp12.eql(bls12_381.pairingBatch(pairs), Fp12.ONE)) output[31] = 1;
  return output;
}

/** Longest inputs that are accepted: OP Stack limits (protocol/01 §8). */
export interface BlsLimits {
  readonly g1MsmBytes: number;
  readonly g2MsmBytes: number;
  readonly pairingBytes: number;
}

/** The seven contracts from 0x0b on, in order. */
export function bls12381Precompiles(limits: BlsLimits): readonly Precompile[] {
  return [
    addition(GROUP_1, 375n),
    multiplication(GROUP_1, 12_000, G1_DISCOUNTS, limits.g1MsmBytes),
    addition(GROUP_2, 600n),
    multiplication(GROUP_2, 22_500, G2_DISCOUNTS, limits.g2MsmBytes),
    {
      gas: (input) =>
        input.length > limits.pairingBytes ? UNPAYABLE : BigInt(37_700 + 32_600 * Math.floor(input.length / PAIR_BYTES)),
      run: pairing,
    },
    {
      gas: () => 5500n,
      run(input) {
        if (input.length !== FIELD_BYTES) return undefined;
        const element = fieldElement(input);
        // The library wants the bare number where the field has no extension; its types say an array.
        return element === undefined ? undefined : encodeG1(bls12_381.G1.mapToCurve(element as unknown as bigint[]));
      },
    },
    {
      gas: () => 23_800n,
      run(input) {
        if (input.length !== 2 * FIELD_BYTES) return undefined;
        const element = extensionElement(input);
        return element === undefined ? undefined : encodeG2(bls12_381.G2.mapToCurve([element.c0, element.c1]));
      },
    },
  ];
}
