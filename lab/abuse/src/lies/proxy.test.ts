import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { liesAbout } from "@rnode/jsonrpc/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Deceit, deceitsAbout } from "./deceit.ts";
import { LyingProxy } from "./proxy.ts";

const BLOCK = { number: "0x5", transactions: [{ hash: "0x12" }, { hash: "0x34" }], isFinal: true };

/** Answers every method with a block, REST with a list. */
const upstream = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    response.setHeader("content-type", "application/json");
    if (request.method === "GET") return response.end(JSON.stringify({ data: [request.url] }));
    const asked = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { id: number; params: unknown[] } | { id: number }[];
    const answer = ({ id }: { id: number }) => ({ jsonrpc: "2.0", id, result: BLOCK });
    response.end(JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked)));
  });
});
let proxy: LyingProxy;
beforeEach(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  proxy = await LyingProxy.listen();
  proxy.upstream = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await proxy.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

const ask = async (body: unknown, timeoutMs = 5_000): Promise<string> => {
  const response = await fetch(proxy.url, { method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(timeoutMs) });
  return `${response.status} ${await response.text()}`;
};
const question = (id: number, method = "eth_getBlock", params: unknown[] = []) => ({ jsonrpc: "2.0", id, method, params });
const honest = (id: number) => ({ jsonrpc: "2.0", id, result: BLOCK });
const deceitNamed = (name: string): Deceit =>
  deceitsAbout("eth_getBlock", BLOCK).find((deceit) => deceit.name === `eth_getBlock ${name}`)!;

describe("the proxy", () => {
  it("passes on answers while it is honest, single ones, batches and REST", async () => {
    expect(await ask(question(1))).toBe(`200 ${JSON.stringify(honest(1))}`);
    expect(await ask([question(1), question(2)])).toBe(`200 ${JSON.stringify([honest(1), honest(2)])}`);
    const rest = await fetch(`${proxy.url}/eth/v1/beacon/blobs/7?indices=1`);
    expect(await rest.json()).toEqual({ data: ["/eth/v1/beacon/blobs/7?indices=1"] });
    expect([...proxy.answers.keys()]).toEqual(["eth_getBlock", "GET /eth/v1/beacon/blobs/…"]);
    expect(proxy.lies).toBe(0);
  });

  it("can alter every field of an answer in every way", () => {
    const names = new Set(deceitsAbout("eth_getBlock", BLOCK).map(({ name }) => name));
    for (const { name } of liesAbout(BLOCK)) expect(names).toContain(`eth_getBlock ${name}`);
    expect(names).toContain("eth_getBlock answer.transactions[1].hash: missing");
  });

  it("lies about one method only, also in a batch, and is honest again when told to be", async () => {
    proxy.deceit = deceitNamed("answer.transactions: items 0 and 1 swapped");
    const swapped = { ...honest(2), result: { ...BLOCK, transactions: [{ hash: "0x34" }, { hash: "0x12" }] } };
    expect(await ask([question(1, "eth_other"), question(2)])).toBe(`200 ${JSON.stringify([honest(1), swapped])}`);
    expect(proxy.lies).toBe(1);
    proxy.becomeHonest();
    expect(await ask(question(3))).toBe(`200 ${JSON.stringify(honest(3))}`);
  });

  it("lies about REST", async () => {
    const path = "GET /eth/v1/beacon/blobs/…";
    proxy.deceit = deceitsAbout(path, { data: ["one"] }).find(({ name }) => name === `${path} answer.data: null`);
    expect(await (await fetch(`${proxy.url}/eth/v1/beacon/blobs/8`)).json()).toEqual({ data: null });
  });

  it("gives the answer to another question", async () => {
    await ask(question(1, "eth_getBlock", ["0x1"]));
    proxy.deceit = deceitNamed("the newest answer to another question");
    await ask(question(2, "eth_getBlock", ["0x1"]));
    expect(proxy.lies).toBe(0);
    await ask(question(3, "eth_getBlock", ["0x2"]));
    expect(proxy.lies).toBe(1);
  });

  it.each(["error -38003", "status 503", "not JSON", "an empty body", "neither result nor error"])(
    "answers with %s",
    async (how) => {
      proxy.deceit = deceitNamed(how);
      expect(await ask(question(1))).not.toBe(`200 ${JSON.stringify(honest(1))}`);
      expect(proxy.lies).toBe(1);
    },
  );

  it.each(["silence", "half an answer", "lists without end"])("answers with %s, which ends when it becomes honest", async (how) => {
    proxy.deceit = deceitNamed(how);
    const answered = ask(question(1));
    await expect.poll(() => proxy.lies).toBe(1);
    proxy.becomeHonest();
    await expect(answered).rejects.toThrow();
    expect(await ask(question(2))).toBe(`200 ${JSON.stringify(honest(2))}`);
  });

  it("closes connections", async () => {
    proxy.deceit = deceitNamed("a closed connection");
    await expect(ask(question(1))).rejects.toThrow();
  });
});
