import type { ForkchoiceState } from "@rnode/chain";
import { protocolShape } from "@rnode/eth-api";
import { bytesShape, hashShape, objectShape, type Shape, shape } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type ExecutionPayload, type KnownTransactions, payloadFromJson } from "@rnode/protocol";
import { PAYLOAD } from "./engine-results.ts";

/** @param known transactions that need not be decoded: those of a built block that comes back */
export const payloadShape = (known: KnownTransactions): Shape<ExecutionPayload> =>
  protocolShape({ title: "Execution payload", ...PAYLOAD }, (value, path) => payloadFromJson(value, path, known));

export const forkchoiceStateShape: Shape<ForkchoiceState> = objectShape(
  { headBlockHash: hashShape, safeBlockHash: hashShape, finalizedBlockHash: hashShape },
  {},
);

const eightBytes = bytesShape(8, "an 8-byte payload id");
export const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));
