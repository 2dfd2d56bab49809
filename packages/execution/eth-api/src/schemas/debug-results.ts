import type { JsonSchema } from "@rnode/jsonrpc";
import { ADDRESS, arrayOf, BLOCK, BOOLEAN, DATA, HASH, nullable, object, QUANTITY, type ResultDoc, TEXT } from "./results.ts";

// Results of the debug_ and trace_ methods; see results.ts.

const result = (name: string, schema: JsonSchema): ResultDoc => ({ name, schema });
const mapOf = (values: JsonSchema): JsonSchema => ({ type: "object", additionalProperties: values });
const INTEGER: JsonSchema = { type: "integer" };
/** an object that is described elsewhere, or one more level of a recursive object: OpenRPC has no recursion without references */
const OBJECT: JsonSchema = { type: "object" };
/** hex digits, with or without the prefix 0x */
const HEX_WORD: JsonSchema = { type: "string", pattern: "^(0x)?[0-9a-f]{64}$" };

const STRUCT_LOG = object(
  { pc: INTEGER, op: TEXT, gas: INTEGER, gasCost: INTEGER, depth: INTEGER },
  {
    stack: arrayOf(QUANTITY),
    memory: arrayOf(HEX_WORD),
    storage: mapOf(HEX_WORD),
    returnData: DATA,
    refund: INTEGER,
    error: TEXT,
  },
);
/** The result without a tracer name: that of the struct logger. */
const STRUCT_TRACE = object({ gas: INTEGER, failed: BOOLEAN, returnValue: DATA, structLogs: arrayOf(STRUCT_LOG) });
const CALL_KINDS = ["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"];
/** `callTracer` */
const CALL_FRAME = object(
  { type: { enum: CALL_KINDS }, from: ADDRESS, gas: QUANTITY, gasUsed: QUANTITY, input: DATA },
  {
    to: ADDRESS,
    value: QUANTITY,
    output: DATA,
    error: TEXT,
    revertReason: TEXT,
    calls: arrayOf(OBJECT),
    logs: arrayOf(object({ address: ADDRESS, topics: arrayOf(HASH), data: DATA, position: QUANTITY }, { index: QUANTITY })),
  },
);
const PRESTATE_ACCOUNT = object({}, { balance: QUANTITY, nonce: INTEGER, code: DATA, codeHash: HASH, storage: mapOf(HASH) });
const PRESTATE = mapOf(PRESTATE_ACCOUNT);
const ACTION = object(
  {},
  {
    from: ADDRESS,
    to: ADDRESS,
    gas: QUANTITY,
    value: QUANTITY,
    input: DATA,
    init: DATA,
    callType: { enum: ["call", "callcode", "delegatecall", "staticcall"] },
    creationMethod: { enum: ["create", "create2"] },
    address: ADDRESS,
    balance: QUANTITY,
    refundAddress: ADDRESS,
    author: ADDRESS,
    rewardType: { enum: ["block", "uncle"] },
  },
);
const FLAT_TRACE_FIELDS = { action: ACTION, subtraces: INTEGER, traceAddress: arrayOf(INTEGER), type: TEXT };
const FLAT_RESULT = nullable(object({}, { gasUsed: QUANTITY, output: DATA, address: ADDRESS, code: DATA }));
const FLAT_TRACE = object(FLAT_TRACE_FIELDS, { result: FLAT_RESULT, error: TEXT });
const PLACED_TRACE = object(FLAT_TRACE_FIELDS, {
  result: FLAT_RESULT,
  error: TEXT,
  blockHash: HASH,
  blockNumber: INTEGER,
  transactionHash: nullable(HASH),
  transactionPosition: nullable(INTEGER),
});

/** The result of any one of the tracers, named or default. */
const TRACE: JsonSchema = {
  title: "Of the struct logger, callTracer, prestateTracer (also with differences), 4byteTracer or flatCallTracer",
  oneOf: [
    STRUCT_TRACE,
    CALL_FRAME,
    object({ pre: PRESTATE, post: PRESTATE }),
    arrayOf(PLACED_TRACE),
    PRESTATE,
    mapOf(INTEGER),
    { ...OBJECT, title: "muxTracer: results by the names of the tracers" },
  ],
};

const CHANGED = (value: JsonSchema): JsonSchema => ({
  oneOf: [{ const: "=" }, object({ "+": value }), object({ "-": value }), object({ "*": object({ from: value, to: value }) })],
});
const STATE_DIFF = mapOf(
  object({ balance: CHANGED(QUANTITY), nonce: CHANGED(QUANTITY), code: CHANGED(DATA), storage: mapOf(CHANGED(HASH)) }),
);
const VM_TRACE = object({
  code: DATA,
  ops: arrayOf(object({ pc: INTEGER, cost: INTEGER, ex: nullable(OBJECT), sub: nullable(OBJECT) }, { op: TEXT, idx: TEXT })),
});
const REPLAY_FIELDS = {
  output: DATA,
  stateDiff: nullable(STATE_DIFF),
  trace: arrayOf(FLAT_TRACE),
  vmTrace: nullable(VM_TRACE),
};

