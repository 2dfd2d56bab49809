import type { ForkchoiceState } from "@rnode/chain";
import { protocolShape } from "@rnode/eth-api";
import { bytesShape, hashShape, objectShape, type Shape, shape } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type ExecutionPayload, payloadFromJson } from "@rnode/protocol";
import { PAYLOAD } from "./engine-results.ts";

export const payloadShape: Shape<ExecutionPayload> = protocolShape({ title: "Execution payload", ...PAYLOAD }, payloadFromJson);

export const forkchoiceStateShape: Shape<ForkchoiceState> = objectShape(
  { headBlockHash: hashShape, safeBlockHash: hashShape, finalizedBlockHash: hashShape },
  {},
);

const eightBytes = bytesShape(8, "an 8-byte payload id");
export const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));
