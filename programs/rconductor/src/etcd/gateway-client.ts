import { createHttpPool, TlsFileError, TlsFiles, type TlsPaths } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { Comparison, Etcd, Operation, TxnResult } from "./etcd-api.ts";
import { EtcdError } from "./etcd-error.ts";
import { integerOf, objectOf, textOf, txnFromJson, txnToJson } from "./gateway-json.ts";

/** The files are the authority that signed etcd's certificate, and our own certificate with its key. */
export interface GatewayOptions extends TlsPaths {
  /** `http://host:2379`, all of one cluster */
  readonly endpoints: readonly string[];
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** for one request to one endpoint */
  readonly timeoutMs: number;
}

export interface GatewayDeps {
  /** called after each request with its outcome */
  readonly onRequest?: ((what: string, outcome: "ok" | "failed", ms: number) => void) | undefined;
}

/** Codes of gRPC, as the gateway passes them on. */
const GRPC = {
  resourceExhausted: 8,
  outOfRange: 11,
  unavailable: 14,
  unauthenticated: 16,
  permissionDenied: 7,
  notFound: 5,
} as const;
const CONNECTIONS = 8;
const TLS_OPTIONS = { ca: "--etcd.ca", cert: "--etcd.cert", key: "--etcd.key" };
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

type Pool = ReturnType<typeof createHttpPool>;
interface Endpoint {
  readonly url: string;
  readonly path: string;
  /** another one when the client certificate was replaced */
  pool: Pool;
}

/**
 * A client of etcd's JSON gateway, which etcd serves on the same port as gRPC. It starts with the endpoint that answered last and
 * tries each endpoint at most once. https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/
 */
export class EtcdGateway implements Etcd {
  readonly #options: GatewayOptions;
  readonly #onRequest: NonNullable<GatewayDeps["onRequest"]>;
  readonly #endpoints: readonly Endpoint[];
  #current = 0;
  /** undefined: not authenticated */
  #token: string | undefined;
  readonly #files: TlsFiles;
  readonly #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  /** @throws {UserError} a certificate cannot be read */
  constructor(options: GatewayOptions, { onRequest = () => {} }: GatewayDeps = {}) {
    this.#options = options;
    this.#onRequest = onRequest;
    this.#files = openFiles(options);
    this.#endpoints = options.endpoints.map((text) => {
      const { origin, pathname } = new URL(text);
      return { url: origin, path: pathname.replace(/\/$/, ""), pool: this.#connect(origin) };
    });
  }

  /** From now on a client certificate that is replaced in its file is taken: new connections show it, requests under way end as they began. */
  followFiles(deps: { readonly clock: Clock; readonly log: Logger }): void {
    const reconnect = (): void => {
      for (const endpoint of this.#endpoints) {
        void endpoint.pool.close();
        endpoint.pool = this.#connect(endpoint.url);
      }
    };
    this.#watching = this.#files.watch(deps, "etcd", reconnect, this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.all(this.#endpoints.map(({ pool }) => pool.destroy()));
  }

  async txn(
    comparisons: readonly Comparison[],
    success: readonly Operation[],
    failure: readonly Operation[] = [],
  ): Promise<TxnResult> {
    const counts = { success: success.length, failure: failure.length };
    return this.#ask("/v3/kv/txn", txnToJson(comparisons, success, failure), (answer) => txnFromJson(answer, counts));
  }

  async leaseGrant(ttlSec: number): Promise<{ readonly leaseId: string; readonly ttlSec: number }> {
    return this.#ask("/v3/lease/grant", { TTL: String(ttlSec) }, (answer) => {
      const { ID, TTL } = objectOf(answer, "the answer");
      return { leaseId: textOf(ID, "ID"), ttlSec: integerOf(TTL, "TTL") };
    });
  }

  async leaseKeepAlive(leaseId: string): Promise<number> {
    return this.#ask("/v3/lease/keepalive", { ID: leaseId }, (answer) => {
      // a stream of answers, of which there is one to one request
      const { result } = objectOf(answer, "the answer");
      return integerOf(objectOf(result, "result").TTL, "TTL");
    });
  }

  async leaseRevoke(leaseId: string): Promise<void> {
    try {
      await this.#ask("/v3/lease/revoke", { ID: leaseId }, () => undefined);
    } catch (error) {
      if (!(error instanceof EtcdError && error.data.grpc === GRPC.notFound)) throw error;
    }
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#ask("/v3/kv/compaction", { revision: String(revision) }, () => undefined);
    } catch (error) {
      if (!(error instanceof EtcdError && error.code === "etcd/compacted")) throw error;
    }
  }

  /** @throws {EtcdError} */
  async #ask<T>(path: string, body: object, read: (answer: unknown) => T): Promise<T> {
    const text = JSON.stringify(body);
    const reasons: string[] = [];
    for (let tried = 0; tried < this.#endpoints.length; tried++) {
      const at = this.#current;
      const endpoint = this.#endpoints[at]!;
      const startMs = performance.now();
      try {
        const answer = await this.#askOne(endpoint, path, text);
        this.#onRequest(path, "ok", performance.now() - startMs);
        return readAnswer(endpoint.url, path, () => read(answer));
      } catch (error) {
        this.#onRequest(path, "failed", performance.now() - startMs);
        if (!(error instanceof EtcdError && error.code === "etcd/unavailable")) throw error;
        reasons.push(`${endpoint.url}: ${error.data.reason}`);
        if (this.#current === at) this.#current = (at + 1) % this.#endpoints.length;
      }
    }
    throw new EtcdError("etcd/unavailable", { what: path, reason: reasons.join("; ") });
  }

  #connect(origin: string): Pool {
    const limits = { connections: CONNECTIONS, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };
    return createHttpPool(origin, { ...limits, connect: this.#files.current });
  }

  /** Logs in first, where a user is given; a token that has expired is replaced once. */
  async #askOne(endpoint: Endpoint, path: string, body: string): Promise<unknown> {
    const { username, password = "" } = this.#options;
    if (username === undefined) return this.#post(endpoint, path, body, undefined);
    const token = this.#token;
    if (token !== undefined) {
      try {
        return await this.#post(endpoint, path, body, token);
      } catch (error) {
        if (!(error instanceof EtcdError && error.code === "etcd/denied" && error.data.grpc === GRPC.unauthenticated)) throw error;
      }
    }
    const login = JSON.stringify({ name: username, password });
    const answer = await this.#post(endpoint, "/v3/auth/authenticate", login, undefined);
    this.#token = readAnswer(endpoint.url, "/v3/auth/authenticate", () => textOf(objectOf(answer, "the answer").token, "token"));
    return this.#post(endpoint, path, body, this.#token);
  }

  async #post({ pool, path: base, url }: Endpoint, path: string, body: string, token: string | undefined): Promise<unknown> {
    const { timeoutMs } = this.#options;
    const unavailable = (reason: string, cause?: unknown): EtcdError =>
      new EtcdError("etcd/unavailable", { what: path, reason }, { cause });
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), timeoutMs);
    let status: number;
    let text: string;
    try {
      const headers = { "content-type": "application/json", ...(token === undefined ? {} : { authorization: token }) };
      const response = await pool.request({ path: base + path, method: "POST", headers, body, signal: abort.signal });
      status = response.statusCode;
      text = await readText(response.body);
    } catch (error) {
      if (abort.signal.aborted) throw unavailable(`no answer within ${timeoutMs} ms`, error);
      const reason = error instanceof Error ? error.message : String(error);
      throw unavailable(isOfTls(url, error) ? `${reason} (TLS: check --etcd.ca, --etcd.cert and --etcd.key)` : reason, error);
    } finally {
      clearTimeout(timer);
    }
    const answer = parse(text);
    const error = errorOf(answer);
    if (error === undefined && status === 200 && answer !== undefined) return answer;
    if (error === undefined) {
      // A proxy in between, or a server that is starting.
      if (status >= 500) throw unavailable(`HTTP status ${status}`);
      throw new EtcdError("etcd/bad-answer", { endpoint: url, what: path, reason: `HTTP status ${status}: ${text.slice(0, 200)}` });
    }
    throw errorFor(path, error);
  }
}

