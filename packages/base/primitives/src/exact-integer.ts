/**
 * An integer of any size: a number up to 2^53 − 1, a bigint above. Because no value has both forms, `===` and map keys are exact, as are
 * `<` and `>`. Arithmetic is not: convert with `BigInt` first.
 */
export type ExactInteger = number | bigint;

/** @param value 0 or more */
export function exactInteger(value: bigint): ExactInteger {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : value;
}
