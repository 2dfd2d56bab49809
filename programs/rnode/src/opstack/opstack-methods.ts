import {
  anyJson,
  bytesShape,
  countShape,
  hashShape,
  type MethodTable,
  method,
  objectShape,
  param,
  type Shape,
  ShapeError,
  shape,
  withRpcErrors,
} from "@rnode/jsonrpc";
import { bytesToHex, type Hex, isCodedError } from "@rnode/primitives";
import {
  attributesFromJson,
  type ExecutionPayloadEnvelope,
  envelopeFromJson,
  envelopeToJson,
  type PayloadAttributes,
} from "@rnode/protocol";
import type { PayloadInfo, TestSequencer } from "./test-sequencer.ts";

/** A shape that a parser of the protocol reads. */
const protocolShape = <T>(parse: (json: unknown) => T): Shape<T> =>
  shape(anyJson.schema, (value) => {
    try {
      return parse(value);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      throw new ShapeError(error.message);
    }
  });

/** Numbers of blocks are plain numbers here, as in op-node's answers; quantities are taken too. */
const blockNumberShape: Shape<number> = shape({ oneOf: [{ type: "integer" }, countShape.schema] }, (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : countShape.parse(value),
);

const blockIdShape = objectShape({ hash: hashShape, number: blockNumberShape }, {});
const attributesShape: Shape<PayloadAttributes> = protocolShape((json) => attributesFromJson(json));
const envelopeShape: Shape<ExecutionPayloadEnvelope> = protocolShape((json) => envelopeFromJson(json));
const eightBytes = bytesShape(8, "an 8-byte payload id");
const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));
const payloadInfoShape = objectShape({ id: payloadIdShape, timestamp: blockNumberShape }, {});
const signedShape = objectShape({ envelope: envelopeShape, signature: bytesShape(65, "a 65-byte signature") }, {});

/** The methods of `--experimental.sequencer-api`, for tests that choose the content of each block. */
export function opstackMethods(sequencer: TestSequencer): MethodTable {
  const done = async (act: () => Promise<unknown>): Promise<null> => {
    await withRpcErrors(act);
    return null;
  };
  return {
    opstack_openBlockV1: method({
      params: [param("parent", blockIdShape), param("attributes", attributesShape)],
      summary: "Starts building a block on a parent.",
      handler: ([parent, attributes]): Promise<PayloadInfo> =>
        withRpcErrors(() => sequencer.open({ hash: bytesToHex(parent.hash), number: parent.number }, attributes)),
    }),
    opstack_cancelBlockV1: method({
      params: [param("payload", payloadInfoShape)],
      summary: "Gives up a block that is being built.",
      handler: ([info]) => done(() => sequencer.cancel(info)),
    }),
    opstack_sealBlockV1: method({
      params: [param("payload", payloadInfoShape)],
      summary: "Ends building; the block is not part of the chain yet.",
      handler: async ([info]) => envelopeToJson(await withRpcErrors(() => sequencer.seal(info))),
    }),
    opstack_commitBlockV1: method({
      params: [param("signed", signedShape)],
      summary: "Makes a block the unsafe head. Its signature is not looked at.",
      handler: ([{ envelope }]) => done(() => sequencer.commit(envelope)),
    }),
    opstack_publishBlockV1: method({
      params: [param("signed", signedShape)],
      summary: "Hands a signed block to other nodes.",
      handler: ([{ envelope, signature }]) => done(() => sequencer.publish(envelope, signature)),
    }),
  };
}
