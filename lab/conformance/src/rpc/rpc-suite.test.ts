import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstDifference } from "./rpc-compare.ts";
import type { RpcDeviation } from "./rpc-deviations.ts";
import { parseRpcTest } from "./rpc-io.ts";
import { type ExecutionApis, readExecutionApis } from "./rpc-schema.ts";
import { findRpcSuite, runRpcTests } from "./rpc-suite.ts";

describe("parseRpcTest", () => {
  it("reads comments, requests and answers", () => {
    const text =
      '// what it is about\n// speconly: only the shape\n>> {"method":"a"}\n<< {"result":1}\n// later\n>> {"method":"b"}\n<< {"result":2}\n';
    const test = parseRpcTest("x/y", text);
    expect(test).toMatchObject({ name: "x/y", isSpecOnly: true });
    expect(test.exchanges.map(({ request, expected }) => [request.method, expected.result])).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
  });

  it("takes speconly from the head of the file only", () => {
    expect(parseRpcTest("x", '>> {"method":"a"}\n// speconly: no\n<< {}').isSpecOnly).toBe(false);
  });

  it.each([
    ["a line of another kind", "hello", /line 1: neither/],
    ["what is not JSON", ">> {", /line 1: not JSON/],
    ["an answer without a request", "<< {}", /line 1: an answer without/],
    ["two requests", '>> {"method":"a"}\n>> {"method":"a"}', /line 2: a request before/],
    ["a request without answer", '>> {"method":"a"}', /no answer/],
    ["nothing", "// nothing", /no request/],
  ])("refuses %s", (_, text, message) => {
    expect(() => parseRpcTest("x", text)).toThrow(message);
  });
});

describe("firstDifference", () => {
  const answer = { jsonrpc: "2.0", id: 1 };
  it.each<[string, unknown, unknown]>([
    ["another order of fields", { a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }],
    ["an error in other words", { ...answer, error: { code: 3, message: "x" } }, { ...answer, error: { code: 3, message: "y" } }],
    [
      "an error inside in other words",
      { result: [{ error: { code: 1, message: "x" } }] },
      { result: [{ error: { code: 1, message: "y" } }] },
    ],
  ])("%s is equal", (_, expected, actual) => {
    expect(firstDifference(expected, actual)).toBeUndefined();
  });

  it.each<[string, unknown, unknown, string]>([
    ["a value", { a: "0x1" }, { a: "0x01" }, '$.a: expected "0x1", got "0x01"'],
    ["a type", { a: 1 }, { a: "1" }, '$.a: expected 1, got "1"'],
    ["null for an object", { a: {} }, { a: null }, "$.a: expected {}, got null"],
    ["an array for an object", { a: {} }, { a: [] }, "$.a: expected {}, got []"],
    ["a field that is missing", { a: null }, {}, "$.a: expected null, missing"],
    ["a field too many", {}, { a: 1 }, "$.a: not expected, got 1"],
    ["a shorter array", { a: [1, 2] }, { a: [1] }, "$.a: expected 2 items, got 1"],
    ["a longer array", { a: [1] }, { a: [1, 2] }, "$.a: expected 1 items, got 2"],
    [
      "an error's code",
      { error: { code: 1, message: "x" } },
      { error: { code: 2, message: "x" } },
      "$.error.code: expected 1, got 2",
    ],
    [
      "an error's data",
      { error: { message: "x" } },
      { error: { message: "x", data: "0x" } },
      '$.error.data: not expected, got "0x"',
    ],
    ["an error without words", { error: { message: "x" } }, { error: {} }, '$.error.message: expected "x", missing'],
    ["a message that is no error's", { message: "x" }, { message: "y" }, '$.message: expected "x", got "y"'],
  ])("says where %s differs", (_, expected, actual, difference) => {
    expect(firstDifference(expected, actual)).toBe(difference);
  });
});

