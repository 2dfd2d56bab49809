import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRpcServer, method } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { testConfig } from "../testing/fake-chain.ts";
import { emptyL1Blocks, GENESIS_HASH, HEADER } from "../testing/fake-endpoints.ts";
import { NodeFixture } from "../testing/running-node.ts";
import { connectSource } from "./connect-source.ts";
import { answerOf } from "./source-reader.ts";

// Light mode on its whole way, from the arguments of `main` over sockets to what the node's RPC says.

/** The genesis, with the time of the rollup configuration. */
const L2_HEADER = headerOf({ baseFeePerGas: 1n, timestamp: testConfig().genesis.l2TimeSec });
const L1_BLOCKS = [HEADER, ...emptyL1Blocks(5)];
const l1Json = (number: number) => {
  const header = L1_BLOCKS[number]!;
  const [hash, parentHash] = [bytesToHex(hashHeader(header)), bytesToHex(header.parentHash)];
  return { hash, number, parentHash, timestamp: header.timestamp };
};
const GENESIS = {
  hash: bytesToHex(hashHeader(L2_HEADER)),
  number: 0,
  parentHash: bytesToHex(L2_HEADER.parentHash),
  timestamp: L2_HEADER.timestamp,
  l1origin: { hash: GENESIS_HASH, number: 0 },
  sequenceNumber: 0,
};
const status = (currentL1: number) => ({
  ...{ current_l1: l1Json(currentL1), head_l1: l1Json(5), safe_l1: l1Json(0), finalized_l1: l1Json(0) },
  ...{ unsafe_l2: GENESIS, safe_l2: GENESIS, local_safe_l2: GENESIS, finalized_l2: GENESIS },
});

type Handler = (request: { readonly id: number; readonly method: string }, response: ServerResponse) => void;

/** A source over HTTP. It first serves right answers; `answer` replaces how. */
class HttpSource {
  answer: Handler | undefined;
  currentL1 = 2;
  config: unknown = undefined;
  readonly asked: string[] = [];
  #server: Server | undefined;

