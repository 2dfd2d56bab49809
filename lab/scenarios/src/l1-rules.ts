import { bigintToBytes, concatBytes, hexToBytes } from "@rnode/primitives";
import { type BlobTransaction, type FeeMarketTransaction, type Log, recoverSender } from "@rnode/protocol";

export type L1Transaction = FeeMarketTransaction | BlobTransaction;

/** L1's rules for a transaction. Spec: EIP-7623, EIP-7976, EIP-2780, EIP-7708 */

const TRANSFER_EMITTER = hexToBytes("0xfffffffffffffffffffffffffffffffffffffffe");
const TRANSFER_TOPIC = hexToBytes("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const PADDING = new Uint8Array(12);

/** The least gas limit with which a transaction to another account may be in a block: that of its calldata, or the floor for it. */
export function minimumGas({ data, value }: L1Transaction, isAmsterdam: boolean): bigint {
  const zeroBytes = BigInt(data.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0));
  const otherBytes = BigInt(data.length) - zeroBytes;
  const base = isAmsterdam ? 15_000n + (value === 0n ? 0n : 6_000n) : 21_000n;
  const intrinsic = base + 4n * zeroBytes + 16n * otherBytes;
  const floor = base + (isAmsterdam ? 64n * BigInt(data.length) : 10n * zeroBytes + 40n * otherBytes);
  return intrinsic > floor ? intrinsic : floor;
}

/** The log of the ether that a transaction moves, which is before all other logs of it. */
export function transferLogs(tx: L1Transaction): readonly Log[] {
  if (tx.value === 0n || tx.to === undefined) return [];
  const topics = [TRANSFER_TOPIC, concatBytes(PADDING, recoverSender(tx)), concatBytes(PADDING, tx.to)];
  return [{ address: TRANSFER_EMITTER, topics, data: bigintToBytes(tx.value, 32) }];
}
