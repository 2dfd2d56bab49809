import { asciiToBytes, bigintToBytes, concatBytes, equalBytes, keccak256 } from "@rnode/primitives";
import { encodeTransaction, type Log, logsBloom, messageHash, PREDEPLOYS, type Transaction } from "@rnode/protocol";

/** A contract of simulated execution clients that logs its input. */
const EMITTER = new Uint8Array(20).fill(0xe1);
const EVENT = keccak256(asciiToBytes("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));
const WORD_BYTES = 32;
const EXECUTING_BYTES = 6 * WORD_BYTES;

/** The place of a log. */
export interface LogPlace {
  readonly chainId: bigint;
  readonly number: number;
  readonly logIndex: number;
  readonly timestamp: number;
}

/** The log of a transaction that a simulated execution client executes; `undefined`: none. */
export function logOfTransaction(tx: Transaction): Log | undefined {
  if (tx.type !== 2 || tx.to === undefined) return undefined;
  if (equalBytes(tx.to, EMITTER)) return { address: EMITTER, topics: [], data: tx.data };
  if (!equalBytes(tx.to, PREDEPLOYS.crossL2Inbox) || tx.data.length !== EXECUTING_BYTES) return undefined;
  return {
    address: PREDEPLOYS.crossL2Inbox,
    topics: [EVENT, tx.data.subarray(0, WORD_BYTES)],
    data: tx.data.subarray(WORD_BYTES),
  };
}

export const bloomOfTransactions = (transactions: readonly Transaction[]): Uint8Array =>
  logsBloom(transactions.flatMap((tx) => logOfTransaction(tx) ?? []));

/** A user's transaction whose log has this data. */
export const emittingTransaction = (chainId: bigint, data: Uint8Array): Uint8Array => transactionTo(EMITTER, chainId, data);

/** A user's transaction that executes the message of a log. @param origin of the log */
export const executingTransaction = (chainId: bigint, place: LogPlace, { address, ...log }: Log): Uint8Array =>
  transactionTo(
    PREDEPLOYS.crossL2Inbox,
    chainId,
    concatBytes(
      messageHash(log),
      new Uint8Array(WORD_BYTES - address.length),
      address,
      ...[BigInt(place.number), BigInt(place.logIndex), BigInt(place.timestamp), place.chainId].map((word) =>
        bigintToBytes(word, WORD_BYTES),
      ),
    ),
  );

/** PERF: not signed, because nothing of a simulated network recovers the sender. */
function transactionTo(to: Uint8Array, chainId: bigint, data: Uint8Array): Uint8Array {
  const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n, gasLimit: 90_000n };
  const signature = { r: new Uint8Array(32).fill(1), s: new Uint8Array(32).fill(1), yParity: 0 as const };
  return encodeTransaction({ type: 2, chainId, nonce: 0n, ...fees, to, value: 0n, data, accessList: [], signature });
}
