import type { ForkRules } from "@rnode/protocol";
import type { EvmModule } from "../engine/module.ts";
import { Arithmetic, type NativeArithmetic } from "./arithmetic.ts";
import { bls12381Precompiles } from "./bls12-381.ts";
import { bn254Add, bn254Multiply, bn254Pairing } from "./bn254.ts";
import { ecrecover, ripemd, sha256Precompile } from "./hashes.ts";
import { modexpBerlin, modexpByzantium, modexpOsaka } from "./modexp.ts";
import { p256Verify } from "./p256.ts";
import { type KzgVerifier, pointEvaluation } from "./point-evaluation.ts";
import type { Precompile, PrecompileTable } from "./precompile.ts";

const P256_ADDRESS = 0x100;

/**
 * The precompiles in the host. 0x02, 0x04 and 0x09 are in the engine, which passes long inputs of 0x02 to native code if
 * available.
 */
export interface PrecompileSet {
  readonly table: PrecompileTable;
  /** precompiles exist from 0x01 to this address */
  readonly last: number;
  readonly hasP256: boolean;
}

/** Optional native code of the host for precompiles. */
export interface NativeParts {
  readonly kzg?: KzgVerifier | undefined;
  readonly sha256?: ((data: Uint8Array) => Uint8Array) | undefined;
}

const MODEXP = { eip198: modexpByzantium, eip2565: modexpBerlin, eip7883: modexpOsaka } as const;

export function createPrecompiles(rules: ForkRules, arithmetic: Arithmetic, { kzg, sha256 }: NativeParts = {}): PrecompileSet {
  const { lastPrecompile: last, hasP256Precompile: hasP256, hasCheapBn254 } = rules;
  const all: readonly (readonly [number, Precompile])[] = [
    [0x01, ecrecover],
    ...(sha256 === undefined ? [] : [[0x02, sha256Precompile(sha256)] as const]),
    [0x03, ripemd],
    [0x05, MODEXP[rules.modexpPricing](arithmetic)],
    [0x06, bn254Add(arithmetic, hasCheapBn254)],
    [0x07, bn254Multiply(arithmetic, hasCheapBn254)],
    [0x08, bn254Pairing(arithmetic, hasCheapBn254, rules.maxBn254PairingBytes)],
    [0x0a, pointEvaluation(arithmetic, kzg)],
    ...bls12381Precompiles(arithmetic, {
      g1MsmBytes: rules.maxBlsG1MsmBytes,
      g2MsmBytes: rules.maxBlsG2MsmBytes,
      pairingBytes: rules.maxBlsPairingBytes,
    }).map((precompile, index) => [0x0b + index, precompile] as const),
  ];
  const table = new Map(all.filter(([number]) => number <= last));
  if (hasP256) table.set(P256_ADDRESS, p256Verify(arithmetic, rules.p256Gas));
  return { table, last, hasP256 };
}

/** The precompiles with their own instance, for measurements and tests without an engine. */
export function createPrecompileTable(
  module: EvmModule,
  rules: ForkRules,
  kzg?: KzgVerifier,
  native?: NativeArithmetic,
): PrecompileTable {
  return createPrecompiles(rules, new Arithmetic(module, native), { kzg }).table;
}
