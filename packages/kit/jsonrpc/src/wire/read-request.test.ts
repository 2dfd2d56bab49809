import { silentLogger } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { ClientConnection } from "../http/client-connection.ts";
import { createDispatcher, type ReadLarge } from "../methods/dispatcher.ts";
import { DEFAULT_RPC_LIMITS } from "../rpc-server.ts";
import { GO_DIALECT } from "./dialect.ts";
import { JsonText } from "./json-text.ts";
import { method, optionalParam } from "./method-table.ts";
import { readLargeRequest } from "./read-request.ts";
import { decodeRequest, type RequestText, requestTextOf, VERY_LARGE_BYTES } from "./request-body.ts";
import { LIMIT_EXCEEDED, RpcError } from "./rpc-error.ts";
import { anyJson } from "./shape.ts";

const LIMITS = DEFAULT_RPC_LIMITS;
const sizeOf = (value: unknown): number => JSON.stringify(value ?? null).length;

/** Requests to the other thread. */
const asked: string[] = [];
const size = method({ params: [optionalParam("value", anyJson)], handler: ([value]) => sizeOf(value) });
const methods = {
  test_size: size,
  test_sizeElsewhere: {
    ...size,
    elsewhere: async (text: RequestText) => {
      const { id, method: name, params } = JSON.parse(decodeRequest(text)) as { id: unknown; method: string; params: unknown[] };
      asked.push(`${name} ${String(id)}`);
      if (params.length > 1) throw new RpcError(-32602, "too many");
      return new JsonText(String(sizeOf(params[0])));
    },
  },
};
const dispatcherWith = (readLarge: ReadLarge | undefined) =>
  createDispatcher({ dialect: GO_DIALECT, limits: LIMITS, log: silentLogger, readLarge });
const here = dispatcherWith(undefined);
const elsewhere = dispatcherWith(async (text) => {
  asked.push("read");
  // as between threads
  return structuredClone(readLargeRequest(decodeRequest(text), LIMITS, GO_DIALECT));
});
const client = new ClientConnection("http", "1.1.1.1");

const rpc = (id: unknown, value: unknown, name = "test_size") => ({ jsonrpc: "2.0", id, method: name, params: [value] });
const LARGE = "x".repeat(VERY_LARGE_BYTES);
const HALF = LARGE.slice(0, VERY_LARGE_BYTES / 2);
const padded = (value: unknown): string => " ".repeat(VERY_LARGE_BYTES) + JSON.stringify(value);

describe("a very large request", () => {
  it.each<[string, string]>([
    ["one that is small without its spaces", padded(rpc(1, 5))],
    ["one that is large", JSON.stringify(rpc("a", LARGE))],
    ["one of a method that is answered elsewhere", JSON.stringify(rpc(2, LARGE, "test_sizeElsewhere"))],
    ["a batch of small ones", JSON.stringify([rpc(1, HALF), rpc(2, 1), rpc(null, HALF), rpc(1.5, "é"), rpc(3, "\ud800")])],
    ["a batch with large ones", JSON.stringify([rpc(1, LARGE), rpc(2, LARGE, "test_sizeElsewhere"), rpc(3, 1)])],
    ["notifications", JSON.stringify([rpc(undefined, LARGE), rpc(undefined, 1), rpc(undefined, LARGE, "test_sizeElsewhere")])],
    ["no JSON", `{${LARGE}`],
    ["nothing but a string", JSON.stringify(LARGE)],
    ["an empty batch", padded([])],
    ["a batch that is too long", padded(Array.from({ length: 1001 }, (_, id) => rpc(id, 1)))],
    ["too deep", padded("[".repeat(65) + "]".repeat(65)).replaceAll('"', "")],
    ["too many values", JSON.stringify(rpc(1, Object.fromEntries(Array.from({ length: 150_000 }, (_, n) => [`member ${n}`, 0]))))],
    ["ids and methods of wrong types", JSON.stringify([{ ...rpc({}, LARGE) }, { ...rpc(1, LARGE), method: 5 }, [LARGE], LARGE, 1])],
    ["an unknown method", JSON.stringify([rpc(1, LARGE, "test_unknown"), rpc(2, LARGE, "__proto__")])],
    ["parameters that are not accepted", JSON.stringify({ ...rpc(1, LARGE), params: [LARGE, 1] })],
  ])("that is %s has the same answer when it is read in another thread", async (_, text) => {
    asked.length = 0;
    const expected = await here.handle(text, methods, client);
    expect(asked).toEqual([]);
    for (const given of [text, requestTextOf(Buffer.from(text, "utf8"))]) {
      asked.length = 0;
      expect(String(await elsewhere.handle(given, methods, client))).toEqual(String(expected));
      expect(asked[0]).toBe("read");
      expect(String(await here.handle(given, methods, client))).toEqual(String(expected));
    }
  });

  it("is not read in the thread that answers, if its method answers elsewhere", async () => {
    asked.length = 0;
    expect(await elsewhere.handle(JSON.stringify(rpc("7", LARGE, "test_sizeElsewhere")), methods, client)).toBe(
      `{"jsonrpc":"2.0","id":"7","result":${LARGE.length + 2}}`,
    );
    expect(asked).toEqual(["read", "test_sizeElsewhere 0"]);
    const twoParams = { ...rpc(8, LARGE, "test_sizeElsewhere"), params: [LARGE, 1] };
    expect(await elsewhere.handle(JSON.stringify(twoParams), methods, client)).toBe(
      '{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"too many"}}',
    );
  });

  it("is refused if it is long even for one that must be read where it is answered", async () => {
    const text = JSON.stringify([rpc(1, LARGE + LARGE), rpc(2, 1)]);
    expect(JSON.parse(String(await elsewhere.handle(text, methods, client)))).toEqual([
      { jsonrpc: "2.0", id: 1, error: { code: -32600, message: "content length too large (limit 2097152 bytes)" } },
      { jsonrpc: "2.0", id: 2, result: 1 },
    ]);
  });

  it("that nobody has room for is refused in words; that of a client that has gone has no answer", async () => {
    const full = dispatcherWith(async () => {
      throw new RpcError(LIMIT_EXCEEDED, "too much waits");
    });
    const text = JSON.stringify(rpc(1, LARGE));
    expect(JSON.parse(String(await full.handle(text, methods, client)))).toMatchObject({ error: { code: LIMIT_EXCEEDED } });
    const gone = new ClientConnection("http", "1.1.1.1");
    gone.leave();
    expect(await full.handle(text, methods, gone)).toBeUndefined();
    expect(await elsewhere.handle(text, methods, gone)).toBeUndefined();
  });

  it("is read here if it is not that large", async () => {
    asked.length = 0;
    expect(await elsewhere.handle(JSON.stringify(rpc(1, HALF)), methods, client)).toContain("result");
    expect(asked).toEqual([]);
  });
});
