import type { BlockEnvironment, BlockExecution } from "@rnode/evm";
import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { checksumAddress, equalBytes, hexToBytes } from "@rnode/primitives";
import type { AccountOverride, BlockOverride } from "../params/call-request.ts";

/** The block environment that a call sees, with the overrides applied. */
export function overriddenEnvironment(environment: BlockEnvironment, override: BlockOverride | undefined): BlockEnvironment {
  if (override === undefined) return environment;
  return {
    ...environment,
    number: override.number ?? environment.number,
    timestamp: override.time ?? environment.timestamp,
    difficulty: override.difficulty ?? environment.difficulty,
    gasLimit: override.gasLimit ?? environment.gasLimit,
    beneficiary: override.feeRecipient ?? environment.beneficiary,
    prevRandao: override.prevRandao ?? environment.prevRandao,
    baseFeePerGas: override.baseFeePerGas ?? environment.baseFeePerGas,
    blobBaseFee: override.blobBaseFee ?? environment.blobBaseFee,
  };
}

/** @throws {RpcError} the account to move is not a precompile, or the target address has overrides */
export function applyStateOverrides(execution: BlockExecution, overrides: readonly AccountOverride[]): void {
  movePrecompiles(execution, overrides);
  for (const { address, balance, nonce, code, state, stateDiff } of overrides) {
    if (balance !== undefined) execution.setBalance(address, balance);
    if (nonce !== undefined) execution.setNonce(address, nonce);
    if (code !== undefined) execution.setCode(address, code);
    if (state !== undefined) execution.clearStorage(address);
    for (const [slot, word] of state ?? stateDiff ?? []) execution.setStorage(address, hexToBytes(slot), word);
  }
}

/** Once the account of a precompile is overridden, the account's code runs there instead of the precompile. */
function movePrecompiles(execution: BlockExecution, overrides: readonly AccountOverride[]): void {
  for (const { address, movePrecompileToAddress: target } of overrides) {
    const isPrecompile = execution.movePrecompile(address, target);
    if (target === undefined) continue;
    if (!isPrecompile) throw refusal(`account ${checksumAddress(address)} is not a precompile`);
    if (overrides.some((other) => equalBytes(other.address, target))) {
      throw refusal(`account ${checksumAddress(target)} is already overridden`);
    }
  }
}

const refusal = (message: string): RpcError => new RpcError(SERVER_ERROR, message);
