import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { resumableBody } from "./resumable-body.ts";
import { type FlakyServer, startFlakyServer } from "./testing/flaky-server.ts";

const FILE = new TextEncoder().encode("the file");
const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

let server: FlakyServer;
let proxy: Server;
let proxied: string[];
const before = new Map(VARIABLES.map((name) => [name, process.env[name]]));

beforeEach(async () => {
  for (const name of VARIABLES) delete process.env[name];
  server = await startFlakyServer(() => FILE);
  proxied = [];
  proxy = createServer(({ url = "" }, response) => {
    proxied.push(url);
    fetch(url)
      .then((answer) => answer.arrayBuffer())
      .then(
        (body) => response.end(Buffer.from(body)),
        () => response.destroy(),
      );
  });
  proxy.on("connect", ({ url = "" }, socket) => {
    proxied.push(`CONNECT ${url}`);
    const { port } = new URL(server.url);
    const onward = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const side of [socket, onward]) side.on("error", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await server.close();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
});

const address = (): string => `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
async function read(url: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of resumableBody(url, { maxBytes: 100, maxFailures: 0, idleMs: 2000 })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

it.each([
  ["HTTP_PROXY", "http://"],
  ["http_proxy", "http://"],
  ["HTTP_PROXY", ""],
])('%s with a value that begins with "%s" is used', async (name, scheme) => {
  process.env[name] = `${scheme}${address()}`;
  expect(await read(server.url)).toBe("the file");
  expect(proxied).toEqual([server.url]);
});

it("HTTPS_PROXY is used for https, through a tunnel, and not for http", async () => {
  process.env.HTTPS_PROXY = `http://${address()}`;
  expect(await read(server.url)).toBe("the file");
  expect(proxied).toEqual([]);
  await expect(read("https://files.example/x")).rejects.toThrow(); // the server behind the tunnel speaks no TLS
  expect(proxied).toEqual(["CONNECT files.example:443"]);
});

it.each(["127.0.0.1", "*", "localhost,127.0.0.1"])("NO_PROXY=%s goes past it", async (value) => {
  process.env.HTTP_PROXY = `http://${address()}`;
  process.env.NO_PROXY = value;
  expect(await read(server.url)).toBe("the file");
  expect(proxied).toEqual([]);
});

it.each(["http://", "socks5://127.0.0.1:1"])("a value that names no HTTP proxy is refused by name: %s", async (value) => {
  process.env.HTTP_PROXY = value;
  await expect(read(server.url)).rejects.toThrow(/HTTP_PROXY names no HTTP proxy/);
});
