import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort, type InteropCase, runCases } from "@rnode/program/testing";
import { createPublicClient, createWalletClient, type Hex, http, parseEther, TransactionReceiptNotFoundError } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import { l2ViemChain } from "../viem-chains.ts";
import { type FurtherEngine, furtherEngine } from "./further-engine.ts";
import { waitFor } from "./wait.ts";

// The sidecar of flashblocks' first generation between our rollup node and two of our execution clients: one is its local client, one its builder.

const LIMIT_MS = 60_000;
const BLOCKS = 5;
const RECIPIENT: Hex = `0x${"b0".repeat(20)}`;

interface Stage {
  readonly binary: string;
  readonly onClose: (close: () => Promise<unknown>) => void;
}

/** @returns how many cases passed and failed */
export function runInterop(binary: string, print: (line: string) => void): Promise<{ passed: number; failed: number }> {
  return runCases(CASES, (onClose): Stage => ({ binary, onClose }), print);
}

interface Boosted {
  readonly devnet: Devnet;
  readonly builder: FurtherEngine;
  /** of rollup-boost: the Engine API, and what it passes on to both clients */
  readonly url: string;
  /** How many blocks it has taken from one of the clients. */
  blocksOf(client: "builder" | "l2"): Promise<number>;
}

/** A devnet whose sequencer reaches its execution client through rollup-boost, whose stream the follower follows. */
async function boosted({ binary, onClose }: Stage): Promise<Boosted> {
  const folder = mkdtempSync(join(tmpdir(), "devnet-boost-"));
  onClose(async () => rmSync(folder, { recursive: true, force: true }));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  onClose(() => scope.close());
  const [rpc, stream, relay, metrics, debug, parts] = await Promise.all(Array.from({ length: 6 }, () => freePort()));
  const url = `http://127.0.0.1:${rpc}`;
  let isThere = false;
  const devnet = await startDevnet(scope, {
    datadir: join(folder, "devnet"),
    basePort: 0,
    nodes: 3,
    subblocks: false,
    parameters: { l1BlockTimeSec: 2, l2BlockTimeSec: 2 },
    changeArgs: (program, args) => {
      if (program === "followerEngine") return [...args, `--flashblocks-url=ws://127.0.0.1:${stream}`, `--subblocks.port=${relay}`];
      if (program !== "sequencerNode" || !isThere) return args;
      return args.map((arg) => (arg.startsWith("--l2=") ? `--l2=${url}` : arg));
    },
  });
  const builder = await furtherEngine(devnet, {
    folder,
    name: "builder",
    options: ["--subblocks", "--subblocks.addr=127.0.0.1", `--subblocks.port=${parts}`],
  });
  onClose(() => builder.program.stop());
  await builder.program.start();
  const { sequencerNode } = devnet.programs;
  const argOf = (flag: string): string =>
    sequencerNode.spec
      .args()
      .find((arg) => arg.startsWith(`--${flag}=`))!
      .slice(flag.length + 3);
  const boost = new Program({
    name: "rollup-boost",
    command: binary,
    args: () => [
      ...[`ws://127.0.0.1:${parts}`, String(stream)],
      ...[`--l2-url=${argOf("l2")}`, `--l2-jwt-path=${argOf("l2.jwt-secret")}`],
      ...[`--builder-url=${builder.authUrl}`, `--builder-jwt-path=${builder.jwt}`],
      // Our parts have no state roots.
      ...["--external-state-root", `--rpc-port=${rpc}`, `--debug-server-port=${debug}`, "--metrics", `--metrics-port=${metrics}`],
    ],
    logPath: join(folder, "rollup-boost.log"),
    isReady: async () => Number(await rpcCall<Hex>(url, "eth_chainId")) === devnet.info.l2ChainId,
    readyTimeoutMs: LIMIT_MS,
    stopTimeoutMs: 10_000,
  });
  onClose(() => boost.stop());
  await boost.start();
  isThere = true;
  await sequencerNode.stop();
  await sequencerNode.start();
  const blocksOf = async (client: "builder" | "l2"): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    return Number(new RegExp(`^rollup_boost_rpc_blocks_created\\S*source="${client}"\\S* (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  };
  return { devnet, builder, url, blocksOf };
}

function usersOf({ devnet: { info }, url }: Boosted) {
  const chain = l2ViemChain(info);
  const account = privateKeyToAccount(info.accounts[5]!.privateKey);
  return {
    wallet: createWalletClient({ account, chain, transport: http(url) }),
    follower: createPublicClient({ chain, transport: http(info.endpoints.follower!.http) }),
  };
}

function notYet(error: unknown): undefined {
  if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
}

const CASES: readonly InteropCase<Stage>[] = [
  {
    name: "rollup-boost seals what our builder streams, and relays it to a follower of ours, which answers before the block",
    run: async (stage) => {
      const boost = await boosted(stage);
      await waitFor("blocks of the builder", LIMIT_MS, async () =>
        (await boost.blocksOf("builder")) >= BLOCKS ? true : undefined,
      );
      const { wallet, follower } = usersOf(boost);
      const { sequencer } = boost.devnet.info.endpoints;
      for (let sent = 1; ; sent++) {
        const hash = await wallet.sendTransaction({ to: RECIPIENT, value: parseEther("1") });
        const { blockNumber } = await waitFor("a receipt at the follower", LIMIT_MS, () =>
          follower.getTransactionReceipt({ hash }).catch(notYet),
        );
        const head = await follower.getBlockNumber({ cacheTime: 0 });
        assert.equal(await follower.getBalance({ address: RECIPIENT, blockTag: "pending" }), parseEther(String(sent)));
        const sealed = await waitFor("its block", LIMIT_MS, () =>
          rpcCall<{ readonly transactions: readonly Hex[] } | null>(sequencer.http, "eth_getBlockByNumber", [
            `0x${blockNumber.toString(16)}`,
            false,
          ]).then((block) => block ?? undefined),
        );
        assert(sealed.transactions.includes(hash), `block ${blockNumber} lacks ${hash}, whose receipt the follower gave`);
        if (head < blockNumber) break;
      }
    },
  },
  {
    name: "the chain goes on without the builder, and takes its blocks again once it is back",
    run: async (stage) => {
      const boost = await boosted(stage);
      const more = async (client: "builder" | "l2"): Promise<void> => {
        const before = await boost.blocksOf(client);
        await waitFor(`blocks of ${client}`, LIMIT_MS, async () =>
          (await boost.blocksOf(client)) >= before + BLOCKS ? true : undefined,
        );
      };
      await more("builder");
      await boost.builder.program.stop();
      await more("l2");
      await boost.builder.program.start();
      await more("builder");
    },
  },
];
