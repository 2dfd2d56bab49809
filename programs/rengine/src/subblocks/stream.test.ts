import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { brotliCompressSync, constants } from "node:zlib";
import { createMetrics } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { startTestClient } from "../testing/test-client.ts";
import { createStreamMetrics } from "./stream-metrics.ts";
import { StreamServer, type StreamServerOptions } from "./stream-server.ts";
import { StreamSource } from "./stream-source.ts";

const PATIENCE = { timeout: 60_000, interval: 10 };
const OPTIONS: StreamServerOptions = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 10,
  maxConnectionsPerAddress: 10,
  isCompressed: false,
};
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(options: Partial<StreamServerOptions> = {}, missed: () => readonly Buffer[] = () => []) {
  const metrics = createMetrics({ prefix: "", ofProcess: false });
  const server = new StreamServer({ ...OPTIONS, ...options }, createStreamMetrics(metrics), missed);
  const port = await server.listen();
  closers.push(() => server.close());
  const metric = async (name: string): Promise<number> => {
    const line = (await metrics.expose()).body.split("\n").find((each) => each.startsWith(name));
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  const reader = (): { socket: WebSocket; received: Buffer[]; ended: Promise<string> } => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
    const received: Buffer[] = [];
    socket.on("message", (data: Buffer) => received.push(data));
    const ended = new Promise<string>((resolve) => {
      socket.on("error", ({ message }) => resolve(message));
      socket.on("close", () => resolve("closed"));
    });
    closers.push(() => socket.terminate());
    return { socket, received, ended };
  };
  return { server, port, metric, reader };
}

describe("the server of a stream", () => {
  it("sends each message to all readers", async () => {
    const { server, reader, metric } = await serve();
    server.send(server.encode("nobody reads this"));
    const readers = [reader(), reader()];
    await vi.waitFor(() => expect(server.readers).toBe(2), PATIENCE);
    server.send(server.encode('{"a":1}'));
    await vi.waitFor(
      () => expect(readers.map(({ received }) => received.map(String))).toEqual([['{"a":1}'], ['{"a":1}']]),
      PATIENCE,
    );
    expect(await metric("subblocks_readers ")).toBe(2);
    expect(await metric("subblocks_sent_bytes_total")).toBe(14);
  });

  it.each([false, true])(
    "sends what a reader has missed of a block first, if it asks for it (compressed: %s)",
    async (isCompressed) => {
      const missed = ["0", "1"].map((text) => Buffer.from(`{"part":${text}}`));
      const { server, port, reader } = await serve({ isCompressed }, () => missed);
      const plain = reader();
      const texts: (string | undefined)[] = [];
      const events = { onMessage: (text: string | undefined) => void texts.push(text), onUp: () => {}, onDown: () => {} };
      const source = new StreamSource(`ws://127.0.0.1:${port}`, events, systemClock);
      closers.push(() => source.close());
      await vi.waitFor(() => expect([server.readers, texts.length]).toEqual([2, 2]), PATIENCE);
      server.send(server.encode('{"part":2}'));
      await vi.waitFor(() => expect(texts).toEqual(['{"part":0}', '{"part":1}', '{"part":2}']), PATIENCE);
      await vi.waitFor(() => expect(plain.received).toHaveLength(1), PATIENCE);
    },
  );

  it.each([
    ["in all", { maxConnections: 2 }, 'reason="limit"'],
    ["of an address", { maxConnectionsPerAddress: 2 }, 'reason="address-limit"'],
  ])("refuses connections beyond the limit %s, and accepts them later", async (_, limits, label) => {
    const { server, reader, metric } = await serve(limits);
    const [first] = [reader(), reader()];
    await vi.waitFor(() => expect(server.readers).toBe(2), PATIENCE);
    expect(await reader().ended).toContain("429");
    expect(await metric(`subblocks_readers_dropped_total{${label}}`)).toBe(1);
    first.socket.terminate();
    await vi.waitFor(() => expect(server.readers).toBe(1), PATIENCE);
    reader();
    await vi.waitFor(() => expect(server.readers).toBe(2), PATIENCE);
  });

  it("leaves places for others while one address holds many connections that ask for nothing", async () => {
    const { port, metric } = await serve({ maxConnections: 4, maxConnectionsPerAddress: 2 });
    const idle = Array.from({ length: 40 }, (): Socket => connect({ host: "127.0.0.1", port, localAddress: "127.0.0.9" }));
    closers.push(() => idle.map((socket) => socket.on("error", () => {}).destroy()));
    await vi.waitFor(
      async () => expect(await metric('subblocks_readers_dropped_total{reason="address-limit"}')).toBe(30),
      PATIENCE,
    );
    const other = new WebSocket(`ws://127.0.0.1:${port}`);
    closers.push(() => other.terminate());
    await vi.waitFor(() => expect(other.readyState).toBe(other.OPEN), PATIENCE);
  });

  it("drops a reader that does not read, and serves the others", async () => {
    const { server, reader, metric } = await serve();
    const [slow, quick] = [reader(), reader()];
    await vi.waitFor(() => expect(server.readers).toBe(2), PATIENCE);
    slow.socket.pause();
    const text = "x".repeat(1024 * 1024);
    let sent = 0;
    await vi.waitFor(async () => {
      server.send(server.encode(text));
      sent++;
      expect(await metric('subblocks_readers_dropped_total{reason="slow"}')).toBe(1);
    }, PATIENCE);
    await vi.waitFor(() => expect(quick.received.length).toBe(sent), PATIENCE);
    expect(server.readers).toBe(1);
  });

  it("closes connections of readers that send much, and answers other requests with 426", async () => {
    const { port, reader, server } = await serve();
    const loud = reader();
    await vi.waitFor(() => expect(server.readers).toBe(1), PATIENCE);
    await vi.waitFor(() => expect(loud.socket.readyState).toBe(loud.socket.OPEN), PATIENCE);
    loud.socket.send("x".repeat(2000));
    await loud.ended;
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(426);
  });
});

