import type { Comparison, KeyValue, Operation, TxnResult } from "./etcd-api.ts";

/** The JSON of etcd's gateway: keys and values in base64, 64-bit numbers as strings, zero and false left out. */

type Json = Readonly<Record<string, unknown>>;

const base64 = (bytes: string | Uint8Array): string =>
  (typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).toString("base64");

/** The body of `POST /v3/kv/txn`. */
export function txnToJson(comparisons: readonly Comparison[], success: readonly Operation[], failure: readonly Operation[]): Json {
  return {
    compare: comparisons.map(({ key, target, revision }) =>
      target === "create"
        ? { key: base64(key), result: "EQUAL", target: "CREATE", create_revision: String(revision) }
        : { key: base64(key), result: "EQUAL", target: "MOD", mod_revision: String(revision) },
    ),
    success: success.map(operationToJson),
    failure: failure.map(operationToJson),
  };
}

function operationToJson(operation: Operation): Json {
  const { key } = operation;
  switch (operation.kind) {
    case "put": {
      const { value, leaseId } = operation;
      return { request_put: { key: base64(key), value: base64(value), ...(leaseId === undefined ? {} : { lease: leaseId }) } };
    }
    case "delete":
      return { request_delete_range: { key: base64(key), ...endOf(operation.end) } };
    case "range": {
      const { end, revision } = operation;
      return {
        request_range: { key: base64(key), ...endOf(end), ...(revision === undefined ? {} : { revision: String(revision) }) },
      };
    }
  }
}

const endOf = (end: string | undefined): Json => (end === undefined ? {} : { range_end: base64(end) });

/** @throws Error with the fault in the answer */
export function txnFromJson(answer: unknown, operations: { readonly success: number; readonly failure: number }): TxnResult {
  const object = objectOf(answer, "the answer");
  const succeeded = object.succeeded === true;
  const responses = object.responses === undefined ? [] : arrayOf(object.responses, "responses");
  const expected = succeeded ? operations.success : operations.failure;
  if (responses.length !== expected) throw new Error(`${responses.length} responses to ${expected} operations`);
  return {
    succeeded,
    revision: integerOf(objectOf(object.header, "header").revision, "revision"),
    ranges: responses.map((response) => {
      const range = objectOf(response, "response").response_range;
      if (range === undefined) return [];
      const { kvs } = objectOf(range, "response_range");
      return kvs === undefined ? [] : arrayOf(kvs, "kvs").map(keyValueFromJson);
    }),
  };
}

function keyValueFromJson(json: unknown): KeyValue {
  const { key, value, create_revision, mod_revision, lease } = objectOf(json, "kv");
  return {
    key: bytesOf(key, "key").toString(),
    value: value === undefined ? new Uint8Array() : new Uint8Array(bytesOf(value, "value")),
    createRevision: integerOf(create_revision, "create_revision"),
    modRevision: integerOf(mod_revision, "mod_revision"),
    leaseId: lease === undefined ? "0" : textOf(lease, "lease"),
  };
}

export function objectOf(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${what} is no object`);
  return value as Json;
}

function arrayOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is no array`);
  return value;
}

export function textOf(value: unknown, what: string): string {
  if (typeof value !== "string") throw new Error(`${what} is no text`);
  return value;
}

function bytesOf(value: unknown, what: string): Buffer {
  return Buffer.from(textOf(value, what), "base64");
}

/** Revisions count up from 1; a JavaScript number holds them for longer than any cluster lives. 0 is left out. */
export function integerOf(value: unknown, what: string): number {
  if (value === undefined) return 0;
  const number = Number(value);
  if ((typeof value !== "string" && typeof value !== "number") || !Number.isSafeInteger(number))
    throw new Error(`${what} is no whole number`);
  return number;
}
