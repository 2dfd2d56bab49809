import { once } from "node:events";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createJwt } from "../auth/jwt.ts";
import { createRpcServer } from "../rpc-server.ts";
import { AnswerBytes, BatchAnswer } from "./answer-bytes.ts";
import { method, param } from "./method-table.ts";
import { countShape } from "./shape.ts";
import { SLICE_BYTES } from "./unsent.ts";

describe("the answer of a batch", () => {
  it("is put together in pieces that are written as they are, and never becomes one string", () => {
    const texts = Array.from({ length: 900 }, (_, index) => JSON.stringify({ index, text: "é".repeat((index * 31) % 2000) }));
    const batch = new BatchAnswer();
    for (const text of texts) batch.add(text);
    const answer = batch.finish();
    if (!(answer instanceof AnswerBytes)) throw new Error("not in pieces");
    expect(answer.pieces.length).toBeGreaterThan(3);
    expect(Math.max(...answer.pieces.map((piece) => piece.toString("utf8").length))).toBeLessThanOrEqual(
      SLICE_BYTES + texts.length,
    );
    expect(String(answer)).toBe(`[${texts.join(",")}]`);
    expect(answer.byteLength).toBe(Buffer.byteLength(String(answer)));
    expect(batch.length).toBe(texts.join("").length);
  });

  it.each([
    [[], undefined],
    [["1"], "[1]"],
    [["1", "2"], "[1,2]"],
    [["x".repeat(SLICE_BYTES), "2"], `[${"x".repeat(SLICE_BYTES)},2]`],
    [["1", "x".repeat(SLICE_BYTES)], `[1,${"x".repeat(SLICE_BYTES)}]`],
    [["x".repeat(SLICE_BYTES), "y".repeat(3 * SLICE_BYTES), "z"], `[${"x".repeat(SLICE_BYTES)},${"y".repeat(3 * SLICE_BYTES)},z]`],
  ])("is a list (%#)", (texts: string[], expected) => {
    const batch = new BatchAnswer();
    for (const text of texts) batch.add(text);
    const answer = batch.finish();
    expect(answer === undefined ? undefined : String(answer)).toBe(expected);
  });

  it.each([["a"], ["ab"], ["ba"], ["bb"], ["abaab"], ["baabb"]])("takes bytes as they are, and text between them (%s)", (kinds) => {
    const long = Buffer.from("é".repeat(SLICE_BYTES));
    const batch = new BatchAnswer();
    for (const kind of kinds) batch.add(kind === "a" ? "1" : new AnswerBytes([Buffer.from("["), long, Buffer.from("]")]));
    const answer = batch.finish()!;
    expect(String(answer)).toBe(`[${Array.from(kinds, (kind) => (kind === "a" ? "1" : `[${long.toString()}]`)).join(",")}]`);
    if (kinds.includes("b")) expect((answer as AnswerBytes).pieces).toContain(long);
  });

  it.each([
    ["HTTP", false],
    ["node:http", true],
    ["WebSocket", undefined],
  ])("arrives whole over %s", async (_, withToken) => {
    const secret = new Uint8Array(32).fill(7);
    const listener = { host: "127.0.0.1", port: 0 };
    const server = createRpcServer({
      ...(withToken === undefined ? { ws: listener } : { http: listener }),
      jwtSecret: withToken === true ? secret : undefined,
      methods: { test_large: method({ params: [param("size", countShape)], handler: ([size]) => "漢".repeat(size) }) },
      log: silentLogger,
    });
    onTestFinished(() => server.close());
    const { httpPort, wsPort } = await server.listen();
    const sizes = Array.from({ length: 100 }, (_, index) => (index * 997) % 30_000);
    const body = JSON.stringify(
      sizes.map((size, id) => ({ jsonrpc: "2.0", id, method: "test_large", params: [`0x${size.toString(16)}`] })),
    );
    let text: string;
    if (withToken === undefined) {
      const socket = new WebSocket(`ws://127.0.0.1:${wsPort}`);
      onTestFinished(() => socket.terminate());
      await once(socket, "open");
      socket.send(body);
      const [data] = (await once(socket, "message")) as [Buffer];
      text = data.toString("utf8");
    } else {
      const authorization = `Bearer ${createJwt(secret, Date.now() / 1000)}`;
      const headers = { "content-type": "application/json", ...(withToken && { authorization }) };
      text = await (await fetch(`http://127.0.0.1:${httpPort}`, { method: "POST", headers, body })).text();
    }
    expect((JSON.parse(text) as { id: number; result: string }[]).map(({ id, result }) => [id, result.length])).toEqual(
      sizes.map((size, id) => [id, size]),
    );
  });
});
