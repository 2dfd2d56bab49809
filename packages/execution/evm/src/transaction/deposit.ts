import { type DepositTransaction, floorDataGas, intrinsicGas } from "@rnode/protocol";
import type { MessageResult } from "../engine/state-access.ts";
import type { HaltReason } from "../execution.ts";
import { type Applied, type BlockScope, gasAfterRefund, rejected, warmUp, writeTransactionEnvironment } from "./scope.ts";

/**
 * Executes a deposit. It is always included: if it fails, the mint and the increased nonce remain. Spec:
 * docs/protocol/01-execution.md#deposit-execution
 *
 * @returns rejected only if the gas does not fit into the block, which is then invalid
 */
export function applyDeposit(scope: BlockScope, tx: DepositTransaction, blockGasLeft: bigint): Applied {
  const { state, rules } = scope;
  if (!rules.acceptsDeposits) return rejected("type-not-supported", { type: BigInt(tx.type) });
  const isFree = tx.isSystemTx && rules.hasFreeSystemTransactions;
  if (!isFree && tx.gasLimit > blockGasLeft) {
    return rejected("gas-limit-exceeds-block", { gasLimit: tx.gasLimit, left: blockGasLeft });
  }
  state.beginTransaction();
  const sender = state.account(tx.from);
  const nonce = state.nonce(sender);
  if (tx.mint !== 0n) state.addBalance(sender, tx.mint);
  const afterMint = state.checkpoint();
  state.setNonce(sender, nonce + 1n);

  let result: MessageResult | undefined;
  if (!isRefused(scope, tx, state.balance(sender))) {
    writeTransactionEnvironment(scope, tx.from, 0n, []);
    warmUp(scope, tx.from, tx.to, []);
    const to = tx.to === undefined ? undefined : state.account(tx.to);
    const intrinsic = intrinsicGas(rules, tx);
    state.addBurned(intrinsic);
    result = state.execute(sender, to, tx.value, tx.data, tx.gasLimit - intrinsic);
  }
  const logs = result === undefined ? [] : state.logs();
  if (result === undefined) {
    state.revertTo(afterMint);
    state.setNonce(sender, nonce + 1n);
  }
  state.endTransaction();

  const halt: HaltReason | undefined = result === undefined ? "deposit-failed" : result.halt;
  let gasUsed = tx.gasLimit;
  if (isFree) gasUsed = 0n;
  else if (rules.countsGasOfDeposits && result !== undefined) {
    gasUsed = gasAfterRefund(scope, tx.gasLimit, result, 0n);
    const floor = floorDataGas(rules, tx.data);
    if (gasUsed < floor) gasUsed = floor;
  }
  return {
    kind: "included",
    poolGas: gasUsed,
    outcome: {
      status: halt === undefined ? 1 : 0,
      gasUsed,
      logs,
      output: result?.output ?? new Uint8Array(0),
      halt,
      createdAddress: result?.createdAddress,
      depositNonce: rules.receiptsHaveDepositNonce ? nonce : undefined,
      l1Fee: 0n,
      effectiveTip: 0n,
    },
  };
}

/** Failures before execution (docs/protocol/01-execution.md#deposit-execution, steps 5 to 7). */
function isRefused(scope: BlockScope, tx: DepositTransaction, balance: bigint): boolean {
  const { rules } = scope;
  if (tx.isSystemTx && !rules.hasFreeSystemTransactions) return true;
  if (tx.gasLimit < intrinsicGas(rules, tx) || tx.gasLimit < floorDataGas(rules, tx.data)) return true;
  if (balance < tx.value) return true;
  return tx.to === undefined && tx.data.length > rules.maxInitcodeBytes;
}
