import { bn254 } from "@noble/curves/bn254.js";
import { bigintToBytes, bytesToBigint, concatBytes } from "@rnode/primitives";
import { type Precompile, paddedSlice, UNPAYABLE } from "./precompile.ts";

const { Fp, Fp2, Fp12 } = bn254.fields;
const G1 = bn254.G1.Point;
const G2 = bn254.G2.Point;
type PointG1 = InstanceType<typeof G1>;
type PointG2 = InstanceType<typeof G2>;

const CURVE_B = 3n;
/** Twist: 3 ÷ (9 + u) */
const TWIST_B = Fp2.div(Fp2.fromBigTuple([3n, 0n]), Fp2.fromBigTuple([9n, 1n]));
const GROUP_ORDER = bn254.fields.Fr.ORDER;

/** A point of G1 from x ‖ y; zeros are infinity. undefined: not a field element or not on the curve */
function pointG1(bytes: Uint8Array): PointG1 | undefined {
  const x = bytesToBigint(bytes.subarray(0, 32));
  const y = bytesToBigint(bytes.subarray(32, 64));
  if (x >= Fp.ORDER || y >= Fp.ORDER) return undefined;
  if (x === 0n && y === 0n) return G1.ZERO;
  if (Fp.sqr(y) !== Fp.add(Fp.mul(Fp.sqr(x), x), CURVE_B)) return undefined;
  return G1.fromAffine({ x, y });
}

/** A point of G2 from x1 ‖ x0 ‖ y1 ‖ y0 (imaginary part first), in the right subgroup. */
function pointG2(bytes: Uint8Array): PointG2 | undefined {
  const [x1, x0, y1, y0] = [0, 32, 64, 96].map((at) => bytesToBigint(bytes.subarray(at, at + 32)));
  if (x0! >= Fp.ORDER || x1! >= Fp.ORDER || y0! >= Fp.ORDER || y1! >= Fp.ORDER) return undefined;
  if (x0 === 0n && x1 === 0n && y0 === 0n && y1 === 0n) return G2.ZERO;
  const x = Fp2.fromBigTuple([x0!, x1!]);
  const y = Fp2.fromBigTuple([y0!, y1!]);
  if (!Fp2.eql(Fp2.sqr(y), Fp2.add(Fp2.mul(Fp2.sqr(x), x), TWIST_B))) return undefined;
  const point = G2.fromAffine({ x, y });
  return point.isTorsionFree() ? point : undefined;
}

function encodeG1(point: PointG1): Uint8Array {
  const { x, y } = point.toAffine();
  return concatBytes(bigintToBytes(x, 32), bigintToBytes(y, 32));
}

function add(input: Uint8Array): Uint8Array | undefined {
  const data = paddedSlice(input, 0, 128);
  const a = pointG1(data.subarray(0, 64));
  const b = pointG1(data.subarray(64, 128));
  return a === undefined || b === undefined ? undefined : encodeG1(a.add(b));
}

function multiply(input: Uint8Array): Uint8Array | undefined {
  const data = paddedSlice(input, 0, 96);
  const point = pointG1(data.subarray(0, 64));
  if (point === undefined) return undefined;
  const scalar = bytesToBigint(data.subarray(64, 96)) % GROUP_ORDER;
  return encodeG1(scalar === 0n ? G1.ZERO : point.multiplyUnsafe(scalar));
}

const PAIR_BYTES = 192;

function pairing(input: Uint8Array): Uint8Array | undefined {
  if (input.length % PAIR_BYTES !== 0) return undefined;
  const pairs: { g1: PointG1; g2: PointG2 }[] = [];
  for (let at = 0; at < input.length; at += PAIR_BYTES) {
    const g1 = pointG1(input.subarray(at, at + 64));
    if (g1 === undefined) return undefined;
    const g2 = pointG2(input.subarray(at + 64, at + PAIR_BYTES));
    if (g2 === undefined) return undefined;
    if (!g1.equals(G1.ZERO) && !g2.equals(G2.ZERO)) pairs.push({ g1, g2 });
  }
  const output = new Uint8Array(32);
  if (pairs.length === 0 || Fp12.eql(bn254.pairingBatch(pairs), Fp12.ONE)) output[31] = 1;
  return output;
}

/** 0x06: EIP-196, prices of EIP-1108 from Istanbul */
export const bn254Add = (isIstanbul: boolean): Precompile => ({ gas: () => (isIstanbul ? 150n : 500n), run: add });

/** 0x07 */
export const bn254Multiply = (isIstanbul: boolean): Precompile => ({ gas: () => (isIstanbul ? 6000n : 40_000n), run: multiply });

/**
 * 0x08: EIP-197
 *
 * @param maxBytes longest input that is accepted: OP Stack limit (protocol/01 §8)
 */
export function bn254Pairing(isIstanbul: boolean, maxBytes: number): Precompile {
  const base = isIstanbul ? 45_000 : 100_000;
  const perPair = isIstanbul ? 34_000 : 80_000;
  return {
    gas: (input) => (input.length > maxBytes ? UNPAYABLE : BigInt(base + perPair * Math.floor(input.length / PAIR_BYTES))),
    run: pairing,
  };
}
