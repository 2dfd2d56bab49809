import type { JsonSchema } from "@rnode/jsonrpc";
import {
  ADDRESS,
  arrayOf,
  BLOCK,
  BOOLEAN,
  DATA,
  HASH,
  nullable,
  object,
  QUANTITY,
  RECEIPT,
  type ResultDoc,
  TRANSACTION,
} from "./results.ts";

// Results of the ots_ methods; see results.ts.

const result = (name: string, schema: JsonSchema): ResultDoc => ({ name, schema });
const INTEGER: JsonSchema = { type: "integer" };
const NULL: JsonSchema = { type: "null" };

/** @param changed fields that are not as in the object that `eth_` methods show */
const changed = (
  schema: JsonSchema,
  fields: Readonly<Record<string, JsonSchema>>,
  without: readonly string[] = [],
): JsonSchema => ({
  ...schema,
  required: [...new Set([...(schema.required as string[]), ...Object.keys(fields)])].filter((name) => !without.includes(name)),
  properties: { ...(schema.properties as object), ...fields },
});

const SHORT_RECEIPT = changed(RECEIPT, { logs: NULL, logsBloom: NULL, timestamp: INTEGER });
const COUNTED_BLOCK = changed(BLOCK, { logsBloom: NULL, transactionCount: INTEGER });

export const level = result("level", INTEGER);
export const hasCode = result("hasCode", BOOLEAN);
export const transactionHash = result("transactionHash", nullable(HASH));
export const revertOutput = result("output", nullable(DATA));
export const creator = result("creator", nullable(object({ hash: HASH, creator: ADDRESS })));
export const operations = result(
  "operations",
  arrayOf(object({ type: { enum: [0, 1, 2, 3] }, from: ADDRESS, to: ADDRESS, value: QUANTITY })),
);
export const messages = result(
  "messages",
  nullable(
    arrayOf(
      object({
        type: { enum: ["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"] },
        depth: INTEGER,
        from: ADDRESS,
        to: nullable(ADDRESS),
        value: nullable(QUANTITY),
        input: DATA,
        output: DATA,
      }),
    ),
  ),
);
export const details = result(
  "details",
  nullable(
    object({
      block: changed(COUNTED_BLOCK, {}, ["transactions"]),
      issuance: object({ blockReward: QUANTITY, uncleReward: QUANTITY, issuance: QUANTITY }),
      totalFees: QUANTITY,
    }),
  ),
);
export const blockTransactions = result("page", nullable(object({ fullblock: COUNTED_BLOCK, receipts: arrayOf(SHORT_RECEIPT) })));
export const search = result(
  "page",
  object({ txs: arrayOf(TRANSACTION), receipts: arrayOf(SHORT_RECEIPT), firstPage: BOOLEAN, lastPage: BOOLEAN }),
);
