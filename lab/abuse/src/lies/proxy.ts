import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Deceit, type Question, questionOf, type Told } from "./deceit.ts";

/** An answer as it was given honestly. */
export interface HonestAnswer {
  readonly question: Question;
  readonly result: unknown;
}

interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

const MAX_BODY_BYTES = 64 << 20;
const ENDLESS_PIECE = Buffer.alloc(64 << 10, " ");
const ENDLESS_EVERY_MS = 2;
/** Honest answers that are remembered, the newest for each method. */
const REMEMBERED_PER_METHOD = 40;
/** Headers of one connection, which are not passed on. */
const OWN_HEADERS = new Set(["connection", "content-length", "host", "keep-alive", "transfer-encoding"]);

/**
 * A proxy between a program and a server of JSON over HTTP: JSON-RPC by POST, with batches, or REST by GET. It passes on
 * everything, and changes answers by `deceit` if that is set.
 */
export class LyingProxy {
  /** changes answers; `undefined`: honest */
  deceit: Deceit | undefined;
  /** number of answers that were not honest */
  lies = 0;
  /** target of the proxy */
  upstream: string | undefined;
  readonly #answers = new Map<string, HonestAnswer[]>();
  readonly #askedMs = new Map<string, number>();
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #held = new Set<ServerResponse>();

  private constructor() {
    this.#server = createServer((incoming, response) => void this.#serve(incoming, response));
  }

  static async listen(): Promise<LyingProxy> {
    const proxy = new LyingProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The requested methods, with their latest honest answers. */
  get answers(): ReadonlyMap<string, readonly HonestAnswer[]> {
    return this.#answers;
  }

  /** Whether a method was requested within the last `withinMs` milliseconds. */
  isAsked(method: string, withinMs: number): boolean {
    return performance.now() - (this.#askedMs.get(method) ?? Number.NEGATIVE_INFINITY) < withinMs;
  }

  /** Clears the requested methods, because those of a starting node are not its regular requests. */
  forgetAsked(): void {
    this.#askedMs.clear();
  }

  /** Is honest from now on; connections that a lie held open end. */
  becomeHonest(): void {
    this.deceit = undefined;
    for (const response of this.#held) response.destroy();
    this.#held.clear();
  }

  async close(): Promise<void> {
    this.becomeHonest();
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const asked = await bodyOf(incoming);
      const honest = await this.#pass(incoming, asked);
      const told = this.#told(incoming, asked, honest.text);
      this.#answer(response, honest.status, told);
    } catch {
      response.destroy();
    }
  }

  #pass(incoming: IncomingMessage, body: Buffer): Promise<{ readonly status: number; readonly text: string }> {
    const { upstream } = this;
    if (upstream === undefined) throw new Error("the proxy has no upstream");
    const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !OWN_HEADERS.has(name)));
    return new Promise((resolve, reject) => {
      const outgoing = request(
        new URL(incoming.url ?? "/", upstream),
        { method: incoming.method ?? "POST", headers: { ...headers, "content-length": body.length }, agent: this.#agent },
        (answer) =>
          void bodyOf(answer).then((bytes) => resolve({ status: answer.statusCode ?? 502, text: bytes.toString("utf8") }), reject),
      );
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  /** The replacement of `honest`: a text, or no answer. */
  #told(incoming: IncomingMessage, asked: Buffer, honest: string): string | Exclude<Told, { kind: "result" | "error" }> {
    const answers = parse(honest);
    if (answers === undefined) return honest;
    if (incoming.method === "GET")
      return this.#tellRest({ method: `GET ${restPath(incoming.url)}`, params: [incoming.url] }, answers);
    const questions = new Map(asList(parse(asked.toString("utf8"))).map((call) => [JSON.stringify(call.id), questionOf(call)]));
    const told: unknown[] = [];
    for (const answer of asList(answers) as readonly RpcAnswer[]) {
      const question = questions.get(JSON.stringify(answer.id));
      const changed = question === undefined || answer.error !== undefined ? undefined : this.#lie(question, answer.result);
      if (changed === undefined) told.push(answer);
      else if (changed.kind === "result") told.push({ ...answer, result: changed.result });
      else if (changed.kind === "error") told.push({ id: answer.id, jsonrpc: "2.0", error: changed.error });
      else return changed;
    }
    return JSON.stringify(Array.isArray(answers) ? told : told[0]);
  }

  #tellRest(question: Question, honest: unknown): string | Exclude<Told, { kind: "result" | "error" }> {
    const changed = this.#lie(question, honest);
    if (changed === undefined) return JSON.stringify(honest);
    if (changed.kind === "result") return JSON.stringify(changed.result);
    return changed.kind === "error" ? { kind: "status", status: 500 } : changed;
  }

  #lie(question: Question, result: unknown): Told | undefined {
    const known = this.#answers.get(question.method) ?? [];
    this.#askedMs.set(question.method, performance.now());
    const told = this.deceit?.tell(question, result, known);
    this.#answers.set(question.method, [...known, { question, result }].slice(-REMEMBERED_PER_METHOD));
    if (told !== undefined) this.lies++;
    return told;
  }

  #answer(response: ServerResponse, status: number, told: string | Exclude<Told, { kind: "result" | "error" }>): void {
    if (typeof told === "string") {
      response.writeHead(status, { "content-type": "application/json" }).end(told);
      return;
    }
    switch (told.kind) {
      case "silence":
        this.#held.add(response);
        return;
      case "close":
        response.destroy();
        return;
      case "status":
        response.writeHead(told.status, { "content-type": "text/html" }).end("<html>something else</html>");
        return;
      case "text":
        response.writeHead(200, { "content-type": "application/json" }).end(told.text);
        return;
      case "cut": {
        response.writeHead(200, { "content-type": "application/json", "content-length": 100_000 });
        response.write('{"jsonrpc":"2.0","id":');
        this.#held.add(response);
        return;
      }
      case "endless":
        this.#endless(response, told.start);
    }
  }

  #endless(response: ServerResponse, start: string): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.write(start);
    this.#held.add(response);
    const piece = start === "" ? ENDLESS_PIECE : Buffer.from(start.repeat(Math.ceil(ENDLESS_PIECE.length / start.length)));
    const timer = setInterval(() => {
      if (response.writableLength < 1 << 20) response.write(piece);
    }, ENDLESS_EVERY_MS);
    response.on("close", () => {
      clearInterval(timer);
      this.#held.delete(response);
    });
  }
}

/** Paths that differ in a slot, a root or an epoch only are one method. */
const restPath = (url: string | undefined): string =>
  (url ?? "/").split("?")[0]!.replaceAll(/(?<!\/beacon)\/(?:0x[0-9a-fA-F]+|\d+|head|genesis|finalized|justified)(?=\/|$)/g, "/…");

const asList = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "object" && item !== null) as Record<string, unknown>[];

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function bodyOf(message: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) message.destroy();
      else chunks.push(chunk);
    });
    message.on("end", () => resolve(Buffer.concat(chunks)));
    message.on("error", reject);
    message.on("close", () => reject(new Error("ended early")));
  });
}
