import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJwt, createRpcClient, INVALID_PARAMS, type RpcClient } from "@rnode/jsonrpc";
import { ActiveSequencer, RpcRollupNode } from "@rnode/node-clients";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import { type ExecutionPayload, envelopeToJson } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { conductorMethods } from "./rpc/conductor-methods.ts";
import { restrictedMethods } from "./rpc/restricted.ts";
import { EtcdModel } from "./testing/etcd-model.ts";
import { type GatewayServer, startGatewayServer } from "./testing/gateway-server.ts";
import { sampleOrigin, samplePayload } from "./testing/sample-payload.ts";
import { type StubSequencer, startStubSequencer } from "./testing/stub-sequencer.ts";
import { commitUnexecutable, produce, startTestConductor, type TestConductor } from "./testing/test-conductor.ts";
import { VERSION } from "./version.ts";

const NOT_LEADER = "refusing to proxy request to non-leader sequencer";
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function etcdServer(): Promise<GatewayServer> {
  const model = new EtcdModel(() => performance.now());
  const server = await startGatewayServer(model);
  closers.push(() => server.close());
  return server;
}

const start = (etcd: GatewayServer, id: string, given: readonly string[] = [], stub?: StubSequencer): Promise<TestConductor> => {
  // A lease that no busy machine lets run out.
  const args = given.some((arg) => arg.startsWith("--etcd.lease-ttl")) ? given : [...given, "--etcd.lease-ttl=60"];
  return startTestConductor([`--etcd=${etcd.url}`, `--server-id=${id}`, ...args], closers, stub);
};

const isLeader = (server: TestConductor): Promise<boolean> => server.rpc.call<boolean>("conductor_leader");

/** A conductor that leads a cluster of one, with an active sequencer. */
async function startLeader(): Promise<{ readonly etcd: GatewayServer; readonly a: TestConductor }> {
  const etcd = await etcdServer();
  const a = await start(etcd, "a", ["--bootstrap"]);
  await until(() => a.node.isActive);
  return { etcd, a };
}

/** One that leads and has committed a block, and one that follows. */
async function startPair(): Promise<{ readonly a: TestConductor; readonly b: TestConductor }> {
  const { etcd, a } = await startLeader();
  await produce(a);
  const b = await start(etcd, "b");
  await until(() => String(a.status().members) === "a, b");
  return { a, b };
}

