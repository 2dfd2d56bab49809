import { bytesToHex, EMPTY_KECCAK } from "@rnode/primitives";
import {
  checkTransaction,
  effectiveGasPrice,
  floorDataGas,
  GAS_PER_BLOB,
  intrinsicGas,
  type L1FeeParams,
  l1Cost,
  l1FeeParamsFromL1BlockStorage,
  operatorFee,
  PREDEPLOYS,
  type SignedTransaction,
} from "@rnode/protocol";
import type { AccountPointer } from "../engine/state-access.ts";
import type { TransactionContext } from "../execution.ts";
import { applyAuthorizations, isDelegated } from "./authorizations.ts";
import {
  type Applied,
  type BlockScope,
  gasAfterRefund,
  type Rejected,
  rejected,
  warmUp,
  writeTransactionEnvironment,
} from "./scope.ts";

/** Prices of a transaction that are known before it runs, in wei. */
interface Charges {
  /** per gas */
  readonly price: bigint;
  readonly blobFee: bigint;
  readonly l1Fee: bigint;
  readonly l1Params: L1FeeParams | undefined;
}

const maxPriceOf = (tx: SignedTransaction): bigint => ("maxFeePerGas" in tx ? tx.maxFeePerGas : tx.gasPrice);

/**
 * Validates a signed transaction against the state and the block, executes it and moves the fees.
 * Spec: docs/protocol/01-execution.md#charging-order
 */
export function applySigned(scope: BlockScope, tx: SignedTransaction, context: TransactionContext, blockGasLeft: bigint): Applied {
  const { state, rules, environment } = scope;
  const sender = state.account(context.sender);
  const charges = chargesOf(scope, tx, context);
  const fault = check(scope, tx, sender, charges, blockGasLeft);
  if (fault !== undefined) return fault;

  state.beginTransaction();
  const { gasRefund = 0n } = context;
  const start = gasRefund === 0n ? undefined : state.checkpoint();
  const { price, l1Fee, blobFee, l1Params } = charges;
  const operatorFeeOf = (gas: bigint) => (l1Params === undefined ? 0n : operatorFee(rules, l1Params, gas));
  const reservedOperatorFee = operatorFeeOf(tx.gasLimit);
  state.subtractBalance(sender, tx.gasLimit * price + blobFee + l1Fee + reservedOperatorFee);
  state.setNonce(sender, tx.nonce + 1n);
  writeTransactionEnvironment(scope, context.sender, price, tx.type === 0x03 ? tx.blobVersionedHashes : []);
  warmUp(scope, context.sender, tx.to, "accessList" in tx ? tx.accessList : []);
  const authorizationRefund = tx.type === 0x04 ? applyAuthorizations(scope, tx.authorizationList) : 0n;
  const to = tx.to === undefined ? undefined : state.account(tx.to);
  const intrinsic = intrinsicGas(rules, tx);
  state.addBurned(intrinsic);
  const result = state.execute(sender, to, tx.value, tx.data, tx.gasLimit - intrinsic);

  let poolGas = gasAfterRefund(scope, tx.gasLimit, result, authorizationRefund);
  const floor = floorDataGas(rules, tx.data);
  if (poolGas < floor) poolGas = floor;
  if (start !== undefined && gasRefund > poolGas) {
    state.revertTo(start);
    state.endTransaction();
    return rejected("gas-refund-too-high", { gasRefund, gasUsed: poolGas });
  }
  // Upstream pays for all gas and takes the refund off each account before the transaction is committed: the same balances.
  const gasUsed = poolGas - gasRefund;
  const usedOperatorFee = operatorFeeOf(gasUsed);
  state.addBalance(sender, (tx.gasLimit - gasUsed) * price + reservedOperatorFee - usedOperatorFee);
  const tip = price - environment.baseFeePerGas;
  state.addBalance(state.account(environment.beneficiary), gasUsed * tip);
  if (rules.op !== undefined) {
    payVault(scope, PREDEPLOYS.baseFeeVault, gasUsed * environment.baseFeePerGas);
    payVault(scope, PREDEPLOYS.l1FeeVault, l1Fee);
    payVault(scope, PREDEPLOYS.operatorFeeVault, usedOperatorFee);
  }
  state.endTransaction();
  return {
    kind: "included",
    poolGas,
    outcome: {
      status: result.halt === undefined ? 1 : 0,
      gasUsed,
      logs: state.logs(),
      output: result.output,
      halt: result.halt,
      createdAddress: result.createdAddress,
      depositNonce: undefined,
      l1Fee,
      effectiveTip: tip,
    },
  };
}

