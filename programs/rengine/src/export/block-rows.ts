import type { StoredBlock } from "@rnode/chain";
import { blockToJson, type JsonObject, type Profile, receiptsToJson } from "@rnode/eth-api";
import type { BlockRules } from "@rnode/protocol";
import { rowOf, type Table, type Value } from "./columns.ts";

/** The rows of each table that a block has, in their order in the chain. */
export type BlockRows = Readonly<Record<Table, readonly Value[][]>>;

/** What JSON-RPC shows of a block. */
export interface BlockJson {
  /** with transactions as objects */
  readonly block: JsonObject;
  /** with their logs */
  readonly receipts: readonly JsonObject[];
  /** as `trace_block` gives them */
  readonly traces: readonly JsonObject[];
}

export const blockJsonOf = (
  profile: Profile,
  rules: BlockRules,
  stored: StoredBlock,
  traces: readonly JsonObject[],
): BlockJson => ({
  block: blockToJson(profile, stored, { full: true, totalDifficulty: undefined }),
  receipts: receiptsToJson(profile, rules, stored),
  traces,
});

export function rowsOfBlock({ block, receipts, traces }: BlockJson): BlockRows {
  const transactions = block.transactions as readonly JsonObject[];
  const { number, hash, timestamp } = block;
  const place = { blockNumber: number, blockHash: hash, blockTimestamp: timestamp };
  const logs = receipts.flatMap((receipt) => receipt.logs as JsonObject[]);
  const rows = (table: Table, sources: readonly JsonObject[]): Value[][] =>
    sources.map((source) => rowOf(table, { ...source, ...place }));
  return {
    blocks: [rowOf("blocks", { ...block, transactionCount: transactions.length })],
    transactions: rows("transactions", transactions.map(withHash)),
    receipts: rows("receipts", receipts),
    logs: rows("logs", logs.map(withTopics)),
    traces: rows("traces", traces.map(flatTrace)),
  };
}

const withHash = (tx: JsonObject): JsonObject => ({
  isSystemTx: tx.type === "0x7e" ? false : undefined,
  ...tx,
  transactionHash: tx.hash,
});

function withTopics(log: JsonObject): JsonObject {
  const [topic0, topic1, topic2, topic3] = log.topics as string[];
  return { ...log, topic0, topic1, topic2, topic3 };
}

/** As ethereum-etl does, puts the fields of all kinds of traces into the same columns. */
function flatTrace(trace: JsonObject): JsonObject {
  const action = trace.action as JsonObject;
  const result = (trace.result ?? {}) as JsonObject;
  return {
    ...action,
    ...result,
    type: trace.type,
    error: trace.error,
    subtraces: trace.subtraces,
    traceAddress: (trace.traceAddress as number[]).join(","),
    transactionHash: trace.transactionHash,
    transactionIndex: trace.transactionPosition,
    callType: action.callType ?? action.creationMethod,
    from: action.from ?? action.address,
    to: action.to ?? action.refundAddress ?? result.address,
    value: action.value ?? action.balance,
    input: action.input ?? action.init,
    output: result.output ?? result.code,
  };
}
