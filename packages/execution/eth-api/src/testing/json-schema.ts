import type { JsonSchema } from "@rnode/jsonrpc";

/**
 * Where a value deviates from its schema: one line per fault, with its path. Supports the keywords that the method tables use. Stricter
 * than JSON Schema in one respect: fields that the schema does not name are faults, so that no answer contains anything undescribed.
 */
export function schemaFaults(schema: JsonSchema, value: unknown, path = "$"): string[] {
  const {
    type,
    pattern,
    enum: words,
    oneOf,
    required,
    properties,
    items,
    additionalProperties,
    propertyNames,
    not,
  } = schema as {
    type?: string;
    pattern?: string;
    enum?: readonly unknown[];
    oneOf?: readonly JsonSchema[];
    required?: readonly string[];
    properties?: Readonly<Record<string, JsonSchema>>;
    items?: JsonSchema;
    additionalProperties?: JsonSchema;
    propertyNames?: JsonSchema;
    not?: JsonSchema;
  };
  const shown = JSON.stringify(value)?.slice(0, 100);
  if (not !== undefined) return [`${path}: nothing expected, got ${shown}`];
  if ("const" in schema) return schema.const === value ? [] : [`${path}: expected ${JSON.stringify(schema.const)}, got ${shown}`];
  if (words !== undefined && !words.includes(value)) return [`${path}: expected one of ${words.join(", ")}, got ${shown}`];
  if (oneOf !== undefined) {
    const faults = oneOf.map((one) => schemaFaults(one, value, path));
    if (faults.some((found) => found.length === 0)) return [];
    // Report the faults of the alternative that fits best.
    return faults.sort((a, b) => b.join().length - a.join().length)[0]!;
  }
  if (type !== undefined && !isOfType(type, value)) return [`${path}: expected ${type}, got ${shown}`];
  if (pattern !== undefined && !new RegExp(pattern).test(value as string)) return [`${path}: expected ${pattern}, got ${shown}`];
  if (Array.isArray(value))
    return items === undefined ? [] : value.flatMap((item, at) => schemaFaults(items, item, `${path}[${at}]`));
  if (typeof value !== "object" || value === null) return [];
  const faults = (required ?? []).filter((name) => !(name in value)).map((name) => `${path}.${name}: missing`);
  for (const [name, field] of Object.entries(value)) {
    if (propertyNames !== undefined) faults.push(...schemaFaults(propertyNames, name, `${path}: name`));
    const own = properties?.[name] ?? additionalProperties;
    if (own !== undefined) faults.push(...schemaFaults(own, field, `${path}.${name}`));
    else if (properties !== undefined) faults.push(`${path}.${name}: not described`);
  }
  return faults;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
