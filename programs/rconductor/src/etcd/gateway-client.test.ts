import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { TestAuthority } from "@rnode/signer/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { EtcdModel } from "../testing/etcd-model.ts";
import { type GatewayServer, startGatewayServer } from "../testing/gateway-server.ts";
import { startLocalEtcd, whyNoEtcd } from "../testing/local-etcd.ts";
import type { Etcd } from "./etcd-api.ts";
import { prefixEnd } from "./etcd-api.ts";
import { EtcdError } from "./etcd-error.ts";
import { EtcdGateway, type GatewayOptions } from "./gateway-client.ts";

const value = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

async function modelGateway(): Promise<{ server: GatewayServer; model: EtcdModel }> {
  const model = new EtcdModel(() => 0);
  const server = await startGatewayServer(model);
  onTestFinished(() => server.close());
  return { server, model };
}

function clientOf(endpoints: readonly string[], options: Partial<GatewayOptions> = {}): EtcdGateway {
  const client = new EtcdGateway({ endpoints, timeoutMs: 2_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

const kinds: [string, () => Promise<Etcd>][] = [["the model of etcd", async () => clientOf([(await modelGateway()).server.url])]];
if (whyNoEtcd === undefined) {
  kinds.push([
    "etcd",
    async () => {
      const server = await startLocalEtcd();
      onTestFinished(() => server.close());
      return clientOf([server.url]);
    },
  ]);
} else console.log(`skipped: the gateway client and a real etcd: ${whyNoEtcd}`);

describe.each(kinds)("a client of %s", (_, connect) => {
  it("reads, writes and deletes in transactions", async () => {
    const etcd = await connect();
    const created = await etcd.txn([{ key: "a", target: "create", revision: 0 }], [{ kind: "put", key: "a", value: value("1") }]);
    expect(created).toMatchObject({ succeeded: true, ranges: [[]] });
    const again = await etcd.txn(
      [{ key: "a", target: "create", revision: 0 }],
      [{ kind: "put", key: "a", value: value("2") }],
      [{ kind: "range", key: "a" }],
    );
    const pair = { key: "a", value: value("1"), createRevision: created.revision, modRevision: created.revision, leaseId: "0" };
    expect(again).toEqual({ succeeded: false, revision: created.revision, ranges: [[pair]] });
    const changed = await etcd.txn(
      [{ key: "a", target: "mod", revision: created.revision }],
      [
        { kind: "put", key: "a", value: value("ü") },
        { kind: "put", key: "a/b", value: new Uint8Array() },
      ],
    );
    expect(changed.revision).toBe(created.revision + 1);
    const { ranges } = await etcd.txn(
      [],
      [
        { kind: "range", key: "a", end: prefixEnd("a") },
        { kind: "range", key: "a", revision: created.revision },
      ],
    );
    expect(ranges[0]).toEqual([
      { ...pair, value: value("ü"), modRevision: changed.revision },
      { key: "a/b", value: new Uint8Array(), createRevision: changed.revision, modRevision: changed.revision, leaseId: "0" },
    ]);
    expect(ranges[1]).toEqual([pair]);
    await etcd.txn([], [{ kind: "delete", key: "a" }]);
    const recreated = await etcd.txn([], [{ kind: "put", key: "a", value: value("3") }]);
    const after = await etcd.txn([], [{ kind: "range", key: "a" }]);
    expect(after.ranges[0]![0]!.createRevision).toBe(recreated.revision);
  });

  it("keeps keys as long as their lease lives", async () => {
    const etcd = await connect();
    const { leaseId, ttlSec } = await etcd.leaseGrant(1);
    expect(ttlSec).toBe(2); // its least, with the default election timeout
    await etcd.txn([], [{ kind: "put", key: "k", value: value("v"), leaseId }]);
    expect(await etcd.leaseKeepAlive(leaseId)).toBe(2);
    const read = async () => (await etcd.txn([], [{ kind: "range", key: "k" }])).ranges[0]!;
    expect(await read()).toMatchObject([{ leaseId }]);
    await etcd.leaseRevoke(leaseId);
    expect(await read()).toEqual([]);
    expect(await etcd.leaseKeepAlive(leaseId)).toBe(0);
    await etcd.leaseRevoke(leaseId);
    const put = etcd.txn([], [{ kind: "put", key: "k", value: value("v"), leaseId }]);
    await expect(put).rejects.toMatchObject({ code: "etcd/refused", data: { reason: "requested lease not found" } });
  });

  it("is told what was compacted, and what is too large", async () => {
    const etcd = await connect();
    const first = await etcd.txn([], [{ kind: "put", key: "k", value: value("1") }]);
    const second = await etcd.txn([], [{ kind: "put", key: "k", value: value("2") }]);
    await etcd.compact(second.revision);
    await etcd.compact(first.revision);
    await expect(etcd.txn([], [{ kind: "range", key: "k", revision: first.revision }])).rejects.toMatchObject({
      code: "etcd/compacted",
    });
    const large = etcd.txn([], [{ kind: "put", key: "k", value: new Uint8Array(2_000_000) }]);
    await expect(large).rejects.toMatchObject({ code: "etcd/refused", message: expect.stringContaining("request is too large") });
  });
});

describe("a client certificate", () => {
  it("that is replaced in its file is shown from then on; requests under way end as they began", async () => {
    const [servers, clients] = [new TestAuthority("etcd"), new TestAuthority("clients")];
    const folder = mkdtempSync(join(tmpdir(), "rnode-etcd-client-"));
    const files = { ca: join(folder, "ca.crt"), cert: join(folder, "tls.crt"), key: join(folder, "tls.key") };
    const write = (name: string): void => {
      const { cert, key } = clients.issue(name);
      writeFileSync(files.cert, cert);
      writeFileSync(files.key, key, { mode: 0o600 });
    };
    writeFileSync(files.ca, servers.cert);
    write("first");
    const server = await startGatewayServer(new EtcdModel(() => 0), { ...servers.issue("server"), ca: clients.cert });
    onTestFinished(() => server.close());
    const etcd = clientOf([server.url], files);
    let look: () => void = () => {};
    etcd.followFiles({
      clock: {
        unixMs: () => 0,
        monotonicMs: () => 0,
        sleep: (_, signal) =>
          new Promise((resolve) => {
            look = resolve;
            signal?.addEventListener("abort", () => resolve());
          }),
      },
      log: silentLogger,
    });
    const ask = () => etcd.txn([], [{ kind: "range", key: "k" }]);
    await ask();
    write("second");
    await ask(); // before the first request
    server.fault = "silent";
    const underWay = ask();
    await expect.poll(() => server.clients.length).toBe(3);
    server.fault = undefined;
    look();
    await new Promise((resolve) => setImmediate(resolve));
    await ask();
    expect(server.clients).toEqual(["first", "first", "first", "second"]);
    await expect(underWay).rejects.toMatchObject({ code: "etcd/unavailable" }); // by its own time limit
  });
});

describe("several endpoints", () => {
  it("are asked in turn, the one that answered last first", async () => {
    const one = await modelGateway();
    const two = await modelGateway();
    const asked: string[] = [];
    const client = new EtcdGateway(
      { endpoints: ["http://127.0.0.1:1", one.server.url, two.server.url], timeoutMs: 1_000 },
      { onRequest: (what, outcome) => asked.push(`${what} ${outcome}`) },
    );
    onTestFinished(() => client.close());
    const put = (text: string) => client.txn([], [{ kind: "put", key: "k", value: value(text) }]);
    await put("1");
    await put("2");
    expect(asked).toEqual(["/v3/kv/txn failed", "/v3/kv/txn ok", "/v3/kv/txn ok"]);
    one.server.fault = "silent";
    await put("3");
    expect(Buffer.from(two.model.get("k")!.value).toString()).toBe("3");
    one.server.fault = new EtcdError("etcd/unavailable", { what: "", reason: "no leader" });
    two.server.fault = one.server.fault;
    await expect(put("4")).rejects.toThrow(/^etcd does not answer \/v3\/kv\/txn: .*no leader.*no leader/);
  });

  it("may want a user, whose token is replaced when it has expired", async () => {
    const { server, model } = await modelGateway();
    server.token = "first";
    const put = (client: EtcdGateway) => client.txn([], [{ kind: "put", key: "k", value: value("1") }]);
    await expect(put(clientOf([server.url]))).rejects.toMatchObject({ code: "etcd/denied" });
    await expect(put(clientOf([server.url], { username: "admin", password: "wrong" }))).rejects.toMatchObject({
      code: "etcd/denied",
    });
    const client = clientOf([server.url], { username: "admin", password: "secret" });
    await put(client);
    server.token = "second";
    const { revision } = await put(client);
    expect(revision).toBe(model.revision);
  });

  it("answer otherwise than etcd", async () => {
    const { server } = await modelGateway();
    server.fault = new EtcdError("etcd/no-space", { reason: "x" });
    const client = clientOf([`${server.url}/elsewhere`]);
    server.fault = undefined;
    await expect(client.leaseGrant(3)).rejects.toMatchObject({ code: "etcd/refused" });
  });
});
