import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createMetrics, type Logger, noMetrics, silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { localSigner } from "@rnode/signer";
import type { ThreadHost } from "@rnode/threads";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { P2PConfig } from "../network.ts";
import { rollupOf, signatureOf, testBlock } from "../testing/test-blocks.ts";
import { ReceivedBlocks, temporaryFolder, testP2PConfig } from "../testing/test-network.ts";
import { networkThreads, P2PThread, type P2PThreadDeps } from "./p2p-thread.ts";

// The thread as it is shipped.

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = pathToFileURL(join(PACKAGE, "lib/p2p-worker.js"));
const LOST = pathToFileURL(join(PACKAGE, "../../kit/threads/test-programs/lost-worker.mjs"));
const TIMEOUT_MS = 60_000;

const nowSec = Math.floor(Date.now() / 1_000);
const rollup = rollupOf(4, nowSec - 1_000);
const signer = localSigner(new Uint8Array(32).fill(0x11));
const folder = temporaryFolder();
const fault = join(folder.path, "fault");

beforeAll(() => {
  const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (built.error !== undefined) throw built.error;
  vi.stubEnv("RNODE_FAULT", fault);
  vi.stubEnv("RNODE_WORKER", BUILT.href);
}, TIMEOUT_MS);
afterAll(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

async function start(
  key: number,
  {
    program = BUILT,
    log = silentLogger,
    prefix,
    host = networkThreads({ program, execArgv: [] }),
    ...over
  }: Partial<P2PConfig> & { program?: URL; log?: Logger; prefix?: string; host?: ThreadHost } = {},
) {
  const received = new ReceivedBlocks();
  const deps: P2PThreadDeps = {
    clock: systemClock,
    log,
    metrics: noMetrics,
    metricsPrefix: prefix,
    host,
  };
  const served: number[] = [];
  const handlers = {
    onUnsafePayload: received.add,
    payloadByNumber: async (number: number) => {
      served.push(number);
      return testBlock(rollup, { number, timestampSec: rollup.genesis.l2TimeSec + number * rollup.blockTimeSec });
    },
  };
  const network = await P2PThread.start(testP2PConfig(rollup, key, over), handlers, deps);
  onTestFinished(() => network.close());
  network.setUnsafeBlockSigner(signer.address);
  return { network, received, served };
}

/** Retries while the mesh forms, or the thread starts. */
async function publishUntilSent(network: P2PThread, from: number): Promise<number> {
  for (let number = from; ; number++) {
    const block = testBlock(rollup, { number, timestampSec: nowSec, transactions: [new Uint8Array(1_000)] });
    const published = await network.publish(block, await signatureOf(rollup, block, signer)).catch(() => undefined);
    if (published?.kind === "published" && published.peers > 0) return number;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("the network in its thread", { timeout: TIMEOUT_MS }, () => {
  it("brings blocks from thread to thread, asks and answers requests, and counts", async () => {
    const a = await start(1, { prefix: "test_" });
    const b = await start(2, { staticPeers: [a.network.identity.addresses[0]!] });
    const number = await publishUntilSent(a.network, 1_000);
    const [first] = await b.received.until(1);
    expect(first!.envelope.executionPayload).toMatchObject({ blockNumber: number, transactions: [new Uint8Array(1_000)] });

    // the block before the last, by its hash in the last
    const parent = testBlock(rollup, { number: 9, timestampSec: rollup.genesis.l2TimeSec + 18 }).executionPayload;
    b.network.requestGap({
      start: { number: 8, hash: new Uint8Array(32) },
      end: { number: 10, hash: new Uint8Array(32).fill(1), parentHash: parent.blockHash },
    });
    await b.received.until(2);
    expect(a.served).toEqual([9]);
    expect(b.received.blocks.at(-1)!.envelope.executionPayload.blockHash).toEqual(parent.blockHash);

    const metrics = createMetrics({ prefix: "test_", ofProcess: false });
    const { body } = await metrics.expose(await a.network.collect());
    expect(body).toMatch(/^test_p2p_req_total\{.*p2p_role="server".*\} 1$/m);
    expect(body).not.toMatch(/process_cpu/);
  });

  it("shares a thread with the networks of other chains, and comes back in one of its own after that was lost", {
    tags: "long",
  }, async () => {
    const host = networkThreads({ program: LOST, execArgv: [] });
    const [a, c] = [await start(7, { host }), await start(8, { host })];
    const b = await start(9, { staticPeers: [a.network.identity.addresses[0]!, c.network.identity.addresses[0]!] });
    const before = [a, c].map(({ network }) => network.identity.peerId);
    for (let number = 1; a.received.blocks.length === 0 || c.received.blocks.length === 0; number++) {
      number = await publishUntilSent(b.network, number);
    }
    writeFileSync(fault, "");
    await vi.waitFor(() => expect(existsSync(fault)).toBe(false), { timeout: 60_000, interval: 20 });
    for (const [i, { network }] of [a, c].entries()) {
      await vi.waitFor(async () => expect((await network.api.self()).peerID).toBe(before[i]), { timeout: 60_000, interval: 100 });
    }
    writeFileSync(fault, ""); // ends one of the two
    await vi.waitFor(() => expect(existsSync(fault)).toBe(false), { timeout: 60_000, interval: 20 });
    const alive = await Promise.allSettled([a, c].map(({ network }) => network.api.self()));
    expect(alive.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("comes back with its identity and port after it was lost, and says so", { tags: "long" }, async () => {
    const lines: string[] = [];
    const log: Logger = { ...silentLogger, level: "info", error: (text) => lines.push(text), info: () => {}, warn: () => {} };
    const peers = { ...testP2PConfig(rollup, 3).peers, path: join(folder.path, "peers") };
    const a = await start(3, { program: LOST, log, peers });
    const { peerId, tcpPort } = a.network.identity;
    const b = await start(4);
    await b.network.api.connectPeer(a.network.identity.addresses[0]!);
    const call = new Promise((resolve) => setTimeout(resolve, 0)).then(() => a.network.api.self());
    await call;

    writeFileSync(fault, "");
    await vi.waitFor(() => expect(lines).toEqual(["the thread of the P2P network was lost: it is started again"]), 60_000);
    await expect(a.network.api.self()).rejects.toMatchObject({ code: "p2p/thread-lost" });
    await vi.waitFor(async () => expect((await a.network.api.self()).peerID).toBe(peerId), { timeout: 60_000, interval: 100 });
    expect(a.network.identity).toMatchObject({ peerId, tcpPort });
    await b.network.api.connectPeer(a.network.identity.addresses[0]!);
    await publishUntilSent(b.network, 1);
    await a.received.until(1); // it has the signer again
  });

  it("fails to start in the words of the setting that is wrong", async () => {
    await expect(start(5, { staticPeers: ["nonsense"] })).rejects.toMatchObject({
      setting: "static",
      message: /"nonsense" is not a multi/,
    });
  });

  it("passes on what went wrong with a call", async () => {
    const a = await start(6);
    await expect(
      a.network.api.connectPeer("/ip4/127.0.0.1/tcp/1/p2p/16Uiu2HAm6YT98Hd3qAtop3TFM75uXvuyEhZYwPCfZ9mzRckmFkmW"),
    ).rejects.toMatchObject({
      code: "peer-api/not-connected",
    });
  });
});
