import { arrayShape, hashShape, type Shape, ShapeError, shape, shown } from "@rnode/jsonrpc";

const hashesShape = arrayShape(hashShape);

/** The filter of the subscription `transactionReceipts`: hashes of transactions, 32 bytes each; undefined: all transactions. */
export const receiptFilterShape: Shape<readonly Uint8Array[] | undefined> = shape(
  { type: "object", properties: { transactionHashes: { oneOf: [{ type: "null" }, hashesShape.schema] } } },
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new ShapeError(`expected an object, got ${shown(value)}`);
    const { transactionHashes: given } = value as { readonly transactionHashes?: unknown };
    if (given === undefined || given === null) return undefined;
    try {
      const hashes = hashesShape.parse(given);
      return hashes.length === 0 ? undefined : hashes;
    } catch (error) {
      throw error instanceof ShapeError ? error.within("transactionHashes") : error;
    }
  },
);