function openFiles(paths: TlsPaths): TlsFiles {
  try {
    return new TlsFiles(paths, TLS_OPTIONS);
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    throw new UserError(`${error.message}: give a file in PEM that can be read`, { cause: error });
  }
}

/** Whether certificates may be why there is no connection: one who does not like ours closes it without a word. */
function isOfTls(url: string, error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return (
    url.startsWith("https:") &&
    /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|ERR_(SSL|TLS)_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)
  );
}

interface GatewayFailure {
  readonly code: number;
  readonly message: string;
}

/** etcd 3.4 and 3.5 say `{error, code, message}`; in the answers of streams it is one level deeper. */
function errorOf(answer: unknown): GatewayFailure | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { error, code, message } = answer as Readonly<Record<string, unknown>>;
  if (typeof error === "object" && error !== null) {
    const { grpc_code, code: inner, message: text } = error as Readonly<Record<string, unknown>>;
    return { code: Number(grpc_code ?? inner ?? 0), message: String(text) };
  }
  if (error === undefined && (code === undefined || message === undefined)) return undefined;
  return { code: Number(code ?? 0), message: String(message ?? error) };
}

function errorFor(what: string, { code, message }: GatewayFailure): EtcdError {
  const reason = message.replace(/^etcdserver: /, "");
  if (
    code === GRPC.unauthenticated ||
    code === GRPC.permissionDenied ||
    /authentication failed|user name is empty|permission denied/.test(reason)
  )
    return new EtcdError("etcd/denied", { what, reason, grpc: code });
  if (code === GRPC.resourceExhausted && /space/.test(reason)) return new EtcdError("etcd/no-space", { reason });
  if (code === GRPC.outOfRange && /compacted/.test(reason)) return new EtcdError("etcd/compacted", {});
  // "no leader", "leader changed", "request timed out", "too many requests", "not capable": another endpoint, or the same one later, may do it
  const isPassing = code === GRPC.unavailable || code === GRPC.resourceExhausted || /timed out|leader|deadline/.test(reason);
  return new EtcdError(isPassing ? "etcd/unavailable" : "etcd/refused", { what, reason, ...(isPassing ? {} : { grpc: code }) });
}

function readAnswer<T>(endpoint: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new EtcdError("etcd/bad-answer", { endpoint, what, reason: (error as Error).message }, { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readText(body: AsyncIterable<Uint8Array> & { destroy(): void }): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) {
      body.destroy();
      throw new Error(`an answer longer than ${MAX_RESPONSE_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
