import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Comparison, KeyValue, Operation } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";
import type { EtcdModel } from "./etcd-model.ts";

type Json = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => Buffer.from(String(value), "base64").toString();
const bytes = (value: unknown): Uint8Array => new Uint8Array(Buffer.from((value as string | undefined) ?? "", "base64"));
const base64 = (value: string | Uint8Array): string => Buffer.from(value).toString("base64");

function operationOf({ request_put, request_delete_range, request_range }: Record<string, Json | undefined>): Operation {
  if (request_put !== undefined) {
    const { key, value, lease } = request_put;
    return { kind: "put", key: text(key), value: bytes(value), leaseId: lease as string | undefined };
  }
  const { key, range_end, revision } = (request_delete_range ?? request_range)!;
  const end = range_end === undefined ? undefined : text(range_end);
  if (request_delete_range !== undefined) return { kind: "delete", key: text(key), end };
  return { kind: "range", key: text(key), end, revision: revision === undefined ? undefined : Number(revision) };
}

const comparisonOf = ({ key, target, create_revision, mod_revision }: Json): Comparison => ({
  key: text(key),
  target: target === "CREATE" ? "create" : "mod",
  revision: Number(target === "CREATE" ? create_revision : mod_revision),
});

const pairToJson = ({ key, value, createRevision, modRevision, leaseId }: KeyValue): Json => ({
  key: base64(key),
  create_revision: String(createRevision),
  mod_revision: String(modRevision),
  version: "1",
  ...(value.length > 0 ? { value: base64(value) } : {}),
  ...(leaseId === "0" ? {} : { lease: leaseId }),
});

function answerOf(model: EtcdModel, path: string, body: Record<string, unknown>): Json {
  const header = { cluster_id: "1", member_id: "1", revision: String(model.revision), raft_term: "2" };
  switch (path) {
    case "/v3/kv/txn": {
      const [compare, success, failure] = ["compare", "success", "failure"].map((name) => (body[name] ?? []) as Json[]);
      const operations = [success!, failure!].map((list) => list.map((item) => operationOf(item as Record<string, Json>)));
      const result = model.txn(compare!.map(comparisonOf), operations[0]!, operations[1]!);
      const done = operations[result.succeeded ? 0 : 1]!;
      return {
        header: { ...header, revision: String(result.revision) },
        ...(result.succeeded ? { succeeded: true } : {}),
        responses: done.map(({ kind }, index) => {
          if (kind !== "range") return { [kind === "put" ? "response_put" : "response_delete_range"]: { header } };
          const kvs = result.ranges[index]!.map(pairToJson);
          return { response_range: { header, ...(kvs.length > 0 ? { kvs, count: String(kvs.length) } : {}) } };
        }),
      };
    }
    case "/v3/lease/grant": {
      const { leaseId, ttlSec } = model.grant(Number(body.TTL));
      return { header, ID: leaseId, TTL: String(ttlSec) };
    }
    case "/v3/lease/keepalive": {
      const ttl = model.keepAlive(String(body.ID));
      return { result: { header, ID: body.ID, ...(ttl > 0 ? { TTL: String(ttl) } : {}) } };
    }
    case "/v3/lease/revoke":
      model.revoke(String(body.ID));
      return { header };
    case "/v3/kv/compaction":
      model.compact(Number(body.revision));
      return { header };
    default:
      throw new EtcdError("etcd/refused", { what: path, reason: "Not Found", grpc: 5 });
  }
}

const GRPC_OF: Readonly<Record<string, number>> = {
  "etcd/compacted": 11,
  "etcd/refused": 3,
  "etcd/unavailable": 14,
  "etcd/denied": 16,
};

export interface GatewayServer {
  readonly url: string;
  /** while it is set, every request is refused with it, or gets no answer */
  fault: EtcdError | "silent" | undefined;
  /** if set, requests must carry this token, which `admin` with the password `secret` gets */
  token: string | undefined;
  /** over TLS: the name in the client certificate of each request */
  readonly clients: readonly string[];
  close(): Promise<void>;
}

/** The model behind the JSON that etcd's gateway speaks. @param tls PEM: its certificate, and the authority of its clients */
export async function startGatewayServer(
  model: EtcdModel,
  tls?: { readonly cert: string; readonly key: string; readonly ca: string },
): Promise<GatewayServer> {
  const clients: string[] = [];
  const onRequest: RequestListener = (request, response) => {
    if (tls !== undefined) clients.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN));
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const send = (status: number, body: Json): void => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      if (gateway.fault === "silent") return;
      try {
        if (gateway.fault !== undefined) throw gateway.fault;
        const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
        if (gateway.token !== undefined && request.url === "/v3/auth/authenticate") {
          if (body.name !== "admin" || body.password !== "secret")
            throw new EtcdError("etcd/refused", { what: "login", reason: "authentication failed, invalid user ID or password" });
          send(200, { header: {}, token: gateway.token });
          return;
        }
        if (gateway.token !== undefined && request.headers.authorization !== gateway.token)
          throw new EtcdError("etcd/denied", { what: "token", reason: "invalid auth token" });
        send(200, answerOf(model, request.url ?? "", body));
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        const message = `etcdserver: ${error.code === "etcd/compacted" ? "mvcc: required revision has been compacted" : error.data.reason}`;
        send(400, { error: message, message, code: GRPC_OF[error.code] ?? 2 });
      }
    });
  };
  const server =
    tls === undefined
      ? createServer(onRequest)
      : createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: true }, onRequest);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gateway: GatewayServer = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: undefined,
    token: undefined,
    clients,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return gateway;
}
