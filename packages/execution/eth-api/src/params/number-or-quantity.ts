import { countShape, numberShape, type Shape, shape } from "@rnode/jsonrpc";

/** A count, either as a plain number or as a hex quantity. */
export const numberOrQuantityShape: Shape<number> = shape({ oneOf: [numberShape.schema, countShape.schema] }, (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : countShape.parse(value),
);
