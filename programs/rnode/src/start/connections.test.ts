import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createRpcServer, method } from "@rnode/jsonrpc";
import { type BlockFixture, blockFixture, FakeEndpoint } from "@rnode/l1/testing";
import { noMetrics, silentLogger } from "@rnode/observe";
import { hexToBytes } from "@rnode/primitives";
import { parseOptions, systemClock } from "@rnode/program";
import { describe, expect, it, onTestFinished } from "vitest";
import { createNodeMetrics } from "../metrics.ts";
import { rnodeOptions } from "../options.ts";
import { testConfig } from "../testing/fake-chain.ts";
import { Connections } from "./connections.ts";

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: unknown[];
}

/** An L1 over HTTP that answers when `release` says so, and keeps an account of what it was asked. */
async function l1Server(blocks: BlockFixture[], { isHeld = false } = {}) {
  const endpoint = new FakeEndpoint(blocks);
  const held: (() => void)[] = [];
  const seen = { calls: [] as number[], underWay: 0, mostUnderWay: 0 };
  const answer = async ({ id, method, params }: Call): Promise<object> => {
    try {
      return { jsonrpc: "2.0", id, result: await endpoint.call(method, params) };
    } catch (error) {
      return { jsonrpc: "2.0", id, error: { code: -32601, message: (error as Error).message } };
    }
  };
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    const reply = async (): Promise<void> => {
      const calls = JSON.parse(Buffer.concat(parts).toString()) as Call | Call[];
      const isFirst = seen.calls.push(Array.isArray(calls) ? calls.length : 1) === 1; // of the chain id
      seen.mostUnderWay = Math.max(seen.mostUnderWay, ++seen.underWay);
      if (isHeld && !isFirst) await new Promise<void>((resolve) => held.push(resolve));
      const body = Array.isArray(calls) ? await Promise.all(calls.map(answer)) : await answer(calls);
      seen.underWay--;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    request.on("end", () => void reply());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, endpoint, seen, held };
}

function connect(l1: string, ...args: string[]): Connections {
  const parsed = parseOptions(rnodeOptions, [`--l1=${l1}`, "--l2=http://127.0.0.1:1", "--network=op-sepolia", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const connections = new Connections(parsed.options, {
    config: { ...testConfig(), seqWindowSize: 4 },
    engineSecret: { path: "", secret: new Uint8Array(32) },
    clock: systemClock,
    log: silentLogger,
    metrics: createNodeMetrics(noMetrics, systemClock).l1,
  });
  onTestFinished(() => connections.close());
  return connections;
}

const CHAIN: BlockFixture[] = [];
for (let number = 100; number < 110; number++) {
  const parent = CHAIN.at(-1);
  CHAIN.push(blockFixture(number, 3, parent === undefined ? undefined : hexToBytes(parent.hash)));
}

describe("the options of L1 access, by what the endpoint sees", () => {
  it("--l1.rpc-max-batch-size: no request has more calls", async () => {
    const { url, seen } = await l1Server(CHAIN);
    await connect(url, "--l1.rpc-max-batch-size=4").l1.readBlocks(100, 10);
    expect(seen.calls.toSorted((a, b) => a - b)).toEqual([1, 2, 2, 4, 4, 4, 4]);
  });

  it("--l1.max-concurrency: no more requests are under way, a batch counting as one", async () => {
    const { url, seen, held } = await l1Server(CHAIN, { isHeld: true });
    const { l1 } = connect(url, "--l1.max-concurrency=2", "--l1.rpc-max-batch-size=2");
    const read = l1.readBlocks(100, 10);
    let isDone = false;
    void read.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      held.shift()?.();
    }
    expect(seen.mostUnderWay).toBe(2);
  });

  it("--l1.rpc-rate-limit: a batch counts as its calls, and one full batch may go at once", async () => {
    const { url } = await l1Server(CHAIN);
    const { l1 } = connect(url, "--l1.rpc-rate-limit=50", "--l1.rpc-max-batch-size=5");
    const startedMs = performance.now();
    await l1.readBlocks(100, 10); // 1 for the chain id, 10 for blocks, 10 for receipts, 5 of them at once
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(((21 - 5) / 50) * 1_000 - 5);
  });

  it("--l1.rpckind: how receipts are asked for", async () => {
    const { url, endpoint } = await l1Server(CHAIN);
    await connect(url, "--l1.rpckind=Debug_Geth").l1.readBlocks(100, 2);
    expect(endpoint.calls.filter((method) => method.includes("eceipt"))).toEqual(["debug_getRawReceipts", "debug_getRawReceipts"]);
  });

  it.each([
    ["3", 3],
    ["0", 6], // 3/2 of the sequencing window
  ])("--l1.cache-size=%s: so many blocks need not be asked for again", async (size, kept) => {
    const { url, endpoint } = await l1Server(CHAIN);
    const { l1 } = connect(url, `--l1.cache-size=${size}`);
    await l1.readBlocks(100, 10);
    endpoint.calls.length = 0;
    for (const { hash } of CHAIN.toReversed()) await l1.blockByHash(hash);
    expect(endpoint.calls.filter((method) => method === "eth_getBlockByHash")).toHaveLength(CHAIN.length - kept);
  });

  it("--l1.trustrpc: hashes are not recomputed, and only then", async () => {
    const { url, endpoint } = await l1Server(CHAIN);
    endpoint.override = (method) =>
      method === "eth_getBlockByNumber" ? { ...CHAIN[0]!.json, stateRoot: `0x${"09".repeat(32)}` } : undefined;
    expect((await connect(url, "--l1.trustrpc").l1.blockByNumber(100))?.hash).toBe(CHAIN[0]!.hash);
    await expect(connect(url).l1.blockByNumber(100)).rejects.toThrow("block hash");
  });

  it("--l1 with several endpoints: the next one serves when the first does not", async () => {
    const { url } = await l1Server(CHAIN);
    expect((await connect(`http://127.0.0.1:1,${url}`).l1.blockByNumber(101))?.hash).toBe(CHAIN[1]!.hash);
  });
});

describe("the execution client over a WebSocket", () => {
  const engineWith = async (jwtSecret: Uint8Array) => {
    const methods = { eth_chainId: method({ params: [], handler: () => "0xaa37dc" }) };
    const server = createRpcServer({ ws: { host: "127.0.0.1", port: 0 }, jwtSecret, methods, log: silentLogger });
    onTestFinished(() => server.close());
    return `ws://127.0.0.1:${(await server.listen()).wsPort}`;
  };

  it("is asked with a token", async () => {
    const { url } = await l1Server([]);
    expect(await connect(url, `--l2=${await engineWith(new Uint8Array(32))}`).l2.chainId()).toBe(11155420n);
  });

  it("refuses another secret as one over HTTP does", async () => {
    const { url } = await l1Server([]);
    const { l2 } = connect(url, `--l2=${await engineWith(new Uint8Array(32).fill(7))}`);
    await expect(l2.chainId()).rejects.toMatchObject({ code: "engine/unauthorized" });
  });
});
