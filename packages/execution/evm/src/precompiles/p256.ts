import type { Arithmetic } from "./arithmetic.ts";
import type { Precompile } from "./precompile.ts";

const INPUT_BYTES = 160;
const NOTHING = new Uint8Array(0);

/** 0x100: hash ‖ r ‖ s ‖ x ‖ y → 1, nothing for a bad signature. Spec: RIP-7212, EIP-7951 */
export const p256Verify = (arithmetic: Arithmetic, gas: bigint): Precompile => ({
  gas: () => gas,
  run(input) {
    if (input.length !== INPUT_BYTES) return NOTHING;
    const curves = arithmetic.curves(INPUT_BYTES);
    curves.write(input, INPUT_BYTES);
    if (curves.exports.p256Verify(curves.start) === 0) return NOTHING;
    const output = new Uint8Array(32);
    output[31] = 1;
    return output;
  },
});
