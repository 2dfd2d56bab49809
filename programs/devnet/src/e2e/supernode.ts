import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort, type InteropCase, runCases } from "@rnode/program/testing";
import { type Hex, toHex } from "viem";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { type FurtherEngine, furtherEngine } from "./further-engine.ts";
import { rnodeSet } from "./rnode-set.ts";
import { A, B, type SentMessage, TwoChains } from "./two-chains.ts";
import { waitFor } from "./wait.ts";

// op-supernode and `rnode set` verify the same two chains, and light nodes of both kinds follow either of them.

const LIMIT_MS = 600_000;
/** Blocks that become safe after the last hostile one. */
const REST_BLOCKS = 5;
/** L1 blocks of two seconds: a busy machine publishes late. */
const SEQ_WINDOW = 60;
const RNODE_ARGS = /^--(l2|l2\.jwt-secret|rollup\.config|rollup\.l1-chain-config|interop\.dependency-set)=/;

interface Stage {
  readonly binary: string;
  readonly onClose: (close: () => Promise<unknown>) => void;
}

interface SuperRoot {
  readonly safe_timestamp: number;
  readonly optimistic_at_timestamp: Readonly<Record<string, { readonly output_root: Hex; readonly required_l1: object }>>;
  readonly data?: { readonly super_root: Hex; readonly verified_required_l1: object };
}

/** @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  return runCases(CASES, (onClose): Stage => ({ binary, onClose }), print);
}

/** A request to a program on a busy machine. */
const patiently = <T>(url: string, method: string, params: readonly unknown[] = []): Promise<T> =>
  rpcCall<T>(url, method, params, 120_000);
const statusOf = (url: string): Promise<SyncStatus> => patiently(url, "optimism_syncStatus");

/** @param url of a source, or of a node */
const safePast = (url: string, number: number): Promise<SyncStatus> =>
  waitFor(`a safe block after ${number} of ${url}`, LIMIT_MS, async () => {
    const status = await statusOf(url);
    return status.safe_l2.number > number ? status : undefined;
  });

/** The two rollups' options, as op-node and rnode have them. @param engine its role in the devnet */
function optionsOf(chains: TwoChains, chainId: number, role: "verifierNode" | "followerNode"): string[] {
  return chains
    .devnetOf(chainId)
    .programs[role]!.spec.args()
    .filter((arg) => RNODE_ARGS.test(arg));
}

