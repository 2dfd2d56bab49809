// @module-tag long
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import { concat, createWalletClient, defineChain, type Hex, http, keccak256, numberToHex, stringToBytes, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { devAccounts } from "../accounts.ts";
import { type Devnet, startDevnet } from "../devnet.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { ChainView } from "./chain-view.ts";
import { waitFor } from "./wait.ts";

// Two rollups on one L1, and `rnode set`, which derives both, verifies their messages, and is followed by a light node.

const RNODE = join(import.meta.dirname, "../../../rnode/bin/rnode.js");
const MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow";
const A = 901;
const B = 902;
const EVENT = keccak256(stringToBytes("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));
const CROSS_L2_INBOX: Hex = "0x4200000000000000000000000000000000000022";
const EMITTER: Hex = `0x${"e1".repeat(20)}`;
/** Stand-ins: the one logs its input; the other logs the identifier and the hash of a message, without a look at the access list. */
const genesisCodes: Record<Hex, Hex> = {
  [EMITTER]: "0x365f5f37602a365fa100",
  [CROSS_L2_INBOX]: `0x60a060045f3760a4357f${EVENT.slice(2)}60a05fa200`,
};
const common = { l2BlockTimeSec: 1, forkDelaysSec: { karst: 0, lagoon: 0 }, genesisCodes, seqWindowSize: 25 } as const;

const folder = mkdtempSync(join(tmpdir(), "rnode-set-e2e-"));
const scope = new Scope({ log: silentLogger, clock: systemClock });
let a: Devnet;
let b: Devnet;
let port = 0;
let set: Program;

const ofChain = (devnet: Devnet, name: string): string[] =>
  devnet.programs
    .verifierNode!.spec.args()
    .filter((arg) => /^--(l2|l2\.jwt-secret|rollup\.config|rollup\.l1-chain-config|interop\.dependency-set)=/.test(arg))
    .map((arg) => arg.replace("--", `--${name}.`));
const ask = <T>(path: string, method: string, params: readonly unknown[] = []): Promise<T> =>
  rpcCall<T>(`http://127.0.0.1:${port}${path}`, method, params);
const statusOf = (chainId: number): Promise<SyncStatus> => ask(`/${chainId}`, "optimism_syncStatus");

beforeAll(async () => {
  const parameters = { ...common, l1BlockTimeSec: 2, l2ChainId: A, otherChains: [B] };
  a = await startDevnet(scope, { datadir: join(folder, "a"), basePort: 0, nodes: 2, parameters });
  const mnemonicFile = join(folder, "mnemonic");
  const l1FunderKeyFile = join(folder, "key");
  writeFileSync(mnemonicFile, `${MNEMONIC}\n`);
  writeFileSync(l1FunderKeyFile, devAccounts(7)[6]!.privateKey);
  const l1 = a.info.endpoints.l1;
  const onL1 = { l1, l1Beacon: l1, mnemonicFile, l1FunderKeyFile };
  b = await startDevnet(scope, {
    ...onL1,
    datadir: join(folder, "b"),
    basePort: 0,
    nodes: 2,
    parameters: { ...common, l2ChainId: B, otherChains: [A] },
  });
  for (const devnet of [a, b]) await devnet.programs.verifierNode!.stop();
  port = await freePort();
  set = new Program({
    name: "rnode set",
    command: process.execPath,
    args: () => [
      ...[RNODE, "set", "--chain=a", "--chain=b", `--set.datadir=${join(folder, "set")}`, `--rpc.port=${port}`],
      ...[`--l1=${l1}`, `--l1.beacon=${l1}`, "--l1.http-poll-interval=1s", "--l1.epoch-poll-interval=2s", "--rpc.enable-admin"],
      ...ofChain(a, "a"),
      ...ofChain(b, "b"),
    ],
    logPath: join(folder, "set.log"),
    isReady: async () => (await ask<Hex>("", "heartbeat_check")).length === 10,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
  await set.start();
  scope.onClose("rnode set", () => set.stop());
}, 400_000);
afterAll(() => scope.close(), 120_000);

const safePast = (chainId: number, number: number): Promise<SyncStatus> =>
  waitFor(`a cross-safe block after ${number} of chain ${chainId}`, 240_000, async () => {
    const status = await statusOf(chainId);
    return status.safe_l2.number > number ? status : undefined;
  });

const walletOf = (devnet: Devnet, chainId: number, mnemonic?: string) => {
  const url = devnet.info.endpoints.sequencer.http;
  const chain = defineChain({
    id: chainId,
    name: String(chainId),
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  });
  const account = mnemonicToAccount(mnemonic ?? "test test test test test test test test test test test junk", { addressIndex: 8 });
  return createWalletClient({ account, chain, transport: http(url) });
};
const receiptOf = (view: ChainView, hash: Hex): Promise<{ blockNumber: Hex; blockHash: Hex; logs: { logIndex: Hex }[] }> =>
  waitFor("a receipt", 60_000, async () => (await view.engine("sequencer", "eth_getTransactionReceipt", [hash])) ?? undefined);

it("verifies both chains, and serves each at its path", { timeout: 300_000 }, async () => {
  for (const [devnet, chainId] of [
    [a, A],
    [b, B],
  ] as const) {
    const status = await safePast(chainId, 5);
    const { number, hash } = status.safe_l2;
    expect(hash).toBe(await new ChainView(devnet).blockHash("sequencer", number));
    expect(status).toMatchObject({ local_safe_l2: { number: expect.any(Number) } });
  }
  const whole = await ask<{ chains: object; chain_ids: string[]; safe_timestamp: number }>("", "supernode_syncStatus");
  expect(whole.chain_ids).toEqual([String(A), String(B)]);
  const at = `0x${whole.safe_timestamp.toString(16)}`;
  interface SuperRoot {
    readonly data?: { super: { chains: { ChainID: string; Output: Hex }[] } };
    readonly optimistic_at_timestamp: Record<string, { output_root: Hex }>;
  }
  // the engines called blocks final before there was a set
  const { data, optimistic_at_timestamp: optimistic } = await waitFor("a super root", 120_000, async () => {
    const answer = await ask<SuperRoot>("", "superroot_atTimestamp", [at]);
    return answer.data && { ...answer, data: answer.data };
  });
  expect(data.super.chains.map(({ ChainID, Output }) => [ChainID, Output])).toEqual(
    Object.entries(optimistic).map(([id, { output_root: root }]) => [id, root]),
  );
  await expect(ask("/903", "optimism_syncStatus")).rejects.toThrow();
});

it("passes a message between the chains, replaces a block with one that nobody sent, and goes on", {
  timeout: 900_000,
}, async () => {
  const [viewA, viewB] = [new ChainView(a), new ChainView(b)];
  const onA = walletOf(a, A);
  const onB = walletOf(b, B, MNEMONIC);
  const payload = "0x1234" as const;
  const sent = await receiptOf(viewA, await onA.sendTransaction({ to: EMITTER, data: payload, value: 0n }));
  const { timestamp } = await viewA.engine<{ timestamp: Hex }>("sequencer", "eth_getBlockByHash", [sent.blockHash, false]);
  const word = (value: bigint): Hex => numberToHex(value, { size: 32 });
  const topic = word(0x2an);
  const messageHash = keccak256(concat([topic, payload]));
  const execute = (logIndex: bigint): Promise<Hex> =>
    onB.sendTransaction({
      to: CROSS_L2_INBOX,
      value: 0n,
      gas: 200_000n,
      data: concat([
        toHex(new Uint8Array(4)),
        ...[BigInt(EMITTER), BigInt(sent.blockNumber), logIndex, BigInt(timestamp), BigInt(A)].map(word),
        messageHash,
      ]),
    });
  const good = await receiptOf(viewB, await execute(BigInt(sent.logs[0]!.logIndex)));
  const afterGood = await safePast(B, Number(good.blockNumber));
  expect(afterGood.safe_l2.number).toBeGreaterThan(Number(good.blockNumber));
  const ownEngine = b.info.endpoints.verifier!.http;
  expect(await rpcCall(ownEngine, "eth_getBlockByNumber", [good.blockNumber, false])).toMatchObject({ hash: good.blockHash });

  const bad = await receiptOf(viewB, await execute(BigInt(sent.logs[0]!.logIndex) + 1n));
  await safePast(B, Number(bad.blockNumber));
  const replaced = await rpcCall<{ hash: Hex; transactions: { type: Hex }[] }>(ownEngine, "eth_getBlockByNumber", [
    bad.blockNumber,
    true,
  ]);
  expect(replaced.hash).not.toBe(bad.blockHash);
  expect(replaced.transactions.map(({ type }) => type)).toEqual(["0x7e"]);
  await set.stop();
  await set.start();
  const again = await safePast(B, Number(bad.blockNumber) + 3);
  expect(again.safe_l2.number).toBeGreaterThan(Number(bad.blockNumber));
  expect(await rpcCall(ownEngine, "eth_getBlockByNumber", [bad.blockNumber, false])).toMatchObject({ hash: replaced.hash });
  expect(await statusOf(A)).toMatchObject({ safe_l2: { number: expect.any(Number) } });
});
