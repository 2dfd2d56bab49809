import type { JsonObject } from "@rnode/eth-api";

/**
 * What a column holds. `int`: a whole number of at most 63 bits. `wei`: a whole number of any size, as decimal text, because a deposit may name
 * any 256-bit value. `text`: as JSON-RPC shows it, hex with `0x` and small letters. `json`: a list, as JSON text.
 */
type ColumnType = "int" | "wei" | "text" | "json" | "bool";
export type Value = bigint | string | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** the field of the JSON-RPC object */
  readonly key: string;
}

export const TABLES = ["blocks", "transactions", "receipts", "logs", "traces"] as const;
export type Table = (typeof TABLES)[number];

const columns =
  (type: ColumnType) =>
  (names: string): Column[] =>
    names.split(" ").map((pair) => {
      const [name, key = camelCase(pair)] = pair.split("=") as [string, string?];
      return { name, type, key };
    });
const int = columns("int");
const wei = columns("wei");
const text = columns("text");
const json = columns("json");
const bool = columns("bool");
const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const OF_BLOCK = [...int("block_number"), ...text("block_hash"), ...int("block_timestamp")];
const OF_TRANSACTION = [...OF_BLOCK, ...int("transaction_index"), ...text("transaction_hash")];
const PARTIES = text("from_address=from to_address=to");

/** The columns of each table, in order. Names are those of ethereum-etl and cryo; the key columns have one name in all tables. */
export const COLUMNS: Readonly<Record<Table, readonly Column[]>> = {
  blocks: [
    ...int("block_number=number"),
    ...text("block_hash=hash"),
    ...int("block_timestamp=timestamp"),
    ...text("parent_hash sha3_uncles logs_bloom transactions_root state_root receipts_root withdrawals_root"),
    ...text("parent_beacon_block_root requests_hash miner mix_hash nonce extra_data"),
    ...wei("difficulty base_fee_per_gas"),
    ...int("size gas_limit gas_used blob_gas_used excess_blob_gas transaction_count"),
  ],
  transactions: [
    ...OF_TRANSACTION,
    ...int("transaction_type=type"),
    ...PARTIES,
    ...int("nonce chain_id"),
    ...wei("value"),
    ...int("gas"),
    ...wei("gas_price max_fee_per_gas max_priority_fee_per_gas max_fee_per_blob_gas"),
    ...text("input"),
    ...json("access_list authorization_list blob_versioned_hashes"),
    ...text("source_hash"),
    ...wei("mint"),
    ...bool("is_system_transaction=isSystemTx"),
  ],
  receipts: [
    ...OF_TRANSACTION,
    ...int("transaction_type=type"),
    ...PARTIES,
    ...text("contract_address"),
    ...int("status"),
    ...text("root"),
    ...int("cumulative_gas_used gas_used"),
    ...wei("effective_gas_price"),
    ...int("blob_gas_used"),
    ...wei("blob_gas_price l1_fee"),
    ...int("l1_gas_used"),
    ...wei("l1_gas_price"),
    ...text("l1_fee_scalar"),
    ...int("l1_base_fee_scalar"),
    ...wei("l1_blob_base_fee"),
    ...int("l1_blob_base_fee_scalar operator_fee_scalar"),
    ...wei("operator_fee_constant"),
    ...int("da_footprint_gas_scalar deposit_nonce deposit_receipt_version"),
  ],
  logs: [...OF_TRANSACTION, ...int("log_index"), ...text("address topic0 topic1 topic2 topic3 data")],
  traces: [
    ...OF_TRANSACTION,
    ...text("trace_address trace_type=type call_type"),
    ...PARTIES,
    ...wei("value"),
    ...int("gas gas_used subtraces"),
    ...text("input output error"),
  ],
};

const MAX_INT = 2n ** 63n - 1n;

/** The values of a row, in the order of the columns. @param source with the fields of the JSON-RPC object */
export const rowOf = (table: Table, source: JsonObject): Value[] =>
  COLUMNS[table].map((column) => columnValue(column, source[column.key]));

/** A JSON object. Whole numbers of `int` columns are JSON numbers, which may exceed 2 ** 53. */
export function rowToJson(table: Table, row: readonly Value[]): string {
  const fields = row.map(
    (value, index) => `"${COLUMNS[table][index]!.name}":${typeof value === "bigint" ? value : JSON.stringify(value)}`,
  );
  return `{${fields.join(",")}}`;
}

function columnValue({ name, type }: Column, value: unknown): Value {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "int": {
      const number = BigInt(value as string | number);
      if (number > MAX_INT) throw new RangeError(`${name} is ${number}, but its column holds at most ${MAX_INT}`);
      return number;
    }
    case "wei":
      return BigInt(value as string).toString();
    case "json":
      return JSON.stringify(value);
    case "text":
      return value as string;
    case "bool":
      return value === true || value === "0x1";
  }
}
