import { EMPTY_KECCAK, hexToBytes } from "@rnode/primitives";
import { type BlockRules, floorDataGas, intrinsicGas, PREDEPLOYS, type Transaction } from "@rnode/protocol";
import type { MessageResult } from "../engine/state-access.ts";
import type { CallMessage, CallOutcome } from "../execution.ts";
import { applyAuthorizations } from "./authorizations.ts";
import { type BlockScope, gasAfterRefund, warmUp, writeTransactionEnvironment } from "./scope.ts";

const SYSTEM_ADDRESS = hexToBytes("0xfffffffffffffffffffffffffffffffffffffffe");
const SYSTEM_CALL_GAS = 30_000_000n;

/** Calls a system contract and keeps its effects. Spec: EIP-4788, EIP-2935, EIP-7002 */
export function systemCall(scope: BlockScope, to: Uint8Array, data: Uint8Array): CallOutcome | undefined {
  const { state } = scope;
  const target = state.account(to);
  if (state.hasCodeHash(target, EMPTY_KECCAK)) return undefined;
  state.beginTransaction();
  writeTransactionEnvironment(scope, SYSTEM_ADDRESS, 0n, []);
  const result = state.executeAs(SYSTEM_ADDRESS, target, data, SYSTEM_CALL_GAS);
  const gasUsed = SYSTEM_CALL_GAS - result.gasLeft;
  const outcome = outcomeOf(scope, result, gasUsed, gasUsed);
  state.endTransaction();
  return outcome;
}

function outcomeOf({ state }: BlockScope, result: MessageResult, gasUsed: bigint, maxGasUsed: bigint): CallOutcome {
  return {
    status: result.halt === undefined ? 1 : 0,
    gasUsed,
    maxGasUsed,
    output: result.output,
    halt: result.halt,
    invalidOpcode: result.invalidOpcode,
    logs: state.logs(),
    createdAddress: result.createdAddress,
  };
}

const refused = (halt: NonNullable<CallOutcome["halt"]>, gasUsed: bigint): CallOutcome => ({
  status: 0,
  gasUsed,
  maxGasUsed: gasUsed,
  output: new Uint8Array(0),
  halt,
  invalidOpcode: undefined,
  logs: [],
  createdAddress: undefined,
});

function gasBefore(rules: BlockRules, message: CallMessage): { readonly intrinsic: bigint; readonly floor: bigint } {
  const { to, data, accessList = [], authorizationList } = message;
  const type = authorizationList === undefined ? 0x01 : 0x04;
  const intrinsic = intrinsicGas(rules, { type, to, data, accessList, authorizationList } as Transaction);
  return { intrinsic, floor: floorDataGas(rules, data) };
}

/** Why the message's gas does not suffice to start; `undefined` if it does. */
export function gasShortage(
  rules: BlockRules,
  message: CallMessage,
): { readonly of: "transaction" | "floor"; readonly minimum: bigint } | undefined {
  const { intrinsic, floor } = gasBefore(rules, message);
  if (message.gasLimit < intrinsic) return { of: "transaction", minimum: intrinsic };
  return message.gasLimit < floor ? { of: "floor", minimum: floor } : undefined;
}

/**
 * Runs a message as a transaction would be run, without a transaction's checks.
 *
 * @param keepsEffects false: everything is undone
 */
export function callMessage(scope: BlockScope, message: CallMessage, keepsEffects = false): CallOutcome {
  const { state, rules, environment } = scope;
  const { from, to, gasLimit, value, data, gasPrice, authorizationList, blobVersionedHashes } = message;
  const accessList = message.accessList ?? [];
  const { intrinsic, floor } = gasBefore(rules, message);
  if (gasLimit < intrinsic || gasLimit < floor) return refused("out-of-gas", gasLimit);
  const sender = state.account(from);
  const upFront = gasLimit * gasPrice;
  if (state.balance(sender) < upFront + value) return refused("insufficient-balance", 0n);
  state.beginTransaction();
  state.addBurned(intrinsic);
  const start = state.checkpoint();
  if (upFront !== 0n) state.subtractBalance(sender, upFront);
  state.setNonce(sender, state.nonce(sender) + 1n);
  writeTransactionEnvironment(scope, from, gasPrice, blobVersionedHashes ?? []);
  warmUp(scope, from, to, accessList);
  const authorizationRefund = authorizationList === undefined ? 0n : applyAuthorizations(scope, authorizationList);
  const result = state.execute(sender, to === undefined ? undefined : state.account(to), value, data, gasLimit - intrinsic);
  let gasUsed = gasAfterRefund(scope, gasLimit, result, authorizationRefund);
  if (gasUsed < floor) gasUsed = floor;
  const beforeRefund = gasLimit - result.gasLeft;
  const outcome = outcomeOf(scope, result, gasUsed, beforeRefund < floor ? floor : beforeRefund);
  if (!keepsEffects) state.revertTo(start);
  else if (gasPrice !== 0n) {
    state.addBalance(sender, (gasLimit - gasUsed) * gasPrice);
    const tip = gasPrice - environment.baseFeePerGas;
    if (tip > 0n) state.addBalance(state.account(environment.beneficiary), gasUsed * tip);
    const baseFees = gasUsed * environment.baseFeePerGas;
    if (rules.op !== undefined && baseFees > 0n) state.addBalance(state.account(PREDEPLOYS.baseFeeVault), baseFees);
  }
  state.endTransaction();
  return outcome;
}
