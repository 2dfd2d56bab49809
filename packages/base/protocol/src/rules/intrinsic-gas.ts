import type { EvmRules } from "../forks/evm-forks.ts";
import type { Transaction } from "../transactions/transaction.ts";

const BASE_GAS = 21_000;
const ZERO_BYTE_GAS = 4;
const ACCESS_LIST_ADDRESS_GAS = 2400;
const ACCESS_LIST_SLOT_GAS = 1900;
const AUTHORIZATION_GAS = 25_000;
const TOKENS_PER_NONZERO_BYTE = 4;

export type GasRules = Pick<EvmRules, "creationGas" | "nonzeroByteGas" | "initcodeWordGas" | "floorGasPerToken">;

function countZeroes(data: Uint8Array): number {
  let zeroes = 0;
  for (let i = 0; i < data.length; i++) if (data[i] === 0) zeroes++;
  return zeroes;
}

/** The gas of a transaction before execution. */
export function intrinsicGas(rules: GasRules, tx: Transaction): bigint {
  let gas = BASE_GAS;
  const zeroes = countZeroes(tx.data);
  gas += zeroes * ZERO_BYTE_GAS + (tx.data.length - zeroes) * rules.nonzeroByteGas;
  if (tx.to === undefined) gas += rules.creationGas + rules.initcodeWordGas * Math.ceil(tx.data.length / 32);
  if ("accessList" in tx) {
    gas += tx.accessList.length * ACCESS_LIST_ADDRESS_GAS;
    for (const { storageKeys } of tx.accessList) gas += storageKeys.length * ACCESS_LIST_SLOT_GAS;
  }
  if (tx.type === 0x04) gas += tx.authorizationList.length * AUTHORIZATION_GAS;
  return BigInt(gas);
}

/** EIP-7623: the minimum gas for a transaction's calldata, regardless of its execution; 0: there is no minimum. */
export function floorDataGas(rules: GasRules, data: Uint8Array): bigint {
  if (rules.floorGasPerToken === 0) return 0n;
  const zeroes = countZeroes(data);
  const tokens = zeroes + (data.length - zeroes) * TOKENS_PER_NONZERO_BYTE;
  return BigInt(BASE_GAS + rules.floorGasPerToken * tokens);
}
