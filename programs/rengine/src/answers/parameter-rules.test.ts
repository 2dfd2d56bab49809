import type { Hex } from "@rnode/primitives";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

// The faces' rules for parameters: which may be omitted, and how numbers may be written.

const ABSENT: Hex = "0x000000000000000000000000000000000000dead";
const HASH: Hex = `0x${"00".repeat(32)}`;
const INVALID_PARAMS = -32602;

/** Parameters that only one face wants: the request without them. */
const wanted: Readonly<Record<"R" | "G", Readonly<Record<string, readonly unknown[]>>>> = {
  R: { eth_getBlockByNumber: ["latest"], eth_getBlockByHash: [HASH], eth_getBlockReceipts: [] },
  G: {
    eth_getBalance: [ABSENT],
    eth_getCode: [ABSENT],
    eth_getTransactionCount: [ABSENT],
    eth_getStorageAt: [ABSENT, "0x0"],
    eth_getStorageValues: [{ [ABSENT]: ["0x0"] }],
    eth_getProof: [ABSENT, []],
    eth_getBlockReceipts: [],
    eth_getBlockByNumber: ["latest"],
    eth_getBlockByHash: [HASH],
    eth_feeHistory: ["0x1", "latest"],
    debug_traceCall: [{ to: ABSENT }],
    debug_accountRange: ["latest", "0x", 1],
  },
};

interface Schema {
  readonly type?: string;
  readonly pattern?: string;
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
}

const isQuantity = ({ pattern }: Schema): boolean => pattern === "^0x(0|[1-9a-f][0-9a-f]*)$";

/** A value that a schema takes, as small as possible. */
function sample(schema: Schema): unknown {
  if (schema.additionalProperties !== undefined) {
    const { items } = schema.additionalProperties;
    return { [ABSENT]: items === undefined ? sample(schema.additionalProperties) : [sample(items)] };
  }
  if (schema.oneOf !== undefined) return sample(schema.oneOf.find((each) => isQuantity(each)) ?? schema.oneOf[0]!);
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.pattern !== undefined) {
    if (isQuantity(schema)) return "0x1";
    const length = /\{(\d+)\}\$$/.exec(schema.pattern)?.[1];
    return `0x${"00".repeat(Number(length ?? 0) / 2)}`;
  }
  if (schema.type === "object")
    return Object.fromEntries(
      [...(schema.required ?? []), ...(schema.properties?.yParity ? ["yParity"] : [])].map((name) => [
        name,
        sample(schema.properties![name]!),
      ]),
    );
  return schema.type === "array" ? [] : schema.type === "boolean" ? false : schema.type === "number" ? 1 : "";
}

/** Each way to write one quantity of a value with a leading zero. */
function withZeros(schema: Schema, value: unknown): unknown[] {
  if (isQuantity(schema)) return ["0x01", "0x00"];
  const own = (schema.oneOf ?? []).flatMap((each) => withZeros(each, sample(each)));
  const inFields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    withZeros(field, sample(field)).map((written) => ({ ...(value as object), [name]: written })),
  );
  const inItems = schema.items === undefined ? [] : withZeros(schema.items, sample(schema.items)).map((written) => [written]);
  const values = schema.additionalProperties;
  const inValues = values === undefined ? [] : withZeros(values, sample(values)).map((written) => ({ [ABSENT]: written }));
  return [...own, ...inFields, ...inItems, ...inValues];
}

interface Described {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly required: boolean; readonly schema: Schema }[];
}

describe.each(["R", "G"] as const)("parameters, profile %s", (profile) => {
  let node: TestClient;
  let methods: readonly Described[];
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
    methods = (await node.rpc.call<{ methods: Described[] }>("rpc.discover", [])).methods;
  });
  afterAll(() => node.remove());
  const answer = (method: string, params: unknown): Promise<{ code?: number; message: string }> =>
    node.rpc.call(method, params as unknown[]).then(
      () => ({ message: "answered" }),
      ({ code, message }: { code: number; message: string }) => ({ code, message }),
    );

  it.each(Object.entries({ ...wanted.R, ...wanted.G }))("%s without its last parameters", async (method, params) => {
    const { code, message } = await answer(method, params);
    const isWanted = Object.hasOwn(wanted[profile], method);
    const text = profile === "R" ? "Invalid params" : `missing value for required argument ${params.length}`;
    if (isWanted) expect({ code, message }).toEqual({ code: INVALID_PARAMS, message: text });
    else expect(code).not.toBe(INVALID_PARAMS);
  });

  it("numbers with leading zeros, in every place of every method", async () => {
    const wrong: unknown[] = [];
    let tried = 0;
    for (const { name, params } of methods) {
      if (/^(eth_send|eth_sign|miner_|testing_|eth_submit)/.test(name)) continue;
      for (const [index, { schema }] of params.entries())
        for (const written of withZeros(schema, sample(schema))) {
          const values = params.map((other, place) => (place === index ? written : sample(other.schema)));
          const { message } = await answer(name, values);
          tried++;
          if (/leading zero/.test(message) !== (profile === "G")) wrong.push([name, values, message]);
        }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(tried).toBeGreaterThan(150);
  });

  it("null for a block that must be there, of every method", async () => {
    const tags = (schema: Schema): boolean => schema.oneOf?.some(({ enum: values }) => values?.includes("latest")) === true;
    const found: string[] = [];
    const wrong: unknown[] = [];
    for (const { name, params } of methods) {
      for (const [index, { schema, required }] of params.entries()) {
        if (!tags(schema) || !required) continue;
        found.push(name);
        const values = params.map((other, place) => (place === index ? null : sample(other.schema)));
        const takesHash = schema.oneOf!.length > 2;
        const { code, message } = await answer(name, values);
        const expected =
          profile === "R"
            ? [INVALID_PARAMS, "Invalid params"]
            : takesHash
              ? [-32000, "invalid arguments; neither block nor hash specified"]
              : [INVALID_PARAMS, `invalid argument ${index}: hex string without 0x prefix`];
        if (code !== expected[0] || message !== expected[1]) wrong.push([name, values, code, message]);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toEqual(expect.arrayContaining(["eth_getBlockByNumber", "eth_feeHistory", "debug_getRawBlock"]));
    expect(found.includes("eth_getBalance")).toBe(profile === "G");
    expect((await answer("eth_call", [{ to: ABSENT }, null])).message).toBe("answered");
  });

  it("hashes and data with leading zeros are no numbers", async () => {
    expect(await answer("eth_getBlockReceipts", [HASH])).toEqual({ message: "answered" });
    expect(await answer("eth_call", [{ to: ABSENT, data: "0x00" }, "latest"])).toEqual({ message: "answered" });
    expect(await answer("eth_getStorageAt", [ABSENT, "0x00", "latest"])).toEqual({ message: "answered" });
  });

  it("parameters by the names that Reth has", async () => {
    for (const name of ["block", "blockNumber", "block_number"]) {
      const { message } = await answer("eth_getBalance", { address: ABSENT, [name]: "0x99" });
      expect([name, message]).toEqual([name, profile === "R" ? "block not found: 0x99" : "header not found"]);
    }
  });
});
