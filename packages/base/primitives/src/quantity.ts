import type { Hex } from "./bytes.ts";
import { CodedError } from "./errors.ts";

export type QuantityErrorCode = "quantity/not-a-quantity" | "quantity/too-large";

/** JSON-RPC quantity: `0x` and no leading zero, zero is `0x0`. */
export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}

/**
 * The integer of a JSON-RPC quantity. Leading zeros are accepted, because tools send them (Geth and Reth differ here);
 * a bare `0x` is not.
 *
 * @throws {CodedError} quantity/not-a-quantity
 */
export function parseQuantity(text: string): bigint {
  if (!/^0x[0-9a-fA-F]+$/.test(text)) {
    throw new CodedError<QuantityErrorCode>("quantity/not-a-quantity", { text: text.slice(0, 80) });
  }
  return BigInt(text);
}

/** Like `parseQuantity`, as a number. @throws {CodedError} quantity/too-large above 2^53 − 1 */
export function parseQuantityNumber(text: string): number {
  const value = Number(parseQuantity(text));
  if (!Number.isSafeInteger(value)) throw new CodedError<QuantityErrorCode>("quantity/too-large", { text: text.slice(0, 80) });
  return value;
}
