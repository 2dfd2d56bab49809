// @module-tag long
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@rnode/program/testing";
import { TestAuthority } from "@rnode/signer/testing";
import { afterEach, describe, expect, it } from "vitest";
import { EtcdGateway, type GatewayOptions } from "./etcd/gateway-client.ts";
import { type LocalEtcd, startEtcdCluster, startLocalEtcd, whyNoEtcd } from "./testing/local-etcd.ts";
import { commitUnexecutable, produce, startTestConductor, type TestConductor } from "./testing/test-conductor.ts";

// Tests that a model of etcd cannot replace: servers that fail, etcd's own elections, and certificates. Skipped where etcd is not
// installed.

if (whyNoEtcd !== undefined) console.log(`skipped: rconductor on servers of etcd: ${whyNoEtcd}`);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Which of them leads the others. */
async function leaderOf(servers: readonly LocalEtcd[]): Promise<LocalEtcd> {
  for (const server of servers) {
    const answer = await fetch(`${server.url}/v3/maintenance/status`, { method: "POST", body: "{}" });
    const { header, leader } = (await answer.json()) as {
      readonly header: { readonly member_id: string };
      readonly leader: string;
    };
    if (header.member_id === leader) return server;
  }
  throw new Error("no server of etcd leads");
}

/** Commits blocks until it is stopped. */
class Production {
  /** the longest time from one commit to the next */
  longestMs = 0;
  blocks = 0;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(server: TestConductor) {
    this.#ended = this.#produce(server);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #produce(server: TestConductor): Promise<void> {
    let lastMs = performance.now();
    while (!this.#isOver) {
      try {
        await produce(server);
        this.longestMs = Math.max(this.longestMs, performance.now() - lastMs);
        lastMs = performance.now();
        this.blocks++;
      } catch {
        // the same block is committed again
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe.skipIf(whyNoEtcd !== undefined)("rconductor on three servers of etcd", () => {
  it("keeps its leadership when etcd's leader dies, stops without a majority, and goes on with one", async () => {
    const servers = await startEtcdCluster(3);
    for (const server of servers) closers.push(() => server.close());
    // The conductor asks the one first that will die.
    const first = await leaderOf(servers);
    const others = servers.filter((server) => server !== first);
    const endpoints = `--etcd=${[first, ...others].map(({ url }) => url).join(",")}`;
    const a = await startTestConductor([endpoints, "--server-id=a", "--bootstrap", "--etcd.lease-ttl=6"], closers);
    await until(() => a.node.isActive);
    const { fence } = a.status();
    const production = new Production(a);
    closers.push(() => production.stop());
    await until(() => production.blocks >= 10);

    await first.kill();
    await until(() => leaderOf(others));
    const before = production.blocks;
    await until(() => production.blocks >= before + 10);
    console.log(`etcd's leader died: no commit for ${(production.longestMs / 1000).toFixed(1)} s`);
    expect(a.status()).toMatchObject({ fence, isLeader: true });
    expect(a.node.calls).toHaveLength(1); // the sequencer was started once, and never stopped

    await others[0]!.kill();
    await until(() => !a.node.isActive); // its lease has run out as far as it can know
    const [stopped, head] = [production.blocks, a.node.head.number];
    expect(await a.rpc.call("conductor_leader")).toBe(false);
    await expect(produce(a)).rejects.toThrow("node is not the leader");
    expect([production.blocks, a.node.head.number]).toEqual([stopped, head]);

    await first.restart();
    await until(() => a.node.isActive);
    await until(() => production.blocks >= stopped + 10);
  });
});

describe.skipIf(whyNoEtcd !== undefined)("a committed block that no engine executes", () => {
  it("is taken back on etcd, and the chain goes on", async () => {
    const server = await startLocalEtcd();
    closers.push(() => server.close());
    const a = await startTestConductor([`--etcd=${server.url}`, "--server-id=a", "--bootstrap", "--etcd.lease-ttl=60"], closers);
    await until(() => a.node.isActive);
    for (let block = 0; block < 3; block++) await produce(a);
    const { head } = a.node;
    const { undo } = await commitUnexecutable(a);
    expect(await undo(a)).toEqual(head);
    for (let block = 0; block < 3; block++) await produce(a);
    await until(() => a.status().committedBlock === head.number + 3);
  });
});

describe.skipIf(whyNoEtcd !== undefined)("etcd that wants client certificates", () => {
  it("is used with one of its authority, and refuses others", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rnode-etcd-tls-"));
    const [authority, stranger] = [new TestAuthority("operator"), new TestAuthority("stranger")];
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const filesOf = (name: string, from: TestAuthority) => {
      const { cert, key } = from.issue(name);
      return { cert: file(`${name}.crt`, cert), key: file(`${name}.key`, key) };
    };
    const ca = file("ca.crt", authority.cert);
    const [own, client, strange] = [filesOf("etcd", authority), filesOf("client", authority), filesOf("strange", stranger)];
    const isUp = async (url: string): Promise<boolean> => {
      const probe = new EtcdGateway({ endpoints: [url], timeoutMs: 1_000, ca, ...client });
      try {
        await probe.txn([], [{ kind: "range", key: "a" }]);
        return true;
      } finally {
        await probe.close();
      }
    };
    const tls = ["--client-cert-auth", `--trusted-ca-file=${ca}`, `--cert-file=${own.cert}`, `--key-file=${own.key}`];
    const server = await startLocalEtcd({ scheme: "https", args: tls, isUp });
    closers.push(() => server.close());
    const given = (files: { cert: string; key: string }) => [`--etcd.cert=${files.cert}`, `--etcd.key=${files.key}`];
    const base = [`--etcd=${server.url}`, "--server-id=a", "--bootstrap"];
    const a = await startTestConductor([...base, `--etcd.ca=${ca}`, ...given(client)], closers);
    await until(() => a.node.isActive);
    await produce(a);

    const refusal = async (files: Partial<GatewayOptions>): Promise<string> => {
      const wrong = new EtcdGateway({ endpoints: [server.url], timeoutMs: 2_000, ...files });
      try {
        return JSON.stringify(await wrong.txn([], [{ kind: "range", key: "a" }]));
      } catch (error) {
        return String(error);
      } finally {
        await wrong.close();
      }
    };
    const hint = "(TLS: check --etcd.ca, --etcd.cert and --etcd.key)";
    for (const files of [{ ca }, { ca, ...strange }, client]) expect(await refusal(files)).toContain(hint);
    expect(() => new EtcdGateway({ endpoints: [], timeoutMs: 1, ca: join(folder, "typo") })).toThrow(
      /^--etcd\.ca cannot be used: ENOENT.*typo.*: give a file in PEM that can be read$/,
    );
  });
});
