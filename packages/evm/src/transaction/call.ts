import { EMPTY_KECCAK, hexToBytes } from "@rnode/primitives";
import { floorDataGas, intrinsicGas, type Transaction } from "@rnode/protocol";
import type { MessageResult } from "../engine/state-access.ts";
import type { CallMessage, CallOutcome } from "../execution.ts";
import { type BlockScope, gasAfterRefund, warmUp, writeTransactionEnvironment } from "./scope.ts";

export const SYSTEM_ADDRESS = hexToBytes("0xfffffffffffffffffffffffffffffffffffffffe");
const SYSTEM_CALL_GAS = 30_000_000n;

/** Calls a system contract; its effects stand. Spec: EIP-4788, EIP-2935, EIP-7002 */
export function systemCall(scope: BlockScope, to: Uint8Array, data: Uint8Array): CallOutcome | undefined {
  const { state } = scope;
  const target = state.account(to);
  if (state.hasCodeHash(target, EMPTY_KECCAK)) return undefined;
  state.beginTransaction();
  writeTransactionEnvironment(scope, SYSTEM_ADDRESS, 0n, []);
  const result = state.executeAs(SYSTEM_ADDRESS, target, data, SYSTEM_CALL_GAS);
  const outcome = outcomeOf(scope, result, SYSTEM_CALL_GAS - result.gasLeft);
  state.endTransaction();
  return outcome;
}

function outcomeOf({ state }: BlockScope, result: MessageResult, gasUsed: bigint): CallOutcome {
  return {
    status: result.halt === undefined ? 1 : 0,
    gasUsed,
    output: result.output,
    halt: result.halt,
    logs: state.logs(),
    createdAddress: result.createdAddress,
  };
}

const refused = (halt: NonNullable<CallOutcome["halt"]>, gasUsed: bigint): CallOutcome => ({
  status: 0,
  gasUsed,
  output: new Uint8Array(0),
  halt,
  logs: [],
  createdAddress: undefined,
});

/** Runs a message as a transaction would run it, without its checks, and undoes everything. */
export function callMessage(scope: BlockScope, message: CallMessage): CallOutcome {
  const { state, rules } = scope;
  const { from, to, gasLimit, value, data, gasPrice } = message;
  const accessList = message.accessList ?? [];
  const intrinsic = intrinsicGas(rules, { type: 0x01, to, data, accessList } as Transaction);
  const floor = floorDataGas(rules, data);
  if (gasLimit < intrinsic || gasLimit < floor) return refused("out-of-gas", gasLimit);
  const sender = state.account(from);
  const upFront = gasLimit * gasPrice;
  if (state.balance(sender) < upFront + value) return refused("insufficient-balance", 0n);
  state.beginTransaction();
  const start = state.checkpoint();
  if (upFront !== 0n) state.subtractBalance(sender, upFront);
  state.setNonce(sender, state.nonce(sender) + 1n);
  writeTransactionEnvironment(scope, from, gasPrice, []);
  warmUp(scope, from, to, accessList);
  const result = state.execute(sender, to === undefined ? undefined : state.account(to), value, data, gasLimit - intrinsic);
  let gasUsed = gasAfterRefund(scope, gasLimit, result, 0n);
  if (gasUsed < floor) gasUsed = floor;
  const outcome = outcomeOf(scope, result, gasUsed);
  state.revertTo(start);
  state.endTransaction();
  return outcome;
}
