import { addressShape, booleanShape, dataShape, hashShape, type JsonSchema, textShape, uint256Shape } from "@rnode/jsonrpc";

/** A method's result as the published API description states it; tests check answers against it. */
export interface ResultDoc {
  readonly name: string;
  readonly schema: JsonSchema;
}

const result = (name: string, schema: JsonSchema): ResultDoc => ({ name, schema });

export const QUANTITY = uint256Shape.schema;
export const HASH = hashShape.schema;
export const ADDRESS = addressShape.schema;
export const DATA = dataShape.schema;
export const BOOLEAN = booleanShape.schema;
export const TEXT = textShape.schema;
const ANY_CASE_ADDRESS: JsonSchema = { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" };
const BLOOM: JsonSchema = { type: "string", pattern: "^0x[0-9a-f]{512}$" };
export const EIGHT_BYTES: JsonSchema = { type: "string", pattern: "^0x[0-9a-f]{16}$" };

export const nullable = (schema: JsonSchema): JsonSchema => ({ oneOf: [{ type: "null" }, schema] });
export const arrayOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });
const mapOf = (values: JsonSchema): JsonSchema => ({ type: "object", additionalProperties: values });

/** @param required fields that are always present; @param optional fields that depend on the fork, the type or the profile */
export const object = (
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => ({
  type: "object",
  required: Object.keys(required),
  properties: { ...required, ...optional },
});

const ACCESS_LIST = arrayOf(object({ address: ADDRESS, storageKeys: arrayOf(HASH) }));
const AUTHORIZATION = object({ chainId: QUANTITY, address: ADDRESS, nonce: QUANTITY, yParity: QUANTITY, r: QUANTITY, s: QUANTITY });
export const WITHDRAWAL = object({ index: QUANTITY, validatorIndex: QUANTITY, address: ADDRESS, amount: QUANTITY });

export const TRANSACTION = object(
  {
    type: QUANTITY,
    hash: HASH,
    blockHash: nullable(HASH),
    blockNumber: nullable(QUANTITY),
    blockTimestamp: nullable(QUANTITY),
    transactionIndex: nullable(QUANTITY),
    from: ADDRESS,
    value: QUANTITY,
    gas: QUANTITY,
    gasPrice: QUANTITY,
    input: DATA,
  },
  {
    v: QUANTITY,
    r: QUANTITY,
    s: QUANTITY,
    to: nullable(ADDRESS),
    nonce: QUANTITY,
    chainId: QUANTITY,
    yParity: QUANTITY,
    maxFeePerGas: QUANTITY,
    maxPriorityFeePerGas: QUANTITY,
    accessList: ACCESS_LIST,
    maxFeePerBlobGas: QUANTITY,
    blobVersionedHashes: arrayOf(HASH),
    authorizationList: arrayOf(AUTHORIZATION),
    sourceHash: HASH,
    mint: QUANTITY,
    isSystemTx: { oneOf: [BOOLEAN, QUANTITY] },
    depositReceiptVersion: QUANTITY,
  },
);

export const LOG = object(
  {
    address: ADDRESS,
    topics: arrayOf(HASH),
    data: DATA,
    blockNumber: QUANTITY,
    transactionHash: HASH,
    transactionIndex: QUANTITY,
    blockHash: HASH,
    logIndex: QUANTITY,
    removed: BOOLEAN,
  },
  { blockTimestamp: QUANTITY },
);

export const RECEIPT = object(
  {
    type: QUANTITY,
    cumulativeGasUsed: QUANTITY,
    gasUsed: QUANTITY,
    effectiveGasPrice: QUANTITY,
    logs: arrayOf(LOG),
    logsBloom: BLOOM,
    transactionHash: HASH,
    blockHash: HASH,
    transactionIndex: QUANTITY,
    blockNumber: QUANTITY,
    from: ADDRESS,
    to: nullable(ADDRESS),
    contractAddress: nullable(ADDRESS),
  },
  {
    status: { enum: ["0x0", "0x1"] },
    root: HASH,
    blobGasUsed: QUANTITY,
    blobGasPrice: QUANTITY,
    depositNonce: QUANTITY,
    depositReceiptVersion: QUANTITY,
    l1GasUsed: QUANTITY,
    l1GasPrice: QUANTITY,
    l1Fee: QUANTITY,
    l1FeeScalar: { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?$" },
    l1BaseFeeScalar: QUANTITY,
    l1BlobBaseFee: QUANTITY,
    l1BlobBaseFeeScalar: QUANTITY,
    daFootprintGasScalar: QUANTITY,
    opGasRefund: QUANTITY,
    operatorFeeScalar: QUANTITY,
    operatorFeeConstant: QUANTITY,
  },
);

/** null in a pending block, in the profile that shows it so */
const HEADER_FIELDS = {
  number: QUANTITY,
  hash: nullable(HASH),
  parentHash: HASH,
  nonce: nullable(EIGHT_BYTES),
  mixHash: HASH,
  sha3Uncles: HASH,
  logsBloom: BLOOM,
  stateRoot: HASH,
  miner: nullable(ADDRESS),
  difficulty: QUANTITY,
  extraData: DATA,
  gasLimit: QUANTITY,
  gasUsed: QUANTITY,
  timestamp: QUANTITY,
  transactionsRoot: HASH,
  receiptsRoot: HASH,
};
const LATER_HEADER_FIELDS = {
  baseFeePerGas: QUANTITY,
  withdrawalsRoot: HASH,
  blobGasUsed: QUANTITY,
  excessBlobGas: QUANTITY,
  parentBeaconBlockRoot: HASH,
  requestsHash: HASH,
  blockAccessListHash: HASH,
  slotNumber: QUANTITY,
};
export const HEADER = object(HEADER_FIELDS, LATER_HEADER_FIELDS);
const BLOCK_FIELDS = {
  ...HEADER_FIELDS,
  size: QUANTITY,
  uncles: arrayOf(HASH),
  transactions: { oneOf: [arrayOf(HASH), arrayOf(TRANSACTION)] },
};
const LATER_BLOCK_FIELDS = { ...LATER_HEADER_FIELDS, totalDifficulty: QUANTITY, withdrawals: arrayOf(WITHDRAWAL) };
export const BLOCK = object(BLOCK_FIELDS, LATER_BLOCK_FIELDS);

const SYNC_STATUS = object(
  { startingBlock: QUANTITY, currentBlock: QUANTITY, highestBlock: QUANTITY },
  { stages: arrayOf(object({ name: TEXT, block: QUANTITY })) },
);

const FEE_HISTORY = object(
  { oldestBlock: QUANTITY, baseFeePerGas: arrayOf(QUANTITY), gasUsedRatio: arrayOf({ type: "number" }) },
  {
    baseFeePerBlobGas: arrayOf(QUANTITY),
    blobGasUsedRatio: arrayOf({ type: "number" }),
    reward: arrayOf(arrayOf(QUANTITY)),
  },
);

const PROOF = object({
  address: ADDRESS,
  accountProof: arrayOf(DATA),
  balance: QUANTITY,
  codeHash: HASH,
  nonce: QUANTITY,
  storageHash: HASH,
  storageProof: arrayOf(object({ key: TEXT, value: QUANTITY, proof: arrayOf(DATA) })),
});

const CALL_ERROR = object({ code: { type: "integer" }, message: TEXT }, { data: DATA });
const SIMULATED_CALL = object(
  { returnData: DATA, logs: arrayOf(LOG), gasUsed: QUANTITY, maxUsedGas: QUANTITY, status: { enum: ["0x0", "0x1"] } },
  { error: CALL_ERROR },
);

const FORK_CONFIG = object({
  activationTime: { type: "integer" },
  blobSchedule: nullable(
    object({ baseFeeUpdateFraction: { type: "integer" }, max: { type: "integer" }, target: { type: "integer" } }),
  ),
  chainId: QUANTITY,
  forkId: { type: "string", pattern: "^0x[0-9a-f]{8}$" },
  precompiles: mapOf(ADDRESS),
  systemContracts: mapOf(ADDRESS),
});

const RESOURCE = object(
  { disabled: BOOLEAN },
  {
    oldestBlock: QUANTITY,
    deleteStrategy: object({ type: TEXT }, { retentionBlocks: { type: "integer" } }),
  },
);

const byAddress = (values: JsonSchema): JsonSchema => ({
  type: "object",
  propertyNames: ANY_CASE_ADDRESS,
  additionalProperties: mapOf(values),
});

export const quantity = (name: string): ResultDoc => result(name, QUANTITY);
export const data = (name: string): ResultDoc => result(name, DATA);
export const text = (name: string): ResultDoc => result(name, TEXT);
export const flag = (name: string): ResultDoc => result(name, BOOLEAN);
export const nothing = result("nothing", { type: "null" });
export const sdmStatus = result(
  "status",
  object({
    operatorSdmOptIn: BOOLEAN,
    protocolActive: BOOLEAN,
    effective: BOOLEAN,
    activationTime: nullable({ type: "integer" }),
  }),
);
export const transactionHash = result("transactionHash", HASH);
export const hashOf = (name: string): ResultDoc => result(name, HASH);
export const storageValues = result("words", mapOf(arrayOf(HASH)));
export const accounts = result("accounts", arrayOf(ADDRESS));
export const syncing = result("syncStatus", { oneOf: [{ const: false }, SYNC_STATUS] });
export const block = result("block", nullable(BLOCK));
export const header = result("header", nullable(object(HEADER_FIELDS, { ...LATER_HEADER_FIELDS, size: QUANTITY })));
export const uncle = result(
  "block",
  nullable(object({ ...HEADER_FIELDS, size: QUANTITY, uncles: arrayOf(HASH) }, LATER_HEADER_FIELDS)),
);
export const count = result("count", nullable(QUANTITY));
export const transaction = result("transaction", nullable(TRANSACTION));
export const rawTransaction = result("transaction", nullable(DATA));
/** Fields of a sent transaction that one that was merely filled in does not have. */
export const PLACE_FIELDS = ["blockHash", "blockNumber", "blockTimestamp", "transactionIndex", "from"] as const;
const FILLED_FIELDS = Object.fromEntries(
  Object.entries(TRANSACTION.properties as Readonly<Record<string, JsonSchema>>).filter(
    ([name]) => !PLACE_FIELDS.some((field) => field === name),
  ),
);
export const filledTransaction = result("filled", object({ raw: DATA, tx: object({}, FILLED_FIELDS) }));
export const receipt = result("receipt", nullable(RECEIPT));
export const receipts = result("receipts", nullable(arrayOf(RECEIPT)));
export const logs = result("logs", arrayOf(LOG));
export const changes = result("changes", { oneOf: [arrayOf(LOG), arrayOf(HASH)] });
export const filterId = result("filterId", QUANTITY);
export const feeHistory = result("feeHistory", FEE_HISTORY);
export const proof = result("proof", PROOF);
export const proofs = result("proofs", arrayOf(PROOF));
export const accessList = result("accessList", object({ accessList: ACCESS_LIST, gasUsed: QUANTITY }, { error: TEXT }));
export const simulatedBlocks = result(
  "blocks",
  arrayOf(object({ ...BLOCK_FIELDS, calls: arrayOf(SIMULATED_CALL) }, LATER_BLOCK_FIELDS)),
);
export const forkConfig = result(
  "config",
  object({ current: FORK_CONFIG, next: nullable(FORK_CONFIG), last: nullable(FORK_CONFIG) }),
);
export const capabilities = result(
  "capabilities",
  object({
    head: object({ number: QUANTITY, hash: HASH }),
    state: RESOURCE,
    tx: RESOURCE,
    logs: RESOURCE,
    receipts: RESOURCE,
    blocks: RESOURCE,
    stateproofs: RESOURCE,
  }),
);
export const poolStatus = result("status", object({ pending: QUANTITY, queued: QUANTITY }));
export const poolContent = result("content", object({ pending: byAddress(TRANSACTION), queued: byAddress(TRANSACTION) }));
export const poolContentOfSender = result("content", object({ pending: mapOf(TRANSACTION), queued: mapOf(TRANSACTION) }));
export const poolSummary = result("summary", object({ pending: byAddress(TEXT), queued: byAddress(TEXT) }));
const ENVELOPE = object({
  executionPayload: { type: "object" },
  blockValue: QUANTITY,
  blobsBundle: object({ commitments: arrayOf(DATA), proofs: arrayOf(DATA), blobs: arrayOf(DATA) }),
  executionRequests: arrayOf(DATA),
  shouldOverrideBuilder: BOOLEAN,
});
export const builtPayload = result("payload", ENVELOPE);
export const modules = result("modules", mapOf(TEXT));
export const refusal = result("none", { not: {} });
