import type { ForkchoiceState } from "@rnode/chain";
import { type JsonObject, protocolShape } from "@rnode/eth-api";
import {
  ADDRESS,
  arrayOf,
  BOOLEAN,
  DATA,
  EIGHT_BYTES,
  HASH,
  nullable,
  object,
  QUANTITY,
  type ResultDoc,
  TEXT,
  WITHDRAWAL,
} from "@rnode/eth-api/schemas";
import { bytesShape, hashShape, type JsonSchema, objectShape, type Shape, shape } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { type ExecutionPayload, type KnownTransactions, type PayloadStatusV1, payloadFromJson } from "@rnode/protocol";

// Parameters and results of the Engine API as the published description states them.
// Spec: execution-apis src/engine, docs/protocol/04-rpc.md#engine-api

const result = (name: string, schema: JsonSchema): ResultDoc => ({ name, schema });
const BLOOM: JsonSchema = { type: "string", pattern: "^0x[0-9a-f]{512}$" };

const PAYLOAD = object(
  {
    parentHash: HASH,
    feeRecipient: ADDRESS,
    stateRoot: HASH,
    receiptsRoot: HASH,
    logsBloom: BLOOM,
    prevRandao: HASH,
    blockNumber: QUANTITY,
    gasLimit: QUANTITY,
    gasUsed: QUANTITY,
    timestamp: QUANTITY,
    extraData: DATA,
    baseFeePerGas: QUANTITY,
    blockHash: HASH,
    transactions: arrayOf(DATA),
  },
  { withdrawals: arrayOf(WITHDRAWAL), blobGasUsed: QUANTITY, excessBlobGas: QUANTITY, withdrawalsRoot: HASH },
);

/** @param known transactions that need not be decoded: those of a built block that comes back */
export const payloadShape = (known: KnownTransactions): Shape<ExecutionPayload> =>
  protocolShape({ title: "Execution payload", ...PAYLOAD }, (value, path) => payloadFromJson(value, path, known));

export const forkchoiceStateShape: Shape<ForkchoiceState> = objectShape(
  { headBlockHash: hashShape, safeBlockHash: hashShape, finalizedBlockHash: hashShape },
  {},
);

const eightBytes = bytesShape(8, "an 8-byte payload id");
export const payloadIdShape: Shape<Hex> = shape(eightBytes.schema, (value) => bytesToHex(eightBytes.parse(value)));

export const statusToJson = ({ status, latestValidHash, validationError }: PayloadStatusV1): JsonObject => ({
  status,
  latestValidHash,
  validationError: validationError ?? null,
});

const STATUS_FIELDS = {
  status: { enum: ["VALID", "INVALID", "SYNCING", "ACCEPTED", "INVALID_BLOCK_HASH"] },
  latestValidHash: nullable(HASH),
  validationError: nullable(TEXT),
} satisfies Record<string, JsonSchema>;
const PAYLOAD_STATUS = object(STATUS_FIELDS);
const BLOBS_BUNDLE = object({ commitments: arrayOf(DATA), proofs: arrayOf(DATA), blobs: arrayOf(DATA) });
const FROM_V3 = { blobsBundle: BLOBS_BUNDLE, shouldOverrideBuilder: BOOLEAN };
const BUILT = { executionPayload: PAYLOAD, blockValue: QUANTITY };

export const payloadStatus = result("status", PAYLOAD_STATUS);
export const witnessedStatus = result("status", object(STATUS_FIELDS, { witness: DATA }));
export const statelessStatus = result(
  "status",
  object({ status: { enum: ["VALID", "INVALID"] }, stateRoot: HASH, receiptsRoot: HASH, validationError: nullable(TEXT) }),
);
export const forkchoiceUpdated = result("status", object({ payloadStatus: PAYLOAD_STATUS, payloadId: nullable(EIGHT_BYTES) }));
export const builtBlocks = result(
  "built",
  object({
    payloadStatus: PAYLOAD_STATUS,
    headers: arrayOf(DATA),
    refusal: nullable(object({ code: { type: "integer" }, message: TEXT })),
  }),
);
export const payloadV1 = result("payload", PAYLOAD);
/** `witness`: the build was started by `engine_forkchoiceUpdatedWithWitness` */
const WITH_WITNESS = { witness: DATA };
export const payloadV2 = result("payload", object(BUILT, WITH_WITNESS));
export const payloadV3 = result("payload", object({ ...BUILT, ...FROM_V3 }, { parentBeaconBlockRoot: HASH, ...WITH_WITNESS }));
export const payloadV4 = result(
  "payload",
  object({ ...BUILT, ...FROM_V3, executionRequests: arrayOf(DATA) }, { parentBeaconBlockRoot: HASH, ...WITH_WITNESS }),
);
export const bodies = result(
  "bodies",
  arrayOf(nullable(object({ transactions: arrayOf(DATA), withdrawals: nullable(arrayOf(WITHDRAWAL)) }))),
);
export const blobsV1 = result("blobs", arrayOf(nullable(object({ blob: DATA, proof: DATA }))));
const BLOB_WITH_CELL_PROOFS = object({ blob: DATA, proofs: arrayOf(DATA) });
export const blobsV2 = result("blobs", nullable(arrayOf(BLOB_WITH_CELL_PROOFS)));
export const blobsV3 = result("blobs", nullable(arrayOf(nullable(BLOB_WITH_CELL_PROOFS))));
export const transitionConfiguration = result(
  "configuration",
  object({ terminalTotalDifficulty: QUANTITY, terminalBlockHash: HASH, terminalBlockNumber: QUANTITY }),
);
export const clientVersions = result("versions", arrayOf(object({ code: TEXT, name: TEXT, version: TEXT, commit: TEXT })));
export const protocolVersion = result("version", HASH);
export const capabilities = result("methods", arrayOf(TEXT));
