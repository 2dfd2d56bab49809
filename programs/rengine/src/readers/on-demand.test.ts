import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { buildPackage } from "../testing/built-package.ts";
import { connect } from "../testing/reader-connections.ts";
import { startTestClient, type TestClient } from "../testing/test-client.ts";

/** JUMPDEST, PUSH1 0, JUMP */
const ENDLESS = { to: "0x00000000000000000000000000000000000000bb" } as const;

let node: TestClient;
beforeAll(async () => {
  buildPackage();
  const alloc = { [ENDLESS.to]: { balance: "0x0", nonce: "0x1", code: "0x5b600056" } };
  node = await startTestClient(["--rpc.workeridle=1s", "--rpc.gascap=40000000"], undefined, { alloc });
});
afterAll(() => node.remove());

const readers = (): number[] => node.client.readerPids();
const untilThereAre = (count: number) => expect.poll(() => readers().length, { interval: 20 }).toBe(count);

describe("a reader", () => {
  it("loads no modules that take memory and are not used", () => {
    const reader = fileURLToPath(new URL("../../dist/readers/reader.js", import.meta.url));
    const script = `await import(${JSON.stringify(reader)});
      const { createRequire } = await import("node:module");
      console.log(Object.keys(createRequire(import.meta.url).cache).join("\\n"));`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    expect(stdout).toMatch(/node_modules.ws/);
    expect(stdout).not.toMatch(/node_modules.(?:undici|prom-client)/);
  });
});

describe("readers on demand", () => {
  it("are one at first, which ends when nobody uses it; a request starts another, on the latest state", {
    tags: "long",
  }, async () => {
    expect(readers()).toHaveLength(1);
    await untilThereAre(0);
    const { number } = await node.buildBlock();
    const connection = await connect(node.httpUrl);
    expect(await connection.call("eth_blockNumber")).toBe(`0x${number.toString(16)}`);
    expect(readers()).toHaveLength(1);
    const [pid] = readers();
    process.kill(pid!, "SIGKILL"); // it had somebody to serve: another takes its place
    connection.close();
    await expect.poll(readers, { interval: 20 }).not.toEqual([pid]);
    await untilThereAre(1);
  });

  it("stay while somebody is connected by WebSocket or has a filter", { tags: "long" }, async () => {
    const socket = new WebSocket(node.wsUrl);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const [pid] = readers();
    const connection = await connect(node.httpUrl);
    const filter = await connection.call("eth_newBlockFilter");
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    socket.terminate();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    expect(readers()).toEqual([pid]);
    const { hash } = await node.buildBlock();
    const again = await connect(node.httpUrl);
    expect(await again.call("eth_getFilterChanges", [filter])).toEqual([hash]);
    await again.call("eth_uninstallFilter", [filter]);
    again.close();
  });

  it("do not end under a connection that came after they were last seen idle", { tags: "long" }, async () => {
    for (const quietMs of [1200, 1500, 1800]) {
      await new Promise((resolve) => setTimeout(resolve, quietMs)); // somewhere between being seen idle and being told to end
      const connection = await connect(node.httpUrl);
      const before = readers();
      const endMs = Date.now() + 1300;
      while (Date.now() < endMs) await connection.call("eth_chainId");
      expect(readers()).toEqual(before);
      connection.close();
    }
  });

  it("get another beside them while they are busy, which takes over connections", { tags: "long" }, async () => {
    const connections = await Promise.all(Array.from({ length: 6 }, () => connect(node.httpUrl)));
    let isDone = false;
    const failures: unknown[] = [];
    const working = connections.map(async ({ call }) => {
      // The reader's limits of gas and time end each call.
      while (!isDone) await call("eth_call", [ENDLESS, "latest"]).catch((error: Error) => failures.push(error.message));
    });
    await untilThereAre(2);
    const tags = async (): Promise<number> => {
      const found = await Promise.all(connections.map(({ call }) => call<string>("eth_newBlockFilter")));
      await Promise.all(found.map((id, index) => connections[index]!.call("eth_uninstallFilter", [id])));
      return new Set(found.map((id) => id.slice(0, 4))).size;
    };
    await expect.poll(tags).toBe(2);
    isDone = true;
    await Promise.all(working);
    for (const connection of connections) connection.close();
    expect(failures.filter((message) => !/gas/.test(String(message)))).toEqual([]);
  });
});
