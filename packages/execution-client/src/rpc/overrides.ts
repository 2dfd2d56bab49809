import type { BlockEnvironment, BlockExecution } from "@rnode/evm";
import { hexToBytes } from "@rnode/primitives";
import type { AccountOverride, BlockOverride } from "./call-request.ts";

/** What a call sees of its block when some of it is overridden. */
export function overriddenEnvironment(environment: BlockEnvironment, override: BlockOverride | undefined): BlockEnvironment {
  if (override === undefined) return environment;
  return {
    ...environment,
    number: override.number ?? environment.number,
    timestamp: override.time === undefined ? environment.timestamp : BigInt(override.time),
    difficulty: override.difficulty ?? environment.difficulty,
    gasLimit: override.gasLimit ?? environment.gasLimit,
    beneficiary: override.feeRecipient ?? environment.beneficiary,
    prevRandao: override.prevRandao ?? environment.prevRandao,
    baseFeePerGas: override.baseFeePerGas ?? environment.baseFeePerGas,
    blobBaseFee: override.blobBaseFee ?? environment.blobBaseFee,
  };
}

export function applyStateOverrides(execution: BlockExecution, overrides: readonly AccountOverride[]): void {
  for (const { address, balance, nonce, code, state, stateDiff } of overrides) {
    if (balance !== undefined) execution.setBalance(address, balance);
    if (nonce !== undefined) execution.setNonce(address, nonce);
    if (code !== undefined) execution.setCode(address, code);
    if (state !== undefined) execution.clearStorage(address);
    for (const [slot, word] of state ?? stateDiff ?? []) execution.setStorage(address, hexToBytes(slot), word);
  }
}
