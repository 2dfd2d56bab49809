import { type JsonSchema, type Shape, ShapeError, shape, uint256Shape } from "@rnode/jsonrpc";

const AMOUNT_SCHEMA: JsonSchema = {
  oneOf: [
    { type: "integer", minimum: 0 },
    { type: "string", pattern: "^(0x[0-9a-fA-F]*|[0-9]+)$" },
  ],
};
const MAX_DIGITS = 80;

/** A number as test tools write it: a quantity, a hex number with zeros in front, decimal digits, or a JSON number. */
export const amountShape: Shape<bigint> = shape(AMOUNT_SCHEMA, (value) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value !== "string" || value.length > MAX_DIGITS || !/^(?:0x[0-9a-fA-F]*|\d+)$/.test(value))
    throw new ShapeError("expected a number, in hex or decimal");
  const amount = BigInt(value === "0x" ? "0x0" : value);
  if (amount >> 256n !== 0n) throw new ShapeError("expected at most 256 bits");
  return amount;
});

/** Such a number that counts something: blocks, seconds. */
export const smallAmountShape: Shape<number> = shape(AMOUNT_SCHEMA, (value) => {
  const amount = Number(amountShape.parse(value));
  if (!Number.isSafeInteger(amount)) throw new ShapeError("expected a smaller number");
  return amount;
});

export const NOTHING = { name: "nothing", schema: { type: "null" } } as const;
export const DONE = { name: "done", schema: { type: "boolean" } } as const;
export const QUANTITY_RESULT = (name: string) => ({ name, schema: uint256Shape.schema });
export const ANYTHING = (name: string) => ({ name, schema: {} });
