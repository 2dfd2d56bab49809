import { type BlockRules, type EvmFork, isEvmForkAtLeast, isOpForkAtLeast, type OpFork } from "@rnode/protocol";
import type { EvmModule } from "../engine/module.ts";
import { Arithmetic } from "./arithmetic.ts";
import { bls12381Precompiles } from "./bls12-381.ts";
import { bn254Add, bn254Multiply, bn254Pairing } from "./bn254.ts";
import { ecrecover, ripemd } from "./hashes.ts";
import { modexpBerlin, modexpByzantium, modexpOsaka } from "./modexp.ts";
import { p256Verify } from "./p256.ts";
import { type KzgVerifier, pointEvaluation } from "./point-evaluation.ts";
import type { Precompile, PrecompileTable } from "./precompile.ts";

export const P256_ADDRESS = 0x100;

/** The precompiles of a block: those the engine asks the host for (0x02, 0x04 and 0x09 are in the engine). */
export interface PrecompileSet {
  readonly table: PrecompileTable;
  /** 0x01 … this one exist */
  readonly last: number;
  readonly hasP256: boolean;
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Spec: docs/protocol/01-execution.md#evm-differences */
function bn254PairingLimit(op: OpFork | undefined): number {
  if (op === undefined || !isOpForkAtLeast(op, "granite")) return NO_LIMIT;
  if (!isOpForkAtLeast(op, "jovian")) return 112_687;
  return isOpForkAtLeast(op, "karst") ? 57_600 : 81_984;
}

function blsLimits(op: OpFork | undefined) {
  if (op === undefined) return { g1MsmBytes: NO_LIMIT, g2MsmBytes: NO_LIMIT, pairingBytes: NO_LIMIT };
  return isOpForkAtLeast(op, "jovian")
    ? { g1MsmBytes: 288_960, g2MsmBytes: 278_784, pairingBytes: 156_672 }
    : { g1MsmBytes: 513_760, g2MsmBytes: 488_448, pairingBytes: 235_008 };
}

export function createPrecompiles(
  { evm, op }: Pick<BlockRules, "evm" | "op">,
  kzg: KzgVerifier,
  arithmetic: Arithmetic,
): PrecompileSet {
  const isAtLeast = (fork: EvmFork) => isEvmForkAtLeast(evm, fork);
  const table = new Map<number, Precompile>([
    [0x01, ecrecover],
    [0x03, ripemd],
  ]);
  let last = 4;
  if (isAtLeast("byzantium")) {
    const isIstanbul = isAtLeast("istanbul");
    last = isIstanbul ? 9 : 8;
    table.set(0x05, (isAtLeast("osaka") ? modexpOsaka : isAtLeast("berlin") ? modexpBerlin : modexpByzantium)(arithmetic));
    table.set(0x06, bn254Add(arithmetic, isIstanbul));
    table.set(0x07, bn254Multiply(arithmetic, isIstanbul));
    table.set(0x08, bn254Pairing(arithmetic, isIstanbul, bn254PairingLimit(op)));
  }
  if (isAtLeast("cancun")) {
    last = 0x0a;
    table.set(0x0a, pointEvaluation(kzg));
  }
  if (isAtLeast("prague")) {
    last = 0x11;
    for (const [index, precompile] of bls12381Precompiles(arithmetic, blsLimits(op)).entries()) table.set(0x0b + index, precompile);
  }
  const isOsaka = isAtLeast("osaka");
  const hasP256 = isOsaka || (op !== undefined && isOpForkAtLeast(op, "fjord"));
  if (hasP256) table.set(P256_ADDRESS, p256Verify(arithmetic, isOsaka ? 6900n : 3450n));
  return { table, last, hasP256 };
}

/** The precompiles alone, on an instance of their own: for measuring and testing them without an engine around. */
export function createPrecompileTable(module: EvmModule, rules: Pick<BlockRules, "evm" | "op">, kzg: KzgVerifier): PrecompileTable {
  return createPrecompiles(rules, kzg, new Arithmetic(module)).table;
}