async function supernode(chains: TwoChains, { binary, folder }: { readonly binary: string; readonly folder: string }) {
  const port = await freePort();
  const { l1 } = chains;
  const of = (chainId: number): string[] =>
    optionsOf(chains, chainId, "followerNode").map((arg) => arg.replace("--", `--vn.${chainId}.`));
  const program = new Program({
    name: "op-supernode",
    command: binary,
    args: () => [
      ...[`--chains=${A}`, `--chains=${B}`, `--data-dir=${join(folder, "supernode")}`, "--disable-p2p"],
      ...[`--l1=${l1}`, `--l1.beacon=${l1}`, "--l1.http-poll-interval=1s"],
      // the rollups have it from their beginnings, which differ
      `--interop.activation-timestamp=${chains.b.info.genesis.l2TimeSec}`,
      ...["--vn.all.l1.epoch-poll-interval=2s", "--rpc.addr=127.0.0.1", `--rpc.port=${port}`, "--log.level=info"],
      ...of(A),
      ...of(B),
    ],
    logPath: join(folder, "supernode.log"),
    isReady: async () => (await rpcCall<string>(`http://127.0.0.1:${port}`, "heartbeat_check")).length > 2,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
  return { program, url: `http://127.0.0.1:${port}` };
}

/** A light node, of either kind. */
async function lightNode(
  chains: TwoChains,
  {
    kind,
    source,
    engine,
    folder,
    binary,
  }: {
    readonly kind: "rnode" | "op-node";
    readonly source: string;
    readonly engine: FurtherEngine;
    readonly folder: string;
    readonly binary: string;
  },
) {
  const port = await freePort();
  const { l1 } = chains;
  const isOurs = kind === "rnode";
  const [command, first] = isOurs ? [process.execPath, [chains.b.programs.verifierNode!.spec.args()[0]!]] : [binary, []];
  const program = new Program({
    name: `light ${kind}`,
    command: command!,
    args: () => [
      ...first!,
      ...optionsOf(chains, B, "verifierNode").filter((arg) => !arg.startsWith("--l2")),
      ...[`--l1=${l1}`, `--l1.beacon=${l1}`, "--l1.http-poll-interval=1s", "--l1.epoch-poll-interval=2s", "--p2p.disable"],
      ...[`--l2=${engine.authUrl}`, `--l2.jwt-secret=${engine.jwt}`, `--l2.follow.source=${source}`],
      ...["--rpc.addr=127.0.0.1", `--rpc.port=${port}`],
    ],
    logPath: join(folder, `light-${kind}-${port}.log`),
    isReady: async () => (await statusOf(`http://127.0.0.1:${port}`)) !== undefined,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
  return { program, url: `http://127.0.0.1:${port}` };
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "rnode set and op-supernode verify the same blocks, and light nodes of both kinds follow either of them",
    run: async ({ binary, onClose }) => {
      const folder = mkdtempSync(join(tmpdir(), "supernode-"));
      onClose(async () => rmSync(folder, { recursive: true, force: true }));
      const scope = new Scope({ log: silentLogger, clock: systemClock });
      onClose(() => scope.close());
      const start = async (program: Program): Promise<void> => {
        await program.start();
        scope.onClose(program.spec.name, () => program.stop());
      };
      const chains = await TwoChains.start(scope, { folder, nodes: 3, seqWindowSize: SEQ_WINDOW });
      const port = await freePort();
      const ours = `http://127.0.0.1:${port}`;
      await start(rnodeSet(chains, { folder, port }));
      const { program, url: theirs } = await supernode(chains, { binary, folder });
      await start(program);
      const both = async (chainId: number, number: number): Promise<void> => {
        await safePast(`${ours}/${chainId}`, number);
        await safePast(`${theirs}/${chainId}`, number);
      };
      for (const chainId of [A, B]) await both(chainId, 5);

      // messages in both directions, then one without a log in each
      const good: [number, SentMessage][] = [
        [B, await chains.send(A, "0x1234")],
        [A, await chains.send(B, "0x5678")],
      ];
      const kept = [];
      for (const [to, message] of good) kept.push({ chainId: to, receipt: await chains.execute(to, message) });
      for (const { chainId, receipt } of kept) await both(chainId, Number(receipt.blockNumber));
      const replaced = [];
      for (const [to, message] of good) {
        const receipt = await chains.execute(to, { ...message, logIndex: message.logIndex + 1n });
        replaced.push({ chainId: to, receipt });
      }
      for (const { chainId, receipt } of replaced) await both(chainId, Number(receipt.blockNumber) + REST_BLOCKS);

      // the same blocks
      const blockOf = (chainId: number, role: "verifier" | "follower", number: Hex) =>
        patiently<{ hash: Hex; timestamp: Hex; transactions: { type: Hex }[] }>(
          chains.devnetOf(chainId).info.endpoints[role]!.http,
          "eth_getBlockByNumber",
          [number, true],
        );
      for (const { chainId, receipt } of kept)
        for (const role of ["verifier", "follower"] as const)
          assert.equal((await blockOf(chainId, role, receipt.blockNumber)).hash, receipt.blockHash, `${role} of ${chainId}`);
      let hostileSec = 0;
      for (const { chainId, receipt } of replaced) {
        const ourBlock = await blockOf(chainId, "verifier", receipt.blockNumber);
        assert.notEqual(ourBlock.hash, receipt.blockHash);
        assert.ok(ourBlock.transactions.every(({ type }) => type === "0x7e"));
        assert.equal((await blockOf(chainId, "follower", receipt.blockNumber)).hash, ourBlock.hash);
        hostileSec = Math.max(hostileSec, Number(ourBlock.timestamp));
      }
      for (const chainId of [A, B]) {
        const heads = await Promise.all([statusOf(`${ours}/${chainId}`), statusOf(`${theirs}/${chainId}`)]);
        const common = toHex(Math.min(...heads.map(({ safe_l2: safe }) => safe.number)));
        assert.equal((await blockOf(chainId, "verifier", common)).hash, (await blockOf(chainId, "follower", common)).hash);
      }

      // the same super roots, since both have verified blocks
      const rootAt = (url: string, time: number) => patiently<SuperRoot>(url, "superroot_atTimestamp", [toHex(time)]);
      const safeTimes = [ours, theirs].map(async (url) => (await patiently<SuperRoot>(url, "supernode_syncStatus")).safe_timestamp);
      const until = Math.min(...(await Promise.all(safeTimes)));
      assert.ok(until > hostileSec, `super roots up to ${until}, hostile blocks up to ${hostileSec}`);
      for (let time = Math.max(...good.map(([, { timestamp }]) => Number(timestamp))); time <= until; time++) {
        const [our, their] = [await rootAt(ours, time), await rootAt(theirs, time)];
        assert.ok(our.data !== undefined, `no super root at ${time}`);
        assert.deepEqual({ time, data: our.data }, { time, data: their.data });
        assert.deepEqual({ time, of: our.optimistic_at_timestamp }, { time, of: their.optimistic_at_timestamp });
      }

      // followers
      const opNode = join(dirname(binary), "op-node");
      const bad = replaced.find(({ chainId }) => chainId === B)!.receipt;
      const { hash: replacement } = await blockOf(B, "verifier", bad.blockNumber);
      for (const source of [ours, theirs]) {
        for (const kind of ["rnode", "op-node"] as const) {
          const engine = await furtherEngine(chains.b, { folder, name: `${kind}-${source.split(":").at(-1)}` });
          await start(engine.program);
          const light = await lightNode(chains, { kind, source: `${source}/${B}`, engine, folder, binary: opNode });
          await start(light.program);
          const { safe_l2: safe } = await safePast(light.url, Number(bad.blockNumber) + REST_BLOCKS);
          // the labels move before the execution client has all blocks
          const followed = await waitFor(`block ${bad.blockNumber} of a light node`, LIMIT_MS, async () => {
            const block = await rpcCall<{ hash: Hex } | null>(engine.url, "eth_getBlockByNumber", [bad.blockNumber, false]);
            return block?.hash;
          });
          assert.equal(followed, replacement, `${kind} of ${source}`);
          assert.equal(safe.hash, (await blockOf(B, "verifier", toHex(safe.number))).hash);
          await light.program.stop();
          await engine.program.stop();
        }
      }
    },
  },
];
