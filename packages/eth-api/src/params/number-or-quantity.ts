import { countShape, numberShape, type Shape, shape } from "@rnode/jsonrpc";

/** A count: a plain number, or a quantity. */
export const numberOrQuantityShape: Shape<number> = shape({ oneOf: [numberShape.schema, countShape.schema] }, (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : countShape.parse(value),
);
