import { type ClientRequest, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { RpcErrorBody } from "@rnode/jsonrpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { buildPackage } from "../testing/built-package.ts";
import { type Connection, connect } from "../testing/reader-connections.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

/** JUMPDEST, PUSH1 0, JUMP */
const ENDLESS_CODE = "0x5b600056";
const ENDLESS = { to: "0x00000000000000000000000000000000000000bb" } as const;
/** JUMPDEST, PUSH2 1024, PUSH0, KECCAK256, POP, PUSH0, JUMP: some tenths of a second for 10 million gas */
const SLOW = { to: "0x00000000000000000000000000000000000000cc", gas: "0x989680" } as const;
const alloc = {
  [ENDLESS.to]: { balance: "0x0", nonce: "0x1", code: ENDLESS_CODE },
  [SLOW.to]: { balance: "0x0", nonce: "0x1", code: "0x5b6104005f20505f56" },
} as const;
const OUT_OF_GAS = expect.objectContaining({ message: expect.stringContaining("out of gas") });

const rpc = (method: string, params: readonly unknown[], id = 1) => ({ jsonrpc: "2.0", id, method, params });
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const largeCode = `0x${"5b".repeat(300_000)}600056`;
const addressOf = (index: number): string => `0x${(0x1000 + index).toString(16).padStart(40, "0")}`;

beforeAll(() => buildPackage(), 120_000);

/** One request on a connection of its own. */
interface Asked {
  readonly answer: Promise<unknown>;
  /** closes the connection */
  readonly leave: () => void;
}

describe("costly requests", () => {
  let node: TestClient;
  let honest: Connection;
  beforeAll(async () => {
    node = await startTestClient(
      [
        "--rpc.workers=1",
        "--rpc.gascap=1000000000000000",
        "--rpc.evmtimeout=0",
        "--rpc.tracetimeout=0",
        "--rpc.max-waiting-requests=16",
      ],
      undefined,
      { alloc },
    );
    for (let number = 0; number < 20; number++) await node.buildBlock();
    honest = await connect(node.httpUrl);
  });
  afterAll(async () => {
    honest?.close();
    await node?.remove();
  });

  function post(payload: unknown, localAddress = "127.0.0.1"): Asked {
    const body = JSON.stringify(payload);
    let sent: ClientRequest | undefined;
    const answer = new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      sent = request(node.httpUrl, { method: "POST", agent: false, localAddress, headers }, (response) => {
        let text = "";
        response.on("data", (part: Buffer) => {
          text += part.toString();
        });
        response.on("end", () => resolve(JSON.parse(text)));
      });
      sent.on("error", reject);
      sent.end(body);
    });
    answer.catch(() => {}); // whoever closes the connection gets none
    return { answer, leave: () => sent?.destroy() };
  }

  /** Waits until the reader works on costly requests or has them waiting. */
  const isBusy = () => sleep(150);

  /** Requests that end only when their client leaves. */
  const endless: Readonly<Record<string, unknown>> = {
    eth_call: rpc("eth_call", [ENDLESS, "latest"]),
    "eth_call in a batch": times(20, (id) => rpc("eth_call", [ENDLESS, "latest"], id)),
    "eth_call with overrides": rpc("eth_call", [SLOW, "latest", { [SLOW.to]: { code: ENDLESS_CODE } }]),
    eth_callMany: rpc("eth_callMany", [times(20, () => ({ transactions: [ENDLESS, ENDLESS] }))]),
    eth_estimateGas: rpc("eth_estimateGas", [{ ...ENDLESS, gas: "0xffffffffffff" }]),
    eth_createAccessList: rpc("eth_createAccessList", [ENDLESS]),
    eth_simulateV1: rpc("eth_simulateV1", [
      { blockStateCalls: [{ blockOverrides: { gasLimit: "0xffffffffffff" }, calls: [ENDLESS] }] },
    ]),
    debug_traceCall: rpc("debug_traceCall", [ENDLESS, "latest", { tracer: "callTracer", timeout: "1h" }]),
    debug_traceCallMany: rpc("debug_traceCallMany", [[{ transactions: [ENDLESS] }], {}, { tracer: "callTracer", timeout: "1h" }]),
  };

  it.each(Object.keys(endless))("hold up no cheap one, and end when their client leaves: %s", async (name) => {
    const asked = times(3, () => post(endless[name]));
    await isBusy();
    for (let i = 0; i < 5; i++) expect(await honest.call("eth_blockNumber")).toBe("0x14");
    for (const { leave } of asked) leave();
    expect(await post(rpc("eth_call", [SLOW, "latest"])).answer).toMatchObject({ error: OUT_OF_GAS });
  });

  const large: Readonly<Record<string, unknown>> = {
    "overrides with large code": rpc("eth_call", [
      SLOW,
      "latest",
      Object.fromEntries(times(10, (i) => [addressOf(i), { code: largeCode }])),
    ]),
    eth_feeHistory: times(60, (id) => rpc("eth_feeHistory", ["0x400", "latest", times(100, (percentile) => percentile)], id)),
    eth_getProof: times(10, (id) => rpc("eth_getProof", [SLOW.to, times(1024, (slot) => `0x${slot.toString(16)}`), "latest"], id)),
  };
  it.each(Object.keys(large))("hold up no cheap one: %s", async (name) => {
    let isDone = false;
    const asked = post(large[name]);
    void asked.answer.then(() => {
      isDone = true;
    });
    await sleep(20);
    let before = 0;
    while (!isDone && before < 5) {
      expect(await honest.call("eth_blockNumber")).toBe("0x14");
      before++;
    }
    expect(before).toBeGreaterThan(0);
    expect(JSON.stringify(await asked.answer)).not.toContain("-32005");
  });

  it("that are very large are read where they are answered, and so are batches, whatever is in them", async () => {
    const overrides = Object.fromEntries(times(2, (index) => [addressOf(index), { code: largeCode }]));
    const batch = [
      rpc("eth_blockNumber", [], 1),
      rpc("eth_call", [{ to: addressOf(2) }, "latest", overrides], 2),
      rpc("eth_sendRawTransaction", [`0x02${"00".repeat(300_000)}`], 3),
      rpc("eth_call", [{ to: addressOf(2), data: "0x12" }, "latest"], 4),
      rpc("eth_newBlockFilter", [], 5),
      rpc("eth_sendRawTransaction", [`0x02${"00".repeat(1_100_000)}`], 6),
    ];
    expect(await post(batch).answer).toEqual([
      { jsonrpc: "2.0", id: 1, result: "0x14" },
      { jsonrpc: "2.0", id: 2, result: "0x" },
      { jsonrpc: "2.0", id: 3, error: expect.anything() },
      { jsonrpc: "2.0", id: 4, result: "0x" },
      { jsonrpc: "2.0", id: 5, result: expect.stringMatching(/^0x[0-9a-f]{32}$/) },
      { jsonrpc: "2.0", id: 6, error: expect.objectContaining({ message: expect.stringMatching(/too (large|big)/) }) },
    ]);
    const socket = new WebSocket(node.wsUrl);
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(JSON.stringify(batch[1]));
    const data = await new Promise<Buffer>((resolve) => socket.once("message", resolve));
    expect(JSON.parse(data.toString("utf8"))).toEqual({ jsonrpc: "2.0", id: 2, result: "0x" });
    socket.close();
  });

  it("of a WebSocket end with it", async () => {
    const socket = new WebSocket(node.wsUrl);
    await new Promise((resolve) => socket.once("open", resolve));
    for (let id = 0; id < 3; id++) socket.send(JSON.stringify(rpc("eth_call", [ENDLESS, "latest"], id)));
    await isBusy();
    socket.terminate();
    expect(await post(rpc("eth_call", [SLOW, "latest"])).answer).toMatchObject({ error: OUT_OF_GAS });
  });

  it("of one address wait for each other, not others for them", async () => {
    const order: string[] = [];
    const ask = (name: string, address?: string): Promise<unknown> =>
      post(rpc("eth_call", [SLOW, "latest"]), address).answer.then(() => order.push(name));
    const first = post(rpc("eth_call", [ENDLESS, "latest"]));
    await isBusy();
    const many = times(4, (index) => ask(`many ${index}`));
    await isBusy();
    const one = ask("one", "127.0.0.2");
    await isBusy();
    first.leave();
    await Promise.all([...many, one]);
    expect(order[0]).toBe("one");
  });

  it("are refused when too many wait; an address may have a quarter of them", async () => {
    const running = post(rpc("eth_call", [ENDLESS, "latest"]));
    await isBusy();
    const waiting = times(4, () => post(rpc("eth_call", [ENDLESS, "latest"])));
    await isBusy();
    const { error } = (await post(rpc("eth_call", [ENDLESS, "latest"])).answer) as { error: RpcErrorBody };
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining("--rpc.max-waiting-requests") });
    for (const { leave } of [running, ...waiting]) leave();
  });
});

describe("costly requests that wait", () => {
  it("are bounded in bytes", async () => {
    const node = await startTestClient(
      ["--rpc.workers=1", "--rpc.gascap=1000000000000000", "--rpc.evmtimeout=0", "--rpc.max-waiting-size=1"],
      undefined,
      {
        alloc,
      },
    );
    try {
      const connections = await Promise.all(times(4, () => connect(node.httpUrl)));
      const call = { ...ENDLESS, data: `0x${"00".repeat(300_000)}` };
      const outcomes = connections.map(({ call: ask }) => ask("eth_call", [call, "latest"]).catch((error: unknown) => error));
      expect(await Promise.race(outcomes)).toMatchObject({
        code: -32005,
        message: expect.stringContaining("--rpc.max-waiting-size"),
      });
      for (const connection of connections) connection.close();
      await Promise.all(outcomes);
    } finally {
      await node.remove();
    }
  });
});
