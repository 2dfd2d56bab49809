import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { assemble } from "@rnode/eth-api/testing";
import { createRpcClient } from "@rnode/jsonrpc";
import { createLogger } from "@rnode/observe";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { parseOptions, resolveOptions } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import { privateKeyToAccount } from "viem/accounts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { cacheSizesOf } from "./cache-sizes.ts";
import { clientTable } from "./options.ts";
import { buildPackage } from "./testing/built-package.ts";
import { clientsOfTest, OTHER } from "./testing/clients-of-test.ts";
import { COUNTER_CREATION } from "./testing/counter.ts";
import { CHAIN_ID, RICH_KEY, type TestClient } from "./testing/test-client.ts";

// The effect of each option on a running client.

const account = privateKeyToAccount(RICH_KEY);
const GWEI = 10n ** 9n;

const { start, forget } = clientsOfTest();
const stop = async (node: TestClient): Promise<void> => {
  forget(node);
  await node.close();
};
afterEach(() => {
  vi.useRealTimers();
});

interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
const failureOf = async (answer: Promise<unknown>): Promise<Failure> => {
  const { code, message, data } = await answer.then(
    (result): Failure => ({ code: 0, message: `no failure: ${JSON.stringify(result).slice(0, 200)}` }),
    (error: Failure) => error,
  );
  return { code, message, data };
};

/** Requests `eth_chainId` over HTTP. @returns status, headers and text of the answer, or the code of the error */
function post(
  port: number,
  options: { readonly host?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: options.host ?? "127.0.0.1",
        port,
        method: "POST",
        agent: false,
        headers: { "content-type": "application/json", ...options.headers },
      },
      (response) => {
        let text = "";
        response.on("data", (data: Buffer) => (text += data.toString("utf8")));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    request.on("error", reject);
    request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }));
  });
}

