import { bigintToBytes, concatBytes, encodeRlp, type RlpItem } from "@rnode/primitives";
import { type Receipt, recoverSender } from "@rnode/protocol";
import type { L1Transaction } from "./l1-rules.ts";

/** Transactions of an unknown type, with fields like those of frame transactions (EIP-8141). */

export const UNKNOWN_TYPE = 0x06;

/** `known`: the four fields of all known receipts; `foreign`: others */
export type ReceiptForm = "known" | "foreign";

/** EIP-2718 encoding. @param tx the common fields */
export function encodeUnknownTransaction(tx: L1Transaction): Uint8Array {
  const frame: RlpItem = [bigintToBytes(1n), tx.to ?? new Uint8Array(0), bigintToBytes(tx.gasLimit), tx.data];
  return typed([bigintToBytes(tx.chainId), bigintToBytes(tx.nonce), recoverSender(tx), [frame], bigintToBytes(tx.maxFeePerGas)]);
}

/** EIP-2718 encoding of the receipt of such a transaction. @param receipt the receipt with a known type */
export function encodeUnknownReceipt({ cumulativeGasUsed, bloom, logs }: Receipt, form: ReceiptForm): Uint8Array {
  const status = bigintToBytes(1n);
  const gas = bigintToBytes(cumulativeGasUsed);
  const logList = logs.map(({ address, topics, data }): RlpItem => [address, topics, data]);
  const payer = new Uint8Array(20).fill(0x77);
  return typed(form === "known" ? [status, gas, bloom, logList] : [gas, payer, [[status, gas, logList]]]);
}

const typed = (fields: readonly RlpItem[]): Uint8Array => concatBytes(Uint8Array.of(UNKNOWN_TYPE), encodeRlp(fields));
