import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import "../with-resolvers.ts";
import { createMetrics, type Logger } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHost, type Host } from "../host/create-host.ts";
import { connectionLimits } from "../network.ts";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { SyncPart } from "../parts.ts";
import { chainOfBlocks, gapBetween, isthmusConfig } from "../testing/chain-of-blocks.ts";
import { encodeRequest, encodeResponse, payloadByNumberProtocols } from "../wire/payload-by-number.ts";
import { createSync, type SyncDeps } from "./create-sync.ts";
import { Libp2pStream } from "./wire-stream.ts";

const config = isthmusConfig();
const NEVER = new AbortController().signal;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, trace() {} } as unknown as Logger;

/** Time that passes `speed` times as fast as it does, from when the chain is an hour old. */
function clockOf(speed: number): Clock {
  const startMs = performance.now();
  return {
    unixMs: () => (config.genesis.l2TimeSec + 3_600) * 1_000 + Math.floor((performance.now() - startMs) * speed),
    monotonicMs: () => Math.floor((performance.now() - startMs) * speed),
    sleep: (ms, signal) => systemClock.sleep(Math.ceil(ms / speed), signal),
  };
}
const realTime = clockOf(1);

async function startHost(key: number): Promise<Host> {
  const host = await createHost({
    networkKey: new Uint8Array(32).fill(key),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: "rnode/test",
    limits: connectionLimits(20),
  });
  onTestFinished(async () => host.stop());
  await host.start();
  return host;
}

interface TestNode {
  readonly host: Host;
  readonly sync: SyncPart;
  readonly received: ExecutionPayloadEnvelope[];
  readonly scores: string[];
}

async function startNode(
  key: number,
  over: Partial<SyncDeps> & { onlyStatic?: boolean; enabled?: boolean } = {},
): Promise<TestNode> {
  const host = await startHost(key);
  const received: ExecutionPayloadEnvelope[] = [];
  const scores: string[] = [];
  const sync = createSync(
    { rollup: config, sync: { requestResponse: over.enabled ?? true, onlyRequestToStatic: over.onlyStatic ?? false } },
    {
      node: host,
      clock: realTime,
      log: quiet,
      metrics: createP2PMetrics(createMetrics({ prefix: "test_" })),
      sink: { accept: (envelope) => received.push(envelope) },
      scores: {
        onValidResponse: () => scores.push("valid"),
        onErrorResponse: () => scores.push("error"),
        onRejectedPayload: () => scores.push("rejected"),
      },
      staticPeers: { has: () => false },
      payloadByNumber: async () => undefined,
      ...over,
    },
  );
  onTestFinished(() => sync.close());
  await sync.start();
  return { host, sync, received, scores };
}

const serving = (blocks: readonly ExecutionPayloadEnvelope[]) => ({
  payloadByNumber: async (number: number) => blocks[number - 1],
});
const connect = (from: TestNode | { host: Host }, to: TestNode) => from.host.dial(to.host.getMultiaddrs());

/** A request as other implementations send it. */
async function ask(host: Host, to: Host, protocol: string, request: Uint8Array): Promise<Uint8Array> {
  const [connection] = host.getConnections(to.peerId);
  const stream = new Libp2pStream(await connection!.newStream(protocol));
  await stream.write(request, NEVER);
  await stream.closeWrite(NEVER);
  const answer: Uint8Array[] = [];
  await stream.read((chunk) => answer.push(chunk.slice()) > 0, NEVER);
  return Buffer.concat(answer);
}