/** Whether a WebSocket connection can be opened. */
const opens = (url: string, options: ClientOptions = {}): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url, options);
    socket.once("open", () => {
      socket.terminate();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

const sign = (nonce: number, fields: object = {}) =>
  account.signTransaction({
    chainId: CHAIN_ID,
    type: "eip1559",
    gas: 21_000n,
    maxFeePerGas: 2n * GWEI,
    nonce,
    to: OTHER,
    ...fields,
  });
const send = async (node: TestClient, nonce: number, fields?: object) =>
  node.rpc.call<Hex>("eth_sendRawTransaction", [await sign(nonce, fields)]);

/** The result of a call that runs some code. */
const run = (node: TestClient, code: string, fields: object = {}) =>
  node.rpc.call<Hex>("eth_call", [{ to: OTHER, ...fields }, "latest", { [OTHER]: { code: bytesToHex(assemble(code)) } }]);
const ENDLESS = {
  stateOverrides: { [OTHER]: { code: bytesToHex(assemble("JUMPDEST 0 JUMP")) } },
  tracer: "noopTracer",
  timeout: "60s",
};

/** Builds blocks with the given number of logs each. */
async function withLogs(node: TestClient, blocks: number, logsEach: number): Promise<Hex> {
  const creation = await send(node, 0, { to: undefined, gas: 200_000n, data: COUNTER_CREATION });
  await node.buildBlock();
  const { contractAddress } = await node.rpc.call<{ contractAddress: Hex }>("eth_getTransactionReceipt", [creation]);
  for (let block = 0, nonce = 1; block < blocks; block++) {
    for (let log = 0; log < logsEach; log++) await send(node, nonce++, { to: contractAddress, gas: 100_000n });
    await node.buildBlock();
  }
  return contractAddress;
}

const TESTS: Readonly<Record<string, () => Promise<void>>> = {
  async cache() {
    const [less, more] = [cacheSizesOf(64), cacheSizesOf(1024)];
    for (const part of Object.keys(less) as (keyof typeof less)[]) expect(more[part]).toBe(16 * less[part]);
  },
  async http() {
    expect((await start(["--http=false"])).client).toMatchObject({ httpPort: undefined, wsPort: expect.any(Number) });
    expect((await start(["--http=true"])).client.httpPort).toEqual(expect.any(Number));
  },
  async "http.addr"() {
    const { client } = await start(["--http.addr=127.0.0.2"]);
    expect(await post(client.httpPort!, { host: "127.0.0.2" })).toMatchObject({ status: 200 });
    await expect(post(client.httpPort!)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  },
  async "http.port"() {
    const port = await freePort();
    expect((await start([`--http.port=${port}`])).client.httpPort).toBe(port);
    expect(await post(port)).toMatchObject({ status: 200 });
  },
  async "http.api"() {
    const node = await start(["--http.api=net,txpool"]);
    expect(await node.rpc.call("net_version")).toBe(String(CHAIN_ID));
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    for (const method of ["eth_chainId", "web3_clientVersion", "debug_getBadBlocks"])
      expect(await failureOf(node.rpc.call(method))).toMatchObject({ code: -32601 });
  },
  async "http.corsdomain"() {
    const answered = async (args: string[], origin: string) => {
      const { status, headers } = await post((await start(args)).client.httpPort!, { headers: { origin } });
      return [status, headers["access-control-allow-origin"]];
    };
    expect(await answered([], "https://a.example")).toEqual([403, undefined]);
    const two = "--http.corsdomain=https://a.example,https://b.example";
    expect(await answered([two], "https://b.example")).toEqual([200, "https://b.example"]);
    expect(await answered(["--http.corsdomain=https://a.example"], "https://c.example")).toEqual([403, undefined]);
    expect(await answered(["--http.corsdomain=*"], "https://c.example")).toEqual([200, "*"]);
  },
  async "http.vhosts"() {
    const answered = async (args: string[], host: string) => {
      const { client, wsUrl } = await start(args);
      return [(await post(client.httpPort!, { headers: { host } })).status, await opens(wsUrl, { headers: { host } })];
    };
    expect(await answered([], "other.example")).toEqual([403, false]);
    expect(await answered([], "localhost:8545")).toEqual([200, true]);
    expect(await answered(["--http.vhosts=a.example,node.example"], "node.example")).toEqual([200, true]);
    expect(await answered(["--http.vhosts=node.example"], "other.example")).toEqual([403, false]);
    expect(await answered(["--http.vhosts=*"], "other.example")).toEqual([200, true]);
  },
  async ws() {
    expect((await start(["--ws=false"])).client).toMatchObject({ wsPort: undefined, httpPort: expect.any(Number) });
    expect(await opens((await start(["--ws=true"])).wsUrl)).toBe(true);
  },
  async "ws.addr"() {
    const { client } = await start(["--ws.addr=127.0.0.2"]);
    expect(await opens(`ws://127.0.0.2:${client.wsPort}`)).toBe(true);
    expect(await opens(`ws://127.0.0.1:${client.wsPort}`)).toBe(false);
  },
  async "ws.port"() {
    const port = await freePort();
    const shared = await start([`--http.port=${port}`, `--ws.port=${port}`]); // one listener for both
    expect([shared.client.httpPort, shared.client.wsPort]).toEqual([port, port]);
    expect([await opens(`ws://127.0.0.1:${port}`), (await post(port)).status]).toEqual([true, 200]);
  },
  async "ws.api"() {
    const { wsUrl } = await start(["--ws.api=net"]);
    const socket = new WebSocket(wsUrl);
    await new Promise((resolve) => socket.once("open", resolve));
    const ask = (method: string) =>
      new Promise((resolve) => {
        socket.once("message", (data: Buffer) => resolve(JSON.parse(data.toString("utf8"))));
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [] }));
      });
    expect(await ask("net_version")).toMatchObject({ result: String(CHAIN_ID) });
    for (const method of ["eth_chainId", "eth_subscribe"]) expect(await ask(method)).toMatchObject({ error: { code: -32601 } });
    socket.terminate();
  },
  async "ws.origins"() {
    const plain = await start();
    expect([
      await opens(plain.wsUrl, { origin: "http://localhost:3000" }),
      await opens(plain.wsUrl, { origin: "https://a.example" }),
    ]).toEqual([true, false]);
    const named = await start(["--ws.origins=https://a.example"]);
    expect([
      await opens(named.wsUrl, { origin: "https://a.example" }),
      await opens(named.wsUrl, { origin: "https://b.example" }),
    ]).toEqual([true, false]);
    expect(await opens((await start(["--ws.origins=*"])).wsUrl, { origin: "https://b.example" })).toBe(true);
  },
  async "authrpc.addr"() {
    const { client } = await start(["--authrpc.addr=127.0.0.2"]);
    expect((await post(client.enginePort, { host: "127.0.0.2" })).status).toBe(401);
    await expect(post(client.enginePort)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  },
  async "authrpc.port"() {
    const port = await freePort();
    const node = await start([`--authrpc.port=${port}`]);
    expect(node.client.enginePort).toBe(port);
    expect(await node.engine.call("eth_chainId")).toBe("0x385");
  },
  async "authrpc.vhosts"() {
    const status = async (args: string[], host: string) =>
      (await post((await start(args)).client.enginePort, { headers: { host } })).status;
    expect(await status([], "engine.example")).toBe(403);
    expect(await status([], "localhost")).toBe(401);
    expect(await status(["--authrpc.vhosts=engine.example"], "engine.example")).toBe(401);
    expect(await status(["--authrpc.vhosts=*"], "other.example")).toBe(401);
  },
  async "authrpc.jwtsecret"() {
    const first = await start(); // without the option: created in the data folder
    expect(first.client.jwtSecretPath).toBe(join(first.folder, "data", "jwt.hex"));
    const path = join(first.folder, "secret.hex");
    writeFileSync(path, "ab".repeat(32));
    const node = await start([`--authrpc.jwtsecret=${path}`]);
    expect(node.client.jwtSecretPath).toBe(path);
    const url = `http://127.0.0.1:${node.client.enginePort}`;
    const [own, other] = ["ab", "cd"].map((byte) => createRpcClient({ url, jwtSecret: hexToBytes(`0x${byte.repeat(32)}`) }));
    expect(await own!.call("eth_chainId")).toBe("0x385");
    await expect(other!.call("eth_chainId")).rejects.toMatchObject({ code: "rpc/http-status" });
    for (const rpc of [own, other]) await rpc!.close();
  },
  async "rpc.workers"() {
    buildPackage();
    expect((await start(["--rpc.workers=0"])).client.readerPids()).toEqual([]);
    expect((await start(["--rpc.workers=2"])).client.readerPids()).toHaveLength(2);
  },
  async "rpc.workermemory"() {
    buildPackage();
    const node = await start(["--rpc.workers=1", "--rpc.workermemory=96"]);
    const [pid] = node.client.readerPids();
    const commandLine = `/proc/${pid}/cmdline`; // Linux only
    if (existsSync(commandLine)) expect(readFileSync(commandLine, "utf8").split("\0")).toContain("--max-old-space-size=96");
    expect(await node.rpc.call("eth_chainId")).toBe("0x385");
  },
  async "rpc.gascap"() {
    const gas = async (args: string[], fields?: object) => BigInt(await run(await start(args), "GAS 0 MSTORE 32 0 RETURN", fields));
    expect(await gas(["--rpc.gascap=100000"])).toBeLessThan(100_000n);
    expect(await gas(["--rpc.gascap=100000"], { gas: "0x989680" })).toBeLessThan(100_000n);
    expect(await gas(["--rpc.gascap=5000000"], { gas: "0x989680" })).toBeGreaterThan(4_000_000n);
    expect(await gas(["--rpc.gascap=0"], { gas: toQuantity(10n ** 12n) })).toBeGreaterThan(10n ** 11n);
    expect(await gas(["--rpc.gascap=0"])).toBeGreaterThan(10n ** 12n);
  },
  async "rpc.tracetimeout"() {
    const node = await start(["--rpc.tracetimeout=100ms", "--rpc.gascap=1000000000000000"]);
    const late = { code: -32000, message: "tracing took longer than 100ms (--rpc.tracetimeout)" };
    expect(await failureOf(node.rpc.call("debug_traceCall", [{ to: OTHER }, "latest", ENDLESS]))).toMatchObject(late);
  },
  async "rpc.max-tracing-requests"() {
    // Each running request lets 64 wait: 100 at once are too many for one slot, but not for two.
    const loop = { data: bytesToHex(assemble("1000000 JUMPDEST 1 SWAP1 SUB DUP1 4 JUMPI STOP")), gas: toQuantity(30_000_000n) };
    // Between two calls of a request the others arrive, so that the last is there long before the first is done.
    const request = {
      jsonrpc: "2.0",
      id: 1,
      method: "trace_callMany",
      params: [Array.from({ length: 100 }, () => [loop, ["trace"]])],
    };
    const ask = async (running: number): Promise<{ refused: () => boolean; end: () => void }> => {
      const node = await start([`--rpc.max-tracing-requests=${running}`, "--rpc.tracetimeout=20s", "--ws.api=trace"]);
      // The long requests of one connection wait for each other, so each comes over its own.
      const sockets = Array.from({ length: 100 }, () => new WebSocket(node.wsUrl));
      await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("open", resolve))));
      const codes: (number | undefined)[] = [];
      for (const socket of sockets) {
        socket.on("message", (data: Buffer) => codes.push((JSON.parse(data.toString("utf8")) as { error?: Failure }).error?.code));
        socket.send(JSON.stringify(request));
      }
      return { refused: () => codes.includes(-32005), end: () => void sockets.map((socket) => socket.terminate()) };
    };
    const startedMs = performance.now();
    const one = await ask(1);
    await expect.poll(one.refused).toBe(true);
    one.end();
    const neededMs = performance.now() - startedMs;
    const two = await ask(2);
    await new Promise((resolve) => setTimeout(resolve, neededMs));
    expect(two.refused()).toBe(false);
    two.end();
  },
  async "rpc.max-trace-filter-blocks"() {
    const node = await start(["--rpc.max-trace-filter-blocks=2", "--http.api=eth,trace"]);
    for (let blocks = 0; blocks < 3; blocks++) await node.buildBlock();
    const filter = (fromBlock: string) => node.rpc.call("trace_filter", [{ fromBlock, toBlock: "0x3" }]);
    expect(await failureOf(filter("0x1"))).toMatchObject({ code: -32602, message: expect.stringContaining("limited to 2 blocks") });
    expect(await filter("0x2")).toBeInstanceOf(Array);
  },
  async "rpc.txsync.defaulttimeout"() {
    const node = await start(["--rpc.txsync.defaulttimeout=30ms"]);
    const waited = await failureOf(node.rpc.call("eth_sendRawTransactionSync", [await sign(0)]));
    expect(waited).toMatchObject({ code: 4, message: expect.stringMatching(/within 30ms\.$/), data: expect.stringMatching(/^0x/) });
  },
  async "rpc.txsync.maxtimeout"() {
    const node = await start(["--profile=G", "--rpc.txsync.maxtimeout=40ms"]);
    const waited = await failureOf(node.rpc.call("eth_sendRawTransactionSync", [await sign(0), 60_000]));
    expect(waited).toMatchObject({ code: 4, message: expect.stringMatching(/wasn't processed in 40ms$/) });
  },
  async "rpc.txfeecap"() {
    const dear = { gas: 1_000_000n, maxFeePerGas: 10n ** 13n }; // ten ether
    expect(await failureOf(send(await start(), 0, dear))).toMatchObject({
      code: -32000,
      message: `tx fee (${10n ** 19n} wei) exceeds the configured cap (${10n ** 18n} wei)`,
    });
    expect(await failureOf(send(await start(["--rpc.txfeecap=9.5"]), 0, dear))).toMatchObject({
      message: expect.stringContaining("configured cap (9500000000000000000 wei)"),
    });
    for (const cap of ["10", "0"]) expect(await send(await start([`--rpc.txfeecap=${cap}`]), 0, dear)).toMatch(/^0x/);
  },
  async "rpc.max-blocks-per-filter"() {
    const node = await start(["--rpc.max-blocks-per-filter=2"]);
    await withLogs(node, 3, 1);
    const ask = (fromBlock: string, toBlock: string) => node.rpc.call<unknown[]>("eth_getLogs", [{ fromBlock, toBlock }]);
    const { code, message } = await failureOf(ask("0x1", "0x4"));
    expect([code, message]).toEqual([-32602, "query exceeds max block range 2, retry with the range 1-2"]);
    expect(await ask("0x1", "0x2")).toHaveLength(1); // the range that the error suggested
    const unlimited = await start(["--rpc.max-blocks-per-filter=0"]);
    await withLogs(unlimited, 3, 1);
    expect(await unlimited.rpc.call("eth_getLogs", [{ fromBlock: "0x0", toBlock: "0x4" }])).toHaveLength(3);
  },
  async "rpc.max-logs-per-response"() {
    const node = await start(["--profile=G", "--rpc.max-logs-per-response=3"]);
    await withLogs(node, 2, 2);
    const ask = (fromBlock: string, toBlock: string) => node.rpc.call<unknown[]>("eth_getLogs", [{ fromBlock, toBlock }]);
    const { code, message } = await failureOf(ask("0x1", "0x3"));
    expect([code, message]).toEqual([-32000, "query exceeds max results 3, retry with the range 1-2"]);
    expect(await ask("0x1", "0x2")).toHaveLength(2);
  },
  async "rpc.max-request-size"() {
    const data = `0x${"00".repeat(700_000)}`;
    const ask = async (mib: number) => (await start([`--rpc.max-request-size=${mib}`])).rpc.call("web3_sha3", [data]);
    expect(await failureOf(ask(1))).toMatchObject({ message: expect.stringMatching(/too big|413/i) });
    for (const enough of [2, 0]) expect(await ask(enough)).toMatch(/^0x[0-9a-f]{64}$/);
  },
  async "rpc.max-response-size"() {
    const ask = async (mib: number) => run(await start([`--rpc.max-response-size=${mib}`]), "700000 0 RETURN");
    expect(await failureOf(ask(1))).toMatchObject({ code: -32008, message: "Response is too big" });
    for (const enough of [2, 0]) expect(await ask(enough)).toHaveLength(2 + 1_400_000);
  },
  async "rpc.max-batch-length"() {
    const batch = async (limit: number, length: number): Promise<unknown> => {
      const { httpUrl } = await start([`--rpc.max-batch-length=${limit}`]);
      const one = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] };
      const body = JSON.stringify(Array.from({ length }, () => one));
      return (await fetch(httpUrl, { method: "POST", headers: { "content-type": "application/json" }, body })).json();
    };
    expect(await batch(2, 2)).toHaveLength(2);
    expect(await batch(0, 1500)).toHaveLength(1500);
    expect(await batch(2, 3)).toMatchObject({ error: { code: -32010, data: "Exceeded max limit of 2" } });
  },
  async "rpc.max-connections"() {
    const held = async (args: string[]) => {
      const { wsUrl } = await start(args);
      const first = new WebSocket(wsUrl);
      await new Promise((resolve) => first.once("open", resolve));
      const second = await opens(wsUrl);
      first.terminate();
      return second;
    };
    const of = (limit: number) => held([`--rpc.max-connections=${limit}`]);
    expect([await of(1), await of(2), await of(0)]).toEqual([false, true, true]);
  },
  async "gpo.minsuggestedpriorityfee"() {
    const node = await start(["--gpo.minsuggestedpriorityfee=12345"]);
    expect(await node.rpc.call("eth_maxPriorityFeePerGas")).toBe("0x3039");
    expect(await node.rpc.call("eth_gasPrice")).toBe(`0x${(GWEI + 12_345n).toString(16)}`);
  },
  async "gpo.maxprice"() {
    const node = await start(["--gpo.minsuggestedpriorityfee=12345", "--gpo.maxprice=99"]);
    expect(await node.rpc.call("eth_maxPriorityFeePerGas")).toBe("0x63");
  },
  async "txpool.journal"() {
    const waiting = async (journal: string): Promise<string> => {
      const node = await start([`--txpool.journal=${journal}`]);
      await send(node, 0);
      await stop(node);
      expect(journal !== "" && existsSync(join(node.folder, "data", journal))).toBe(journal !== "");
      const again = await start([`--txpool.journal=${journal}`], node.folder);
      const pending = async () => (await again.rpc.call<{ pending: string }>("txpool_status")).pending;
      if (journal !== "") await expect.poll(pending).toBe("0x1");
      return pending();
    };
    expect([await waiting("own.rlp"), await waiting("")]).toEqual(["0x1", "0x0"]);
  },
  async "txpool.rejournal"() {
    const node = await start(["--txpool.rejournal=1s"]);
    const size = () => statSync(join(node.folder, "data", "transactions.rlp")).size;
    await send(node, 0);
    await expect.poll(size).toBeGreaterThan(0);
    await node.buildBlock();
    await expect.poll(size).toBe(0); // rewritten without the mined transactions
  },
  async "txpool.lifetime"() {
    const waitedFor = async (args: string[]) => {
      const node = await start(args);
      await send(node, 3);
      const now = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: now + 100_000 });
      await node.buildBlock();
      vi.useRealTimers();
      return (await node.rpc.call<{ queued: string }>("txpool_status")).queued;
    };
    expect([await waitedFor(["--txpool.lifetime=99s"]), await waitedFor(["--txpool.lifetime=5m"])]).toEqual(["0x0", "0x1"]);
  },
  async "txpool.accountslots"() {
    const node = await start(["--txpool.accountslots=1"]);
    for (const nonce of [0, 1, 2]) await send(node, nonce);
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x2" });
  },
  async "txpool.pricebump"() {
    const node = await start(["--txpool.pricebump=50"]);
    await send(node, 0, { maxPriorityFeePerGas: 100n });
    const bumped = (percent: bigint) =>
      send(node, 0, { maxFeePerGas: (2n * GWEI * (100n + percent)) / 100n, maxPriorityFeePerGas: 100n + percent });
    expect(await failureOf(bumped(49n))).toMatchObject({ message: "replacement transaction underpriced" });
    expect(await bumped(50n)).toMatch(/^0x/);
  },
  async "log.level"() {
    for (const level of ["error", "info"]) expect(logged()).toContain(`at ${level}`);
    expect(logged()).not.toContain("at debug");
    expect(logged("--log.level=debug")).toContain("at debug");
    expect(logged("--log.level=error")).not.toContain("at info");
  },
  async "log.format"() {
    expect(JSON.parse(logged("--log.format=json", "--log.level=error"))).toMatchObject({ msg: "at error", number: 5 });
    expect(logged("--log.format=logfmt")).toMatch(/lvl=info msg="at info" number=5/);
  },
  async "log.color"() {
    const coloured = (...args: string[]) => logged("--log.format=terminal", ...args).includes("\u001b[");
    expect([coloured(), coloured("--log.color")]).toEqual([false, true]);
  },
  async "log.pid"() {
    const pid = `pid=${process.pid}`;
    expect([logged("--log.format=logfmt").includes(pid), logged("--log.format=logfmt", "--log.pid").includes(pid)]).toEqual([
      false,
      true,
    ]);
  },
  async "metrics.enabled"() {
    const port = await freePort();
    await start(["--metrics.enabled=false", `--metrics.port=${port}`, "--metrics.addr=127.0.0.1"]);
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  },
  async "metrics.port"() {
    const port = await freePort();
    const node = await start(["--metrics.enabled", `--metrics.port=${port}`, "--metrics.addr=127.0.0.1"]);
    await node.buildBlock();
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toMatch(/^rengine_chain_head_block 1$/m);
  },
  async "metrics.addr"() {
    const port = await freePort();
    await start(["--metrics.enabled", `--metrics.port=${port}`, "--metrics.addr=127.0.0.2"]);
    expect((await fetch(`http://127.0.0.2:${port}/metrics`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
  },
};

/** What the program logs with these options. */
function logged(...args: string[]): string {
  const parsed = parseOptions(clientTable, ["--chain=x", "--datadir=x", ...args], {});
  if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
  const lines: string[] = [];
  const log = createLogger({ ...parsed.options.log, destination: { write: (line) => lines.push(line) } });
  for (const level of ["error", "info", "debug"] as const) log[level](`at ${level}`, { number: 5 });
  return lines.join("");
}

/** Options tested elsewhere, with the path of the test from the root. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  chain: "programs/rengine/src/commands/commands.test.ts",
  genesis: "programs/rengine/src/commands/commands.test.ts",
  registry: "programs/rengine/src/setup/chain-spec.test.ts",
  datadir: "programs/rengine/src/commands/commands.test.ts",
  offline: "programs/rengine/src/commands/commands.test.ts",
  profile: "programs/rengine/src/requirements.test.ts",
  full: "programs/rengine/src/commands/commands.test.ts",
  preimages: "programs/rengine/src/answers/preimages.test.ts",
  snapshot: "programs/rengine/src/setup/start-from-snapshot.test.ts",
  "snapshot.public-key": "programs/rengine/src/setup/start-from-snapshot.test.ts",
  "snapshot.block-hash": "programs/rengine/src/setup/start-from-snapshot.test.ts",
  "history.blocks": "programs/rengine/src/pruning.test.ts",
  "proofs.window": "programs/rengine/src/pruning.test.ts",
  "rollup.upgrades-dir": "packages/execution/chain/src/execute/create2-deployer.test.ts",
  "engine.max-execution-time": "programs/rengine/src/engine/engine-faults.test.ts",
  "rollup.sequencer-http": "programs/rengine/src/pool/pool-service.test.ts",
  "rollup.disable-tx-pool-gossip": "programs/rengine/src/network/network.test.ts",
  "rollup.interop-http": "programs/rengine/src/pool/message-checks.test.ts",
  "rollup.interop-min-responses": "programs/rengine/src/pool/message-checks.test.ts",
  "rollup.interop-safety-level": "programs/rengine/src/pool/message-checks.test.ts",
  "rollup.enable-tx-conditional": "programs/rengine/src/answers/eth-send.test.ts",
  "rollup.operator-sdm-opt-in": "programs/rengine/src/answers/sdm.test.ts",
  subblocks: "programs/rengine/src/subblocks/subblocks.test.ts",
  "subblocks.interval": "programs/rengine/src/subblocks/subblocks.test.ts",
  "flashblocks-url": "programs/rengine/src/subblocks/subblocks.test.ts",
  "subblocks.port": "programs/rengine/src/subblocks/subblocks.test.ts",
  "subblocks.early-receipts": "programs/rengine/src/subblocks/subblocks.test.ts",
  "subblocks.brotli": "programs/rengine/src/subblocks/subblocks.test.ts",
  "subblocks.addr": "programs/rengine/src/subblocks/stream.test.ts",
  "subblocks.max-connections": "programs/rengine/src/subblocks/stream.test.ts",
  "subblocks.max-connections-per-address": "programs/rengine/src/subblocks/stream.test.ts",
  "rpc.workeridle": "programs/rengine/src/readers/on-demand.test.ts",
  "rpc.workertimeout": "programs/rengine/src/readers/readers.test.ts",
  "rpc.max-waiting-requests": "programs/rengine/src/readers/costly.test.ts",
  "rpc.max-waiting-size": "programs/rengine/src/readers/costly.test.ts",
  "rpc.max-gas-per-request": "programs/rengine/src/readers/costly.test.ts",
  "rpc.max-gas-per-connection": "programs/rengine/src/readers/costly.test.ts",
  "rpc.max-gas-per-address": "programs/rengine/src/readers/costly.test.ts",
  dev: "programs/rengine/src/dev/dev-options.test.ts",
  "dev.fork": "programs/rengine/src/dev/blobs.test.ts",
  "dev.block-time": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.no-mining": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.slot-time": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.slots-in-an-epoch": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.chain-id": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.accounts": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.balance": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.mnemonic": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.gas-limit": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.base-fee": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.timestamp": "programs/rengine/src/dev/dev-options.test.ts",
  "dev.blob-retention": "programs/rengine/src/dev/dev-options.test.ts",
  addr: "programs/rengine/src/network/network.test.ts",
  port: "programs/rengine/src/network/network.test.ts",
  "discovery.port": "programs/rengine/src/network/network.test.ts",
  "disable-discovery": "programs/rengine/src/network/network.test.ts",
  "dev.client-name": "programs/rengine/src/dev/test-tools.test.ts",
  "fork-url": "programs/devnet/src/e2e/fork.e2e.ts",
  "fork-block": "programs/devnet/src/e2e/fork.e2e.ts",
  "fork-cache": "programs/rengine/src/dev/fork-rollup.test.ts",
  "fork-cache.size": "programs/rengine/src/dev/fork-rollup.test.ts",
  bootnodes: "programs/rengine/src/network/network.test.ts",
  "trusted-peers": "programs/rengine/src/network/network.test.ts",
  nodekey: "programs/rengine/src/network/network.test.ts",
  "max-peers": "programs/rengine/src/network/network.test.ts",
  nat: "programs/rengine/src/network/network.test.ts",
  "snapsync.min-blocks": "programs/rengine/src/sync/state-sync.test.ts",
  dashboard: "programs/dashboard/src/server/open-dashboard.test.ts",
  "dashboard.addr": "programs/dashboard/src/server/open-dashboard.test.ts",
  "dashboard.port": "programs/dashboard/src/server/open-dashboard.test.ts",
  "dashboard.vhosts": "programs/dashboard/src/server/open-dashboard.test.ts",
  "rpc.evmtimeout": "programs/rengine/src/answers/eth-simulate.test.ts",
  "rpc.max-subscriptions-per-connection": "programs/rengine/src/answers/subscriptions.test.ts",
  "metrics.vhosts": "packages/kit/program/src/servers/metrics-server.test.ts",
  "pprof.vhosts": "packages/kit/program/src/pprof/pprof.test.ts",
  "pprof.enabled": "packages/kit/program/src/run/run-program.test.ts",
  "pprof.addr": "packages/kit/program/src/run/run-program.test.ts",
  "pprof.port": "packages/kit/program/src/run/run-program.test.ts",
  "pprof.path": "packages/kit/program/src/run/run-program.test.ts",
  "shutdown.delay": "packages/kit/program/src/run/run-program.test.ts",
  "pprof.type": "packages/kit/program/src/run/run-program.test.ts",
  "txpool.globalslots": "programs/rengine/src/pool/pool-rules.test.ts",
  "txpool.accountqueue": "programs/rengine/src/pool/pool-rules.test.ts",
  "txpool.globalqueue": "programs/rengine/src/pool/pool-rules.test.ts",
  "txpool.locals": "programs/rengine/src/pool/pool-rules.test.ts",
  "txpool.nolocals": "programs/rengine/src/pool/pool-rules.test.ts",
  "txpool.pricelimit": "programs/rengine/src/pool/pool-rules.test.ts",
};

describe("each option", () => {
  it.each(Object.entries(TESTS))("--%s", (_, test) => test(), 60_000);

  it("is tested, here or where it is said", () => {
    const flags = resolveOptions(clientTable).map(({ flag }) => flag);
    expect([...Object.keys(TESTS), ...Object.keys(ELSEWHERE)].sort()).toEqual([...flags].sort());
    for (const [flag, file] of Object.entries(ELSEWHERE)) {
      const text = readFileSync(join(import.meta.dirname, "../../..", file), "utf8");
      const name = flag === "rollup.upgrades-dir" ? "upgradesDir" : `--${flag}`;
      expect([flag, text.includes(name)]).toEqual([flag, true]);
    }
  });
});
