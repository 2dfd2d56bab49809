import type { Attacker } from "../attacker/attacker.ts";
import { batch, call, post, times } from "../attacker/requests.ts";
import type { Attack, Prepared } from "./attack.ts";

/** Each of the requests in turn, on this number of connections to every JSON-RPC port. */
const sending = (name: string, what: string, connections: number, requests: (attacker: Attacker) => Prepared): Attack => ({
  name,
  what,
  bounds: { connections },
  prepare: requests,
  async run({ http, auth, node, batcher }, attacker, given) {
    const ports = [http, http, auth, node, batcher];
    await Promise.all(
      times(connections, async (lane) => {
        for (let round = lane; !attacker.signal.aborted; round++) {
          const socket = await attacker.connect(ports[lane % ports.length]!);
          if (!socket) {
            await attacker.pause(50);
            continue;
          }
          const answered = attacker.exchange(socket, given[round % given.length]!);
          await Promise.race([answered, attacker.pause(2000)]);
          socket.destroy();
        }
      }),
    );
  },
});

const DEPTH = 1_000_000;
const LARGE = 14 << 20;

export const deepJson = sending("deep-json", "lists and objects nested a million deep", 10, () =>
  [
    "[".repeat(DEPTH),
    "[".repeat(DEPTH) + "]".repeat(DEPTH),
    '{"a":'.repeat(DEPTH),
    call("eth_call", []).replace("[]", `[${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}]`),
    call("eth_call", []).replace("[]", `[{"data":${'{"a":'.repeat(2000)}1${"}".repeat(2000)}}]`),
  ].map((body) => post(body)),
);

export const hugeJson = sending(
  "huge-json",
  "requests of 14 MiB: one string, one number, a million keys, a million parameters",
  5,
  () =>
    [
      call("eth_call", ["x".repeat(LARGE)]),
      call("eth_call", []).replace("[]", `[${"9".repeat(LARGE)}]`),
      call("eth_call", [{}]).replace("{}", `{${times(1_000_000, (index) => `"k${index}":0`).join(",")}}`),
      call("eth_getLogs", [times(1_000_000, () => 0)]),
      call("eth_sendRawTransaction", [`0x${"f9".repeat(LARGE / 2)}`]),
      JSON.stringify("\\u0000".repeat(LARGE / 8)),
    ].map((body) => post(body)),
);

export const batchBombs = sending(
  "batch-bombs",
  "batches of a million requests, of empty ones, of batches, and of 1,000 large answers",
  5,
  () =>
    [
      `[${"0,".repeat(1_000_000)}0]`,
      batch(times(200_000, (id) => call("eth_chainId", [], id))),
      `[${"[],".repeat(500_000)}[]]`,
      batch(times(1000, (id) => call("rpc_modules", [], "i".repeat(10_000) + id))),
      batch(times(1000, (id) => call("rpc_discover", [], id))),
      batch(times(1000, (id) => call("eth_getBlockReceipts", ["latest"], id))),
    ].map((body) => post(body)),
);

export const invalidText = sending(
  "invalid-text",
  "JSON that is not UTF-8, not one value, with lone surrogates, or with zeros",
  10,
  (attacker) => {
    const bytes = (make: (index: number) => number): Buffer => Buffer.from(times(4096, make));
    const bodies: readonly Uint8Array[] = [
      bytes(() => 0xff),
      bytes(() => 0xc0),
      bytes((index) => (index % 2 === 0 ? 0xed : 0xa0)),
      bytes(() => attacker.random(256)),
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":"'),
        bytes(() => 0x80 + attacker.random(128)),
        Buffer.from('","method":"eth_chainId"}'),
      ]),
      Buffer.from('{"jsonrpc":"2.0","id":"\\ud800","method":"\\udfff"}'),
      Buffer.from(`${call("eth_chainId")}${call("eth_chainId")}`),
      Buffer.from('{"jsonrpc":"2.0","id":1e400,"method":"eth_chainId","params":{"__proto__":{"x":1},"constructor":1}}'),
      Buffer.alloc(65_536),
    ];
    return bodies.map((body) =>
      Buffer.concat([
        Buffer.from(
          `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
        ),
        body,
      ]),
    );
  },
);

const body = call("eth_chainId");
const raw = (...lines: readonly string[]): string => lines.join("\r\n");

export const malformedHttp = sending(
  "malformed-http",
  "requests that HTTP does not allow: bytes, lengths, chunks, headers without end",
  20,
  (attacker) => [
    Buffer.from(times(2000, () => attacker.random(256))),
    "\0".repeat(10_000),
    "\r\n".repeat(50_000),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Content-Length: -1", "", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 99999999999999999999", "", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 5", "Content-Length: 50", "", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 5", "Transfer-Encoding: chunked", "", "0", "", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Transfer-Encoding: chunked", "", "ffffffffffffffff", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Transfer-Encoding: chunked", "", "-5", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Transfer-Encoding: chunked", "", `5;${"x".repeat(100_000)}`, body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", `X-Long: ${"x".repeat(1_000_000)}`, "", body),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", ...times(50_000, (index) => `X-${index}: 1`), "", body),
    raw("POST / HTTP/1.1", "Host : 127.0.0.1", " folded: 1", "\tfolded", "", body),
    raw(`GET /${"a/../".repeat(100_000)} HTTP/1.1`, "Host: 127.0.0.1", "", ""),
    raw("GET / HTTP/0.9", "", ""),
    raw("PRI * HTTP/2.0", "", "SM", "", ""),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Expect: 100-continue", "Content-Length: 1000", "", ""),
    raw("CONNECT 127.0.0.1:22 HTTP/1.1", "Host: 127.0.0.1", "", ""),
    raw("TRACE / HTTP/1.1", "Host: 127.0.0.1", "", ""),
    raw(
      "POST / HTTP/1.1",
      "Host: 127.0.0.1",
      "Content-Encoding: gzip",
      "Content-Type: application/json",
      "Content-Length: 4",
      "",
      "\u001f\u008b\b\0",
    ),
    raw("POST / HTTP/1.1", "Host: 127.0.0.1", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "", ""),
  ],
);
