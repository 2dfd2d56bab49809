import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { type BlockingRpc, openBlockingRpc } from "./blocking-rpc.ts";

/** Another thread: the one that asks waits. `requests` counts requests. */
const SERVER = `
const { parentPort, workerData } = require("node:worker_threads");
let requests = 0;
const server = require("node:http").createServer((request, response) => {
  requests++;
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => answer({ request, response, calls: JSON.parse(body), requests }));
});
const ok = (response, calls) => response.end(JSON.stringify(calls.map(({ id }) => ({ jsonrpc: "2.0", id, result: "0x" + id }))));
const answer = eval(workerData);
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

let worker: Worker | undefined;
let rpc: BlockingRpc | undefined;
afterEach(async () => {
  await rpc?.close();
  await worker?.terminate();
});

async function open(answer: string, timeoutMs = 500): Promise<BlockingRpc> {
  worker = new Worker(SERVER, { eval: true, workerData: answer, execArgv: [] });
  const port = await new Promise<number>((resolve) => worker!.once("message", resolve));
  rpc = openBlockingRpc(`http://127.0.0.1:${port}/secret-key`, { timeoutMs, maxBytes: 100_000 });
  return rpc;
}

const CALLS = Array.from({ length: 150 }, () => ({ method: "eth_blockNumber", params: [] }));

describe("asking an endpoint while the thread waits", () => {
  it("batches", async () => {
    const outcomes = (await open("({ response, calls }) => ok(response, calls)")).batch(CALLS);
    expect(outcomes).toHaveLength(150);
    expect(outcomes[149]).toEqual({ kind: "result", result: "0x49" });
    expect(rpc!.requests).toBe(2);
  });

  it.each<[string, string]>([
    ["HTTP 500", "response.writeHead(500).end('oops')"],
    ["HTTP 502", "response.writeHead(502).end()"],
    ["HTTP 429", "response.writeHead(429).end()"],
    ["a reset", "response.destroy()"],
    ["a limit of rates", `response.end(JSON.stringify(calls.map(({ id }) => ({ id, error: { code: 429, message: "slow" } }))))`],
  ])("asks again after %s", async (_name, fault) => {
    const outcomes = (await open(`({ response, calls, requests }) => requests < 2 ? ${fault} : ok(response, calls)`)).batch([
      CALLS[0]!,
    ]);
    expect(outcomes).toEqual([{ kind: "result", result: "0x0" }]);
  });

  it("waits for an endpoint that stalled less long the next time", { tags: "long" }, async () => {
    const asking = await open(
      "({ response, calls, requests }) => setTimeout(ok, requests === 1 ? 60000 : 2500, response, calls)",
      3_500,
    );
    const read = (): unknown => asking.batch([CALLS[0]!]);
    expect(read).toThrow(/TimeoutError/);
    expect(read).toThrow(/TimeoutError/); // as it was not waited for 3.5 s again
  });

  it.each<[string, string, RegExp]>([
    ["stalls", "() => {}", /cannot be reached \(TimeoutError\)/],
    ["drips", "({ response }) => setInterval(() => response.write(' '), 50)", /cannot be reached \(TimeoutError\)/],
    [
      "answers without end",
      "({ response }) => { const more = () => response.writableEnded || response.destroyed || setImmediate(more, response.write('x'.repeat(10000))); more(); }",
      /more than 100000 bytes/,
    ],
    ["dies each time", "({ response }) => response.destroy()", /cannot be reached/],
    [
      "dies in the midst",
      "({ response }) => { response.write('[{'); setTimeout(() => response.destroy(), 20); }",
      /cannot be reached/,
    ],
    ["answers 500 each time", "({ response }) => response.writeHead(500).end('oops')", /HTTP 500 and no JSON/],
    ["limits rates each time", "({ response }) => response.writeHead(429).end()", /limits the rate/],
    ["answers no list", "({ response }) => response.end('{}')", /a batch with no list/],
    ["answers null", "({ response }) => response.end('null')", /a batch with no list/],
    ["leaves calls out", "({ response }) => response.end('[]')", /did not answer eth_blockNumber/],
    ["answers junk", '({ response }) => response.end(\'[null, 7, {"id": "x"}]\')', /did not answer eth_blockNumber/],
  ])("an endpoint that %s is an error in bounded time, without its path", async (_name, answer, expected) => {
    const asking = await open(answer);
    const read = (): unknown => asking.batch([CALLS[0]!]);
    expect(read).toThrow(expected);
    expect(read).not.toThrow(/secret-key/);
  });
});
