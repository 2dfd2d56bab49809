import assert from "node:assert/strict";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { GoProgram, type InteropCase, runCases, until } from "@rnode/program/testing";
import { envelopeToJson } from "@rnode/protocol";
import { EtcdModel } from "./etcd-model.ts";
import { startGatewayServer } from "./gateway-server.ts";
import { samplePayload } from "./sample-payload.ts";
import { startTestConductor, type TestConductor } from "./test-conductor.ts";

interface GoCommand {
  readonly url: string;
  readonly call: string;
  readonly server: string;
  readonly addr: string;
  readonly version: number;
  readonly flag: boolean;
  readonly envelope: object;
}
type Go = GoProgram<object, GoCommand, { readonly event: string }>;

interface Stage {
  readonly go: () => Promise<Go>;
  /** conductors of one cluster, of which the first leads */
  readonly conductors: (...ids: string[]) => Promise<readonly TestConductor[]>;
}

const NOT_LEADER = /node is not the leader/;

/** Programs of the OP Stack with rconductor. @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  const stageOf = (onClose: (close: () => Promise<unknown>) => void): Stage => ({
    go: async () => {
      const go: Go = await GoProgram.start(binary, []);
      onClose(() => go.close());
      return go;
    },
    conductors: async (...ids) => {
      const closers: (() => unknown)[] = [];
      onClose(async () => {
        for (const close of closers.reverse()) await close();
      });
      const etcd = await startGatewayServer(new EtcdModel(() => performance.now()));
      closers.push(() => etcd.close());
      const all: TestConductor[] = [];
      for (const id of ids) {
        // A lease that no busy machine lets run out.
        const args = [`--etcd=${etcd.url}`, `--server-id=${id}`, "--etcd.lease-ttl=60"];
        const conductor = await startTestConductor(all.length === 0 ? [...args, "--bootstrap"] : args, closers);
        all.push(conductor);
        await conductor.ready;
        await until("a sequencer at work", () => all[0]!.node.isActive);
      }
      await until("all members", () => String(all[0]!.status().members) === ids.join(", "));
      return all;
    },
  });
  return runCases(CASES, stageOf, print);
}

const blockOn = ({ node }: TestConductor, transactions: readonly Uint8Array[] = []) => {
  const { number, hash } = node.head;
  return samplePayload(number + 1, hexToBytes(hash), "", transactions);
};

/** The node makes a block that op-node's client has committed. */
async function commitOn(go: Go, leader: TestConductor, transactions: readonly Uint8Array[] = []): Promise<object> {
  const block = blockOn(leader, transactions);
  const envelope = envelopeToJson(block);
  await go.ask("node", { url: leader.rpc.endpoint, call: "commit", envelope });
  leader.node.head = { number: block.executionPayload.blockNumber, hash: bytesToHex(block.executionPayload.blockHash) };
  return envelope;
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "op-node's client: who leads, and blocks committed as they are; the next leader gets the same",
    run: async ({ go: startGo, conductors }) => {
      const [go, [a, b]] = [await startGo(), await conductors("a", "b")];
      assert.ok(a !== undefined && b !== undefined);
      const ask = <T>(of: TestConductor, call: string, more: Partial<GoCommand> = {}): Promise<T> =>
        go.ask<T>("node", { url: of.rpc.endpoint, call, ...more });
      assert.equal(await ask(a, "leader"), true);
      assert.equal(await ask(b, "leader"), false);
      const first = await commitOn(go, a);
      const second = await commitOn(go, a, [Uint8Array.of(0x7e, 1, 2), new Uint8Array(300_000).fill(9)]);
      await ask(a, "commit", { envelope: second }); // its first answer may have been lost
      await assert.rejects(ask(b, "commit", { envelope: second }), NOT_LEADER);
      const other = samplePayload(2, hexToBytes(`0x${"22".repeat(32)}`), "other");
      await assert.rejects(ask(a, "commit", { envelope: envelopeToJson(other) }), /last committed block is 2/);
      const posted: object[] = [];
      const { onPost } = b.node;
      b.node.onPost = (envelope) => {
        posted.push(envelope);
        onPost(envelope);
      };
      await until("the leader to go on", () => a.node.isActive);
      await go.ask("api", { url: a.rpc.endpoint, call: "transferLeaderToServer", server: "b", addr: "" });
      await until("the other leader", () => b.node.isActive);
      assert.deepEqual(posted, [first, second]);
      assert.deepEqual([await ask(a, "leader"), await ask(b, "leader")], [false, true]);
      await ask(a, "override");
      assert.equal(await ask(a, "leader"), true);
    },
  },
  {
    name: "op-conductor's client: every method",
    run: async ({ go: startGo, conductors }) => {
      const [go, [a, b]] = [await startGo(), await conductors("a", "b")];
      assert.ok(a !== undefined && b !== undefined);
      const ask = <T>(call: string, more: Partial<GoCommand> = {}): Promise<T> =>
        go.ask<T>("api", { url: a.rpc.endpoint, call, ...more });
      const leader = { id: "a", addr: String((await a.rpc.call<{ addr: string }>("conductor_leaderWithID")).addr), suffrage: 0 };
      assert.match(leader.addr, /^http:/);
      assert.deepEqual(await ask("leaderWithID"), leader);
      const states = ["leader", "active", "sequencerHealthy", "paused", "stopped", "leaderOverridden"];
      const seen = async () => Promise.all(states.map((state) => ask<boolean>(state)));
      await until("a healthy sequencer", async () => ask<boolean>("sequencerHealthy"));
      assert.deepEqual(await seen(), [true, true, true, false, false, false]);
      await ask("pause");
      await ask("overrideLeader", { flag: true });
      assert.deepEqual(await seen(), [true, false, true, true, false, true]);
      assert.deepEqual(await ask("leaderWithID"), { id: "N/A (Leader overridden)", addr: "N/A", suffrage: 0 });
      await ask("overrideLeader", { flag: false });
      await ask("resume");
      assert.deepEqual(await seen(), [true, true, true, false, false, false]);
      await ask("commitUnsafePayload", { envelope: await commitOn(go, a) });

      interface Membership {
        readonly servers: readonly { readonly id: string; readonly suffrage: number }[];
        readonly version: number;
      }
      const membership = () => ask<Membership>("clusterMembership");
      const suffrage = async (): Promise<number | undefined> => (await membership()).servers.find(({ id }) => id === "b")?.suffrage;
      assert.deepEqual(await suffrage(), 0);
      for (const [call, wanted] of [
        ["addServerAsNonvoter", 1],
        ["addServerAsVoter", 0],
        ["demoteVoter", 1],
        ["removeServer", undefined],
        ["addServerAsVoter", 0],
      ] as const) {
        await ask(call, { server: "b", addr: "", version: (await membership()).version });
        await until(`${call} to be seen`, async () => (await suffrage()) === wanted);
      }
      const { version } = await membership();
      await assert.rejects(ask("demoteVoter", { server: "b", version: version + 1 }), /configuration changed since/);
      await assert.rejects(ask("addServerAsVoter", { server: "z", addr: "", version: 0 }), /z is no member/);
      await ask("transferLeader");
      await until("the other leader", () => b.node.isActive);
      assert.equal(await ask("leader"), false);
      await until("the news of it", async () => (await ask<{ id: string }>("leaderWithID")).id === "b");
      await assert.rejects(ask("commitUnsafePayload", { envelope: envelopeToJson(blockOn(b)) }), NOT_LEADER);
      await ask("stop");
      assert.deepEqual([await ask("stopped"), await ask("active")], [true, false]);
    },
  },
];
