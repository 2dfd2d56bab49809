import { type ExactInteger, exactInteger } from "@rnode/primitives";

/**
 * Exact values above 2^53 − 1 of fields that are numbers. Numbers and timestamps of blocks have 64 bits. Those of real chains are
 * far below 2^53, so the fields are numbers, and a larger value is rounded. The exact value counts only if it rounds to its
 * field, so a copy with another `timestamp` (`{ ...header, timestamp }`) need not remove the old value.
 */
export interface ExactFields {
  readonly number?: bigint | undefined;
  readonly timestamp?: bigint | undefined;
}

interface HasExact {
  readonly exact?: ExactFields | undefined;
}
export interface HasNumber extends HasExact {
  readonly number: number;
}
export interface HasTimestamp extends HasExact {
  readonly timestamp: number;
}

/** A block's exact number. */
export const exactNumber = ({ number, exact }: HasNumber): ExactInteger => exactOf(number, exact?.number);

/** A block's exact timestamp. */
export const exactTimestamp = ({ timestamp, exact }: HasTimestamp): ExactInteger => exactOf(timestamp, exact?.timestamp);

function exactOf(rounded: number, exact: bigint | undefined): ExactInteger {
  if (Number.isSafeInteger(rounded)) return rounded;
  return exact !== undefined && Number(exact) === rounded ? exact : BigInt(rounded);
}

/** The number of a block's children. */
export const childNumber = (parent: HasNumber): ExactInteger => exactInteger(BigInt(exactNumber(parent)) + 1n);

/** The header fields for a number and a timestamp of at most 64 bits; `exact` is absent if both are below 2^53. */
export function positionFields(number: bigint, timestamp: bigint): HasNumber & HasTimestamp {
  const rounded = { number: Number(number), timestamp: Number(timestamp) };
  const exact = exactFields(number, timestamp);
  return exact === undefined ? rounded : { ...rounded, exact };
}

/** @param number `undefined`: the object has only a timestamp */
export function exactFields(number: bigint | undefined, timestamp: bigint): ExactFields | undefined {
  const isRounded = (value: bigint | undefined): boolean => value !== undefined && !Number.isSafeInteger(Number(value));
  if (!isRounded(number) && !isRounded(timestamp)) return undefined;
  return { ...(isRounded(number) && { number }), ...(isRounded(timestamp) && { timestamp }) };
}
