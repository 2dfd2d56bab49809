import { concatBytes } from "@rnode/primitives";
import {
  encodeTransaction,
  type GasRefund,
  isDepositTransaction,
  isPostExecTransaction,
  postExecTransaction,
} from "@rnode/protocol";
import type { Random } from "./random.ts";

/** All transactions of users use at least as much gas. */
const SAFE_REFUND = 21_000;
const MAX_UINT64 = 2n ** 64n - 1n;

const encoded = (blockNumber: bigint, refunds: readonly GasRefund[]): Uint8Array =>
  encodeTransaction(postExecTransaction({ blockNumber, refunds }));

/** The post-exec transaction of a producer that refunds gas to some of the users' transactions. */
export function fairRefunds(random: Random, blockNumber: bigint, transactions: readonly Uint8Array[]): Uint8Array {
  const users = transactions.flatMap((transaction, index) => (isDepositTransaction(transaction) ? [] : [index]));
  const chosen = users.filter(() => random.chance(0.6));
  return encoded(
    blockNumber,
    chosen.map((index) => ({ index: BigInt(index), gas: BigInt(random.between(1, SAFE_REFUND)) })),
  );
}

/**
 * The transactions of a batch, with post-exec transactions of which most break a rule.
 *
 * @param transactions of the batch, without deposits
 * @param deposits number of deposits that derivation puts before them
 */
export function unfairRefunds(
  random: Random,
  blockNumber: bigint,
  transactions: readonly Uint8Array[],
  deposits: number,
): Uint8Array[] {
  const users = transactions.filter((transaction) => !isPostExecTransaction(transaction));
  const last = deposits + users.length;
  const entry = (index: number | bigint, gas: number | bigint = random.between(1, SAFE_REFUND)): GasRefund => ({
    index: BigInt(index),
    gas: BigInt(gas),
  });
  const fair = fairRefunds(random, blockNumber, [...Array.from({ length: deposits }, () => Uint8Array.of(0x7e)), ...users]);
  const makers: readonly (() => Uint8Array[])[] = [
    () => [...users, fair],
    () => [...users, encoded(blockNumber, [])],
    () => [fair, ...users],
    () => [...users, fair, fair],
    () => [...users, encoded(blockNumber + 1n, [])],
    () => [...users, encoded(MAX_UINT64, [])],
    () => [...users, encoded(blockNumber, [entry(0)])],
    () => [...users, encoded(blockNumber, [entry(last)])],
    () => [...users, encoded(blockNumber, [entry(last + 1)])],
    () => [...users, encoded(blockNumber, [entry(MAX_UINT64)])],
    () => [...users, encoded(blockNumber, [entry(deposits), entry(deposits)])],
    () => [...users, encoded(blockNumber, [entry(deposits, 0)])],
    () => [...users, encoded(blockNumber, [entry(deposits, 90_001)])],
    () => [...users, encoded(blockNumber, [entry(deposits, MAX_UINT64)])],
    () => [...users, Uint8Array.of(0x7d)],
    () => [...users, Uint8Array.of(0x7d, 0xc2, 1, 5)],
    () => [...users, concatBytes(fair, random.bytes(1))],
    () => [...users, Uint8Array.of(0x7d, ...random.bytes(random.between(1, 40)))],
  ];
  return random.pick(makers)();
}
