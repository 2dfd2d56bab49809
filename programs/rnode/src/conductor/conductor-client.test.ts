import { createServer, type Server, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { createRpcClient } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { ManualClock } from "@rnode/primitives/testing";
import { systemClock } from "@rnode/program";
import { afterEach, describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { FakeConductor } from "../testing/fake-conductor.ts";
import { ConductorClient } from "./conductor-client.ts";

const config = testConfig();
const engine = new FakeEngine(config);
const genesis = engine.block(engine.head).ref;
const { envelope } = engine.make(genesis, attributesOn(config, genesis, new FakeL1(1).blocks[0]!));
const COMMIT = "conductor_commitUnsafePayload";
const unheard = new AbortController().signal;

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

function clientOf(url: string, rpcTimeoutMs = 2_000): ConductorClient {
  const client = new ConductorClient({ rpcTimeoutMs }, { rpc: createRpcClient({ url }), clock: systemClock, log: silentLogger });
  opened.unshift(client);
  return client;
}

async function conductorWithClient(rpcTimeoutMs?: number) {
  const conductor = await new FakeConductor().listen();
  opened.push(conductor);
  return { conductor, client: clientOf(conductor.url, rpcTimeoutMs) };
}

/** A server that does to each connection what it is told. */
async function rawServer(onData: (socket: Socket) => void): Promise<{ url: string; connections: Socket[]; server: Server }> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => {});
    socket.on("data", () => onData(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push({
    close: () => {
      for (const socket of connections) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, connections, server };
}

describe("the conductor client", () => {
  it("says whether this node leads, and hands over blocks in the Engine API's form", async () => {
    const { conductor, client } = await conductorWithClient();
    expect(await client.isLeader()).toBe(true);
    conductor.isLeader = false;
    expect(await client.isLeader()).toBe(false);
    conductor.isLeader = true;
    expect(await client.consent(envelope, unheard)).toBe("leader");
    const { blockNumber, blockHash } = envelope.executionPayload;
    expect(conductor.commits).toEqual([{ number: blockNumber, hash: bytesToHex(blockHash) }]);
  });

  it("connects when it has something to ask, not before", async () => {
    const { url, connections } = await rawServer((socket) => socket.destroy());
    const client = clientOf(url);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(connections).toHaveLength(0);
    await expect(client.isLeader()).rejects.toMatchObject({ code: "conductor/unavailable" });
    expect(connections).toHaveLength(2); // both attempts
  });

  it("asks once more, 50 ms later, whatever went wrong", async () => {
    const { conductor, client } = await conductorWithClient();
    conductor.next.push(new Error("raft is busy"));
    const startMs = performance.now();
    expect(await client.isLeader()).toBe(true);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(49);
    conductor.next.push("yes", true);
    expect(await client.isLeader()).toBe(true);
    expect(conductor.asked).toHaveLength(4);
  });

  it("passes on why the conductor refuses, after two attempts", async () => {
    const { conductor, client } = await conductorWithClient();
    conductor.isLeader = false;
    await expect(client.consent(envelope, unheard)).rejects.toMatchObject({
      code: "conductor/refused",
      message: expect.stringMatching(/^the conductor at http:.* refuses conductor_commitUnsafePayload: node is not the leader$/),
    });
    expect(conductor.asked).toEqual([COMMIT, COMMIT]);
  });

  it.each([
    ["leader", "true"],
    ["leader", 1],
    ["leader", null],
    ["leader", { leader: true }],
    ["commit", true],
    ["commit", "ok"],
    ["commit", {}],
    ["commit", false],
  ] as const)("takes no other answer for a yes: %s %j", async (what, answer) => {
    const { conductor, client } = await conductorWithClient();
    conductor.next.push(answer, answer);
    const asking = what === "leader" ? client.isLeader() : client.consent(envelope, unheard);
    await expect(asking).rejects.toMatchObject({
      code: "conductor/unavailable",
      message: expect.stringContaining("is no answer to it"),
    });
  });

  it.each([
    ["says nothing", () => {}, /nothing within 300 ms/],
    ["closes", (socket: Socket) => socket.destroy(), /does not answer conductor_leader: .*cannot be reached/],
    ["talks nonsense", (socket: Socket) => socket.end("HELLO\r\n\r\n"), /does not answer conductor_leader/],
    ["is another server", (socket: Socket) => socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), /status 404/],
  ])("gives up after its limit, or both attempts, when a conductor %s", async (_, act, reason) => {
    const { url } = await rawServer(act);
    const client = clientOf(url, 300);
    await expect(client.isLeader()).rejects.toThrow(reason);
    await expect(client.consent(envelope, unheard)).rejects.toMatchObject({ code: "conductor/unavailable" });
  });

  it("has one limit for both attempts", async () => {
    const clock = new ManualClock();
    const rpc = {
      endpoint: "conductor",
      call: async (_method: string, _params: readonly unknown[], { signal }: { signal: AbortSignal }) => {
        await clock.sleep(200, signal);
        throw new Error("it cannot be reached");
      },
      close: async () => {},
    };
    const client = new ConductorClient({ rpcTimeoutMs: 300 }, { rpc: rpc as never, clock, log: silentLogger });
    let end: unknown;
    const asking = client.isLeader().catch((error: unknown) => (end = error));
    for (let passed = 0; passed < 300; passed += 50) {
      await setImmediate();
      expect(end).toBeUndefined();
      clock.advance(50);
    }
    await setImmediate(); // one attempt would have ended after 200 ms, two limits after 400
    expect(end).toMatchObject({ code: "conductor/unavailable" });
    await asking;
  });

  it("an answer that comes after the limit counts for nothing", async () => {
    const { conductor, client } = await conductorWithClient(200);
    let answer: (value: unknown) => void = () => {};
    conductor.next.push(new Promise((resolve) => (answer = resolve)));
    await expect(client.isLeader()).rejects.toThrow("nothing within 200 ms");
    answer(true);
    conductor.next.push(false);
    expect(await client.isLeader()).toBe(false);
  });

  it("is told when nobody waits any more, and lets go of the connection", async () => {
    const { url, connections } = await rawServer(() => {});
    const waiting = new AbortController();
    const asking = clientOf(url, 60_000).consent(envelope, waiting.signal);
    await expect.poll(() => connections.length).toBe(1);
    waiting.abort();
    await expect(asking).rejects.toThrow("nobody waits for it any more");
    await expect.poll(() => connections[0]!.destroyed).toBe(true);
  });

  it("asks nobody once leadership is overridden", async () => {
    const { conductor, client } = await conductorWithClient();
    conductor.isLeader = false;
    client.overrideLeader();
    expect(await client.isLeader()).toBe(true);
    expect(await client.consent(envelope, unheard)).toBe("leader");
    expect(conductor.asked).toEqual([]);
  });
});