describe("requests for blocks over libp2p", () => {
  it("are answered under both forms of the protocol id", async () => {
    const blocks = chainOfBlocks(config, 3, { blockBytes: 100_000 });
    const server = await startNode(1, serving(blocks));
    const host = await startHost(2);
    await connect({ host }, server);
    for (const protocol of payloadByNumberProtocols(config.l2ChainId)) {
      const answer = await ask(host, server.host, protocol, encodeRequest(2));
      expect(Buffer.from(encodeResponse(config.forkTimes, blocks[1]!)).equals(answer)).toBe(true);
      expect([...(await ask(host, server.host, protocol, encodeRequest(4)))]).toEqual([1]);
      expect([...(await ask(host, server.host, protocol, encodeRequest(1_000_000)))]).toEqual([2]);
      expect([...(await ask(host, server.host, protocol, new Uint8Array(7)))]).toEqual([3]);
    }
  });

  it("of a peer that does not read are cut after ten seconds, and others are answered meanwhile", async () => {
    const [block] = chainOfBlocks(config, 1);
    const noise = new Uint8Array(6 * 1024 * 1024);
    for (let i = 0, state = 1; i < noise.length; i++)
      noise[i] = (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
    const large = { ...block!, executionPayload: { ...block!.executionPayload, transactions: [noise] } };
    const clock = clockOf(10);
    const server = await startNode(1, { clock, payloadByNumber: async (number) => (number === 1 ? large : block) });
    const [slow, honest] = [await startHost(2), await startHost(3)];
    await connect({ host: slow }, server);
    await connect({ host: honest }, server);
    const [protocol] = payloadByNumberProtocols(config.l2ChainId);
    const stream = await slow.getConnections(server.host.peerId)[0]!.newStream(protocol);
    stream.pause();
    const startMs = clock.unixMs();
    const ended = new Promise((resolve) => stream.addEventListener("close", resolve, { once: true }));
    await new Libp2pStream(stream).write(encodeRequest(1), NEVER);
    expect((await ask(honest, server.host, protocol, encodeRequest(2)))[0]).toBe(0);
    await ended;
    expect(clock.unixMs() - startMs).toBeGreaterThan(9_900);
    expect(stream.status).toBe("reset");
  });

  it("bring the missing blocks of a gap, from the highest down", async () => {
    const blocks = chainOfBlocks(config, 12);
    const [a, b, c] = [await startNode(1, serving(blocks)), await startNode(2, serving(blocks)), await startNode(3)];
    await connect(c, a);
    await connect(c, b);
    c.sync.requestGap(gapBetween(blocks, 2, 12));
    await until(() => c.received.length === 9);
    expect(c.received).toEqual(blocks.slice(2, 11).reverse());
    expect(c.scores).toEqual(Array(9).fill("valid"));
  });

  it("are neither answered nor sent when request-response is off", async () => {
    const blocks = chainOfBlocks(config, 4);
    const server = await startNode(1, { ...serving(blocks), enabled: false });
    const client = await startNode(2, { enabled: false });
    await connect(client, server);
    await expect(ask(client.host, server.host, payloadByNumberProtocols(config.l2ChainId)[0], encodeRequest(2))).rejects.toThrow(
      /protocol/i,
    );
    expect(client.host.getProtocols().filter((id) => id.includes("payload_by_number"))).toEqual([]);
  });

  it("a peer that does not speak the protocol costs an error, and the others give the blocks", async () => {
    const blocks = chainOfBlocks(config, 6);
    const [other, server] = [await startNode(1, { enabled: false }), await startNode(2, serving(blocks))];
    const client = await startNode(3);
    await connect(client, other);
    client.sync.requestGap(gapBetween(blocks, 1, 6));
    await until(() => client.scores.includes("error"));
    await connect(client, server);
    await until(() => client.received.length === 4);
  });
});

describe("a node 500 blocks behind, over sockets", () => {
  it("catches up from two peers of which one never answers", { tags: "long" }, async () => {
    const clock = clockOf(40);
    const blocks = chainOfBlocks(config, 501, { blockBytes: 2_000 });
    const honest = await startNode(1, { ...serving(blocks), clock });
    const stalling = await startNode(2, { payloadByNumber: () => new Promise(() => {}), clock });
    const client = await startNode(3, { clock });
    await connect(client, honest);
    await connect(client, stalling);
    // as the driver does, every two block times, from the lowest block that waits
    const ask = (): void => {
      const lowest = client.received.at(-1)?.executionPayload.blockNumber ?? 501;
      client.sync.requestGap(gapBetween(blocks, 0, lowest));
    };
    ask();
    const asking = setInterval(ask, 100);
    try {
      await until(() => client.received.length >= 500, 100_000);
    } finally {
      clearInterval(asking);
    }
    const hashes = (envelopes: readonly ExecutionPayloadEnvelope[]) =>
      envelopes.map(({ executionPayload }) => bytesToHex(executionPayload.blockHash));
    expect(hashes(client.received)).toEqual(hashes(blocks.slice(0, 500).reverse()));
  });
});
