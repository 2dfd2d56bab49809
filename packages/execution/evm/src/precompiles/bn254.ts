import { bytesToBigint } from "@rnode/primitives";
import { type Arithmetic, writeNumber } from "./arithmetic.ts";
import { type Precompile, paddedSlice, UNPAYABLE } from "./precompile.ts";

const POINT_BYTES = 64;
/** order of G1, G2 and the target group */
const GROUP_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;

/**
 * Short vectors of the lattice of (k1, k2) with k1 + k2·λ = 0 modulo the order: (V1, W1) and (W1, −V2). λ is the cube root of one with
 * λ·(x, y) = (β·x, y), β of scripts/generate-field.mjs.
 */
const V1 = 147946756881789319010696353538189108491n;
const V2 = 147946756881789319000765030803803410728n;
const W1 = 9931322734385697763n;

/** scalar = k1 + k2·λ with both below 2^128 (Gallant, Lambert, Vanstone, 2001) */
export function splitScalar(scalar: bigint): { readonly k1: bigint; readonly k2: bigint } {
  const half = GROUP_ORDER >> 1n;
  const c1 = (scalar * V2 + half) / GROUP_ORDER;
  const c2 = (scalar * W1 + half) / GROUP_ORDER;
  return { k1: scalar - c1 * V1 - c2 * W1, k2: c2 * V2 - c1 * W1 };
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** 0x06: EIP-196, prices of EIP-1108 from Istanbul */
export const bn254Add = (arithmetic: Arithmetic, isIstanbul: boolean): Precompile => ({
  gas: () => (isIstanbul ? 150n : 500n),
  run(input) {
    const curves = arithmetic.curves(2 * POINT_BYTES);
    curves.write(input, 2 * POINT_BYTES);
    return curves.exports.bn254Add(curves.start) === 0 ? undefined : curves.read(POINT_BYTES);
  },
});

/** 0x07 */
export const bn254Multiply = (arithmetic: Arithmetic, isIstanbul: boolean): Precompile => ({
  gas: () => (isIstanbul ? 6000n : 40_000n),
  run(input) {
    const { k1, k2 } = splitScalar(bytesToBigint(paddedSlice(input, POINT_BYTES, 32)) % GROUP_ORDER);
    const curves = arithmetic.curves(POINT_BYTES + 48);
    curves.write(input, POINT_BYTES + 48);
    writeNumber(curves, magnitude(k1), POINT_BYTES);
    writeNumber(curves, magnitude(k2), POINT_BYTES + 24);
    const signs = (k1 < 0n ? 1 : 0) | (k2 < 0n ? 2 : 0);
    return curves.exports.bn254Multiply(curves.start, signs) === 0 ? undefined : curves.read(POINT_BYTES);
  },
});

const PAIR_BYTES = 192;

function pairing(arithmetic: Arithmetic, input: Uint8Array): Uint8Array | undefined {
  if (input.length % PAIR_BYTES !== 0) return undefined;
  const output = new Uint8Array(32);
  output[31] = 1;
  if (input.length === 0) return output;
  const curves = arithmetic.curves(input.length);
  curves.write(input, input.length);
  const result = curves.exports.bn254Pairing(curves.start, input.length / PAIR_BYTES);
  if (result < 0) return undefined;
  output[31] = result;
  return output;
}

/**
 * 0x08: EIP-197
 *
 * @param maxBytes maximum input size: OP Stack limit (docs/protocol/01-execution.md#evm-differences)
 */
export function bn254Pairing(arithmetic: Arithmetic, isIstanbul: boolean, maxBytes: number): Precompile {
  const base = isIstanbul ? 45_000 : 100_000;
  const perPair = isIstanbul ? 34_000 : 80_000;
  return {
    gas: (input) => (input.length > maxBytes ? UNPAYABLE : BigInt(base + perPair * Math.floor(input.length / PAIR_BYTES))),
    run: (input) => pairing(arithmetic, input),
  };
}
