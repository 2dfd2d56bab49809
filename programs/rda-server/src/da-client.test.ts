import { mkdtempSync, readdirSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDaMetrics, DaClient, type DaClientOptions } from "@rnode/alt-da";
import { createMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { encodeDaCommitment, keccakCommitment } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { startDaServer } from "./da-server.ts";
import { DaStore } from "./da-store.ts";

const INPUT = new TextEncoder().encode("frames");
function clientOf(url: string, options: Partial<DaClientOptions> = {}): DaClient {
  const fixed = { usesService: false, verifiesOnRead: true, getTimeoutMs: 0, putTimeoutMs: 0, maxRequests: 1 };
  const client = new DaClient({ url, ...fixed, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function ownServer(isGeneric: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "rda-"));
  const store = await DaStore.open(folder);
  const server = await startDaServer({ host: "127.0.0.1", port: 0, isGeneric }, { store, log: silentLogger });
  onTestFinished(() => server.close());
  return { url: `http://127.0.0.1:${server.port}`, store, folder };
}

async function otherServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("DaClient and our server", () => {
  it.each([
    ["keccak256", false],
    ["generic", true],
  ])("store and read data by %s commitments", async (kind, isGeneric) => {
    const { url, store, folder } = await ownServer(isGeneric);
    const client = clientOf(`${url}/`, { usesService: isGeneric });
    const commitment = await client.put(INPUT);
    expect(commitment.kind).toBe(kind);
    expect(await client.get(commitment)).toEqual(INPUT);
    expect(readdirSync(folder)).toEqual([bytesToHex(encodeDaCommitment(commitment)).slice(2)]);
    await store.remove(encodeDaCommitment(commitment));
    expect(await client.get(commitment)).toBeUndefined();
  });

  it("are counted, with what went wrong", async () => {
    const { url, store } = await ownServer(false);
    const metrics = createMetrics({ prefix: "test_" });
    const fixed = { usesService: false, verifiesOnRead: true, getTimeoutMs: 0, putTimeoutMs: 0, maxRequests: 1 };
    const counted = createDaMetrics(metrics);
    const client = new DaClient({ url, ...fixed }, counted);
    onTestFinished(() => client.close());
    const commitment = await client.put(INPUT);
    await client.get(commitment);
    await store.remove(encodeDaCommitment(commitment));
    await client.get(commitment);
    const liar = new DaClient({ url: await otherServer((_, response) => response.end("x")), ...fixed }, counted);
    onTestFinished(() => liar.close());
    await expect(liar.get(commitment)).rejects.toMatchObject({ code: "alt-da/wrong-data" });
    await expect(liar.put(INPUT)).resolves.toBeDefined();
    const { body: text } = await metrics.expose();
    for (const line of [
      'test_da_requests_total{operation="put",outcome="ok"} 2',
      'test_da_requests_total{operation="get",outcome="ok"} 1',
      'test_da_requests_total{operation="get",outcome="not-found"} 1',
      'test_da_requests_total{operation="get",outcome="wrong-data"} 1',
      `test_da_bytes_total{operation="get"} ${INPUT.length}`,
      'test_da_request_seconds_count{operation="get"} 3',
    ])
      expect(text).toContain(line);
  });

  it("refuse to store nothing", async () => {
    const { url } = await ownServer(false);
    await expect(clientOf(url).put(new Uint8Array())).rejects.toMatchObject({ code: "alt-da/empty-input" });
  });

  const hex = bytesToHex(encodeDaCommitment(keccakCommitment(INPUT)));
  it.each<[string, string, string, Uint8Array | undefined, number]>([
    ["data of another commitment", "POST", `/put/${hex}`, Uint8Array.of(1), 400],
    ["no data", "POST", `/put/${hex}`, new Uint8Array(), 400],
    ["too much data", "POST", `/put/${hex}`, new Uint8Array(2 * 1024 * 1024), 400],
    ["a put without a commitment", "POST", "/put", INPUT, 400],
    ["a commitment that is none", "GET", "/get/0x0011", undefined, 400],
    ["a commitment in other digits", "GET", "/get/abc", undefined, 400],
    ["a way out of the folder", "GET", "/get/..%2f..%2fetc%2fpasswd", undefined, 400],
    ["another path", "GET", "/other", undefined, 400],
    ["another method", "DELETE", `/get/${hex}`, undefined, 405],
    ["a commitment that it does not know", "GET", `/get/${hex}`, undefined, 404],
  ])("the server refuses %s", async (_, method, path, body, status) => {
    const { url, folder } = await ownServer(false);
    const answer = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body: new Uint8Array(body) }) }).catch(
      () => undefined, // it may close the connection while a body is being sent that it does not want
    );
    if (answer !== undefined) expect(answer.status).toBe(status);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("DaClient and a server that fails", () => {
  it("compares what it reads, unless told not to", async () => {
    const url = await otherServer((_, response) => response.end("something else"));
    await expect(clientOf(url).get(keccakCommitment(INPUT))).rejects.toMatchObject({ code: "alt-da/wrong-data" });
    expect(await clientOf(url, { verifiesOnRead: false }).get(keccakCommitment(INPUT))).toEqual(
      new TextEncoder().encode("something else"),
    );
    expect(await clientOf(url).get({ kind: "generic", opaque: Uint8Array.of(1) })).toBeDefined();
  });

  it.each<[string, RequestListener, string]>([
    ["an error", (_, response) => response.writeHead(500).end(), "HTTP 500"],
    ["endless data", (_, response) => void endless(response), "more than 16777216 bytes"],
    ["a redirection", (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1" }).end(), "redirect"],
  ])("refuses %s", async (_, answer, text) => {
    const url = await otherServer(answer);
    await expect(clientOf(url).get(keccakCommitment(INPUT))).rejects.toThrow(text);
  });

  it("refuses a commitment that is none", async () => {
    const url = await otherServer((_, response) => response.end("x"));
    await expect(clientOf(url, { usesService: true }).put(INPUT)).rejects.toMatchObject({ code: "alt-da/bad-answer" });
  });

  it("gives up after its time limits, and when it is closed", async () => {
    const url = await otherServer(() => {});
    const limits = { getTimeoutMs: 30, putTimeoutMs: 30 };
    await expect(clientOf(url, limits).get(keccakCommitment(INPUT))).rejects.toMatchObject({ code: "alt-da/unavailable" });
    await expect(clientOf(url, limits).put(INPUT)).rejects.toMatchObject({ code: "alt-da/unavailable" });
    const client = clientOf(url);
    const asked = client.get(keccakCommitment(INPUT));
    client.close();
    await expect(asked).rejects.toMatchObject({ code: "alt-da/unavailable" });
    await expect(clientOf("http://127.0.0.1:1").get(keccakCommitment(INPUT))).rejects.toMatchObject({ code: "alt-da/unavailable" });
  });

  it("sends no more requests at once than it may", async () => {
    const waiting: (() => void)[] = [];
    const url = await otherServer((_, response) => void waiting.push(() => response.writeHead(404).end()));
    const client = clientOf(url, { maxRequests: 2 });
    const answers = [1, 2, 3].map((byte) => client.get(keccakCommitment(Uint8Array.of(byte))));
    const arrived = async (count: number) => {
      while (waiting.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    await arrived(2);
    expect(waiting).toHaveLength(2);
    waiting[0]!();
    await arrived(3);
    for (const answer of waiting.slice(1)) answer();
    expect(await Promise.all(answers)).toEqual([undefined, undefined, undefined]);
  });
});

async function endless(response: Parameters<RequestListener>[1]): Promise<void> {
  const piece = new Uint8Array(1024 * 1024);
  while (!response.destroyed) {
    if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
  }
}