describe("startConductor", () => {
  it("starts one sequencer, commits its blocks, and another one goes on from the last", async () => {
    const { etcd, a } = await startLeader();
    const b = await start(etcd, "b");
    await b.ready;
    expect(await isLeader(a)).toBe(true);
    await until(async () => (await b.rpc.call<{ id: string }>("conductor_leaderWithID")).id === "a");
    expect(await isLeader(b)).toBe(false);
    await produce(a);
    const last = await produce(a);
    const orphan = samplePayload(3, new Uint8Array(32));
    await expect(b.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(orphan)])).rejects.toThrow("node is not the leader");
    // The proxy of either leads to the leader, and says nothing of others.
    for (const { proxy } of [a, b]) expect(await proxy.call("optimism_syncStatus")).toEqual({ of: a.node.url });
    expect(await a.rpc.call("admin_sequencerActive")).toBe(true);
    await expect(b.rpc.call("admin_sequencerActive")).rejects.toThrow(NOT_LEADER);
    await a.rpc.call("conductor_transferLeaderToServer", ["b", ""]);
    await until(() => b.node.isActive);
    expect(a.node.isActive).toBe(false);
    expect(b.node.calls).toEqual(["post", "post", `start ${last}`]);
    expect(await b.proxy.call("optimism_syncStatus")).toEqual({ of: b.node.url });
    await produce(b);
  });

  it("serves what submitter and proposer ask of its own sequencer, while it leads; limits of data whoever leads", async () => {
    const { a, b } = await startPair();
    const [one, other] = [new RpcRollupNode(a.rpc), new RpcRollupNode(b.rpc)];
    const active = new ActiveSequencer({ checkIntervalMs: 0 }, [other, one], { clock: systemClock, onChange: () => {} });
    expect(await active.index()).toBe(1);
    expect(await one.rollupConfig()).toMatchObject({ l2ChainId: 901n });
    const asked = [
      { method: "optimism_syncStatus", params: [] },
      { method: "optimism_outputAtBlock", params: ["0x1"] },
      { method: "eth_chainId", params: [] },
      { method: "eth_getBlockByNumber", params: ["0x1", true] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
    ];
    expect((await a.rpc.batch(asked)).map((answer) => answer.kind === "result" && answer.result)).toEqual([
      { of: a.node.url },
      { of: a.node.url, number: "0x1" },
      "0x385",
      { number: "0x1", isFull: true },
      { number: "latest", isFull: false },
    ]);
    for (const outcome of await b.rpc.batch(asked))
      expect(outcome).toMatchObject({ kind: "error", error: { code: -32000, message: NOT_LEADER } });
    for (const { rpc, node } of [a, b]) {
      expect(await rpc.call("miner_setMaxDASize", ["0x64", "0x3e8"])).toBe(true);
      expect(node.calls.at(-1)).toBe("limits 0x64 0x3e8");
    }
  });

  it("hands committed blocks to a node that gossip does not reach", async () => {
    const { a, b } = await startPair();
    for (let block = 0; block < 5; block++) await produce(a);
    await until(() => b.node.head.hash === a.node.head.hash);
    expect(b.node.calls.filter((call) => call !== "post")).toEqual([]);
    expect(a.node.calls).not.toContain("post");
  });

  it("takes back a committed block that no engine executes: at its leader, and unless a node has it", async () => {
    const { a, b } = await startPair();
    b.node.onPost = () => {};
    const { head } = a.node;
    const { hash, undo } = await commitUnexecutable(a);
    await expect(undo(b)).rejects.toThrow("ask the conductor that leads");
    await expect(undo(a, head.hash)).rejects.toThrow("is not the last committed block");
    a.node.head = { number: head.number + 1, hash };
    await expect(undo(a)).rejects.toThrow("an engine has executed a block");
    a.node.head = head;
    expect(await undo(a)).toEqual(head);
    await expect(undo(a)).rejects.toThrow("is not the last committed block");
    await produce(a);
    await until(() => a.status().committedBlock === head.number + 1);
  });

  it("passes subscriptions on to the leader, and disconnects their clients when another one leads", async () => {
    const { a, b } = await startPair();
    const url = a.proxyUrl.replace("http", "ws");
    const [users, others] = [createRpcClient({ url }), createRpcClient({ url })];
    closers.push(
      () => users.close(),
      () => others.close(),
    );
    const heard: unknown[] = [];
    const hear = (client: RpcClient) => client.subscribe!(["newHeads"], (head) => heard.push(head));
    const [first, second] = [await hear(users), await hear(others)];
    expect(a.node.subscribers).toBe(1); // for both
    a.node.notify("one");
    await until(() => heard.length === 2);
    second.close();
    await users.call("eth_chainId"); // requests go over the same connection
    a.node.notify("two");
    await until(() => heard.length === 3);
    await expect(users.subscribe!(["nonsense"], () => {})).rejects.toThrow(/nonsense/);

    await a.rpc.call("conductor_transferLeaderToServer", ["b", ""]);
    await first.ended;
    expect(users.connectionsLost).toBe(1);
    await hear(users); // by a's proxy, which follows the leader
    a.node.notify("of a deposed one");
    b.node.notify("three");
    await until(() => heard.length === 4);
    expect(heard).toEqual(["one", "one", "two", "three"]);
    expect([a.node.subscribers, b.node.subscribers]).toEqual([0, 1]);
    await users.close();
    await until(() => b.node.subscribers === 0);
  });

  it.each(["net", "admin"])("lets another one lead when its execution client has too few peers by %s", async (api) => {
    const args = [
      "--healthcheck.execution-p2p-enabled",
      "--healthcheck.execution-p2p-min-peer-count=3",
      `--healthcheck.execution-p2p-check-api=${api}`,
    ];
    const etcd = await etcdServer();
    const a = await start(etcd, "a", ["--bootstrap", ...args]);
    await until(() => a.node.isActive);
    await produce(a);
    const b = await start(etcd, "b", args);
    await until(() => String(a.status().members) === "a, b");
    a.node.executionPeers = 2;
    await until(() => isLeader(b));
    expect(a.status().trouble).toMatch(/2 peers are connected to the execution client, fewer than 3/);
  });

  it("lets another one lead when it is closed, without waiting for its lease", async () => {
    const { a, b } = await startPair();
    await a.close();
    expect(a.node.isActive).toBe(false);
    await until(() => b.node.isActive);
  });

  it("starts its sequencer again from the last committed block when it has gone another way", async () => {
    const { a } = await startLeader();
    const last = await produce(a);
    a.node.head = { number: 0, hash: `0x${"22".repeat(32)}` }; // it has lost the block
    await expect(produce(a)).resolves.toBe(last); // the same block again
    const other = samplePayload(1, hexToBytes(`0x${"22".repeat(32)}`), "other");
    a.node.head = { number: 0, hash: `0x${"22".repeat(32)}` };
    const committed = a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(other)]);
    await expect(committed).rejects.toThrow(/block 1 follows 0x2222.*last committed block is 1/);
    await until(() => a.node.calls.at(-1) === `start ${last}` && a.node.calls.length > 3);
    expect(a.node.calls.slice(1)).toEqual(["stop", "post", `start ${last}`]);
  });

  it("goes on from the last block whose L1 origin is still there when L1 was reorganised", async () => {
    const { a } = await startLeader();
    const hashes: string[] = [];
    for (let block = 1; block <= 8; block++) hashes.push(await produce(a));
    // Blocks 6 to 8 belong to L1 block 1, which is replaced; the node has given them up.
    a.node.l1Branch = "another";
    a.node.l1ReplacedFrom = 1;
    a.node.head = { number: 5, hash: hashes[4]! };
    const anew = samplePayload(6, hexToBytes(hashes[4] as Hex), "anew", [], undefined, sampleOrigin(6, "another"));
    await expect(a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(anew)])).rejects.toThrow(/last committed block is 8/);
    await until(() => a.node.calls.at(-1) === `start ${hashes[4]}`);
    expect(a.node.calls.slice(1)).toEqual(["stop", `start ${hashes[4]}`]);
    await a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(anew)]);
  });

  it("does not take blocks back that only the node has lost", async () => {
    const { a } = await startLeader();
    const hashes: string[] = [];
    for (let block = 1; block <= 8; block++) hashes.push(await produce(a));
    a.node.head = { number: 5, hash: hashes[4]! };
    const fork = samplePayload(6, hexToBytes(hashes[4] as Hex), "fork");
    await expect(a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(fork)])).rejects.toThrow(/last committed block is 8/);
    await until(() => a.node.calls.at(-1) === `start ${hashes[7]}` && a.node.calls.length > 3);
    expect(a.node.calls.slice(1)).toEqual(["stop", "post", "post", "post", `start ${hashes[7]}`]);
  });

  it("stops its sequencer when etcd is away for longer than the lease", async () => {
    const etcd = await etcdServer();
    const a = await start(etcd, "a", ["--bootstrap", "--etcd.timeout=100ms", "--etcd.lease-ttl=2"]);
    await until(() => a.node.isActive);
    etcd.fault = "silent";
    await until(() => !a.node.isActive);
    expect(await isLeader(a)).toBe(false);
    etcd.fault = undefined;
    await until(() => a.node.isActive);
  });

  it("begins no chain of commits without being told to", async () => {
    const etcd = await etcdServer();
    const a = await start(etcd, "a");
    await a.ready;
    await until(() => String(a.status().waitingFor).includes("--bootstrap"));
    expect(a.node.calls).toEqual([]);
  });

  it("pauses, resumes, overrides and stops", async () => {
    const etcd = await etcdServer();
    const a = await start(etcd, "a", ["--bootstrap", "--paused"]);
    await until(() => isLeader(a).catch(() => false));
    expect(await a.rpc.call("conductor_paused")).toBe(true);
    expect(await a.rpc.call("conductor_active")).toBe(false);
    expect(a.node.isActive).toBe(false);
    await a.rpc.call("conductor_resume");
    await until(() => a.node.isActive);
    await a.rpc.call("conductor_pause");
    a.node.isActive = false;
    await a.rpc.call("conductor_resume");
    await until(() => a.node.isActive);
    expect(await a.rpc.call("conductor_leaderOverridden")).toBe(false);
    await a.rpc.call("conductor_overrideLeader", [true]);
    expect(await a.rpc.call("conductor_leaderWithID")).toEqual({ id: "N/A (Leader overridden)", addr: "N/A", suffrage: 0 });
    await a.rpc.call("conductor_overrideLeader", [false]);
    await expect(a.rpc.call("conductor_transferLeader")).rejects.toThrow("no other member could lead");
    const b = await start(etcd, "b");
    await until(() => String(a.status().members) === "a, b");
    await a.rpc.call("conductor_stop");
    expect(await a.rpc.call("conductor_stopped")).toBe(true);
    expect(a.node.isActive).toBe(false);
    await b.ready;
  });

  it("has voters, others, and servers that were removed", async () => {
    const { a, b } = await startPair();
    const membership = () =>
      a.rpc.call<{ servers: { id: string; suffrage: number }[]; version: number }>("conductor_clusterMembership");
    expect(await membership()).toMatchObject({
      servers: [
        { id: "a", suffrage: 0 },
        { id: "b", suffrage: 0 },
      ],
      version: 0,
    });
    await a.rpc.call("conductor_addServerAsNonvoter", ["b", "", 0]);
    await until(async () => (await membership()).servers[1]?.suffrage === 1);
    const { version } = await membership();
    await expect(a.rpc.call("conductor_transferLeaderToServer", ["b", ""])).rejects.toThrow("b cannot lead: it is no voter");
    await expect(a.rpc.call("conductor_addServerAsVoter", ["b", "", version + 1])).rejects.toThrow("configuration changed since");
    await expect(a.rpc.call("conductor_addServerAsVoter", ["c", "", 0])).rejects.toThrow(
      "c is no member: members register themselves",
    );
    await a.rpc.call("conductor_addServerAsVoter", ["b", "", version]);
    await until(async () => (await membership()).servers[1]?.suffrage === 0);
    await a.rpc.call("conductor_demoteVoter", ["b", 0]);
    await until(async () => (await membership()).servers[1]?.suffrage === 1);
    await a.rpc.call("conductor_addServerAsVoter", ["b", "", 0]);
    await until(async () => (await membership()).servers[1]?.suffrage === 0);
    const asLeader = await membership();
    for (const [method, params] of [
      ["conductor_addServerAsVoter", ["a", "", 0]],
      ["conductor_addServerAsNonvoter", ["a", "", 0]],
      ["conductor_demoteVoter", ["a", 0]],
      ["conductor_removeServer", ["a", 0]],
      ["conductor_transferLeader", []],
      ["conductor_transferLeaderToServer", ["b", ""]],
    ] as const)
      await expect(b.rpc.call(method, params), method).rejects.toThrow("node is not the leader");
    expect(await membership()).toEqual(asLeader);
    await a.rpc.call("conductor_removeServer", ["a", 0]);
    await until(() => b.node.isActive);
    expect(a.node.isActive).toBe(false);
    await until(async () => (await membership()).servers.length === 1);
  });

  it("does not start for another chain, or for a node that asks no conductor", async () => {
    const etcd = await etcdServer();
    const node = await startStubSequencer();
    closers.push(() => node.close());
    node.asksConductor = false;
    await expect((await start(etcd, "a", [], node)).ready).rejects.toThrow("runs without --conductor.enabled");
    await (await start(etcd, "b")).ready;
    const other = await startStubSequencer();
    closers.push(() => other.close());
    other.l2ChainId = 902;
    await expect((await start(etcd, "c", [], other)).ready).rejects.toThrow(/^\/rconductor\/ in etcd belongs to chain 901/);
  });
});

