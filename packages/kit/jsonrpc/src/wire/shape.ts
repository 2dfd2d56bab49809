import { hexToBytes, parseQuantity } from "@rnode/primitives";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The type of a JSON value: how it is parsed and, for the published description of the API, its schema. */
export interface Shape<T> {
  readonly schema: JsonSchema;
  /** @throws {ShapeError} */
  parse(value: unknown): T;
}

/** The error in a value and its position: `address[2]: expected …`. */
export class ShapeError extends Error {
  readonly path: string;
  readonly detail: string;

  constructor(detail: string, path = "") {
    super(path === "" ? detail : `${path}: ${detail}`);
    this.name = "ShapeError";
    this.path = path;
    this.detail = detail;
  }

  /** The same error, located in the enclosing value. */
  within(step: string): ShapeError {
    const separator = this.path === "" || this.path.startsWith("[") ? "" : ".";
    return new ShapeError(this.detail, `${step}${separator}${this.path}`);
  }
}

/** A value as it appears in an error: short, whatever was sent. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 80 ? `${text.slice(0, 76)}…` : text;
}

/** @throws {ShapeError} */
export const refuse = (expected: string, value: unknown): never => {
  throw new ShapeError(`expected ${expected}, got ${shown(value)}`);
};

export const shape = <T>(schema: JsonSchema, parse: (value: unknown) => T): Shape<T> => ({ schema, parse });

export const anyJson: Shape<unknown> = shape({}, (value) => value);

export const textShape: Shape<string> = shape({ type: "string" }, (value) =>
  typeof value === "string" ? value : refuse("a string", value),
);

export const booleanShape: Shape<boolean> = shape({ type: "boolean" }, (value) =>
  typeof value === "boolean" ? value : refuse("a boolean", value),
);

export const numberShape: Shape<number> = shape({ type: "number" }, (value) =>
  typeof value === "number" && Number.isFinite(value) ? value : refuse("a number", value),
);

export function wordShape<const Words extends readonly string[]>(...words: Words): Shape<Words[number]> {
  return shape({ enum: words }, (value) => words.find((word) => word === value) ?? refuse(`one of ${words.join(", ")}`, value));
}

/** In a schema, of a number as hex text. Shapes also take numbers with leading zeros. */
export const QUANTITY_PATTERN = "^0x(0|[1-9a-f][0-9a-f]*)$";
const QUANTITY_SCHEMA = { type: "string", pattern: QUANTITY_PATTERN };

/** A quantity of at most `bits` bits. */
export function quantityShape(bits: number): Shape<bigint> {
  const limit = 1n << BigInt(bits);
  const expected = `a hex quantity of at most ${bits} bits`;
  return shape(QUANTITY_SCHEMA, (value) => {
    if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,128}$/.test(value)) return refuse(expected, value);
    const parsed = parseQuantity(value);
    return parsed < limit ? parsed : refuse(expected, value);
  });
}

export const uint256Shape = quantityShape(256);
export const uint64Shape = quantityShape(64);

/** A block number, time or count: a quantity that fits a JavaScript number. */
export const countShape: Shape<number> = shape(QUANTITY_SCHEMA, (value) => {
  const parsed = uint64Shape.parse(value);
  return parsed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(parsed) : refuse("a hex quantity below 2^53", value);
});

/** Hex data of exactly `length` bytes, or of any length. */
export function bytesShape(
  length?: number,
  what = length === undefined ? "hex data" : `${length} bytes of hex data`,
): Shape<Uint8Array> {
  const pattern = length === undefined ? "^0x([0-9a-f]{2})*$" : `^0x[0-9a-f]{${length * 2}}$`;
  return shape({ type: "string", pattern }, (value) => {
    if (typeof value !== "string" || !(value.startsWith("0x") || value.startsWith("0X")))
      return refuse(`${what} starting with 0x`, value);
    if (length !== undefined && value.length !== 2 + length * 2) return refuse(what, value);
    if (value.length % 2 !== 0) return refuse(`${what} with an even number of digits`, value);
    try {
      return hexToBytes(value);
    } catch {
      return refuse(what, value);
    }
  });
}

export const addressShape = bytesShape(20, "a 20-byte address");
export const hashShape = bytesShape(32, "a 32-byte hash");
export const dataShape = bytesShape();

export function arrayShape<T>(item: Shape<T>, { maxItems = Number.POSITIVE_INFINITY } = {}): Shape<T[]> {
  return shape({ type: "array", items: item.schema }, (value) => {
    if (!Array.isArray(value)) return refuse("an array", value);
    if (value.length > maxItems) throw new ShapeError(`expected at most ${maxItems} items, got ${value.length}`);
    return value.map((entry: unknown, index) => parseWithin(item, entry, `[${index}]`));
  });
}

/** null, or a value. */
export function nullableShape<T>(inner: Shape<T>): Shape<T | undefined> {
  return shape({ oneOf: [inner.schema, { type: "null" }] }, (value) =>
    value === null || value === undefined ? undefined : inner.parse(value),
  );
}

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Parsed<S> = S extends Shape<infer T> ? T : never;

/** An object. A field that is missing or null is undefined when optional; fields that are not listed are ignored. */
export function objectShape<R extends Fields, O extends Fields>(
  required: R,
  optional: O,
): Shape<{ readonly [K in keyof R]: Parsed<R[K]> } & { readonly [K in keyof O]: Parsed<O[K]> | undefined }> {
  const all = Object.entries({ ...required, ...optional });
  const schema = {
    type: "object",
    required: Object.keys(required),
    properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
  };
  const fields = all.map(([name, field]) => ({ name, field, isRequired: Object.hasOwn(required, name) }));
  // A property inherited from Object.prototype must not pass for a field; for other names a plain look-up is enough.
  if (fields.some(({ name }) => name in Object.prototype))
    throw new TypeError("a field cannot have the name of an Object's property");
  const empty: Readonly<Record<string, unknown>> = Object.fromEntries(all.map(([name]) => [name, undefined]));
  return shape(schema, (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("an object", value);
    // PERF: copying `empty` gives the object its final shape at once; most fields of most objects are absent.
    const parsed: Record<string, unknown> = { ...empty };
    for (const { name, field, isRequired } of fields) {
      const given = (value as Record<string, unknown>)[name];
      if (given !== undefined && given !== null) parsed[name] = parseWithin(field, given, name);
      else if (isRequired) throw new ShapeError("missing", name);
    }
    return parsed as { readonly [K in keyof R]: Parsed<R[K]> } & { readonly [K in keyof O]: Parsed<O[K]> | undefined };
  });
}

function parseWithin<T>(inner: Shape<T>, value: unknown, step: string): T {
  try {
    return inner.parse(value);
  } catch (error) {
    throw error instanceof ShapeError ? error.within(step) : error;
  }
}

/** Converts what an inner shape has parsed. */
export function mapShape<T, U>(inner: Shape<T>, map: (value: T) => U): Shape<U> {
  return shape(inner.schema, (value) => map(inner.parse(value)));
}
