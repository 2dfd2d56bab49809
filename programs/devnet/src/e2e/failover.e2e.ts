// @module-tag long
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { createWalletClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { getWebSocketRpcClient } from "viem/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import type { SequencerPrograms } from "../processes/sequencers.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { l2ViemChain } from "../viem-chains.ts";
import { waitFor } from "./wait.ts";

/** Deaths and pauses of the leader, in turn: `RNODE_FAILOVER_ROUNDS=30` takes about ten minutes. */
const ROUNDS = Number(process.env.RNODE_FAILOVER_ROUNDS ?? 2);
const ROUND_LIMIT_MS = 90_000;
const hasEtcd = spawnSync("etcd", ["--version"]).status === 0;
if (!hasEtcd) console.log("skipped: three sequencers: etcd is not installed (Debian: apt-get install etcd-server)");

type Look = () => Promise<readonly { readonly number: number; readonly hash: string }[]>;

/** Records which block an endpoint has shown at each height, and whether it ever showed another one. */
class Witness {
  readonly hashes = new Map<number, string>();
  readonly contradictions: string[] = [];
  readonly #name: string;
  readonly #look: Look;

  constructor(name: string, look: Look) {
    this.#name = name;
    this.#look = look;
  }

  get head(): number {
    return Math.max(0, ...this.hashes.keys());
  }

  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const { number, hash } of await this.#look().catch(() => [])) {
        const known = this.hashes.get(number);
        if (known !== undefined && known !== hash)
          this.contradictions.push(`${this.#name} had block ${number} ${known}, then ${hash}`);
        this.hashes.set(number, hash);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** A user who has subscribed to new heads at the endpoint that follows the leader, and comes back whenever the connection ends. */
class Subscriber {
  /** as they came */
  readonly heads: { readonly number: number; readonly hash: string }[] = [];
  /** why connections were closed */
  readonly reasons: string[] = [];
  #close: () => void = () => {};
  #isOver = false;
  #connections = 0;
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
    void this.#connect();
  }

  /** Takes what came since the last time. */
  take(): readonly { readonly number: number; readonly hash: string }[] {
    return this.heads.splice(0);
  }

  close(): void {
    this.#isOver = true;
    this.#close();
  }

  async #connect(): Promise<void> {
    const again = (): void => void setTimeout(() => this.#isOver || void this.#connect(), 200);
    // viem keeps connections by their settings, and would keep one that has ended
    const reconnect = { attempts: 0, delay: ++this.#connections };
    const client = await getWebSocketRpcClient(this.#url, { keepAlive: false, reconnect }).catch(() => undefined);
    if (client === undefined) return again();
    const { socket } = client;
    this.#close = () => client.close();
    socket.addEventListener("message", ({ data }: { readonly data: unknown }) => {
      type Message = {
        readonly error?: object;
        readonly params?: { readonly result: { readonly number: Hex; readonly hash: Hex } };
      };
      const { error, params } = JSON.parse(String(data)) as Message;
      if (error !== undefined)
        socket.close(); // there is no leader yet
      else if (params !== undefined) this.heads.push({ number: Number(params.result.number), hash: params.result.hash });
    });
    socket.addEventListener("close", ({ reason }: { readonly reason: string }) => {
      if (reason !== "") this.reasons.push(reason);
      again();
    });
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
  }
}

describe.skipIf(!hasEtcd)("three sequencers, of which one leads", () => {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-failover-e2e-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const watching = new AbortController();
  let devnet: Devnet;
  let watches: Promise<unknown> = Promise.resolve();
  const witnesses = new Map<string, Witness>();
  let subscriber: Subscriber | undefined;

  beforeAll(async () => {
    const parameters = { l1BlockTimeSec: 2, l2BlockTimeSec: 1 };
    devnet = await startDevnet(scope, { datadir, basePort: 0, nodes: 3, sequencers: 3, parameters });
    const { endpoints } = devnet.info;
    for (const [name, url] of [
      ["the verifier", endpoints.verifier.http],
      ["the endpoint of submitter and users", endpoints.leader!],
    ] as const) {
      let seen = 0;
      const block = (number: Hex | "latest") =>
        rpcCall<{ number: Hex; hash: Hex } | null>(url, "eth_getBlockByNumber", [number, false], 2000);
      const look = async () => {
        const head = await block("latest");
        const found = [];
        for (let number = Math.max(1, seen - 5); head !== null && number <= Number(head.number); number++) {
          const at = await block(`0x${number.toString(16)}`);
          if (at !== null) found.push({ number, hash: at.hash });
        }
        seen = Number(head?.number ?? seen);
        return found;
      };
      witnesses.set(name, new Witness(name, look));
    }
    witnesses.set("etcd", new Witness("etcd", committed));
    subscriber = new Subscriber(endpoints.leader!.replace("http", "ws"));
    witnesses.set("a subscriber", new Witness("a subscriber", async () => subscriber!.take()));
    watches = Promise.all([...witnesses.values()].map((witness) => witness.watch(watching.signal)));
  });
  afterAll(async () => {
    watching.abort();
    subscriber?.close();
    await watches;
    for (const { engine, node, conductor } of devnet?.cluster?.sequencers ?? [])
      for (const program of [engine, node, conductor]) signal(program.pid, "SIGCONT");
    await scope.close();
  });

  /** Who committed the last block, and when that was first seen. */
  let committer = { id: "", sinceMs: 0 };
  /** The last committed blocks. */
  async function committed(): Promise<readonly { readonly number: number; readonly hash: string }[]> {
    const url = devnet
      .cluster!.etcd!.spec.args()
      .find((arg) => arg.startsWith("--listen-client-urls="))!
      .split("=")[1]!;
    const key = Buffer.from("/rconductor/head").toString("base64");
    const answer = await fetch(`${url}/v3/kv/range`, { method: "POST", body: JSON.stringify({ key }) });
    const { kvs = [] } = (await answer.json()) as { readonly kvs?: readonly { readonly value: string }[] };
    return kvs.flatMap(({ value }) => {
      type Record = { readonly number: number; readonly hash: string; readonly leader: string; readonly recent: readonly Record[] };
      const head = JSON.parse(Buffer.from(value, "base64").toString()) as Record;
      if (head.leader !== committer.id) committer = { id: head.leader, sinceMs: performance.now() };
      return [...head.recent, head];
    });
  }

  const leader = async (): Promise<SequencerPrograms | undefined> => {
    const { id } = await rpcCall<{ id: string }>(devnet.cluster!.observer, "conductor_leaderWithID", [], 1000);
    return devnet.cluster!.sequencers.find((sequencer) => sequencer.id === id);
  };
  const statusOf = ({ urls }: SequencerPrograms): Promise<SyncStatus> =>
    rpcCall<SyncStatus>(urls.node, "rnode_syncStatus", [], 1000);
  /** Everything that a machine runs, with the processes that its programs have started. */
  function signal(pid: number | undefined, name: NodeJS.Signals): void {
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // it has ended
    }
  }
  const toAll = ({ engine, node, conductor }: SequencerPrograms, name: NodeJS.Signals): void => {
    for (const { pid } of [conductor, node, engine]) signal(pid, name);
  };

  it(
    `go on when the leader dies or is paused, ${ROUNDS} times under load, and nobody sees two blocks of one height`,
    async () => {
      const { info } = devnet;
      const account = privateKeyToAccount(info.accounts[5]!.privateKey);
      const users = createWalletClient({
        account,
        chain: l2ViemChain(info),
        transport: http(info.endpoints.leader, { timeout: 10_000 }),
      });
      let [sent, isOver] = [0, false];
      const load = (async () => {
        while (!isOver) {
          try {
            await users.sendTransaction({ to: account.address, value: 1n });
            sent++;
          } catch {
            // a leader that has just died: the next one is asked
            await new Promise((resolve) => setTimeout(resolve, 200));
          }
        }
      })();
      const etcd = witnesses.get("etcd")!;
      await waitFor("ten blocks", 120_000, () => (etcd.head >= 10 ? true : undefined));
      const figures: { readonly what: string; readonly leaderSec: number; readonly blockSec: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // One that is not connected yet is not told that the leader has changed.
        await waitFor("the subscriber to be connected", ROUND_LIMIT_MS, () =>
          witnesses.get("a subscriber")!.head + 4 >= etcd.head ? true : undefined,
        );
        await waitFor("three members that could lead", ROUND_LIMIT_MS, async () => {
          const { servers } = await rpcCall<{ servers: unknown[] }>(devnet.cluster!.observer, "conductor_clusterMembership");
          const heads = await Promise.all(
            devnet.cluster!.sequencers.map(async (sequencer) => (await statusOf(sequencer)).unsafe_l2.number),
          );
          return servers.length === 3 && heads.every((head) => head + 4 >= etcd.head) && etcd.head > 0 ? true : undefined;
        });
        const old = await waitFor("a leader", ROUND_LIMIT_MS, leader);
        const what = round % 2 === 0 ? "SIGKILL" : "SIGSTOP";
        const startedMs = performance.now();
        const startedAt = new Date().toISOString();
        toAll(old, what);
        const next = await waitFor("another leader", ROUND_LIMIT_MS, async () => {
          const found = await leader();
          return found !== undefined && found !== old ? found : undefined;
        });
        const leaderSec = (performance.now() - startedMs) / 1000;
        await waitFor("a block of the new leader", ROUND_LIMIT_MS, () => (committer.id === old.id ? undefined : true));
        const blockSec = (committer.sinceMs - startedMs) / 1000;
        const before = etcd.head;
        await waitFor("blocks of the new leader on the verifier and with a subscriber", ROUND_LIMIT_MS, () =>
          ["the verifier", "a subscriber"].every((name) => witnesses.get(name)!.head > before + 2) ? true : undefined,
        );
        if (what === "SIGSTOP") toAll(old, "SIGCONT");
        figures.push({ what, leaderSec, blockSec });
        console.log(
          `round ${round + 1}, ${startedAt}: ${what} of ${old.id}: ${next.id} leads after ${leaderSec.toFixed(1)} s, block after ${blockSec.toFixed(1)} s`,
        );
      }
      isOver = true;
      await load;
      const longest = (name: "leaderSec" | "blockSec"): string => Math.max(...figures.map((figure) => figure[name])).toFixed(1);
      console.log(
        `${ROUNDS} rounds, ${sent} transactions: leader within ${longest("leaderSec")} s, block within ${longest("blockSec")} s`,
      );
      expect(subscriber!.reasons.length).toBeGreaterThanOrEqual(ROUNDS);
      for (const reason of subscriber!.reasons)
        expect(reason).toMatch(/^(another sequencer leads|the connection to the sequencer was lost): connect again$/);
      // The blocks derived from L1 in the end are those that every node saw before.
      const last = etcd.head;
      const safe = await waitFor("the committed blocks on L1", 120_000, async () => {
        const { safe_l2 } = await rpcCall<SyncStatus>(info.endpoints.verifier.node, "rnode_syncStatus");
        return safe_l2.number >= last ? safe_l2.number : undefined;
      });
      expect([...witnesses.values()].flatMap(({ contradictions }) => contradictions)).toEqual([]);
      const different: string[] = [];
      for (const [number, hash] of etcd.hashes) {
        if (number > safe) continue;
        const block = await rpcCall<{ hash: Hex } | null>(info.endpoints.verifier.http, "eth_getBlockByNumber", [
          `0x${number.toString(16)}`,
          false,
        ]);
        if (block?.hash !== hash) different.push(`block ${number}: committed ${hash}, on L1 ${block?.hash}`);
        const seen = witnesses.get("the endpoint of submitter and users")!.hashes.get(number);
        if (seen !== undefined && seen !== hash) different.push(`block ${number}: committed ${hash}, shown ${seen}`);
      }
      expect(different).toEqual([]);
    },
    300_000 + ROUNDS * 2 * ROUND_LIMIT_MS,
  );
});
