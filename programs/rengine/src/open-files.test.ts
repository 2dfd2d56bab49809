import { mkdtempSync, writeFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildPackage, PROGRAM } from "./testing/built-package.ts";
import { KillableClient } from "./testing/kill-process.ts";
import { connect } from "./testing/reader-connections.ts";
import { GENESIS } from "./testing/test-client.ts";

const LISTENS = /HTTP JSON-RPC listens.* port=(\d+)/;
/** More than a writer and two readers may have together with 256 descriptors each. */
const MANY = 500;

let folder: string;
const running: KillableClient[] = [];
const sockets: Socket[] = [];
beforeAll(() => {
  buildPackage();
  folder = mkdtempSync(join(tmpdir(), "rengine-files-"));
  writeFileSync(join(folder, "genesis.json"), JSON.stringify(GENESIS));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const client of running.splice(0)) await client.killAfter(0);
});

function start(maxOpenFiles: number, ...args: string[]): KillableClient {
  const own = [`--chain=${join(folder, "genesis.json")}`, `--datadir=${join(folder, "data")}`, "--authrpc.port=0", "--max-peers=0"];
  const client = new KillableClient(PROGRAM, [...own, ...args], { maxOpenFiles });
  return client;
}

/** Sends a request over each of many connections, and leaves them open. @returns how many are answered */
async function crowd(port: number): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
  const text = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const answered = Array.from({ length: MANY }, async () => {
    const socket = connectTcp(port, "127.0.0.1");
    sockets.push(socket);
    return new Promise<boolean>((resolve) => {
      socket.on("connect", () => socket.write(text));
      socket.on("data", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("close", () => resolve(false));
    });
  });
  return (await Promise.all(answered)).filter((isAnswered) => isAnswered).length;
}

describe("a limit of open files", () => {
  it.each([60, 100, 255])("of %s is too low: one line says so, and what to do", async (limit) => {
    const client = start(limit);
    expect(await client.exitCode()).toBe(1);
    expect(client.log).toMatch(new RegExp(`^rengine: the limit of open files is ${limit}: raise it to \\d+ \\(ulimit -n .*\\n$`));
  });

  it.each([0, 2])(
    "bounds the connections with %s readers: who is too many is refused, and the others are served",
    { tags: "long" },
    async (readers) => {
      const client = start(256, "--http", "--http.port=0", `--rpc.workers=${readers}`);
      running.push(client);
      const port = Number(await client.logged(LISTENS));
      const answered = await crowd(port);
      expect(answered).toBeGreaterThan(20);
      expect(answered).toBeLessThan(MANY);
      expect(client.hasEnded).toBe(false);
      // A new client is served as soon as others have been idle for two seconds.
      await expect
        .poll(
          async () => {
            const fresh = await connect(`http://127.0.0.1:${port}`);
            fresh.close();
            return fresh.reader;
          },
          { timeout: 15_000, interval: 100 },
        )
        .toBeGreaterThanOrEqual(-1);
      await expect.poll(() => client.log).toMatch(/lvl=warn msg="connections are refused"/);
      expect(client.log).not.toMatch(/lvl=error|takes its place/);
    },
  );
});
