import type { SignedTransaction } from "@rnode/protocol";

/** Most a transaction pays for a unit of gas, wei. */
export function feeCap(transaction: SignedTransaction): bigint {
  return transaction.type === 0x00 || transaction.type === 0x01 ? transaction.gasPrice : transaction.maxFeePerGas;
}

/** Most it pays to the block's beneficiary for a unit of gas, wei. */
export function tipCap(transaction: SignedTransaction): bigint {
  return transaction.type === 0x00 || transaction.type === 0x01 ? transaction.gasPrice : transaction.maxPriorityFeePerGas;
}

/** What the beneficiary gets at a base fee; negative when the transaction cannot pay the base fee. */
export function effectiveTip(transaction: SignedTransaction, baseFeeWei: bigint): bigint {
  const room = feeCap(transaction) - baseFeeWei;
  const tip = tipCap(transaction);
  return tip < room ? tip : room;
}

/** Both fees must be higher by `bumpPercent`. */
export function isReplacementPriced(old: SignedTransaction, replacement: SignedTransaction, bumpPercent: bigint): boolean {
  const bumped = (wei: bigint) => (wei * (100n + bumpPercent)) / 100n;
  return (
    feeCap(replacement) > feeCap(old) &&
    tipCap(replacement) > tipCap(old) &&
    feeCap(replacement) >= bumped(feeCap(old)) &&
    tipCap(replacement) >= bumped(tipCap(old))
  );
}