  async open(): Promise<string> {
    this.#server = createServer((request, response) => void this.#handle(request, response));
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server!.address() as AddressInfo).port}`;
  }

  result({ id, method }: Parameters<Handler>[0]): unknown {
    if (method === "optimism_syncStatus") return { jsonrpc: "2.0", id, result: status(this.currentL1) };
    if (method === "optimism_rollupConfig" && this.config !== undefined) return { jsonrpc: "2.0", id, result: this.config };
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "the method does not exist" } };
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const call = JSON.parse(Buffer.concat(parts).toString()) as Parameters<Handler>[0];
    this.asked.push(call.method);
    if (this.answer !== undefined) return this.answer(call, response);
    response.setHeader("content-type", "application/json").end(JSON.stringify(this.result(call)));
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}

describe("light mode over HTTP", () => {
  let fixture: NodeFixture;
  let source: HttpSource;
  const QUIET = ["--p2p.disable", "--l1.http-poll-interval=200ms", "--log.level=info", "--log.format=json"];
  beforeEach(async () => {
    fixture = await NodeFixture.open({
      l1: { further: L1_BLOCKS.slice(1) },
      l2: { header: L2_HEADER },
      config: { blockTimeSec: 1 },
    });
    source = new HttpSource();
    fixture.opened.push(source);
    await source.open();
  });
  afterEach(() => fixture.close());
  const rollupConfig = () => JSON.parse(readFileSync(fixture.path("rollup.json"), "utf8")) as Record<string, unknown>;
  const currentL1 = async (call: (method: string) => Promise<unknown>): Promise<number> =>
    ((await call("optimism_syncStatus")) as { current_l1: { number: number } }).current_l1.number;

  it("--l2.follow.source: the heads and the L1 block are the source's, and methods of derivation say whom to ask", async () => {
    source.config = rollupConfig();
    const args = [...QUIET, `--l2.follow.source=${source.url}`, `--safedb.path=${fixture.path("safe")}`];
    const log = await fixture.running(args, async (call) => {
      await expect.poll(() => currentL1(call)).toBe(2);
      source.currentL1 = 4;
      await expect.poll(() => currentL1(call)).toBe(4);
      await expect(call("optimism_safeHeadAtL1Block", "0x1")).rejects.toThrow(/not enabled: this node does not derive.*ask http/);
    });
    expect(log).toContain("light mode: safe blocks come from another node");
    expect(log).toContain("--safedb.path");
  });

  it("--l2.follow.source.rpc-timeout: a source that says nothing is given up, and asked once at a time", async () => {
    const args = [...QUIET, `--l2.follow.source=${source.url}`, "--l2.follow.source.rpc-timeout=300ms"];
    const log = await fixture.running(args, async (call) => {
      await expect.poll(() => currentL1(call)).toBe(2);
      source.answer = () => {};
      const before = source.asked.length;
      await expect.poll(() => source.asked.length).toBeGreaterThan(before + 1);
      source.answer = undefined;
      source.currentL1 = 3;
      await expect.poll(() => currentL1(call)).toBe(3);
    });
    expect(log).toContain("within 300 ms");
    expect(log.match(/the source is not followed at the moment/g)).toHaveLength(1);
    expect(log).toContain("the source is followed again");
  });

  it("does not start with a source of another chain", async () => {
    source.config = { ...rollupConfig(), l2_chain_id: 10 };
    const words = "l2_chain_id is 10, ours is 901): name a node of this chain in --l2.follow.source";
    expect(await fixture.until(words, [...QUIET, `--l2.follow.source=${source.url}`])).toBe(1);
  });

  it("does not start with an endpoint that is no rollup node", async () => {
    source.answer = ({ id }, response) =>
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "the method does not exist" } }));
    expect(await fixture.until("is not a rollup node", [...QUIET, `--l2.follow.source=${source.url}`])).toBe(1);
  });

  it("starts before its source does", async () => {
    source.answer = (_, response) => response.destroy();
    const log = await fixture.running([...QUIET, `--l2.follow.source=${source.url}`], async (call) => {
      expect(await currentL1(call)).toBe(0);
      source.answer = undefined;
      await expect.poll(() => currentL1(call)).toBe(2);
    });
    expect(log).toContain("does not answer yet");
  });
});

it("light mode over a WebSocket: the source is followed, also after it was restarted", async () => {
  const fixture = await NodeFixture.open({
    l1: { further: L1_BLOCKS.slice(1) },
    l2: { header: L2_HEADER },
    config: { blockTimeSec: 1 },
  });
  onTestFinished(() => fixture.close());
  const config = JSON.parse(readFileSync(fixture.path("rollup.json"), "utf8")) as unknown;
  let currentL1 = 2;
  const open = async (port: number) => {
    const server = createRpcServer({
      ws: { host: "127.0.0.1", port },
      methods: {
        optimism_syncStatus: method({ params: [], handler: () => status(currentL1) }),
        optimism_rollupConfig: method({ params: [], handler: () => config }),
      },
      log: silentLogger,
    });
    const { wsPort } = await server.listen();
    return { server, port: wsPort! };
  };
  const { server, port } = await open(0);
  const args = ["--p2p.disable", "--l1.http-poll-interval=200ms", "--log.level=info", "--log.format=json"];
  const log = await fixture.running([...args, `--l2.follow.source=ws://127.0.0.1:${port}`], async (call) => {
    const followed = async (): Promise<number> =>
      ((await call("optimism_syncStatus")) as { current_l1: { number: number } }).current_l1.number;
    await expect.poll(followed).toBe(2);
    currentL1 = 3;
    await expect.poll(followed).toBe(3);
    await server.close();
    currentL1 = 4;
    const again = await open(port);
    onTestFinished(() => again.server.close());
    await expect.poll(followed).toBe(4);
  });
  expect(log).toContain("light mode: safe blocks come from another node");
});

describe("an answer of a source that cannot be used", () => {
  it.each<[string, Handler]>([
    ["text that is not JSON", (_, response) => response.end("<html>")],
    [
      "half an answer",
      (call, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: status(2) }).slice(0, 40)),
    ],
    ["an empty answer", (_, response) => response.end()],
    ["an answer without a result", ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id }))],
    ["a list", (_, response) => response.end("[]")],
    ["a status of null", ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id, result: null }))],
    ["more than a MiB", ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "x".repeat(2 ** 20) }))],
    ["deep nesting", (_, response) => response.end(`${"[".repeat(200_000)}${"]".repeat(200_000)}`)],
    ["HTTP 500", (_, response) => response.writeHead(500).end("broken")],
    ["a redirect, which is not followed", (_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end()],
    ["a closed connection", (_, response) => response.destroy()],
    ["nothing at all", () => {}],
  ])("%s: is trouble in words, not an error of this program", async (_, answer) => {
    const source = new HttpSource();
    onTestFinished(() => source.close());
    const connection = connectSource({ url: await source.open(), timeoutMs: 300 });
    onTestFinished(() => connection.close());
    expect(await answerOf(() => connection.source.syncStatus())).toMatchObject({ answer: { currentL1: { number: 2 } } });
    source.answer = answer;
    for (const ask of [() => connection.source.syncStatus(), () => connection.source.rollupConfig()]) {
      const outcome = await answerOf<unknown>(ask);
      expect(outcome).toEqual({ trouble: expect.any(String), kind: expect.stringMatching(/^(no|bad)-answer$/) });
      expect((outcome as { trouble: string }).trouble.length).toBeLessThan(401);
    }
    source.answer = undefined;
    expect(await answerOf(() => connection.source.syncStatus())).toHaveProperty("answer");
  });
});