describe("the suite", () => {
  let folder: string;
  let server: Server;
  let url: string;
  let apis: ExecutionApis;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rnode-rpc-suite-"));
    mkdirSync(join(folder, "src", "schemas"), { recursive: true });
    writeFileSync(join(folder, "src", "schemas", "base.yaml"), "uint:\n  type: string\n  pattern: ^0x(0|[1-9a-f][0-9a-f]*)$\n");
    writeFileSync(
      join(folder, "src", "eth.yaml"),
      "- name: eth_number\n  result:\n    name: number\n    schema:\n      $ref: '#/components/schemas/uint'\n",
    );
    apis = await readExecutionApis(folder);
    // Answers with the request's first parameter.
    server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        const { params } = JSON.parse(body) as { params: [object] };
        response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...params[0] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
  });

  const run = async (head: string, answer: object, recorded: object, deviation?: RpcDeviation): Promise<string | undefined> => {
    const request = { jsonrpc: "2.0", id: 1, method: "eth_number", params: [answer] };
    const text = `${head}\n>> ${JSON.stringify(request)}\n<< ${JSON.stringify({ jsonrpc: "2.0", id: 1, ...recorded })}`;
    const deviations = new Map(deviation === undefined ? [] : [["x", deviation]]);
    const [result] = await runRpcTests([parseRpcTest("x", text)], { url }, apis, deviations);
    return result!.failure;
  };
  const SPEC_ONLY = "// speconly: shape";
  const failure = { error: { code: -32000, message: "no" } };
  const oneMore: RpcDeviation = {
    because: "it counts from one",
    tests: ["x"],
    expectedInstead: (recorded) => ({ ...recorded, result: "0x2" }),
  };

  it("passes what is as recorded, or of the shape where only that counts", async () => {
    expect(await run("", { result: "0x1" }, { result: "0x1" })).toBeUndefined();
    expect(await run(SPEC_ONLY, { result: "0x5" }, { result: "0x1" })).toBeUndefined();
    expect(await run("", { error: { code: -32000, message: "other" } }, failure)).toBeUndefined();
    expect(await run("", { result: "0x2" }, { result: "0x1" }, oneMore)).toBeUndefined();
  });

  it.each<[string, string, object, object, RpcDeviation | undefined, RegExp]>([
    ["another value", "", { result: "0x2" }, { result: "0x1" }, undefined, /\$\.result: expected "0x1", got "0x2"/],
    ["another id", "", { result: "0x1", id: 2 }, { result: "0x1" }, undefined, /\$\.id/],
    ["another shape", SPEC_ONLY, { result: "0x01" }, { result: "0x1" }, undefined, /must match pattern/],
    ["an error for a result", SPEC_ONLY, failure, { result: "0x1" }, undefined, /expected a result, got/],
    ["a result for an error", SPEC_ONLY, { result: "0x1" }, failure, undefined, /expected error code -32000/],
    [
      "neither what is recorded nor what is different",
      "",
      { result: "0x3" },
      { result: "0x1" },
      oneMore,
      /expected "0x2", got "0x3"/,
    ],
    ["a difference that is none", "", { result: "0x1" }, { result: "0x1" }, oneMore, /listed as different: it counts from one/],
  ])("fails on %s", async (_, head, answer, recorded, deviation, message) => {
    expect(await run(head, answer, recorded, deviation)).toMatch(message);
  });

  it("checks the names of fields where there are no schemas", async () => {
    const ask = async (answer: object, recorded: object): Promise<string | undefined> => {
      const request = { jsonrpc: "2.0", id: 1, method: "eth_number", params: [answer] };
      const text = `${SPEC_ONLY}\n>> ${JSON.stringify(request)}\n<< ${JSON.stringify({ jsonrpc: "2.0", id: 1, ...recorded })}`;
      return (await runRpcTests([parseRpcTest("x", text)], { url }, undefined, new Map()))[0]!.failure;
    };
    expect(await ask({ result: { a: 2, b: 1 } }, { result: { a: 1 } })).toBeUndefined();
    expect(await ask({ result: "0x2" }, { result: "0x1" })).toBeUndefined();
    expect(await ask({ result: {} }, { result: { a: 1 } })).toMatch(/\$\.result\.a: missing/);
    expect(await ask({ result: null }, { result: { a: 1 } })).toMatch(/expected object, got null/);
  });

  it("is found in a folder, or below it, when it is whole", () => {
    expect(findRpcSuite(folder)).toBeUndefined();
    mkdirSync(join(folder, "rpc", "tests"), { recursive: true });
    for (const file of ["chain.rlp", "genesis.json"]) writeFileSync(join(folder, "rpc", "tests", file), "");
    expect(findRpcSuite(folder)).toBeUndefined();
    writeFileSync(join(folder, "rpc", "tests", "headfcu.json"), "");
    expect(findRpcSuite(folder)).toEqual({ root: join(folder, "rpc"), tests: join(folder, "rpc", "tests") });
    expect(findRpcSuite(join(folder, "rpc"))?.tests).toBe(join(folder, "rpc", "tests"));
    const flat = join(folder, "flat", "rpc");
    mkdirSync(flat, { recursive: true });
    for (const file of ["chain.rlp", "genesis.json", "headfcu.json"]) writeFileSync(join(flat, file), "");
    expect(findRpcSuite(join(folder, "flat"))).toEqual({ root: join(folder, "flat"), tests: flat });
  });

  it("reads no schemas where there are none", async () => {
    mkdirSync(join(folder, "empty", "src"), { recursive: true });
    await expect(readExecutionApis(join(folder, "empty"))).rejects.toThrow(/no methods/);
  });
});
