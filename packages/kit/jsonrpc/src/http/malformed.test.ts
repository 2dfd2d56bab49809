import { silentLogger } from "@rnode/observe";
import fc from "fast-check";
import { Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRpcServer, type RpcServer } from "../rpc-server.ts";
import { method, optionalParam, param } from "../wire/method-table.ts";
import { anyJson, countShape } from "../wire/shape.ts";

// Requests that almost make sense: each gets one proper answer, and the server carries on.
let server: RpcServer;
let pool: Pool;
beforeAll(async () => {
  server = createRpcServer({
    http: { host: "127.0.0.1", port: 0 },
    methods: {
      test_add: method({ params: [param("a", countShape), param("b", countShape)], handler: ([a, b]) => a + b }),
      test_echo: method({ params: [optionalParam("value", anyJson)], handler: ([value]) => value }),
    },
    limits: { maxRequestBytes: 100_000, maxBatchLength: 20 },
    log: silentLogger,
  });
  const { httpPort } = await server.listen();
  pool = new Pool(`http://127.0.0.1:${httpPort}`, { connections: 8 });
});
afterAll(async () => {
  await pool.close();
  await server.close();
});

async function post(body: string | Buffer): Promise<{ status: number; text: string }> {
  const { statusCode, body: answer } = await pool.request({
    path: "/",
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  return { status: statusCode, text: await answer.text() };
}

const nearMiss = fc.oneof(
  fc.constantFrom<unknown>(
    "2.0",
    "1.0",
    null,
    2,
    [],
    {},
    "test_add",
    "test_echo",
    "__proto__",
    "toString",
    -1,
    1e308,
    "0x",
    "0xffffffffffffffffff",
  ),
  fc.jsonValue({ maxDepth: 3 }),
);
const request = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 5, arbitrary: fc.constant<unknown>("2.0") }, nearMiss),
    id: fc.oneof({ weight: 3, arbitrary: fc.constant<unknown>(1) }, nearMiss),
    method: fc.oneof({ weight: 3, arbitrary: fc.constantFrom<unknown>("test_add", "test_echo") }, nearMiss),
    params: fc.oneof({ weight: 3, arbitrary: fc.array(nearMiss, { maxLength: 4 }) as fc.Arbitrary<unknown> }, nearMiss),
  },
  { requiredKeys: [] },
);
/** A text with a piece cut out, doubled or replaced. */
const damaged = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(texts, fc.nat(), fc.nat(20), fc.constantFrom("", '"', "{", "[[[[", "\\", "\u0000", "\ud800", "1e999", "9".repeat(400)))
    .map(([text, position, length, piece]) => {
      const at = text.length === 0 ? 0 : position % text.length;
      return text.slice(0, at) + piece + text.slice(at + length);
    });
const whole = fc.oneof(request, fc.array(request, { maxLength: 25 }), nearMiss).map((value) => JSON.stringify(value));

const isAnswer = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, id, result, error } = value as Record<string, unknown>;
  const hasError = typeof error === "object" && error !== null && Number.isInteger((error as { code: unknown }).code);
  return jsonrpc === "2.0" && id !== undefined && (result !== undefined) !== hasError;
};

describe("malformed requests", () => {
  it("are each answered once, in the form of JSON-RPC", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(whole, damaged(whole)), async (body) => {
        const { status, text } = await post(body);
        expect(status).toBe(200);
        if (text === "") return; // there were only notifications
        const answer: unknown = JSON.parse(text);
        expect(Array.isArray(answer) ? answer.length > 0 && answer.every(isAnswer) : isAnswer(answer)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect((await post('{"jsonrpc":"2.0","id":7,"method":"test_add","params":["0x1","0x2"]}')).text).toBe(
      '{"jsonrpc":"2.0","id":7,"result":3}',
    );
  });

  it("that are no text at all are parse errors", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const { status, text } = await post(Buffer.from(bytes));
        expect(status).toBe(200);
        expect(JSON.parse(text)).toMatchObject({
          jsonrpc: "2.0",
          id: null,
          error: { code: expect.toSatisfy((code) => code === -32700 || code === -32600) },
        });
      }),
      { numRuns: 300 },
    );
  });
});
