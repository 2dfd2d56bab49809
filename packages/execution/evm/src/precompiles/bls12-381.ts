import type { Bls12381Exports } from "../engine/module.ts";
import type { Arithmetic } from "./arithmetic.ts";
import { G1_DISCOUNTS, G2_DISCOUNTS } from "./bls12-381-discounts.ts";
import { type Precompile, UNPAYABLE } from "./precompile.ts";

/**
 * BLS12-381 precompiles 0x0b … 0x11. Spec: EIP-2537. Field elements are 64 bytes, points of G1 128 bytes, of G2 256 bytes;
 * assembly/bls12-381 checks that they are valid.
 */
const FIELD_BYTES = 64;
const G1_BYTES = 128;
const G2_BYTES = 256;
const SCALAR_BYTES = 32;
const PAIR_BYTES = G1_BYTES + G2_BYTES;

/** Maximum input sizes: OP Stack limits (docs/protocol/01-execution.md#evm-differences). */
export interface BlsLimits {
  readonly g1MsmBytes: number;
  readonly g2MsmBytes: number;
  readonly pairingBytes: number;
}

/** A precompile whose input and output have fixed lengths. */
function fixed(
  arithmetic: Arithmetic,
  gas: bigint,
  name: "g1Add" | "g2Add" | "mapFpToG1" | "mapFp2ToG2",
  inputBytes: number,
  outputBytes: number,
): Precompile {
  return {
    gas: () => gas,
    run(input) {
      if (input.length !== inputBytes) return undefined;
      const bls12381 = arithmetic.bls12381(inputBytes);
      bls12381.write(input, inputBytes);
      return bls12381.exports[name](bls12381.start) === 0 ? undefined : bls12381.read(outputBytes);
    },
  };
}

interface Multiplication {
  readonly name: "g1Msm" | "g2Msm";
  readonly pointBytes: number;
  readonly gas: number;
  readonly discounts: readonly number[];
  readonly maxBytes: number;
}

function multiplication(arithmetic: Arithmetic, { name, pointBytes, gas, discounts, maxBytes }: Multiplication): Precompile {
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
      const bls12381 = arithmetic.bls12381(input.length);
      bls12381.write(input, input.length);
      const run: Bls12381Exports["g1Msm"] = bls12381.exports[name];
      return run(bls12381.start, input.length / itemBytes) === 0 ? undefined : bls12381.read(pointBytes);
    },
  };
}

function pairing(arithmetic: Arithmetic, maxBytes: number): Precompile {
  return {
    gas: (input) => (input.length > maxBytes ? UNPAYABLE : BigInt(37_700 + 32_600 * Math.floor(input.length / PAIR_BYTES))),
    run(input) {
      if (input.length === 0 || input.length % PAIR_BYTES !== 0) return undefined;
      const bls12381 = arithmetic.bls12381(input.length);
      bls12381.write(input, input.length);
      const result = bls12381.exports.pairing(bls12381.start, input.length / PAIR_BYTES);
      if (result === 0) return undefined;
      const output = new Uint8Array(32);
      output[31] = result - 1;
      return output;
    },
  };
}

/** The seven contracts from 0x0b on, in order. */
export function bls12381Precompiles(arithmetic: Arithmetic, limits: BlsLimits): readonly Precompile[] {
  const g1 = { name: "g1Msm", pointBytes: G1_BYTES, gas: 12_000, discounts: G1_DISCOUNTS, maxBytes: limits.g1MsmBytes } as const;
  const g2 = { name: "g2Msm", pointBytes: G2_BYTES, gas: 22_500, discounts: G2_DISCOUNTS, maxBytes: limits.g2MsmBytes } as const;
  return [
    fixed(arithmetic, 375n, "g1Add", 2 * G1_BYTES, G1_BYTES),
    multiplication(arithmetic, g1),
    fixed(arithmetic, 600n, "g2Add", 2 * G2_BYTES, G2_BYTES),
    multiplication(arithmetic, g2),
    pairing(arithmetic, limits.pairingBytes),
    fixed(arithmetic, 5500n, "mapFpToG1", FIELD_BYTES, G1_BYTES),
    fixed(arithmetic, 23_800n, "mapFp2ToG2", 2 * FIELD_BYTES, G2_BYTES),
  ];
}
