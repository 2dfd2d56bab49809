import { bytesToHex, CodedError, hexToBytes, isCodedError } from "@rnode/primitives";

/** `key` is the path of the invalid field, `value` its value, `expected` a description of a valid value. */
export type JsonErrorCode = "json/invalid";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Turns a JSON value into `T`; `key` is its path, for errors. @throws {CodedError} json/invalid */
export type JsonParser<T> = (value: unknown, key: string) => T;

/** The message for an invalid field. */
export const FIELD_SENTENCE = "{key}: expected {expected}, got {value}";

const SHOWN_CHARACTERS = 80;

export function jsonError(key: string, value: unknown, expected: string): CodedError<JsonErrorCode> {
  const text = value === undefined ? "(missing)" : ((JSON.stringify(value, bigintAsText) as string | undefined) ?? typeof value);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return new CodedError<JsonErrorCode>("json/invalid", { key, value: shown, expected }, { sentence: FIELD_SENTENCE });
}

const bigintAsText = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

export const jsonObject: JsonParser<JsonObject> = (value, key) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw jsonError(key, value, "an object");
  return value as JsonObject;
};

/** The field `name`, which must be present and not null. `path` is the path of the object, "" at the top. */
export function requiredField<T>(object: JsonObject, path: string, name: string, parse: JsonParser<T>): T {
  return parse(object[name] ?? undefined, fieldKey(path, name));
}

/** The field `name`; `undefined` if it is missing or null. */
export function optionalField<T>(object: JsonObject, path: string, name: string, parse: JsonParser<T>): T | undefined {
  const value = object[name];
  return value === undefined || value === null ? undefined : parse(value, fieldKey(path, name));
}

export const fieldKey = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

/** @throws {CodedError} json/invalid for the first key that is not in `known` */
export function refuseUnknownKeys(object: JsonObject, path: string, known: ReadonlySet<string>): void {
  for (const name of Object.keys(object)) {
    if (!known.has(name)) throw jsonError(fieldKey(path, name), object[name], "no such key");
  }
}

export const jsonBoolean: JsonParser<boolean> = (value, key) => {
  if (typeof value !== "boolean") throw jsonError(key, value, "true or false");
  return value;
};

export const jsonString: JsonParser<string> = (value, key) => {
  if (typeof value !== "string") throw jsonError(key, value, "a string");
  return value;
};

/** A plain JSON integer, 0 to 2^53 − 1. */
export const jsonInteger: JsonParser<number> = (value, key) => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw jsonError(key, value, "an integer, 0 or more");
  return value;
};

/** `0x`-prefixed hex of whole bytes, of exactly `length` bytes if given. */
export function jsonBytes(length?: number): JsonParser<Uint8Array> {
  const expected = length === undefined ? "hex bytes with 0x" : `${length} bytes of hex with 0x`;
  return (value, key) => {
    if (typeof value !== "string" || !/^0x/i.test(value)) throw jsonError(key, value, expected);
    try {
      const bytes = hexToBytes(value);
      if (length !== undefined && bytes.length !== length) throw jsonError(key, value, expected);
      return bytes;
    } catch (error) {
      if (isCodedError(error, "bytes/")) throw jsonError(key, value, expected);
      throw error;
    }
  };
}

export const jsonAddress = jsonBytes(20);
export const jsonHash = jsonBytes(32);

/** A `0x` quantity of at most `bits` bits. */
export function jsonQuantity(bits: 64 | 256): JsonParser<bigint> {
  return (value, key) => {
    if (typeof value !== "string" || !/^0x[0-9a-fA-F]+$/.test(value)) throw jsonError(key, value, "a 0x quantity");
    const quantity = BigInt(value);
    if (quantity >> BigInt(bits)) throw jsonError(key, value, `a 0x quantity of at most ${bits} bits`);
    return quantity;
  };
}

export const jsonQuantity64 = jsonQuantity(64);
export const jsonQuantity256 = jsonQuantity(256);

/** A `0x` quantity that fits a number (block numbers, timestamps). */
export const jsonQuantityNumber: JsonParser<number> = (value, key) => {
  const number = Number(jsonQuantity64(value, key));
  if (!Number.isSafeInteger(number)) throw jsonError(key, value, "a 0x quantity below 2^53");
  return number;
};

/** Genesis files have numbers as `0x` hex, as decimal text or as JSON integers. */
export const jsonFlexibleBigint: JsonParser<bigint> = (value, key) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === "string" && /^(0x[0-9a-fA-F]+|[0-9]+)$/.test(value)) {
    const number = BigInt(value);
    if (number >> 256n === 0n) return number;
  }
  throw jsonError(key, value, "an integer of at most 256 bits, as 0x hex, decimal text or a number");
};

/** Like `jsonFlexibleBigint`, but a number below 2^53. */
export const jsonFlexibleNumber: JsonParser<number> = (value, key) => {
  const number = Number(jsonFlexibleBigint(value, key));
  if (!Number.isSafeInteger(number)) throw jsonError(key, value, "an integer below 2^53");
  return number;
};

export function jsonArray<T>(parse: JsonParser<T>): JsonParser<T[]> {
  return (value, key) => {
    if (!Array.isArray(value)) throw jsonError(key, value, "an array");
    return value.map((item: unknown, index) => {
      try {
        return parse(item, key); // PERF: paths are only built for errors
      } catch {
        return parse(item, `${key}[${index}]`);
      }
    });
  };
}

export function jsonOneOf<const T extends string>(options: readonly T[]): JsonParser<T> {
  return (value, key) => {
    const found = options.find((option) => option === value);
    if (found === undefined) throw jsonError(key, value, `one of ${options.join(", ")}`);
    return found;
  };
}

/** The object without its undefined entries, so its JSON has no nulls. */
export function withoutUndefined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

export const optionalHex = (bytes: Uint8Array | undefined): `0x${string}` | undefined =>
  bytes === undefined ? undefined : bytesToHex(bytes);
