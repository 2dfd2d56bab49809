import { type JsonSchema, type Shape, ShapeError, shape } from "@rnode/jsonrpc";
import { isCodedError } from "@rnode/primitives";
import { attributesFromJson, type PayloadAttributes } from "@rnode/protocol";
import { ADDRESS, arrayOf, BOOLEAN, DATA, EIGHT_BYTES, HASH, object, QUANTITY, WITHDRAWAL } from "../schemas/results.ts";

/** Makes a shape from one of the protocol's JSON parsers, whose errors name the faulty field. */
export function protocolShape<T>(schema: JsonSchema, parse: (value: unknown, path: string) => T): Shape<T> {
  return shape(schema, (value) => {
    try {
      return parse(value, "");
    } catch (error) {
      if (!isCodedError(error, "json/invalid")) throw error;
      const { key = "", value: got = "", expected = "" } = error.data;
      throw new ShapeError(`expected ${expected}, got ${got}`, String(key).replace(/^\./, ""));
    }
  });
}

const ATTRIBUTES = object(
  { timestamp: QUANTITY, prevRandao: HASH, suggestedFeeRecipient: ADDRESS },
  {
    withdrawals: arrayOf(WITHDRAWAL),
    parentBeaconBlockRoot: HASH,
    transactions: arrayOf(DATA),
    noTxPool: BOOLEAN,
    gasLimit: QUANTITY,
    eip1559Params: EIGHT_BYTES,
    minBaseFee: { oneOf: [{ type: "integer" }, QUANTITY] },
  },
);

export const attributesShape: Shape<PayloadAttributes> = protocolShape(
  { title: "Payload attributes", ...ATTRIBUTES },
  attributesFromJson,
);
