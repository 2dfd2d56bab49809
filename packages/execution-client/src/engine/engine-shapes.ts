import type { ForkchoiceState } from "@rnode/chain";
import { bytesShape, hashShape, objectShape, type Shape, ShapeError, shape } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import { attributesFromJson, type ExecutionPayload, type PayloadAttributes, payloadFromJson } from "@rnode/protocol";

/** A shape over one of the protocol's JSON parsers, which name the field that is wrong. */
function protocolShape<T>(title: string, parse: (value: unknown, path: string) => T): Shape<T> {
  return shape({ title, type: "object" }, (value) => {
    try {
      return parse(value, "");
    } catch (error) {
      if (!isCodedError(error, "json/invalid")) throw error;
      const { key = "", value: got = "", expected = "" } = error.data;
      throw new ShapeError(`expected ${expected}, got ${got}`, String(key).replace(/^\./, ""));
    }
  });
}

export const attributesShape: Shape<PayloadAttributes> = protocolShape("Payload attributes", attributesFromJson);
export const payloadShape: Shape<ExecutionPayload> = protocolShape("Execution payload", payloadFromJson);

export const forkchoiceStateShape: Shape<ForkchoiceState> = objectShape(
  { headBlockHash: hashShape, safeBlockHash: hashShape, finalizedBlockHash: hashShape },
  {},
);

const eightBytes = bytesShape(8, "an 8-byte payload id");
export const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));