describe("what changes the cluster", () => {
  const damages: readonly (readonly [string, (payload: ExecutionPayload) => ExecutionPayload])[] = [
    ["a made-up hash", (payload) => ({ ...payload, blockHash: new Uint8Array(32).fill(0xab) })],
    ["another state root", (payload) => ({ ...payload, stateRoot: new Uint8Array(32).fill(1) })],
    ["another transaction", (payload) => ({ ...payload, transactions: [...payload.transactions, Uint8Array.of(2)] })],
    ["another time", (payload) => ({ ...payload, timestamp: payload.timestamp + 1 })],
  ];

  it.each(damages)("is not a payload with %s, and the chain goes on", async (_, damage) => {
    const { a } = await startLeader();
    await produce(a);
    const { number, hash } = a.node.head;
    const right = samplePayload(number + 1, hexToBytes(hash as Hex));
    const wrong = { ...right, executionPayload: damage(right.executionPayload) };
    await expect(a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(wrong)])).rejects.toThrow(
      /hashes to .* not committed/,
    );
    await produce(a);
  });

  it("is not a payload that skips a number", async () => {
    const { a } = await startLeader();
    await produce(a);
    const { number, hash } = a.node.head;
    const skipping = samplePayload(number + 2, hexToBytes(hash as Hex));
    await expect(a.rpc.call("conductor_commitUnsafePayload", [envelopeToJson(skipping)])).rejects.toThrow("last committed block");
    await produce(a);
  });

  it.each(["", "a b", "x".repeat(101), "x".repeat(400_000), "a/b"])("is no server id: %.10s", async (id) => {
    const { a } = await startLeader();
    for (const [method, params] of [
      ["conductor_removeServer", [id, 0]],
      ["conductor_addServerAsNonvoter", [id, "", 0]],
      ["conductor_demoteVoter", [id, 0]],
    ] as const)
      await expect(a.rpc.call(method, params)).rejects.toThrow("at most 100 letters");
  });

  it.each([-1, 1.5, "1", null, 2 ** 53])("is no version: %j", async (version) => {
    const { a } = await startLeader();
    for (const [method, params] of [
      ["conductor_addServerAsVoter", ["a", "", version]],
      ["conductor_addServerAsNonvoter", ["a", "", version]],
      ["conductor_demoteVoter", ["a", version]],
      ["conductor_removeServer", ["a", version]],
    ] as const)
      await expect(a.rpc.call(method, params), method).rejects.toMatchObject({ code: INVALID_PARAMS });
  });

  it("is no transfer without an address", async () => {
    const { a } = await startLeader();
    await expect(a.rpc.call("conductor_transferLeaderToServer", ["b"])).rejects.toMatchObject({
      code: INVALID_PARAMS,
      message: expect.stringContaining("missing value for required argument 1"),
    });
  });

  it("has the methods that op-service gives each server", async () => {
    const { a } = await startLeader();
    expect(await a.rpc.call("health_status")).toBe(VERSION);
    expect(await a.rpc.call("rpc_modules")).toMatchObject({ conductor: "1.0", health: "1.0", rpc: "1.0" });
  });

  it("is at most a hundred servers that do not lead", async () => {
    const { a } = await startLeader();
    for (let index = 0; index < 100; index++) await a.rpc.call("conductor_removeServer", [`gone-${index}`, 0]);
    await expect(a.rpc.call("conductor_removeServer", ["gone-100", 0])).rejects.toThrow("at most 100 servers");
    await a.rpc.call("conductor_removeServer", ["gone-5", 0]);
  });

  it("comes from this machine, or with the secret's token", async () => {
    const methods = conductorMethods({ conductor: () => undefined, store: { forget: async () => false } });
    const secret = new Uint8Array(32).fill(7);
    const folder = mkdtempSync(join(tmpdir(), "conductor-"));
    const file = join(folder, "secret");
    writeFileSync(file, bytesToHex(secret));
    const token = `Bearer ${createJwt(secret, Math.floor(Date.now() / 1000))}`;
    const far = "192.0.2.1";
    for (const jwtSecret of [undefined, file]) {
      const { names, isAllowed, refusal } = restrictedMethods({ jwtSecret }, Object.keys(methods), systemClock);
      for (const near of ["127.0.0.1", "::1", "::ffff:127.0.0.9"]) expect(isAllowed(undefined, near)).toBe(true);
      for (const bad of [undefined, "Bearer x", `${token}x`]) expect(isAllowed(bad, far)).toBe(false);
      expect(isAllowed(token, far)).toBe(jwtSecret !== undefined);
      expect(refusal("conductor_stop").message).toContain("--rpc.jwt-secret");
      // Each method that is not known to change nothing is restricted.
      expect(
        Object.keys(methods)
          .filter((name) => !names.has(name))
          .sort(),
      ).toEqual([
        "conductor_active",
        "conductor_clusterMembership",
        "conductor_leader",
        "conductor_leaderOverridden",
        "conductor_leaderWithID",
        "conductor_paused",
        "conductor_sequencerHealthy",
        "conductor_stopped",
      ]);
    }
  });
});
