import { p256 } from "@noble/curves/nist.js";
import { bytesToBigint } from "@rnode/primitives";
import type { Precompile } from "./precompile.ts";

const INPUT_BYTES = 160;
const NOTHING = new Uint8Array(0);
const { Fp, Fn } = p256.Point;

function isValid(input: Uint8Array): boolean {
  const r = bytesToBigint(input.subarray(32, 64));
  const s = bytesToBigint(input.subarray(64, 96));
  const x = bytesToBigint(input.subarray(96, 128));
  const y = bytesToBigint(input.subarray(128, 160));
  if (r === 0n || r >= Fn.ORDER || s === 0n || s >= Fn.ORDER || x >= Fp.ORDER || y >= Fp.ORDER) return false;
  if (x === 0n && y === 0n) return false; // infinity
  try {
    const publicKey = new Uint8Array(65);
    publicKey[0] = 4;
    publicKey.set(input.subarray(96, 160), 1);
    return p256.verify(input.slice(32, 96), input.slice(0, 32), publicKey, { prehash: false, lowS: false });
  } catch {
    return false; // not on the curve
  }
}

/** 0x100: hash ‖ r ‖ s ‖ x ‖ y → 1, nothing for a bad signature. Spec: RIP-7212, EIP-7951 */
export const p256Verify = (gas: bigint): Precompile => ({
  gas: () => gas,
  run(input) {
    if (input.length !== INPUT_BYTES || !isValid(input)) return NOTHING;
    const output = new Uint8Array(32);
    output[31] = 1;
    return output;
  },
});
