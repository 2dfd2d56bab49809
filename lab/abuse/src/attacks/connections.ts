import type { Socket } from "node:net";
import type { Attacker } from "../attacker/attacker.ts";
import { batch, call, post, times } from "../attacker/requests.ts";
import type { Target } from "../attacker/target.ts";
import type { Attack } from "./attack.ts";

/** Keeps connections open, each fed with `feed` at intervals. */
async function hold(
  attacker: Attacker,
  ports: readonly number[],
  connections: number,
  feed: (socket: Socket, round: number) => void,
  everyMs: number,
): Promise<void> {
  const sockets = new Set<Socket>();
  for (let round = 0; !attacker.signal.aborted; round++) {
    const missing = Math.min(200, connections - sockets.size);
    const opened = await Promise.all(times(missing, (index) => attacker.connect(ports[(round + index) % ports.length]!)));
    for (const socket of opened) {
      if (!socket) continue;
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.resume();
    }
    for (const socket of sockets) feed(socket, round);
    await attacker.pause(sockets.size < connections && opened.some((socket) => socket) ? 10 : everyMs);
  }
}

const HEAD = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
const allPorts = ({ http, ws, auth, node, batcher }: Target): number[] => [http, ws, auth, node, batcher];

export const slowBodies: Attack = {
  name: "slow-bodies",
  what: "300 requests whose bodies come at a byte a second and never end",
  bounds: { connections: 300 },
  run: ({ http }, attacker) =>
    hold(
      attacker,
      [http],
      300,
      (socket) => {
        attacker.send(socket, socket.bytesWritten === 0 ? `${HEAD}Content-Length: 1000000\r\n\r\n{` : " ");
      },
      1000,
    ),
};

export const slowHeads: Attack = {
  name: "slow-heads",
  what: "300 requests whose headers never end",
  bounds: { connections: 300 },
  run: ({ http }, attacker) =>
    hold(
      attacker,
      [http],
      300,
      (socket, round) => attacker.send(socket, socket.bytesWritten === 0 ? HEAD : `x-${round}: 1\r\n`),
      1000,
    ),
};

export const slowBigBodies: Attack = {
  name: "slow-big-bodies",
  what: "100 requests that each send 14 MiB of a body and then wait",
  bounds: { connections: 100 },
  run: ({ http }, attacker) => {
    const most = 14 << 20;
    const piece = Buffer.alloc(1 << 20, " ");
    const feed = (socket: Socket): void => {
      if (socket.bytesWritten === 0) attacker.send(socket, `${HEAD}Content-Length: ${15 << 20}\r\n\r\n`);
      else if (socket.writableLength === 0 && socket.bytesWritten < most) attacker.send(socket, piece);
    };
    return hold(attacker, [http], 100, feed, 50);
  },
};

export const idleConnections: Attack = {
  name: "idle-connections",
  what: "3,000 connections that say nothing",
  bounds: { connections: 3000 },
  run: ({ http }, attacker) => hold(attacker, [http], 3000, () => {}, 1000),
};

export const descriptors: Attack = {
  name: "descriptors",
  what: "as many connections as this machine gives, on the ports of all programs",
  bounds: { connections: 15_000 },
  run: (target, attacker) => hold(attacker, allPorts(target), 15_000, () => {}, 1000),
};

export const reconnecting: Attack = {
  name: "reconnecting",
  what: "connections that come and go at once, some after a request whose answer nobody waits for",
  bounds: { connections: 100 },
  run: ({ http }, attacker) =>
    attacker.onConnections(http, 100, async (socket, lane) => {
      if (lane % 2 === 0) attacker.send(socket, post(call("eth_blockNumber")));
      if (lane % 3 === 0) socket.resetAndDestroy();
      else socket.destroy();
      await attacker.pause(5);
    }),
};

export const halfRequests: Attack = {
  name: "half-requests",
  what: "half a request, then the sending side is closed",
  bounds: { connections: 100 },
  run: ({ http, auth, node }, attacker) =>
    hold(
      attacker,
      [http, auth, node],
      100,
      (socket) => {
        if (socket.bytesWritten > 0) return;
        const request = post(call("eth_getBlockByNumber", ["latest", true]));
        socket.end(request.slice(0, 1 + attacker.random(request.length - 1)));
      },
      200,
    ),
};

export const neverRead: Attack = {
  name: "never-read",
  what: "200 clients that ask for batches of full blocks, 3 MB each, and read nothing",
  bounds: { connections: 200 },
  run: ({ http }, attacker) => {
    const request = post(batch(times(1000, (id) => call("eth_getBlockByNumber", [`0x${(id % 8).toString(16)}`, true], id))));
    const ask = (socket: Socket): void => {
      socket.pause();
      if (socket.writableLength === 0) attacker.send(socket, request);
    };
    return hold(attacker, [http], 200, ask, 100);
  },
};

export const pipelining: Attack = {
  name: "pipelining",
  what: "20 connections that send requests without waiting for answers, 100 in a piece",
  bounds: { connections: 20 },
  run: ({ http }, attacker) => {
    const requests = times(100, (id) =>
      post(call(id % 10 === 0 ? "eth_getLogs" : "eth_blockNumber", id % 10 === 0 ? [{}] : [], id)),
    ).join("");
    return attacker.onConnections(http, 20, async (socket) => {
      socket.resume();
      attacker.count("requests", 100);
      if (attacker.send(socket, requests)) await attacker.pause(1);
      else
        await new Promise<void>((resolve) => {
          socket.once("drain", resolve);
          socket.once("close", () => resolve());
        });
    });
  },
};

/** The beginning of a TLS ClientHello: a record of 512 bytes is announced. */
const CLIENT_HELLO = Buffer.from("1603010200010001fc0303", "hex");

export const halfTls: Attack = {
  name: "half-tls",
  what: "the first bytes of a TLS handshake, on every port",
  bounds: { connections: 200 },
  run: (target, attacker) =>
    hold(
      attacker,
      allPorts(target),
      200,
      (socket) => {
        if (socket.bytesWritten === 0) attacker.send(socket, CLIENT_HELLO);
      },
      200,
    ),
};
