import {
  INVALID_PARAMS,
  type JsonSchema,
  type Param,
  type Params,
  QUANTITY_PATTERN,
  SERVER_ERROR,
  type Shape,
  ShapeError,
} from "@rnode/jsonrpc";
import { blockNumberShape, blockSelectorShape } from "../params/block-selector.ts";

/** A profile's rules for parameters, in addition to their shapes. */
export interface ParameterRules {
  /** by method: optional parameters that the profile's client wants */
  readonly wanted: Readonly<Record<string, readonly string[]>>;
  /** null stands for a zero value, so that it may be sent for a wanted parameter; the zero value of a block names none, and is refused */
  readonly takesNull: boolean;
  /** `0x01` is no quantity */
  readonly refusesLeadingZeros: boolean;
  /** indices of transactions and uncles, and storage slots, may be JSON numbers; slots also decimal text */
  readonly takesNumericIndices: boolean;
}

/** The parameters of a method as the profile reads them. */
export function applyParameterRules(
  { wanted, takesNull, refusesLeadingZeros }: ParameterRules,
  method: string,
  params: Params,
): Params {
  const own = Object.hasOwn(wanted, method) ? wanted[method]! : [];
  if (own.length === 0 && !refusesLeadingZeros && !takesNull) return params;
  return params.map((param): Param<unknown> => {
    const isWanted = own.includes(param.name);
    return {
      ...param,
      optional: param.optional && (!isWanted || takesNull),
      mustBePresent: isWanted && takesNull,
      nullFault: takesNull && (isWanted || !param.optional) ? NULL_FAULTS.get(param.shape) : undefined,
      shape: refusesLeadingZeros ? withoutLeadingZeros(param.shape) : param.shape,
    };
  });
}

/** What Go's servers make of null: text that is no number, or a block that is named neither by number nor by hash. */
const NULL_FAULTS: ReadonlyMap<Shape<unknown>, Param<unknown>["nullFault"]> = new Map<Shape<unknown>, Param<unknown>["nullFault"]>([
  [blockNumberShape, (index) => ({ code: INVALID_PARAMS, message: `invalid argument ${index}: hex string without 0x prefix` })],
  [blockSelectorShape, () => ({ code: SERVER_ERROR, message: "invalid arguments; neither block nor hash specified" })],
]);

const withoutLeadingZeros = (inner: Shape<unknown>): Shape<unknown> =>
  mayHoldQuantity(inner.schema)
    ? {
        schema: inner.schema,
        parse: (value) => {
          const parsed = inner.parse(value); // first, because it bounds the value
          const path = zerosIn(inner.schema, value);
          if (path !== undefined) throw new ShapeError("hex number with leading zero digits", path.replace(/^\./, ""));
          return parsed;
        },
      }
    : inner;

const mayHoldQuantity = (schema: JsonSchema): boolean => JSON.stringify(schema).includes(JSON.stringify(QUANTITY_PATTERN));

const list = (value: unknown): readonly JsonSchema[] => (Array.isArray(value) ? (value as JsonSchema[]) : []);

/** Where a quantity of a value that fits the schema begins with a zero digit. @returns `undefined` if none does */
function zerosIn(schema: JsonSchema, value: unknown): string | undefined {
  if (typeof value === "string") {
    const alternatives = schema.oneOf === undefined ? [schema] : list(schema.oneOf);
    const patterns = alternatives.flatMap(({ type, pattern }) =>
      type === "string" && typeof pattern === "string" ? [pattern] : [],
    );
    const isOther = patterns.some((pattern) => pattern !== QUANTITY_PATTERN && new RegExp(pattern, "i").test(value));
    return patterns.includes(QUANTITY_PATTERN) && !isOther && /^0x0./i.test(value) ? "" : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const alternative of schema.oneOf === undefined ? [schema] : list(schema.oneOf)) {
    const found = zerosInParts(alternative, value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function zerosInParts(
  { items, prefixItems, properties = {}, additionalProperties }: JsonSchema,
  value: object,
): string | undefined {
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      const schema = list(prefixItems)[index] ?? items;
      const found = schema === undefined ? undefined : zerosIn(schema as JsonSchema, entry);
      if (found !== undefined) return `[${index}]${found}`;
    }
    return undefined;
  }
  for (const [name, entry] of Object.entries(value)) {
    const known = properties as Readonly<Record<string, JsonSchema>>;
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    const found = typeof schema === "object" && schema !== null ? zerosIn(schema as JsonSchema, entry) : undefined;
    if (found !== undefined) return `.${name}${found}`;
  }
  return undefined;
}
