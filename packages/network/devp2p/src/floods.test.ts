import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { encodeRlp, hexToBytes } from "@rnode/primitives";
import { until } from "@rnode/program/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { BlockPeer } from "./api.ts";
import { parseEnode } from "./enode.ts";
import { ETH, encodeHashRequest, encodeHeaderRequest } from "./eth/messages.ts";
import { RlpxConnection } from "./rlpx/connection.ts";
import { newKeyPair } from "./rlpx/ecies.ts";
import { startTestNode, type TestNode } from "./testing/test-node.ts";

// Cost of floods for the node: CPU time and memory of a separate process, and the time of an honest peer's request for thirty
// headers meanwhile. RNODE_DEVP2P_FLOODS=1 enables the tests, RNODE_DEVP2P_FLOOD_SEC (8) is the duration of each. Addresses are
// 127.0.0.0/8, which only Linux has.

const FLOOD_MS = Number(process.env.RNODE_DEVP2P_FLOOD_SEC ?? 8) * 1_000;
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ASK_EVERY_MS = 50;

interface Usage {
  readonly cpuMs: number;
  readonly rssMib: number;
  readonly peers: number;
}

class FloodedNode {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  enode = "";
  hashes: readonly Uint8Array[] = [];

  constructor() {
    const program = join(PACKAGE, "test-programs/flooded-node.mjs");
    this.#child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async start(): Promise<void> {
    const { enode, hashes } = JSON.parse((await this.#lines.next()).value as string) as { enode: string; hashes: string[] };
    this.enode = enode;
    this.hashes = hashes.map((hash) => hexToBytes(`0x${hash}`));
  }

  async usage(): Promise<Usage> {
    this.#child.stdin.write("\n");
    return JSON.parse((await this.#lines.next()).value as string) as Usage;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin.end();
    await ended;
  }
}

const sockets = new Set<Socket>();
let node: FloodedNode;
let honest: TestNode;
let lastAddress = 1;
/** another subscriber each time */
const freshAddress = (): string => {
  lastAddress++;
  return `127.${1 + (lastAddress >> 16)}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
};

async function dial(localAddress: string): Promise<Socket | undefined> {
  const { tcpPort: port } = parseEnode(node.enode);
  const socket = connect({ host: "127.0.0.1", port, localAddress });
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
  return await new Promise((resolve) => {
    socket.once("connect", () => resolve(socket));
    socket.on("error", () => resolve(undefined));
  });
}

/** A connected peer; `undefined`: the node refused it. */
async function introduce(
  localAddress: string,
): Promise<{ readonly connection: RlpxConnection; readonly socket: Socket } | undefined> {
  const socket = await dial(localAddress);
  if (socket === undefined) return undefined;
  try {
    const { publicKey: remoteKey } = parseEnode(node.enode);
    const capabilities = [{ name: "eth", version: 69 }];
    const options = { own: newKeyPair(), clientId: "flood", capabilities, port: 0, remoteKey };
    const connection = await RlpxConnection.open(socket, options);
    const { data } = await connection.next(() => 1 << 20);
    connection.send(ETH.status, data);
    return { connection, socket };
  } catch {
    socket.destroy();
    return undefined;
  }
}

/** One after the other, in `lanes` at a time, until the time is over. */
async function repeat(lanes: number, isOver: () => boolean, act: () => Promise<unknown>): Promise<number> {
  let count = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!isOver()) {
        await act();
        count++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  );
  return count;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const closed = (socket: Socket): Promise<unknown> =>
  Promise.race([new Promise((resolve) => (socket.destroyed ? resolve(0) : socket.once("close", resolve))), pause(1_000)]);
const drain = async (connection: RlpxConnection): Promise<void> => {
  for (;;) await connection.next(() => 1 << 24);
};

const rows: string[] = [];

/** Floods, while an honest peer sends requests. */
async function measure(
  what: string,
  flood: (isOver: () => boolean) => Promise<number>,
): Promise<{ cpu: number; grownMib: number; longest: number }> {
  const startMs = performance.now();
  const isOver = (): boolean => performance.now() - startMs > FLOOD_MS;
  const before = await node.usage();
  const waits: number[] = [];
  const [peer] = honest.network.list() as [BlockPeer];
  let mostMib = 0;
  const asking = (async () => {
    while (!isOver()) {
      const askedMs = performance.now();
      expect(await peer.headers({ start: 1, limit: 30 }, new AbortController().signal)).toHaveLength(30);
      waits.push(performance.now() - askedMs);
      mostMib = Math.max(mostMib, (await node.usage()).rssMib);
      await pause(ASK_EVERY_MS);
    }
  })();
  const count = await flood(isOver);
  await asking;
  const elapsedMs = performance.now() - startMs;
  const cpu = ((await node.usage()).cpuMs - before.cpuMs) / elapsedMs;
  waits.sort((a, b) => a - b);
  const [median, longest] = [0.5, 1].map((part) => waits[Math.min(waits.length - 1, Math.floor(part * waits.length))]!) as [
    number,
    number,
  ];
  const cells = [
    what,
    Math.round((1_000 * count) / elapsedMs),
    cpu.toFixed(2),
    mostMib.toFixed(0),
    median.toFixed(1),
    longest.toFixed(1),
  ];
  rows.push(`| ${cells.join(" | ")} |`);
  return { cpu, grownMib: mostMib - before.rssMib, longest };
}

describe.skipIf(process.env.RNODE_DEVP2P_FLOODS === undefined)("floods, measured", { timeout: 20 * FLOOD_MS }, () => {
  beforeAll(async () => {
    const built = spawnSync(join(PACKAGE, "../../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
    if (built.error !== undefined) throw built.error;
    node = new FloodedNode();
    await node.start();
    honest = await startTestNode({ key: 2, blocks: 60, plainDataBytes: 10_000 });
    await honest.network.admin.addPeer(node.enode);
    await until("the honest peer is connected", () => honest.network.list().length === 1);
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
  });
  afterAll(async () => {
    // the flood runs in the thread of the honest peer, and takes its time
    const head = "| flood | a second | cores | most MiB | an honest peer waits, ms | at most, ms |";
    console.log([`load ${loadavg()[0]!.toFixed(1)}`, head, "| --- | --- | --- | --- | --- | --- |", ...rows].join("\n"));
    await honest.close();
    await node.close();
  });

  it("none", async () => {
    await measure("none", async (isOver) => repeat(1, isOver, () => pause(100)));
  });

  it("connections of one address", async () => {
    const { grownMib } = await measure("connections of one address", (isOver) =>
      repeat(32, isOver, async () => (await dial("127.0.0.9"))?.destroy()),
    );
    expect(grownMib).toBeLessThan(100);
  });

  it("connections of ever other addresses, with junk for a handshake", async () => {
    const { cpu, grownMib } = await measure("connections of ever other addresses, with junk", (isOver) =>
      repeat(32, isOver, async () => {
        const socket = await dial(freshAddress());
        socket?.write(randomBytes(400));
        if (socket !== undefined) await closed(socket);
        socket?.destroy();
      }),
    );
    expect(cpu).toBeLessThan(1);
    expect(grownMib).toBeLessThan(100);
  });

  it("peers that are banned for what they say, and come back with other keys and addresses", async () => {
    const { cpu, grownMib } = await measure("peers that send junk, with ever other keys and addresses", (isOver) =>
      repeat(8, isOver, async () => {
        const peer = await introduce(freshAddress());
        peer?.connection.send(ETH.getBlockHeaders, encodeRlp([]));
        if (peer === undefined) return;
        void drain(peer.connection).catch(() => {});
        await closed(peer.socket);
        peer.socket.destroy();
      }),
    );
    expect(cpu).toBeLessThan(1);
    expect(grownMib).toBeLessThan(100);
  });

  it("messages of three megabytes that nobody asked for", async () => {
    const data = encodeRlp([randomBytes(3 * 2 ** 20)]);
    const { grownMib } = await measure("messages of 3 MB that nobody asked for", (isOver) =>
      repeat(4, isOver, async () => {
        const peer = await introduce(freshAddress());
        peer?.connection.send(ETH.transactions, data);
        if (peer === undefined) return;
        void drain(peer.connection).catch(() => {});
        await closed(peer.socket);
        peer.socket.destroy();
      }),
    );
    expect(grownMib).toBeLessThan(100);
  });

  it("peers that ask for blocks and take nothing", async () => {
    const { grownMib } = await measure("32 peers that ask for 0.6 MB ten times a second, and take nothing", async (isOver) => {
      const peers = await Promise.all(Array.from({ length: 32 }, () => introduce(freshAddress())));
      expect(peers.filter((peer) => peer !== undefined).length).toBeGreaterThan(16);
      for (const peer of peers) peer?.socket.pause();
      const rounds = await repeat(1, isOver, async () => {
        for (const peer of peers) peer?.connection.send(ETH.getBlockBodies, encodeHashRequest(1, node.hashes.slice(0, 20)));
        await pause(100);
      });
      return rounds * peers.length;
    });
    expect(grownMib).toBeLessThan(200);
  });

  it("peers that ask as fast as they can", async () => {
    const { grownMib } = await measure("8 peers that ask for 30 headers as fast as they can", async (isOver) => {
      const peers = (await Promise.all(Array.from({ length: 8 }, () => introduce(freshAddress())))).filter(
        (peer) => peer !== undefined,
      );
      for (const { connection } of peers) void drain(connection).catch(() => {});
      let sent = 0;
      await repeat(1, isOver, async () => {
        for (const { connection, socket } of peers) {
          if (socket.writableLength >= 1 << 20) continue;
          connection.send(ETH.getBlockHeaders, encodeHeaderRequest(1, { start: 1, limit: 30 }));
          sent++;
        }
      });
      return sent;
    });
    expect(grownMib).toBeLessThan(100);
  });
});
