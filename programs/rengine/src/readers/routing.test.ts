import { type ApiMethods, method } from "@rnode/eth-api";
import { decodeRequest, NO_CLIENT, optionalParam, param, RpcError, textShape } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { bytesOfLongResult, resultOf, routeMethods } from "./routing.ts";
import { ShortWork } from "./short-work.ts";

const CONTEXT = NO_CLIENT;
const FILTER_NOT_FOUND = { code: -32000, message: "filter not found" };
const answered = (result: string): string => `{"jsonrpc":"2.0","id":0,"result":${result}}`;

/** Methods as served by reader 1 of 3, and the requests that it sends to other processes. */
function routed(handler: (args: readonly unknown[]) => unknown, { answer = answered('{"b":1, "a":2}'), stepMs = 0 } = {}) {
  let nowMs = 0;
  const asked: { text: string; reader: number | string | undefined }[] = [];
  const params = [param("a", textShape), optionalParam("b", textShape)] as const;
  const table: ApiMethods = {
    eth_chainId: method({ runs: "reader", cost: "cheap", params, handler }),
    eth_call: method({
      runs: "reader",
      cost: "call",
      params,
      handler: (args, work) => {
        work.check();
        return handler(args);
      },
    }),
    debug_traceCall: method({ runs: "reader", cost: "trace", params, handler }),
    txpool_content: method({ runs: "writer", params, handler }),
    eth_getTransactionByHash: method({ runs: "reader-first", params, handler }),
    eth_getFilterChanges: method({ runs: "filter-owner", params, handler }),
  };
  const methods = routeMethods(table, {
    reader: 1,
    count: 3,
    elsewhere: {
      ask: async (text, _client, reader) => {
        asked.push({ text, reader });
        return answer;
      },
    },
    refresh: () => {},
    filterNotFound: FILTER_NOT_FOUND,
    short: new ShortWork(
      () => {},
      () => (nowMs += stepMs),
    ),
    costly: {
      run: async (_, kind, text) => {
        asked.push({ text: decodeRequest(text), reader: kind });
        return answer;
      },
    },
  });
  const call = async (name: string, ...raw: unknown[]): Promise<unknown> => {
    const { params, handler: run } = methods[name]!;
    const args = params.map(({ shape }, index) => (raw[index] === undefined ? undefined : shape.parse(raw[index])));
    return JSON.parse(JSON.stringify(await run(args, CONTEXT)));
  };
  return { call, asked };
}

const idOf = (tag: number): string => `0x${(0x80 + tag).toString(16)}${"00".repeat(15)}`;
const request = (name: string, ...params: unknown[]): string => JSON.stringify({ jsonrpc: "2.0", id: 0, method: name, params });

describe("a reader's methods", () => {
  it.each([
    { name: "eth_chainId", raw: ["x"], here: "found", asks: undefined },
    { name: "eth_call", raw: ["x"], here: "found", asks: undefined },
    { name: "debug_traceCall", raw: ["x"], here: "found", asks: { reader: "trace" } },
    { name: "txpool_content", raw: ["x", "y"], here: "found", asks: { reader: undefined } },
    { name: "eth_getTransactionByHash", raw: ["x"], here: "found", asks: undefined },
    { name: "eth_getTransactionByHash", raw: ["x"], here: null, asks: { reader: undefined } },
    { name: "eth_getTransactionByHash", raw: ["x"], here: "0x", asks: { reader: undefined } },
    { name: "eth_getFilterChanges", raw: [idOf(1)], here: "found", asks: undefined },
    { name: "eth_getFilterChanges", raw: [idOf(2)], here: "found", asks: { reader: 2 } },
  ])("$name $raw, here $here: asks $asks", async ({ name, raw, here, asks }) => {
    for (const handler of [() => here, async () => here]) {
      const { call, asked } = routed(handler);
      expect(await call(name, ...raw)).toEqual(asks === undefined ? here : { a: 2, b: 1 });
      expect(asked).toEqual(asks === undefined ? [] : [{ text: request(name, ...raw), reader: asks.reader }]);
    }
  });

  it("run elsewhere from the beginning when they take too long here", async () => {
    const { call, asked } = routed(() => "found", { stepMs: 3 });
    expect(await call("eth_chainId", "x")).toBe("found");
    expect(await call("eth_call", "x")).toEqual({ a: 2, b: 1 });
    expect(asked).toEqual([{ text: request("eth_call", "x"), reader: "call" }]);
  });

  it("answer errors of others as their own", async () => {
    const error = { code: 3, message: "execution reverted", data: "0x01" };
    const { call } = routed(() => null, { answer: JSON.stringify({ jsonrpc: "2.0", id: 0, error }) });
    await expect(call("txpool_content", "x")).rejects.toEqual(new RpcError(3, "execution reverted", "0x01"));
  });

  it.each(["0x1", idOf(3), "filter"])("know no filter %s", async (id) => {
    const { call, asked } = routed(() => "found");
    await expect(call("eth_getFilterChanges", id)).rejects.toMatchObject(FILTER_NOT_FOUND);
    expect(asked).toEqual([]);
  });

  it("refuse bad parameters without asking", async () => {
    const { call, asked } = routed(() => "found");
    await expect(call("txpool_content", 1)).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});

describe("an answer from another thread", () => {
  it.each([
    ["short", `"${"x".repeat(100)}"`, false],
    ["long", JSON.stringify({ text: "0".repeat(100_000) }), true],
    ["long, but not ASCII", JSON.stringify({ text: "é".repeat(100_000) }), false],
  ])("that is %s has the same result as text and as bytes", (_, result, isBytes) => {
    const answer = `{"jsonrpc":"2.0","id":0,"result":${result}}`;
    const bytes = bytesOfLongResult(answer);
    expect(bytes !== undefined).toBe(isBytes);
    const given = bytes === undefined ? answer : structuredClone(bytes, { transfer: [bytes.buffer] });
    expect(resultOf(given).text).toBe(result);
  });

  it("that is a long error is an error", () => {
    const answer = JSON.stringify({ jsonrpc: "2.0", id: 0, error: { code: 3, message: "reverted", data: "0".repeat(100_000) } });
    expect(bytesOfLongResult(answer)).toBeUndefined();
    expect(() => resultOf(answer)).toThrow("reverted");
  });
});
