import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bigintToBytes, concatBytes, hexToBytes, sha256 } from "@rnode/primitives";
import { rollupRules } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { createPrecompileTable } from "./table.ts";

const table = createPrecompileTable(engineModule, rollupRules("karst"));
const Point = bls12_381.G1.Point;
const ORDER = bls12_381.fields.Fr.ORDER;
/** τ·G1 of the KZG ceremony: the commitment to the polynomial x */
const TAU_G1 = Point.fromHex("ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81");

const mod = (value: bigint): bigint => ((value % ORDER) + ORDER) % ORDER;
const times = (point: typeof TAU_G1, scalar: bigint) => (mod(scalar) === 0n ? Point.ZERO : point.multiply(mod(scalar)));
const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);

/** The commitment to a + b·x, whose proof at every point is b·G1. */
const commit = (a: bigint, b: bigint): Uint8Array => times(Point.BASE, a).add(times(TAU_G1, b)).toBytes();
const proofOf = (b: bigint): Uint8Array => times(Point.BASE, b).toBytes();

function verify(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean {
  const versionedHash = sha256(commitment);
  versionedHash[0] = 1;
  const output = table.get(0x0a)!.run(concatBytes(versionedHash, z, y, commitment, proof));
  if (output !== undefined) expect(output).toEqual(concatBytes(word(4096n), word(ORDER)));
  return output !== undefined;
}

describe("point evaluation in WebAssembly", () => {
  const [a, b] = [0x1234_5678_9abc_def0n ** 4n, 0xfedc_ba98_7654_3210n ** 4n].map(mod) as [bigint, bigint];

  it.each<[string, bigint, bigint, bigint]>([
    ["a line", a, b, 3n ** 150n],
    ["a line at 0", a, b, 0n],
    ["a line at the highest point", a, b, ORDER - 1n],
    ["x at a point", 0n, 1n, 77n],
    ["a constant", a, 0n, 5n],
    ["zero", 0n, 0n, 5n],
    ["a line where it is zero", a, b, mod(-a * bls12_381.fields.Fr.inv(b))],
  ])("proves the values of %s, and no others", (_, c0, c1, at) => {
    const z = mod(at);
    const y = mod(c0 + c1 * z);
    expect(verify(commit(c0, c1), word(z), word(y), proofOf(c1))).toBe(true);
    expect(verify(commit(c0, c1), word(z), word(mod(y + 1n)), proofOf(c1))).toBe(false);
    expect(verify(commit(c0, c1), word(z), word(y), proofOf(c1 + 1n))).toBe(false);
    expect(verify(commit(c0 + 1n, c1), word(z), word(y), proofOf(c1))).toBe(false);
    if (c1 !== 0n) expect(verify(commit(c0, c1), word(mod(z + 1n)), word(y), proofOf(c1))).toBe(false);
  });

  it("takes only numbers below the order", () => {
    expect(verify(commit(a, 0n), word(2n), word(a), proofOf(0n))).toBe(true);
    expect(verify(commit(a, 0n), word(2n + ORDER), word(a), proofOf(0n))).toBe(false);
    expect(verify(commit(1n, 0n), word(2n), word(1n), proofOf(0n))).toBe(true);
    expect(verify(commit(1n, 0n), word(2n), word(1n + ORDER), proofOf(0n))).toBe(false);
  });

  it("takes only compressed points of the subgroup, each in its one form", () => {
    const infinity = proofOf(0n);
    const change = (bytes: Uint8Array, at: number, value: number) => bytes.with(at, value);
    const zero = word(0n);
    expect(verify(infinity, zero, zero, infinity)).toBe(true);
    for (const bad of [
      change(infinity, 0, 0x40), // not marked as compressed
      change(infinity, 0, 0xe0), // infinity has no larger y
      change(infinity, 0, 0xc1),
      change(infinity, 47, 1),
      new Uint8Array(48),
      hexToBytes(`0x9a${bls12_381.fields.Fp.ORDER.toString(16).slice(2)}`), // x = p
      hexToBytes(`0x80${"00".repeat(46)}01`), // x³ + 4 is not a square
      hexToBytes(`0x80${"00".repeat(47)}`), // (0, 2) has order 3
    ]) {
      expect(verify(bad, zero, zero, infinity)).toBe(false);
      expect(verify(infinity, zero, zero, bad)).toBe(false);
    }
    // the other y is the opposite point
    const opposite = commit(a, b).slice();
    opposite[0]! ^= 0x20;
    expect(verify(commit(a, b), word(1n), word(mod(a + b)), proofOf(b))).toBe(true);
    expect(verify(opposite, word(1n), word(mod(a + b)), proofOf(b))).toBe(false);
    expect(verify(opposite, word(1n), word(mod(-a - b)), proofOf(-b))).toBe(true);
  });
});
