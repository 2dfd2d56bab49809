import type { ForkchoiceState } from "@rnode/chain";
import { bytesShape, hashShape, type JsonSchema, objectShape, type Shape, ShapeError, shape } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import { attributesFromJson, type ExecutionPayload, type PayloadAttributes, payloadFromJson } from "@rnode/protocol";
import { ATTRIBUTES, PAYLOAD } from "./engine-results.ts";

/** A shape over one of the protocol's JSON parsers, which name the field that is wrong. */
function protocolShape<T>(schema: JsonSchema, parse: (value: unknown, path: string) => T): Shape<T> {
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

export const attributesShape: Shape<PayloadAttributes> = protocolShape(
  { title: "Payload attributes", ...ATTRIBUTES },
  attributesFromJson,
);
export const payloadShape: Shape<ExecutionPayload> = protocolShape({ title: "Execution payload", ...PAYLOAD }, payloadFromJson);

export const forkchoiceStateShape: Shape<ForkchoiceState> = objectShape(
  { headBlockHash: hashShape, safeBlockHash: hashShape, finalizedBlockHash: hashShape },
  {},
);

const eightBytes = bytesShape(8, "an 8-byte payload id");
export const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));
