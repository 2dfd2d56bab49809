/**
 * An integer of any size: a number up to 2^53 − 1, a bigint above. Each value has only one form, so `===`, map keys, `<` and `>`
 * are exact. Convert with `BigInt` before arithmetic.
 */
export type ExactInteger = number | bigint;

/** @param value 0 or more */
export function exactInteger(value: bigint): ExactInteger {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : value;
}
