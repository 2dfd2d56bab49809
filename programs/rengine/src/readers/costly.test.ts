import { type ClientRequest, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { RpcErrorBody } from "@rnode/jsonrpc";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
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
/** as `eth_callMany` reports it */
const OUT_OF_GAS_TOO = { error: expect.stringContaining("out of gas") };
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

function post(url: string, payload: unknown, localAddress = "127.0.0.1"): Asked {
  const body = JSON.stringify(payload);
  let sent: ClientRequest | undefined;
  const answer = new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    sent = request(url, { method: "POST", agent: false, localAddress, headers }, (response) => {
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
        "--rpc.max-gas-per-request=0",
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

  const ask = (payload: unknown, localAddress?: string): Asked => post(node.httpUrl, payload, localAddress);

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

  const holdsUpNoCheapOne = async (name: string): Promise<void> => {
    const asked = times(3, () => ask(endless[name]));
    await isBusy();
    for (let i = 0; i < 5; i++) expect(await honest.call("eth_blockNumber")).toBe("0x14");
    for (const { leave } of asked) leave();
    expect(await ask(rpc("eth_call", [SLOW, "latest"])).answer).toMatchObject({ error: OUT_OF_GAS });
  };
  const [quick, ...others] = Object.keys(endless);
  it(`hold up no cheap one, and end when their client leaves: ${quick}`, () => holdsUpNoCheapOne(quick!));
  it.each(others)("hold up no cheap one, and end when their client leaves: %s", { tags: "long" }, holdsUpNoCheapOne);

  const large: Readonly<Record<string, unknown>> = {
    "overrides with large code": rpc("eth_call", [
      SLOW,
      "latest",
      Object.fromEntries(times(10, (i) => [addressOf(i), { code: largeCode }])),
    ]),
    eth_feeHistory: times(60, (id) => rpc("eth_feeHistory", ["0x400", "latest", times(100, (percentile) => percentile)], id)),
    eth_getProof: times(10, (id) => rpc("eth_getProof", [SLOW.to, times(1024, (slot) => `0x${slot.toString(16)}`), "latest"], id)),
  };
  it.each(Object.keys(large))("hold up no cheap one: %s", { tags: "long" }, async (name) => {
    let isDone = false;
    const asked = ask(large[name]);
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

  it("that are very large are read where they are answered, and so are batches, whatever is in them", {
    tags: "long",
  }, async () => {
    const overrides = Object.fromEntries(times(2, (index) => [addressOf(index), { code: largeCode }]));
    const batch = [
      rpc("eth_blockNumber", [], 1),
      rpc("eth_call", [{ to: addressOf(2) }, "latest", overrides], 2),
      rpc("eth_sendRawTransaction", [`0x02${"00".repeat(300_000)}`], 3),
      rpc("eth_call", [{ to: addressOf(2), data: "0x12" }, "latest"], 4),
      rpc("eth_newBlockFilter", [], 5),
      rpc("eth_sendRawTransaction", [`0x02${"00".repeat(1_100_000)}`], 6),
    ];
    expect(await ask(batch).answer).toEqual([
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
    expect(await ask(rpc("eth_call", [SLOW, "latest"])).answer).toMatchObject({ error: OUT_OF_GAS });
  });

  it("of one address wait for each other, not others for them", { tags: "long" }, async () => {
    const order: string[] = [];
    const named = (name: string, address?: string): Promise<unknown> =>
      ask(rpc("eth_call", [SLOW, "latest"]), address).answer.then(() => order.push(name));
    const first = ask(rpc("eth_call", [ENDLESS, "latest"]));
    await isBusy();
    const many = times(4, (index) => named(`many ${index}`));
    await isBusy();
    const one = named("one", "127.0.0.2");
    await isBusy();
    first.leave();
    await Promise.all([...many, one]);
    expect(order[0]).toBe("one");
  });

  it("are refused when too many wait; an address may have a quarter of them", { tags: "long" }, async () => {
    const running = ask(rpc("eth_call", [ENDLESS, "latest"]));
    await isBusy();
    const waiting = times(4, () => ask(rpc("eth_call", [ENDLESS, "latest"])));
    await isBusy();
    const { error } = (await ask(rpc("eth_call", [ENDLESS, "latest"])).answer) as { error: RpcErrorBody };
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining("--rpc.max-waiting-requests") });
    for (const { leave } of [running, ...waiting]) leave();
  });
});

describe("the gas of a costly request", () => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient(
      [
        "--rpc.workers=1",
        "--rpc.gascap=1000000000000000",
        "--rpc.evmtimeout=0",
        "--rpc.tracetimeout=0",
        "--rpc.max-gas-per-request=30000000",
      ],
      undefined,
      { alloc },
    );
  });
  afterAll(() => node?.remove());

  /** Each burns 10 million gas several times, or more than 30 million at once. */
  const hungry: Readonly<Record<string, unknown>> = {
    eth_call: rpc("eth_call", [ENDLESS, "latest"]),
    eth_callMany: rpc("eth_callMany", [times(4, () => ({ transactions: [SLOW] }))]),
    eth_estimateGas: rpc("eth_estimateGas", [{ ...ENDLESS, gas: "0xffffffffffff" }]),
    eth_createAccessList: rpc("eth_createAccessList", [ENDLESS]),
    eth_simulateV1: rpc("eth_simulateV1", [
      { blockStateCalls: [{ blockOverrides: { gasLimit: "0xffffffffffff" }, calls: times(4, () => SLOW) }] },
    ]),
    debug_traceCall: rpc("debug_traceCall", [ENDLESS, "latest", { tracer: "callTracer", timeout: "1h" }]),
    "debug_traceCall, instructions": rpc("debug_traceCall", [ENDLESS, "latest", { tracer: "4byteTracer", timeout: "1h" }]),
    debug_traceCallMany: rpc("debug_traceCallMany", [times(4, () => ({ transactions: [SLOW] })), {}, { tracer: "callTracer" }]),
  };
  const isLimited = async (name: string): Promise<void> => {
    expect(await post(node.httpUrl, hungry[name]).answer).toMatchObject({
      error: { code: -32005, message: expect.stringContaining("--rpc.max-gas-per-request") },
    });
  };
  const [quick, ...others] = Object.keys(hungry);
  it(`is limited, all that it executes taken together: ${quick}`, () => isLimited(quick!));
  it.each(others)("is limited, all that it executes taken together: %s", { tags: "long" }, isLimited);

  it("is counted anew for the next, which is served", { tags: "long" }, async () => {
    const some = rpc("eth_callMany", [times(2, () => ({ transactions: [SLOW] }))]);
    for (let time = 0; time < 2; time++) {
      expect(await post(node.httpUrl, some).answer).toMatchObject({ result: [[OUT_OF_GAS_TOO], [OUT_OF_GAS_TOO]] });
    }
  });
});

describe("a budget of gas that is used up keeps nobody else out", () => {
  const endless = rpc("eth_call", [ENDLESS, "latest"]);
  /** 20,000 gas may be burned at once: this is more, and is answered at once, as it is short. */
  const spends = rpc("eth_call", [{ to: addressOf(1) }, "latest"]);
  /** Is not attempted where it would be answered at once. */
  const honest = rpc("debug_traceCall", [SLOW, "latest", { tracer: "callTracer" }]);
  const HONEST_ANSWER = { result: { error: expect.stringContaining("out of gas") } };

  async function withNode(option: string, run: (node: TestClient) => Promise<void>): Promise<void> {
    const options = ["--rpc.workers=1", "--rpc.gascap=1000000000000000", "--rpc.evmtimeout=0", "--rpc.max-gas-per-request=0"];
    const node = await startTestClient([...options, "--rpc.max-waiting-requests=16", option], undefined, { alloc });
    try {
      await run(node);
    } finally {
      await node.remove();
    }
  }

  it("of addresses, however many connections they have", { tags: "long" }, () =>
    withNode("--rpc.max-gas-per-address=2000", async ({ httpUrl }) => {
      const running = post(httpUrl, endless, "127.0.0.30");
      await isBusy();
      const attackers = times(4, (index) => `127.0.0.${20 + index}`);
      const refusals: string[] = [];
      const waiting = attackers.flatMap((address) => times(10, () => post(httpUrl, endless, address)));
      for (const { answer } of waiting) answer.then((outcome) => refusals.push(JSON.stringify(outcome))).catch(() => {});
      await vi.waitFor(() => expect(refusals).toHaveLength(4 * 6), 60_000); // all places are taken
      for (let call = 0; call < 3; call++) await post(httpUrl, spends, attackers[0]).answer;
      const { answer } = post(httpUrl, honest, "127.0.0.9");
      await vi.waitFor(() => expect(refusals).toHaveLength(4 * 6 + 1), 60_000);
      expect(refusals.at(-1)).toContain("your address has burned");
      for (const { leave } of [running, ...waiting]) leave();
      expect(await answer).toMatchObject(HONEST_ANSWER);
    }),
  );

  it("of a connection, from its own address", { tags: "long" }, () =>
    withNode("--rpc.max-gas-per-connection=2000", async ({ httpUrl, wsUrl }) => {
      const greedy = new WebSocket(wsUrl);
      const refusals: string[] = [];
      greedy.on("message", (data: Buffer) => void (data.includes("-32005") && refusals.push(data.toString())));
      await new Promise((resolve) => greedy.once("open", resolve));
      greedy.send(JSON.stringify(endless));
      await isBusy();
      for (let count = 0; count < 10; count++) greedy.send(JSON.stringify(endless));
      await vi.waitFor(() => expect(refusals).toHaveLength(6), 60_000); // its address may have four that wait
      for (let call = 0; call < 3; call++) greedy.send(JSON.stringify(spends));
      const { answer } = post(httpUrl, honest);
      await vi.waitFor(() => expect(refusals.join()).toContain("this connection has burned"), 60_000);
      greedy.terminate();
      expect(await answer).toMatchObject(HONEST_ANSWER);
    }),
  );
});

describe("costly requests that wait", () => {
  it("are bounded in bytes", { tags: "long" }, async () => {
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
