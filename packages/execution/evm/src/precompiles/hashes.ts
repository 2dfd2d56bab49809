import { isZeroBytes, publicKeyToAddress, recoverPublicKey, ripemd160 } from "@rnode/primitives";
import { gasByWords, type Precompile, paddedSlice } from "./precompile.ts";

const NOTHING = new Uint8Array(0);
const V_27 = 27;

/** 0x01: hash ‖ v ‖ r ‖ s → address, nothing for a bad signature */
export const ecrecover: Precompile = {
  gas: () => 3000n,
  run(input) {
    const data = paddedSlice(input, 0, 128);
    const v = data[63]!;
    if (!isZeroBytes(data.subarray(32, 63)) || (v !== V_27 && v !== V_27 + 1)) return NOTHING;
    const output = new Uint8Array(32);
    try {
      const publicKey = recoverPublicKey(data.subarray(0, 32), data.subarray(64, 96), data.subarray(96, 128), v - V_27);
      output.set(publicKeyToAddress(publicKey), 12);
    } catch {
      return NOTHING; // r or s out of range, or no such point
    }
    return output;
  },
};

/** 0x02, for inputs that the engine does not hash itself */
export const sha256Precompile = (sha256: (data: Uint8Array) => Uint8Array): Precompile => ({
  gas: (input) => gasByWords(60, 12, input),
  run: sha256,
});

/** 0x03 */
export const ripemd: Precompile = {
  gas: (input) => gasByWords(600, 120, input),
  run(input) {
    const output = new Uint8Array(32);
    output.set(ripemd160(input), 12);
    return output;
  },
};
