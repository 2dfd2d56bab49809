import { GAS_PER_BLOB, type SignedTransaction } from "@rnode/protocol";

/** The most a transaction pays per unit of gas, wei. */
export function feeCap(transaction: SignedTransaction): bigint {
  return transaction.type === 0x00 || transaction.type === 0x01 ? transaction.gasPrice : transaction.maxFeePerGas;
}

/** The most it pays to the block's beneficiary per unit of gas, wei. */
export function tipCap(transaction: SignedTransaction): bigint {
  return transaction.type === 0x00 || transaction.type === 0x01 ? transaction.gasPrice : transaction.maxPriorityFeePerGas;
}

/** Most it pays for all of its blobs, wei. */
export const blobFeeCap = (transaction: SignedTransaction): bigint =>
  transaction.type === 0x03 ? BigInt(transaction.blobVersionedHashes.length) * GAS_PER_BLOB * transaction.maxFeePerBlobGas : 0n;

/** The beneficiary's fee per unit of gas at a base fee; negative if the transaction cannot pay the base fee. */
export function effectiveTip(transaction: SignedTransaction, baseFeeWei: bigint): bigint {
  const room = feeCap(transaction) - baseFeeWei;
  const tip = tipCap(transaction);
  return tip < room ? tip : room;
}

/** All fees must be higher by `bumpPercent`, blob fees included. */
export function isReplacementPriced(old: SignedTransaction, replacement: SignedTransaction, bumpPercent: bigint): boolean {
  const bumped = (wei: bigint) => (wei * (100n + bumpPercent)) / 100n;
  if (old.type === 0x03 && (replacement.type !== 0x03 || replacement.maxFeePerBlobGas < bumped(old.maxFeePerBlobGas))) return false; // the pool compares only transactions of one kind
  return (
    feeCap(replacement) > feeCap(old) &&
    tipCap(replacement) > tipCap(old) &&
    feeCap(replacement) >= bumped(feeCap(old)) &&
    tipCap(replacement) >= bumped(tipCap(old))
  );
}