describe("a source of a stream", () => {
  const follow = (url: string) => {
    const [messages, downs]: [(string | undefined)[], string[]] = [[], []];
    let ups = 0;
    const events = {
      onMessage: (text: string | undefined) => messages.push(text),
      onUp: () => ups++,
      onDown: (reason: string) => downs.push(reason),
    };
    const source = new StreamSource(url, events, systemClock);
    closers.push(() => source.close());
    return { messages, downs, ups: () => ups };
  };
  const listen = async (port = 0): Promise<{ server: WebSocketServer; url: string; port: number }> => {
    const server = new WebSocketServer({ host: "127.0.0.1", port });
    await new Promise((resolve) => server.once("listening", resolve));
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        for (const socket of server.clients) socket.terminate();
        server.close(() => resolve());
      });
    closers.push(close);
    const { port: own } = server.address() as AddressInfo;
    return { server, url: `ws://127.0.0.1:${own}`, port: own };
  };

  it("is read plain and compressed, and what is neither is reported", async () => {
    const bomb = brotliCompressSync(Buffer.alloc(32 * 1024 * 1024), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
    const { server, url } = await listen();
    server.on("connection", (socket) => {
      socket.send('{"a":1}');
      socket.send(Buffer.from(' \n{"b":2}'));
      socket.send(brotliCompressSync('{"c":3}'));
      socket.send(Buffer.from("garbage"));
      socket.send(bomb); // few bytes that unpack to many
    });
    const { messages } = follow(url);
    await vi.waitFor(() => expect(messages).toEqual(['{"a":1}', ' \n{"b":2}', '{"c":3}', undefined, undefined]), PATIENCE);
  });

  it("is connected again after a loss, and after a start before it", async () => {
    const first = await listen();
    const { port } = first;
    first.server.close();
    const { messages, downs, ups } = follow(`ws://127.0.0.1:${port}`);
    await vi.waitFor(() => expect(downs.length).toBeGreaterThan(0), PATIENCE);
    const { server } = await listen(port);
    server.on("connection", (socket) => {
      socket.send("{}");
      socket.terminate();
    });
    await vi.waitFor(() => expect(ups()).toBeGreaterThan(2), PATIENCE);
    expect(messages.length).toBeGreaterThan(0);
  });

  it("loses its connection with a message that is too large", async () => {
    const { server, url } = await listen();
    server.on("connection", (socket) => socket.send(Buffer.alloc(25 * 1024 * 1024, "{")));
    const { messages, downs } = follow(url);
    await vi.waitFor(() => expect(downs[0]).toContain("Max payload size"), PATIENCE);
    expect(messages).toEqual([]);
  });

  it("is read no faster than its rate", async () => {
    const { server, url } = await listen();
    const text = `{${" ".repeat(1024 * 1024)}}`;
    let unsent = 0;
    server.on("connection", (socket) => {
      for (let i = 0; i < 200; i++) socket.send(text);
      unsent = socket.bufferedAmount;
      setInterval(() => (unsent = socket.bufferedAmount), 10).unref();
    });
    const { messages } = follow(url);
    await vi.waitFor(() => expect(messages.length).toBeGreaterThan(60), PATIENCE);
    expect(messages.length).toBeLessThan(200); // the burst is 64 MiB; the rest waits at the sender
    expect(unsent).toBeGreaterThan(0);
  });

  it("may be something else than a WebSocket", async () => {
    const server: Server = createServer((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closers.push(() => server.close());
    const { downs, messages } = follow(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await vi.waitFor(() => expect(downs.length).toBeGreaterThan(1), PATIENCE);
    expect(messages).toEqual([]);
  });
});

describe("options of the stream", () => {
  it("--subblocks.addr, --subblocks.max-connections, --subblocks.max-connections-per-address", async () => {
    const limits = ["--subblocks.max-connections=2", "--subblocks.max-connections-per-address=1"];
    const node = await startTestClient(["--subblocks", "--subblocks.port=0", "--subblocks.addr=127.0.0.2", ...limits]);
    closers.push(() => node.remove());
    const url = `ws://127.0.0.2:${node.client.subblocksPort}`;
    const first = new WebSocket(url);
    closers.push(() => first.terminate());
    await vi.waitFor(() => expect(first.readyState).toBe(1), PATIENCE);
    const refused = (given: object): Promise<string> =>
      new Promise((resolve) => {
        new WebSocket(url, given).on("error", ({ message }) => resolve(message)).on("open", () => resolve("open"));
      });
    expect(await refused({})).toContain("429");
    expect(await refused({ localAddress: "127.0.0.3" })).toBe("open");
    expect(await refused({ localAddress: "127.0.0.4" })).toContain("429");
  });

  it("are refused on a chain of another kind", async () => {
    const config = { chainId: 5, terminalTotalDifficulty: 0, shanghaiTime: 0 };
    await expect(startTestClient(["--subblocks", "--subblocks.port=0"], undefined, { config })).rejects.toThrow("OP Stack chains");
  });
});
