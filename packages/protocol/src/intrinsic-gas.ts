import type { BlockRules } from "./chain-config.ts";
import { isEvmForkAtLeast } from "./forks.ts";
import type { Transaction } from "./transaction.ts";

const BASE_GAS = 21_000;
const CREATION_GAS = 32_000;
const ZERO_BYTE_GAS = 4;
const NONZERO_BYTE_GAS_FRONTIER = 68;
const NONZERO_BYTE_GAS = 16;
const INITCODE_WORD_GAS = 2;
const ACCESS_LIST_ADDRESS_GAS = 2400;
const ACCESS_LIST_SLOT_GAS = 1900;
const AUTHORIZATION_GAS = 25_000;
const FLOOR_GAS_PER_TOKEN = 10;
const TOKENS_PER_NONZERO_BYTE = 4;

type GasRules = Pick<BlockRules, "evm">;

function countZeroes(data: Uint8Array): number {
  let zeroes = 0;
  for (let i = 0; i < data.length; i++) if (data[i] === 0) zeroes++;
  return zeroes;
}

/** Gas a transaction costs before any execution. */
export function intrinsicGas(rules: GasRules, tx: Transaction): bigint {
  let gas = BASE_GAS;
  if (tx.to === undefined && isEvmForkAtLeast(rules.evm, "homestead")) gas += CREATION_GAS;
  const zeroes = countZeroes(tx.data);
  const nonzeroByteGas = isEvmForkAtLeast(rules.evm, "istanbul") ? NONZERO_BYTE_GAS : NONZERO_BYTE_GAS_FRONTIER;
  gas += zeroes * ZERO_BYTE_GAS + (tx.data.length - zeroes) * nonzeroByteGas;
  if (tx.to === undefined && isEvmForkAtLeast(rules.evm, "shanghai")) gas += INITCODE_WORD_GAS * Math.ceil(tx.data.length / 32);
  if ("accessList" in tx) {
    gas += tx.accessList.length * ACCESS_LIST_ADDRESS_GAS;
    for (const { storageKeys } of tx.accessList) gas += storageKeys.length * ACCESS_LIST_SLOT_GAS;
  }
  if (tx.type === 0x04) gas += tx.authorizationList.length * AUTHORIZATION_GAS;
  return BigInt(gas);
}

/** EIP-7623: the least a transaction pays for its calldata, whatever it executes; 0 before Prague. */
export function floorDataGas(rules: GasRules, data: Uint8Array): bigint {
  if (!isEvmForkAtLeast(rules.evm, "prague")) return 0n;
  const zeroes = countZeroes(data);
  const tokens = zeroes + (data.length - zeroes) * TOKENS_PER_NONZERO_BYTE;
  return BigInt(BASE_GAS + FLOOR_GAS_PER_TOKEN * tokens);
}
