import { createHmac } from "node:crypto";
import type { Attacker } from "../attacker/attacker.ts";
import { batch, call, post, times } from "../attacker/requests.ts";
import type { Target } from "../attacker/target.ts";
import { openWebSocket } from "../attacker/websocket.ts";
import type { Attack } from "./attack.ts";

/** Requests that must be refused. An answer with a result is a breach. */

/** Sends a request on a new connection; a result is reported. */
async function mustFail(attacker: Attacker, port: number, request: string, what: string): Promise<void> {
  const socket = await attacker.connect(port);
  if (!socket) return attacker.pause(20);
  const answer = await Promise.race([attacker.exchange(socket, request), attacker.pause(3000).then(() => undefined)]);
  socket.destroy();
  if (answer?.status === 200 && /"result":/.test(answer.text)) attacker.breach(`${what}: ${answer.text.slice(0, 120)}`);
}

/** Goes through the requests, eight at a time, again and again. */
async function knock(
  attacker: Attacker,
  requests: readonly { readonly port: number; readonly request: string; readonly what: string }[],
): Promise<void> {
  await Promise.all(
    times(8, async (lane) => {
      for (let round = lane; !attacker.signal.aborted; round++) {
        const { port, request, what } = requests[round % requests.length]!;
        await mustFail(attacker, port, request, what);
      }
    }),
  );
}

const FOREIGN_HOSTS = [
  "evil.example",
  "evil.example:8545",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "[evil]",
  "127.0.0.1@evil.example",
];
/** Without origins of local pages and extensions, which a devnet serves. */
const FOREIGN_ORIGINS = [
  "http://evil.example",
  "null",
  "https://127.0.0.1.evil.example",
  "file://",
  "https://localhost.evil.example",
];
const question = (port: number, target: Target): string =>
  port === target.node ? call("rnode_syncStatus") : call(port === target.batcher ? "admin_stopBatcher" : "eth_chainId");

export const foreignPages: Attack = {
  name: "foreign-pages",
  what: "DNS rebinding (foreign Host) and pages of other origins, over HTTP on every port and over WebSocket",
  bounds: { connections: 20 },
  async run(target, attacker) {
    const { http, ws, node, batcher } = target;
    const requests = [http, node, batcher].flatMap((port) => [
      ...FOREIGN_HOSTS.map((host) => ({
        port,
        request: post(question(port, target)).replace("Host: 127.0.0.1", `Host: ${host}`),
        what: `port ${portName(port, target)}, Host ${host}`,
      })),
      ...FOREIGN_ORIGINS.map((origin) => ({
        port,
        request: post(question(port, target), [`Origin: ${origin}`]),
        what: `port ${portName(port, target)}, Origin ${origin}`,
      })),
      ...FOREIGN_ORIGINS.map((origin) => ({
        port,
        request: post(question(port, target), [`Origin: ${origin}`]).replace("application/json", "text/plain"),
        what: `port ${portName(port, target)}, Origin ${origin}, text/plain`,
      })),
    ]);
    const sockets = async (): Promise<void> => {
      while (!attacker.signal.aborted) {
        for (const header of [
          ...FOREIGN_HOSTS.map((host) => `Host: ${host}`),
          ...FOREIGN_ORIGINS.map((origin) => `Origin: ${origin}`),
        ]) {
          const socket = await openWebSocket(attacker, ws, [header]);
          if (socket) attacker.breach(`WebSocket with ${header}`);
          socket?.destroy();
          await attacker.pause(5);
        }
      }
    };
    await Promise.all([knock(attacker, requests), sockets()]);
  },
};

/** Methods of other listeners and of namespaces that change the node, which the public port must not serve. */
const FORBIDDEN = [
  ...["admin_nodeInfo", "admin_addPeer", "admin_stopHTTP", "admin_exportChain", "admin_datadir", "admin_stopSequencer"],
  ...["debug_setHead", "debug_writeMemProfile", "debug_setGCPercent", "debug_freeOSMemory", "debug_stacks", "debug_chaindbCompact"],
  ...[
    "miner_start",
    "miner_setMaxDASize",
    "miner_setExtra",
    "testing_buildBlockV1",
    "personal_unlockAccount",
    "personal_newAccount",
  ],
  ...["engine_forkchoiceUpdatedV3", "engine_newPayloadV4", "engine_getPayloadV4", "engine_exchangeCapabilities"],
  ...["evm_mine", "hardhat_setBalance", "anvil_setCode", "eth_sendTransaction", "eth_sign", "__proto__", "constructor", "toString"],
];
const CONTROL = [["0x0"], [], [{}], ["0x0", "0x0"]];

export const adminMethods: Attack = {
  name: "admin-methods",
  what: "methods that change the node, of other listeners and of no listener, on the public ports",
  bounds: { connections: 8 },
  run: ({ http }, attacker) =>
    knock(
      attacker,
      FORBIDDEN.flatMap((name) => CONTROL.map((params) => ({ port: http, request: post(call(name, params)), what: name }))),
    ),
};

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const signed = (header: unknown, claims: unknown, secret: string, algorithm = "sha256"): string => {
  const text = `${base64(header)}.${base64(claims)}`;
  return `${text}.${createHmac(algorithm, secret).update(text).digest("base64url")}`;
};