const DUMPED_ACCOUNT = object(
  {
    balance: { type: "string", pattern: "^[0-9]+$" },
    nonce: INTEGER,
    root: HASH,
    codeHash: HASH,
    key: HASH,
  },
  { code: DATA, storage: mapOf({ type: "string", pattern: "^([0-9a-f]{2})+$" }), address: ADDRESS },
);

export const trace = result("trace", TRACE);
export const transactionTraces = result("traces", arrayOf(object({ txHash: HASH, result: TRACE })));
export const callManyTraces = result("traces", arrayOf(arrayOf(TRACE)));
export const callManyOutputs = result("outputs", arrayOf(arrayOf(object({}, { value: DATA, error: TEXT }))));
export const rawHeader = result("header", DATA);
export const rawBlock = result("block", DATA);
export const rawTransaction = result("transaction", DATA);
export const rawReceipts = result("receipts", arrayOf(DATA));
export const rawTransactions = result("transactions", arrayOf(DATA));
export const witness = result(
  "witness",
  object({
    state: arrayOf(DATA),
    codes: arrayOf(DATA),
    keys: nullable(arrayOf(DATA)),
    headers: arrayOf({
      oneOf: [DATA, { ...object({ hash: HASH, parentHash: HASH, number: QUANTITY }), additionalProperties: {} }],
    }),
  }),
);
export const proofsSyncStatus = result("range", object({ earliest: nullable(INTEGER), latest: nullable(INTEGER) }));
export const badBlocks = result("badBlocks", arrayOf(object({ hash: HASH, block: BLOCK, rlp: DATA, reason: TEXT })));
export const storageRange = result(
  "range",
  object({ storage: mapOf(object({ key: nullable(HASH), value: HASH })), nextKey: nullable(HASH) }),
);
export const modifiedAccounts = result("addresses", arrayOf(ADDRESS));
export const roots = result("stateRoots", arrayOf(HASH));
const ROOT: JsonSchema = { type: "string", pattern: "^(0x)?[0-9a-f]{64}$" };
export const accountRange = result("dump", object({ root: ROOT, accounts: mapOf(DUMPED_ACCOUNT) }, { next: HASH }));
export const code = result("code", nullable(DATA));
export const preimage = result("preimage", DATA);
export const chainConfig = result("config", { ...object({ chainId: INTEGER }), additionalProperties: {} });
export const placedTraces = result("traces", nullable(arrayOf(PLACED_TRACE)));
export const placedTrace = result("trace", nullable(PLACED_TRACE));
const OPCODE_GAS = object({
  transactionHash: HASH,
  opcodeGas: arrayOf(object({ opcode: TEXT, count: INTEGER, gasUsed: INTEGER })),
});
export const opcodeGas = result("opcodeGas", nullable(OPCODE_GAS));
export const blockOpcodeGas = result(
  "opcodeGas",
  object({ blockHash: HASH, blockNumber: INTEGER, transactions: arrayOf(OPCODE_GAS) }),
);
const SDM_ENTRY = object({ index: INTEGER, gas_refund: INTEGER });
const SDM_TRANSACTION = object({
  tx_index: INTEGER,
  replay_tx_index: INTEGER,
  tx_hash: HASH,
  tx_type: INTEGER,
  is_deposit_tx: BOOLEAN,
  raw_gas_used: INTEGER,
  canonical_gas_used: INTEGER,
  op_gas_refund_payload: nullable(INTEGER),
  mismatch: BOOLEAN,
});
const SDM_MISMATCH = object({
  category: TEXT,
  block_num: INTEGER,
  tx_index: INTEGER,
  expected: INTEGER,
  actual: INTEGER,
  message: TEXT,
});
export const sdmReplay = result(
  "replay",
  object({
    config: object({ compare_payload: BOOLEAN }),
    block_num: INTEGER,
    block_hash: HASH,
    parent_hash: HASH,
    post_exec_tx_present: BOOLEAN,
    post_exec_tx_index: nullable(INTEGER),
    embedded_payload: nullable(object({ version: INTEGER, block_number: INTEGER, gas_refund_entries: arrayOf(SDM_ENTRY) })),
    txs: arrayOf(SDM_TRANSACTION),
    mismatches: arrayOf(SDM_MISMATCH),
    summary: object({
      block_num: INTEGER,
      block_hash: HASH,
      tx_count_total: INTEGER,
      tx_count_user: INTEGER,
      post_exec_tx_present: BOOLEAN,
      post_exec_payload_entry_count: INTEGER,
      block_gas_used: INTEGER,
      block_raw_gas_used: INTEGER,
      payload_refund_total: INTEGER,
      mismatch_count: INTEGER,
    }),
  }),
);
export const replay = result("trace", object(REPLAY_FIELDS));
export const replays = result("traces", nullable(arrayOf(object(REPLAY_FIELDS, { transactionHash: HASH }))));
