// @module-tag long
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { decodeSuperRoot } from "@rnode/protocol";
import { bytesToHex, createPublicClient, createWalletClient, type Hex, hexToBytes, http, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { programPath } from "../paths.ts";
import { rpcCall } from "../rpc.ts";
import { l1ViemChain } from "../viem-chains.ts";
import { waitFor } from "./wait.ts";

const SUPER_CANNON_KONA = 9;
const BOND = parseEther("0.01");
const PROPOSER = 6;

interface AtTimestamp {
  readonly current_l1: { readonly number: number };
  readonly safe_timestamp: number;
  readonly chain_ids: string[];
  readonly data?: { readonly super_root: Hex; readonly verified_required_l1: { readonly number: number } };
}

/** rnode serves super roots of its chain, and rproposer makes games of them: on the published factory, with a game of our own. */
const datadir = mkdtempSync(join(tmpdir(), "rnode-super-roots-"));
const scope = new Scope({ log: silentLogger, clock: systemClock });
const children: ChildProcess[] = [];
let devnet: Devnet;

beforeAll(async () => {
  devnet = await startDevnet(scope, {
    datadir,
    basePort: 0,
    nodes: 2,
    parameters: { l1BlockTimeSec: 1, l2BlockTimeSec: 1, proofs: "games" },
    changeArgs: (program, args) => {
      if (program === "verifierNode") return [...args, `--safedb.path=${join(datadir, "safedb")}`];
      return program === "proposer" ? [...args, "--stopped"] : args;
    },
  });
});
afterAll(async () => {
  for (const child of children) child.kill();
  await Promise.all(children.map(async (child) => child.exitCode ?? once(child, "exit")));
  await scope.close();
});

const factoryOf = () => devnet.info.contracts.l1.DisputeGameFactory!;
const factory = () => ({ address: factoryOf(), abi: contract(loadContracts(), "DisputeGameFactory").abi });
const l1 = () => createPublicClient({ chain: l1ViemChain(devnet.info), transport: http(), pollingInterval: 250 });
const atTimestamp = (time: number | bigint) =>
  rpcCall<AtTimestamp>(devnet.info.endpoints.verifier.node, "superroot_atTimestamp", [`0x${time.toString(16)}`]);

/** The built program. */
function rproposer(...args: string[]): { readonly child: ChildProcess; readonly log: () => string } {
  const { privateKey } = devnet.info.accounts[PROPOSER]!;
  const own = [`--l1-eth-rpc=${devnet.info.endpoints.l1}`, `--private-key=${privateKey}`, `--game-factory-address=${factoryOf()}`];
  const quick = [
    "--proposal-interval=3s",
    "--poll-interval=500ms",
    "--num-confirmations=1",
    "--txmgr.receipt-query-interval=500ms",
  ];
  const all = [
    programPath("rproposer/bin/rproposer.js"),
    ...own,
    ...quick,
    "--allow-non-finalized",
    "--rpc.addr=127.0.0.1",
    "--rpc.port=0",
    ...args,
  ];
  const child = spawn(process.execPath, all, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let log = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (data: Buffer) => (log += data.toString()));
  return { child, log: () => log };
}

it("rnode commits to its chain at every time that is safe", async () => {
  const status = await waitFor("safe blocks", 60_000, async () => {
    const now = await atTimestamp(Math.floor(Date.now() / 1000) + 1000);
    return now.safe_timestamp > devnet.info.genesis.l2TimeSec + 2 ? now : undefined;
  });
  expect(status.data).toBeUndefined();
  expect(status.chain_ids).toEqual([String(devnet.info.l2ChainId)]);
  let required = 0;
  for (let time = devnet.info.genesis.l2TimeSec; time <= status.safe_timestamp; time++) {
    const { data } = await atTimestamp(time);
    expect(data!.verified_required_l1.number).toBeGreaterThanOrEqual(required);
    required = data!.verified_required_l1.number;
  }
});

it("rproposer makes games of super roots that the factory and its own node agree with", async () => {
  const { abi, creationCode } = contract(loadContracts(), "SuperGame");
  const owner = privateKeyToAccount(devnet.info.accounts[devnet.info.roles.owner]!.privateKey);
  const wallet = createWalletClient({ account: owner, chain: l1ViemChain(devnet.info), transport: http(), pollingInterval: 250 });
  const mined = async (hash: Hex) => {
    const receipt = await l1().waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    return receipt;
  };
  const { contractAddress: game } = await mined(await wallet.deployContract({ abi, bytecode: creationCode }));
  await mined(await wallet.writeContract({ ...factory(), functionName: "setImplementation", args: [SUPER_CANNON_KONA, game] }));
  await mined(await wallet.writeContract({ ...factory(), functionName: "setInitBond", args: [SUPER_CANNON_KONA, BOND] }));

  const { log } = rproposer(`--superroot-rpcs=${devnet.info.endpoints.verifier.node}`, `--game-type=${SUPER_CANNON_KONA}`);
  const count = await waitFor("three games", 60_000, async () => {
    const games = (await l1().readContract({ ...factory(), functionName: "gameCount" })) as bigint;
    return games >= 3n ? games : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${log()}`);
  });
  for (let index = 0n; index < count; index++) {
    const found = await l1().readContract({ ...factory(), functionName: "gameAtIndex", args: [index] });
    const [type, , address] = found as [number, bigint, Hex];
    expect(type).toBe(SUPER_CANNON_KONA);
    const read = <T>(functionName: string) => l1().readContract({ address, abi, functionName }) as Promise<T>;
    const superRoot = decodeSuperRoot(hexToBytes(await read<Hex>("extraData")));
    expect(superRoot.chains.map(({ chainId }) => Number(chainId))).toEqual([devnet.info.l2ChainId]);
    expect(BigInt(superRoot.timestampSec)).toBe(await read<bigint>("l2SequenceNumber"));
    expect((await atTimestamp(superRoot.timestampSec)).data!.super_root).toBe(await read<Hex>("rootClaim"));
    const block = superRoot.timestampSec - devnet.info.genesis.l2TimeSec; // a block a second
    const [, root] = await rpcCall<[Hex, Hex]>(devnet.info.endpoints.sequencer.node, "rnode_outputAtBlock", [
      `0x${block.toString(16)}`,
    ]);
    expect(bytesToHex(superRoot.chains[0]!.outputRoot)).toBe(root);
    expect(await l1().getBalance({ address })).toBe(BOND);
  }
});

it.each([
  ["--rollup-rpc", SUPER_CANNON_KONA, "--superroot-rpcs in place of --rollup-rpc"],
  ["--superroot-rpcs", 1, "--rollup-rpc in place of --superroot-rpcs"],
])("rproposer does not start with %s for games of type %i", async (source, type, words) => {
  const { child, log } = rproposer(`${source}=${devnet.info.endpoints.verifier.node}`, `--game-type=${type}`);
  const [code] = (await once(child, "exit")) as [number];
  expect(code).not.toBe(0);
  expect(log()).toContain(words);
});
