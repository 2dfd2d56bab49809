import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isCodedError } from "@rnode/primitives";
import { jwtVerify } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RpcClient, RpcClientOptions } from "../wire/rpc-client-types.ts";
import { RpcError } from "../wire/rpc-error.ts";
import { createRpcClient } from "./rpc-client.ts";

type Answer = (body: string, request: IncomingMessage, response: ServerResponse) => void;
const opened: { server: Server; client: RpcClient }[] = [];

async function setUp(answer: Answer, options: Partial<RpcClientOptions> = {}): Promise<RpcClient> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(Buffer.concat(chunks).toString(), request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createRpcClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?key=1`, ...options });
  opened.push({ server, client });
  return client;
}

afterEach(async () => {
  for (const { server, client } of opened.splice(0)) {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Request {
  id: number;
  method: string;
  params: unknown[];
}
const reply = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
};
const echo: Answer = (body, _, response) => {
  const parsed = JSON.parse(body) as Request | Request[];
  const one = ({ id, method, params }: Request) => ({ jsonrpc: "2.0", id, result: [method, params] });
  reply(response, Array.isArray(parsed) ? parsed.map(one).reverse() : one(parsed));
};

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** Writes as fast as the client reads, until it hangs up. */
function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(16_384, 0x20);
  const write = (): void => {
    while (!response.destroyed) if (!response.write(chunk)) return void response.once("drain", write);
  };
  write();
}

/** Never silent for long, and never ready. */
function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write(" "), 20);
  response.once("close", () => clearInterval(timer));
}

async function failure(promise: Promise<unknown>): Promise<{ code: string; data: Record<string, unknown> }> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isCodedError(error)) throw new Error(`expected a CodedError, got ${String(error)}`);
  return { code: error.code, data: error.data };
}

describe("elements of a long list", () => {
  const answering =
    (result: unknown, status = 200): Answer =>
    (body, _, response) =>
      reply(response, { jsonrpc: "2.0", id: (JSON.parse(body) as Request).id, result }, status);

  it("are handed over as they arrive, however many bytes they are together", async () => {
    const list = Array.from({ length: 3_000 }, (_, index) => ({ index, text: "x".repeat(100) }));
    const client = await setUp(answering(list), { maxResponseBytes: 10_000 });
    const elements: unknown[] = [];
    expect(await client.call("eth_getBlockReceipts", [], { onElement: (each) => elements.push(each) })).toEqual([]);
    expect(elements).toEqual(list);
    await expect(client.call("eth_getBlockReceipts", [])).rejects.toMatchObject({ code: "rpc/response-too-large" });
  });

  it("end the request if they are refused, with that error", async () => {
    const client = await setUp(answering([1, 2, 3]));
    const refuse = (): void => {
      throw new TypeError("not this");
    };
    await expect(client.call("x", [], { onElement: refuse })).rejects.toThrow(TypeError);
    expect(await client.call("x", [])).toEqual([1, 2, 3]);
  });

  it("are not made of errors, null, or what is no JSON", async () => {
    const elements: unknown[] = [];
    const onElement = (each: unknown): void => void elements.push(each);
    const failing = await setUp((body, _, response) =>
      reply(response, {
        jsonrpc: "2.0",
        id: (JSON.parse(body) as Request).id,
        error: { code: -32601, message: "no", data: [1, 2] },
      }),
    );
    await expect(failing.call("x", [], { onElement })).rejects.toMatchObject({ code: -32601 });
    expect(await (await setUp(answering(null))).call("x", [], { onElement })).toBeNull();
    const torn = await setUp((_, __, response) => void response.end('{"jsonrpc":"2.0","id":1,"result":[1,'));
    await expect(torn.call("x", [], { onElement })).rejects.toMatchObject({ code: "rpc/bad-response" });
    expect(elements).toEqual([1]);
  });
});

describe("createRpcClient", () => {
  it("counts the connections that ended", async () => {
    let closes = false;
    const client = await setUp((body, request, response) => {
      if (closes) response.shouldKeepAlive = false;
      echo(body, request, response);
    });
    expect(client.connectionsLost).toBe(0);
    await client.call("a");
    await client.call("b");
    expect(client.connectionsLost).toBe(0);
    closes = true;
    await client.call("c");
    await client.call("d");
    await vi.waitFor(() => expect(client.connectionsLost).toBe(2), 60_000);
  });

  it("calls, at the path of its URL", async () => {
    let path: string | undefined;
    const client = await setUp((body, request, response) => {
      path = request.url;
      echo(body, request, response);
    });
    expect(await client.call("eth_chainId")).toEqual(["eth_chainId", []]);
    expect(await client.call("m", [1, "2"])).toEqual(["m", [1, "2"]]);
    expect(path).toBe("/path?key=1");
    expect(client.endpoint).not.toContain("key");
  });

  it("splits batches and orders the answers", async () => {
    const sizes: number[] = [];
    const client = await setUp(
      (body, request, response) => {
        sizes.push((JSON.parse(body) as unknown[]).length);
        echo(body, request, response);
      },
      { maxBatchSize: 3 },
    );
    const outcomes = await client.batch(Array.from({ length: 7 }, (_, n) => ({ method: "m", params: [n] })));
    expect(outcomes).toEqual(Array.from({ length: 7 }, (_, n) => ({ kind: "result", result: ["m", [n]] })));
    expect(sizes.sort((a, b) => a - b)).toEqual([1, 3, 3]);
    expect(await client.batch([])).toEqual([]);
  });

  it("throws what the server answered, with its data", async () => {
    const client = await setUp((body, _, response) => {
      const { id } = JSON.parse(body) as Request;
      reply(response, { jsonrpc: "2.0", id, error: { code: 3, message: "execution reverted", data: "0x01" } });
    });
    const error: unknown = await client.call("eth_call").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: 3, message: "execution reverted", data: "0x01" });
  });

  it("gives errors in batches beside results", async () => {
    const client = await setUp((body, _, response) => {
      const [first, second] = JSON.parse(body) as Request[];
      reply(response, [
        { jsonrpc: "2.0", id: second!.id, error: { code: -32601, message: "no" } },
        { jsonrpc: "2.0", id: first!.id, result: null },
      ]);
    });
    const [first, second] = await client.batch([{ method: "a" }, { method: "b" }]);
    expect(first).toEqual({ kind: "result", result: null });
    expect(second).toMatchObject({ kind: "error", error: { code: -32601 } });
  });

  it.each<[string, Answer, string]>([
    ["a status", (_, __, response) => response.writeHead(401).end("stale token"), "rpc/http-status"],
    [
      "rate limiting with an error object",
      (_, __, r) => reply(r, { id: 1, error: { code: -32005, message: "x" } }, 429),
      "rpc/http-status",
    ],
    ["no JSON", (_, __, response) => response.end("<html>"), "rpc/bad-response"],
    ["another id", (_, __, response) => reply(response, { jsonrpc: "2.0", id: 999, result: 1 }), "rpc/bad-response"],
    ["no answer object", (_, __, response) => reply(response, 5), "rpc/bad-response"],
    ["a lost connection", (_, request) => request.socket.destroy(), "rpc/unreachable"],
    ["silence", () => {}, "rpc/timeout"],
    ["a body without end", (_, __, response) => response.write("{"), "rpc/timeout"],
    ["a body that trickles without end", (_, __, response) => trickle(response), "rpc/timeout"],
    ["a body that floods without end", (_, __, response) => flood(response), "rpc/response-too-large"],
    ["nesting", (_, __, response) => response.end(`{"jsonrpc":"2.0","id":1,"result":${nested(5000)}}`), "rpc/bad-response"],
    ["nesting without end", (_, __, response) => response.end("[".repeat(20_000)), "rpc/bad-response"],
    ["too much", (_, __, response) => response.end("x".repeat(100_001)), "rpc/response-too-large"],
  ])("tells %s from an error of the server", async (_, answer, code) => {
    const client = await setUp(answer, { timeoutMs: 200, maxResponseBytes: 100_000 });
    expect((await failure(client.call("m"))).code).toBe(code);
  });

  it("takes answers as deep as those of call tracers", async () => {
    const client = await setUp((body, _, response) => {
      const { id } = JSON.parse(body) as Request;
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${nested(2100)}}`);
    });
    expect(JSON.stringify(await client.call("debug_traceTransaction"))).toBe(nested(2100));
  });

  it("reports the reason of a refusal", async () => {
    const client = await setUp((_, __, response) => response.writeHead(401).end("stale token"));
    expect(await failure(client.call("m"))).toMatchObject({ data: { status: 401, body: "stale token", method: "m" } });
  });

  it("reports an endpoint nobody listens on", async () => {
    const client = createRpcClient({ url: "http://user:secret@127.0.0.1:1" });
    const { code, data } = await failure(client.call("m"));
    expect(code).toBe("rpc/unreachable");
    expect(JSON.stringify(data)).toContain("ECONNREFUSED");
    expect(JSON.stringify(data)).not.toContain("secret");
    await client.close();
  });

  it("sends a fresh token that jose accepts", async () => {
    const secret = new Uint8Array(32).fill(7);
    let authorization = "";
    const client = await setUp(
      (body, request, response) => {
        authorization = request.headers.authorization ?? "";
        echo(body, request, response);
      },
      { jwtSecret: secret },
    );
    await client.call("m");
    const { payload, protectedHeader } = await jwtVerify(authorization.replace("Bearer ", ""), secret);
    expect(protectedHeader.alg).toBe("HS256");
    expect(Math.abs(payload.iat! - Date.now() / 1000)).toBeLessThan(5);
  });

  it("keeps to its concurrency and rate", async () => {
    let active = 0;
    let mostActive = 0;
    const client = await setUp(
      (body, request, response) => {
        mostActive = Math.max(mostActive, ++active);
        setTimeout(() => {
          active--;
          echo(body, request, response);
        }, 10);
      },
      { maxConcurrency: 2, rateLimitPerSec: 100, maxBatchSize: 1 },
    );
    const startMs = performance.now();
    await Promise.all(Array.from({ length: 11 }, () => client.call("m")));
    expect(mostActive).toBe(2);
    expect(performance.now() - startMs).toBeGreaterThan(90);
  });

  it("ends what is under way when it closes or is told to", async () => {
    const client = await setUp(() => {});
    const abort = new AbortController();
    const aborted = failure(client.call("m", [], { signal: abort.signal }));
    const closed = failure(client.call("m"));
    abort.abort();
    expect((await aborted).code).toBe("rpc/aborted");
    await client.close();
    expect((await closed).code).toBe("rpc/closed");
    expect((await failure(client.call("m"))).code).toBe("rpc/closed");
  });
});
