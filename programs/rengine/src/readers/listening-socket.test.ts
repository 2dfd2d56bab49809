import { connect } from "node:net";
import { createRpcServer, method, type RpcServer } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ListeningSocket, openListeningSocket } from "./listening-socket.ts";

const HOST = "127.0.0.1";
const open = (port = 0): ListeningSocket => {
  const socket = openListeningSocket(HOST, port);
  return socket; // closed with the server: within one process both have the same descriptor
};
const serve = async ({ fd, port }: ListeningSocket, name: string): Promise<RpcServer> => {
  const methods = { name: method({ params: [], handler: () => name }) };
  const server = createRpcServer({ http: { host: HOST, port, fd }, methods, log: silentLogger });
  onTestFinished(() => server.close());
  expect(await server.listen()).toMatchObject({ httpPort: port });
  return server;
};

const BODY = '{"jsonrpc":"2.0","id":1,"method":"name"}';
/** Sends a request on a new connection, which stays open. @returns the result, or that the connection was refused */
const ask = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, HOST);
    onTestFinished(() => void socket.destroy());
    socket.on("data", (data) => resolve(/"result":"(.*?)"/.exec(data.toString())?.[1] ?? "?"));
    socket.on("error", () => {});
    socket.on("close", () => resolve("closed"));
    socket.write(
      `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
  });

describe("a listening socket", () => {
  it("is listened on by others", async () => {
    const socket = open();
    await serve(socket, "first");
    expect(await ask(socket.port)).toBe("first");
  });

  it("is refused where the address is in use, naming the port", async () => {
    const socket = open();
    await serve(socket, "first");
    expect(() => open(socket.port)).toThrow(
      expect.objectContaining({ code: "EADDRINUSE", port: socket.port, message: expect.stringContaining(String(socket.port)) }),
    );
    expect(() => openListeningSocket("192.0.2.1", 0)).toThrow(expect.objectContaining({ code: "EADDRNOTAVAIL" }));
  });

  it("has its connections counted and limited anew", async () => {
    const socket = open();
    const server = await serve(socket, "one");
    expect(await ask(socket.port)).toBe("one");
    expect(await ask(socket.port)).toBe("one");
    expect(await server.connections()).toEqual([2]);
    server.limitConnections([2]);
    expect(await ask(socket.port)).toBe("closed");
    server.limitConnections([0]); // other processes already have all the connections allowed
    expect(await ask(socket.port)).toBe("closed");
    server.limitConnections([3]);
    expect(await ask(socket.port)).toBe("one");
  });
});
