import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";

const PRIVATE = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const PAGES = [
  "http://localhost:5173",
  "http://127.0.0.1:3000",
  "http://[::1]:8080",
  "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn",
];
const SITES = ["https://evil.example", "http://localhost.evil.example", "null"];

interface Answer {
  readonly status: number;
  readonly allows: string | undefined;
  readonly body: string;
}

function post(url: string, headers: Record<string, string>, method: string, params: unknown[] = []): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { "content-type": "application/json", ...headers } }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString()));
      response.on("end", () =>
        resolve({ status: response.statusCode!, allows: response.headers["access-control-allow-origin"], body }),
      );
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  });
}

const opens = (url: string, origin: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws"), { origin });
    socket.once("open", () => {
      socket.close();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

describe("web pages and the keys of a development chain", () => {
  let open: DevClient;
  let closed: DevClient;
  let listed: DevClient;
  beforeAll(async () => {
    open = await startDevTestClient();
    closed = await startDevTestClient(`--dev.mnemonic=${PRIVATE}`);
    listed = await startDevTestClient(`--dev.mnemonic=${PRIVATE}`, "--http.corsdomain=https://app.example");
  });
  afterAll(() => Promise.all([open, closed, listed].map((each) => each.close())));

  it.each([...PAGES, ...SITES])("the test phrase: %s is served", async (origin) => {
    expect(await post(open.url, { origin }, "eth_chainId")).toMatchObject({ status: 200, allows: "*" });
    expect(await opens(open.url, origin)).toBe(true);
  });

  it.each(PAGES)("another phrase: %s is served", async (origin) => {
    expect(await post(closed.url, { origin }, "eth_chainId")).toMatchObject({ status: 200, allows: origin });
    expect(await opens(closed.url, origin)).toBe(true);
  });

  it.each(SITES)("another phrase: %s is refused", async (origin) => {
    const [from] = await closed.rpc.call<string[]>("eth_accounts", []);
    expect(await post(closed.url, { origin }, "eth_sign", [from, "0x12"])).toMatchObject({ status: 403, allows: undefined });
    expect(await opens(closed.url, origin)).toBe(false);
  });

  it("another phrase: a site whose name was made to resolve to this machine is refused", async () => {
    const headers = { host: "evil.example:8545", origin: "http://evil.example:8545" };
    expect(await post(closed.url, headers, "eth_accounts")).toMatchObject({ status: 403 });
  });

  it("a list of origins is kept to, by WebSockets as well", async () => {
    expect(await opens(listed.url, "https://app.example")).toBe(true);
    for (const origin of SITES) expect(await opens(listed.url, origin)).toBe(false);
    expect(await post(listed.url, { origin: SITES[0]! }, "eth_accounts")).toMatchObject({ status: 403 });
  });

  const domainTypes = { EIP712Domain: [{ name: "chainId", type: "uint256" }], M: [] };
  const typed = (chainId: unknown): unknown => ({ types: domainTypes, primaryType: "M", domain: { chainId }, message: {} });
  it.each(["eth_signTypedData", "eth_signTypedData_v3", "eth_signTypedData_v4"])(
    "%s for another chain is refused",
    async (method) => {
      const [from] = await open.rpc.call<string[]>("eth_accounts", []);
      for (const chainId of [1, "1", "0x1", `0x1${"0".repeat(60)}7a69`, -1]) {
        const { body } = await post(open.url, {}, method, [from, typed(chainId)]);
        expect(JSON.parse(body)).toMatchObject({
          error: { message: expect.stringMatching(/sign for its own, 31337, only|is no uint256/) as string },
        });
      }
      for (const chainId of [31337, "0x7a69"]) expect(await open.rpc.call(method, [from, typed(chainId)])).toMatch(/^0x/);
    },
  );

  it.each(["eth_signTransaction", "eth_sendTransaction"])("%s for another chain is refused", async (method) => {
    const [from, to] = await open.rpc.call<string[]>("eth_accounts", []);
    const whole = { from, to, gas: "0x5208", nonce: "0x0", maxFeePerGas: "0x77359400", maxPriorityFeePerGas: "0x1" };
    for (const fields of [{}, whole]) {
      const { body } = await post(open.url, {}, method, [{ from, to, ...fields, chainId: "0x1" }]);
      expect(JSON.parse(body)).toMatchObject({ error: { message: expect.stringMatching(/only/) as string } });
    }
    expect(await open.rpc.call(method, [{ ...whole, chainId: "0x7a69" }])).toMatch(/^0x/);
  });
});