function payVault({ state }: BlockScope, vault: Uint8Array, amount: bigint): void {
  if (amount !== 0n) state.addBalance(state.account(vault), amount);
}

function chargesOf({ state, rules, environment }: BlockScope, tx: SignedTransaction, { encoded }: TransactionContext): Charges {
  const blobGas = tx.type === 0x03 ? GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length) : 0n;
  let l1Params: L1FeeParams | undefined;
  if (rules.op !== undefined) {
    const l1Block = state.account(PREDEPLOYS.l1Block);
    l1Params = l1FeeParamsFromL1BlockStorage((slot) => state.storage(l1Block, BigInt(slot)), rules);
  }
  return {
    price: effectiveGasPrice(tx, environment.baseFeePerGas),
    blobFee: blobGas * environment.blobBaseFee,
    l1Fee: l1Params === undefined ? 0n : l1Cost(rules, l1Params, encoded),
    l1Params,
  };
}

function check(
  scope: BlockScope,
  tx: SignedTransaction,
  sender: AccountPointer,
  charges: Charges,
  blockGasLeft: bigint,
): Rejected | undefined {
  const { state, rules, environment } = scope;
  const fault = checkTransaction(rules, tx);
  if (fault !== undefined) return rejected(fault, { type: BigInt(tx.type), gasLimit: tx.gasLimit });
  const nonce = state.nonce(sender);
  if (tx.nonce < nonce) return rejected("nonce-too-low", { nonce: tx.nonce, expected: nonce });
  if (tx.nonce > nonce) return rejected("nonce-too-high", { nonce: tx.nonce, expected: nonce });
  // EIP-3607, and EIP-7702, which lets accounts with a delegation send transactions
  const mayHaveCode = rules.acceptsContractSenders === true;
  if (!mayHaveCode && !state.hasCodeHash(sender, EMPTY_KECCAK) && !(rules.acceptsSetCode && isDelegated(state.code(sender)))) {
    return rejected("sender-not-eoa", { sender: bytesToHex(state.address(sender)) });
  }
  const maxPrice = maxPriceOf(tx);
  if (maxPrice < environment.baseFeePerGas) {
    return rejected("fee-cap-below-base-fee", { feeCap: maxPrice, baseFee: environment.baseFeePerGas });
  }
  let maxCost = tx.gasLimit * maxPrice + tx.value + charges.l1Fee;
  if (charges.l1Params !== undefined) maxCost += operatorFee(rules, charges.l1Params, tx.gasLimit);
  if (tx.type === 0x03) {
    if (tx.maxFeePerBlobGas < environment.blobBaseFee) {
      return rejected("blob-fee-cap-too-low", { feeCap: tx.maxFeePerBlobGas, blobBaseFee: environment.blobBaseFee });
    }
    maxCost += GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length) * tx.maxFeePerBlobGas;
  }
  const balance = state.balance(sender);
  if (balance < maxCost) return rejected("insufficient-funds", { balance, cost: maxCost });
  if (tx.gasLimit > blockGasLeft) return rejected("gas-limit-exceeds-block", { gasLimit: tx.gasLimit, left: blockGasLeft });
  return undefined;
}
