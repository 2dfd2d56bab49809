import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SmallAnswer, type SmallServerOptions, startSmallServer } from "./small-server.ts";

type Options = Omit<SmallServerOptions, "addr" | "port" | "idleMs">;

async function start(answer: SmallAnswer, options: Options = {}): Promise<number> {
  const server = await startSmallServer(answer, { addr: "127.0.0.1", port: 0, idleMs: 10_000, ...options });
  onTestFinished(() => server.close());
  return server.port;
}

/** Sends a request as written. @returns the status, 0 if the connection was cut */
async function statusOf(port: number, line: string, headers: readonly string[] = ["host: localhost"]): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (part) => {
    text += part.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(`${[`${line} HTTP/1.1`, ...headers, "connection: close"].join("\r\n")}\r\n\r\n`);
  await once(socket, "close");
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
}

const say: SmallAnswer = ({ path, query }, response) => void response.end(`${path} ${query}`);

describe("the server of side doors", () => {
  const FOREIGN = { host: "evil.example", origin: "http://evil.example" };
  it.each([
    ["an address", ["host: 127.0.0.1:7300"], {}, 200],
    ["an IPv6 address", ["host: [::1]:7300"], {}, 200],
    ["localhost", ["host: localhost:7300"], {}, 200],
    ["another name", [`host: ${FOREIGN.host}`], {}, 403],
    ["a name that begins like an address", ["host: 127.0.0.1.evil.example"], {}, 403],
    ["a name with user information", ["host: 127.0.0.1@evil.example"], {}, 403],
    ["a listed name", [`host: ${FOREIGN.host}:80`], { vhosts: [FOREIGN.host] }, 200],
    ["any name", [`host: ${FOREIGN.host}`], { vhosts: ["*"] }, 200],
    ["a container's name", ["host: node-1:7300"], {}, 403],
    ["a container's name, accepted", ["host: node-1:7300"], { acceptsPrivateNames: true }, 200],
    ["a cluster's name, accepted", ["host: node.main.svc.cluster.local"], { acceptsPrivateNames: true }, 200],
    ["a public name", [`host: ${FOREIGN.host}`], { acceptsPrivateNames: true }, 403],
    ["a public name with a private part", ["host: node.internal.evil.example"], { acceptsPrivateNames: true }, 403],
    ["a page of another origin", ["host: localhost", `origin: ${FOREIGN.origin}`], {}, 403],
    ["a page without an origin", ["host: localhost", "origin: null"], {}, 403],
    ["a page of its own", ["host: localhost:7300", "origin: http://localhost:7300"], {}, 200],
  ] as const)("with Host or Origin of %s", async (_, headers, options, status) => {
    expect(await statusOf(await start(say, options), "GET /", headers)).toBe(status);
  });

  const TARGETS = [
    "//",
    "///",
    "/%",
    "/%E0%A4%A",
    "/%00",
    "*",
    "/?%",
    "//?%",
    "http://[",
    "http://",
    "/..",
    "/\\",
    "/#",
    "/?a=%ff",
    "/:80",
    "//[::1",
  ];
  const FAILING: Record<string, SmallAnswer> = {
    "throws at once": () => {
      throw new Error("at once");
    },
    rejects: () => Promise.reject(new Error("later")),
    "throws what is no error": () => {
      throw undefined;
    },
    "throws after the head": async (_, response) => {
      response.writeHead(200).write("x");
      await Promise.resolve();
      throw new Error("after the head");
    },
    "writes a bad header": (_, response) => void response.writeHead(200, { bad: "\n" }).end(),
    "answers twice": (_, response) => {
      response.writeHead(200).end();
      response.writeHead(200).end();
    },
  };
  it.each(Object.entries(FAILING))("survives a handler that %s, and reports it", async (_, answer) => {
    const faults: string[] = [];
    const port = await start(answer, { onFault: (_error, path) => faults.push(path) });
    for (const target of TARGETS) await statusOf(port, `GET ${target}`);
    await statusOf(port, "GET /last");
    expect(faults.at(-1)).toBe("/last");
  });

  it("answers every target", async () => {
    const port = await start(say);
    for (const target of TARGETS)
      expect([target, [200, 400].includes(await statusOf(port, `GET ${target}`))]).toEqual([target, true]);
    expect(await statusOf(port, "POST /")).toBe(405);
    expect(await statusOf(port, "GET /")).toBe(200);
  });

  const SLOW = {
    "say nothing": "",
    "send half a head": "GET / HTTP/1.1\r\nhost: localhost\r\n",
    "send half a body": "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nx",
  };
  it.each(Object.entries(SLOW))("answers a newcomer of the same address beside 64 connections that %s", async (_, text) => {
    const port = await start(
      async ({ message }, response) => {
        for await (const _part of message) void _part;
        response.end();
      },
      { verbs: ["GET", "POST"] },
    );
    const held = Array.from({ length: 64 }, (): Socket => connect(port, "127.0.0.1").on("error", () => {}));
    onTestFinished(() => {
      for (const socket of held) socket.destroy();
    });
    await Promise.all(held.map((socket) => once(socket, "connect")));
    for (const socket of held) socket.write(text);
    expect(await statusOf(port, "GET /")).toBe(200);
  });
});