/** Tokens that do not prove anything. */
function forgedTokens(nowSec: number): Readonly<Record<string, string | undefined>> {
  const hs256 = { alg: "HS256", typ: "JWT" };
  const claims = { iat: nowSec };
  return {
    "no token": undefined,
    "an empty token": "",
    "another secret": signed(hs256, claims, "another"),
    "an empty secret": signed(hs256, claims, ""),
    "zeros as secret": signed(hs256, claims, "\0".repeat(32)),
    "alg none": `${base64({ alg: "none", typ: "JWT" })}.${base64(claims)}.`,
    "alg NONE with a signature": signed({ alg: "NONE" }, claims, ""),
    "alg HS512": signed({ alg: "HS512" }, claims, "another", "sha512"),
    "two parts": `${base64(hs256)}.${base64(claims)}`,
    "many parts": Array.from({ length: 5000 }, () => "e30").join("."),
    "deep claims": `${base64(hs256)}.${Buffer.from("[".repeat(3000)).toString("base64url")}.AAAA`,
    "no JSON": "a.b.c",
    prototype: signed(hs256, JSON.parse('{"__proto__":{"iat":1}}'), "another"),
  };
}

export const engineDoor: Attack = {
  name: "engine-door",
  what: "the Engine API without a token, with forged ones, with bodies of megabytes before the token is checked",
  bounds: { connections: 60 },
  async run({ auth }, attacker) {
    const tokens = Object.entries(forgedTokens(Math.floor(Date.now() / 1000)));
    const bodies = [
      call("engine_exchangeCapabilities", [[]]),
      call("eth_chainId"),
      batch(times(500, (id) => call("eth_chainId", [], id))),
    ];
    const requests = tokens.flatMap(([what, token]) =>
      bodies.map((body) => ({
        port: auth,
        request: post(body, token === undefined ? [] : [`Authorization: Bearer ${token}`]),
        what: `Engine API with ${what}`,
      })),
    );
    const large = async (): Promise<void> => {
      const body = " ".repeat(8 << 20);
      while (!attacker.signal.aborted) await mustFail(attacker, auth, post(body), "Engine API with a large body");
    };
    const upgrades = async (): Promise<void> => {
      while (!attacker.signal.aborted) {
        const socket = await openWebSocket(attacker, auth);
        if (socket) attacker.breach("a WebSocket to the Engine API without a token");
        await attacker.pause(20);
      }
    };
    await Promise.all([knock(attacker, requests), ...times(4, large), upgrades()]);
  },
};

export const engineConnections: Attack = {
  name: "engine-connections",
  what: "1,000 connections to the Engine API without a token, of which half send a byte a second",
  bounds: { connections: 1000 },
  async run({ auth }, attacker) {
    await attacker.onConnections(auth, 1000, async (socket, lane) => {
      if (socket.bytesWritten === 0) attacker.send(socket, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n");
      else if (lane % 2 === 0) attacker.send(socket, " ");
      await attacker.pause(1000);
    });
  },
};

export const rollupNode: Attack = {
  name: "rollup-node",
  what: "rnode's RPC: output roots of every block, batches, malformed payloads and parameters, on 16 connections",
  bounds: { connections: 16 },
  run: ({ node }, attacker) => {
    const payload = {
      executionPayload: Object.fromEntries(["parentHash", "blockHash", "transactions"].map((name) => [name, "0x00"])),
    };
    const bodies = [
      () => batch(times(200, (id) => call("optimism_outputAtBlock", [`0x${attacker.random(30).toString(16)}`], id))),
      () => batch(times(1000, (id) => call("optimism_rollupConfig", [], id))),
      () => call("optimism_outputAtBlock", ["0xffffffffffffffff"]),
      () => call("admin_postUnsafePayload", [payload]),
      () => call("admin_postUnsafePayload", [{ executionPayload: { transactions: times(100_000, () => "0x00") } }]),
      () => call("admin_setLogLevel", ["__proto__"]),
      () => call("optimism_safeHeadAtL1Block", ["0x1"]),
      () => `[${"{},".repeat(100_000)}0]`,
    ];
    return attacker.onConnections(node, 16, (socket) => attacker.exchange(socket, post(bodies[attacker.random(bodies.length)]!())));
  },
};

export const nodeConnections: Attack = {
  name: "node-connections",
  what: "1,500 connections to the RPC ports of rnode and rbatcher that say nothing or half a request",
  bounds: { connections: 1500 },
  async run({ node, batcher }, attacker) {
    const holding = (port: number): Promise<void> =>
      attacker.onConnections(port, 750, async (socket, lane) => {
        if (lane % 2 === 0 && socket.bytesWritten === 0) attacker.send(socket, "POST / HTTP/1.1\r\nContent-Length: 9\r\n");
        await attacker.pause(1000);
      });
    await Promise.all([holding(node), holding(batcher)]);
  },
};

export const monitoring: Attack = {
  name: "monitoring",
  what: "floods of /metrics and /healthz of rengine and rnode, and 500 connections to each that are held",
  bounds: { connections: 1100 },
  async run({ engineMetrics, nodeMetrics, http, node }, attacker) {
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const flood = (port: number, path: string): Promise<void> =>
      attacker.onConnections(port, 8, (socket) => Promise.race([attacker.exchange(socket, get(path)), attacker.pause(2000)]));
    const held = (port: number): Promise<void> => attacker.onConnections(port, 500, () => attacker.pause(1000));
    await Promise.all([
      flood(engineMetrics, "/metrics"),
      flood(nodeMetrics, "/metrics"),
      flood(http, "/readyz"),
      flood(node, "/healthz"),
      held(engineMetrics),
      held(nodeMetrics),
    ]);
  },
};

function portName(port: number, target: Target): string {
  return Object.entries(target).find(([, value]) => value === port)?.[0] ?? String(port);
}
