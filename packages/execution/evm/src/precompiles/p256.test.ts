import { p256 } from "@noble/curves/nist.js";
import { bigintToBytes, bytesToBigint, concatBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { Arithmetic } from "./arithmetic.ts";
import { p256Verify } from "./p256.ts";

const verify = p256Verify(new Arithmetic(engineModule), 3450n);
const { Fn, Fp } = p256.Point;
const word = (value: bigint) => bigintToBytes(value, 32);
const isValid = (input: Uint8Array) => verify.run(input)?.length === 32;

function signed(hash: Uint8Array, secret: bigint): Uint8Array {
  const key = word(secret);
  const signature = p256.sign(hash, key, { prehash: false, lowS: false });
  return concatBytes(hash, signature, p256.getPublicKey(key, false).subarray(1));
}

const secrets = fc.bigInt({ min: 1n, max: Fn.ORDER - 1n });
const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** The library's verdict on an input, any part of which may be wrong. */
function wanted(input: Uint8Array): boolean {
  try {
    const key = concatBytes(new Uint8Array([4]), input.subarray(96));
    return p256.verify(input.slice(32, 96), input.slice(0, 32), key, { prehash: false, lowS: false });
  } catch {
    return false;
  }
}

describe("P256VERIFY", () => {
  it("agrees with @noble/curves on good and changed signatures", () => {
    fc.assert(
      fc.property(hashes, secrets, fc.nat({ max: 159 }), fc.integer({ min: 1, max: 255 }), (hash, secret, at, flip) => {
        const input = signed(hash, secret);
        expect(isValid(input)).toBe(true);
        const s = bytesToBigint(input.subarray(64, 96));
        const other = input.slice();
        other.set(word(Fn.ORDER - s), 64);
        expect(isValid(other)).toBe(true); // a high s is valid too
        input[at]! ^= flip;
        expect(isValid(input)).toBe(wanted(input));
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["a hash of zeros", new Uint8Array(32)],
    ["a hash above the order", new Uint8Array(32).fill(255)],
    ["a hash equal to the order", word(Fn.ORDER)],
  ])("takes %s", (_, hash) => {
    expect(isValid(signed(hash, 1n))).toBe(true);
    expect(isValid(signed(hash, Fn.ORDER - 1n))).toBe(true);
  });

  it("takes R whose x is not below the order", () => {
    // Points with order ≤ x < modulus: a key is recovered from one, as for any R: Q = r⁻¹·(s·R − h·G)
    for (let x = Fn.ORDER; ; x++) {
      let point: InstanceType<typeof p256.Point>;
      try {
        point = p256.Point.fromBytes(concatBytes(new Uint8Array([2]), word(x)));
      } catch {
        continue;
      }
      const r = x - Fn.ORDER;
      if (r === 0n) continue;
      const s = 77n;
      const h = 1234n;
      const key = point.multiply(s).subtract(p256.Point.BASE.multiply(h)).multiply(Fn.inv(r)).toAffine();
      expect(x < Fp.ORDER).toBe(true);
      const input = concatBytes(word(h), word(r), word(s), word(key.x), word(key.y));
      expect(isValid(input)).toBe(true);
      input.set(word(h + 1n), 0);
      expect(isValid(input)).toBe(false);
      return;
    }
  });

  it("meets equal and opposite points on its way", () => {
    // u1·G + u2·Q with Q = ±G and equal scalars: doubling, or infinity
    const { x, y } = p256.Point.BASE.toAffine();
    for (const [hash, r, s] of [
      [5n, 5n, 1n],
      [1n, 1n, 1n],
      [x % Fn.ORDER, x % Fn.ORDER, 2n],
    ] as const) {
      for (const keyY of [y, Fp.ORDER - y]) {
        const input = concatBytes(word(hash), word(r), word(s), word(x), word(keyY));
        expect(isValid(input)).toBe(wanted(input));
      }
    }
  });

  const good = signed(word(99n), 4242n);
  const changed = (at: number, value: bigint) => {
    const input = good.slice();
    input.set(word(value), at);
    return input;
  };
  it.each([
    ["r = 0", changed(32, 0n)],
    ["r = order", changed(32, Fn.ORDER)],
    ["s = 0", changed(64, 0n)],
    ["s = order", changed(64, Fn.ORDER)],
    ["x = modulus", changed(96, Fp.ORDER)],
    ["y above the modulus", changed(128, Fp.ORDER + 5n)],
    ["a point off the curve", changed(96, 5n)],
    ["infinity as key", concatBytes(good.subarray(0, 96), new Uint8Array(64))],
    ["a short input", good.subarray(0, 159)],
    ["a long input", concatBytes(good, new Uint8Array(1))],
  ])("refuses %s", (_, input) => {
    expect(verify.run(input)).toEqual(new Uint8Array(0));
  });
});
