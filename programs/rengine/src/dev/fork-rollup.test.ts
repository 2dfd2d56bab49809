import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { RpcClient } from "@rnode/jsonrpc";
import { type Hex, hexToBytes } from "@rnode/primitives";
import { decodeL1BlockInfo, l1Cost, l1FeeParamsFromL1BlockStorage, rollupRules } from "@rnode/protocol";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { type Fork, startFork } from "../testing/fork-process.ts";
import { CHAIN_ID, GENESIS, RICH_ADDRESS, startTestClient, type TestClient } from "../testing/test-client.ts";

const L1_BLOCK = "0x4200000000000000000000000000000000000015";
const NOBODY = "0x00000000000000000000000000000000000b0d1e";
const alice = mnemonicToAccount("test test test test test test test test test test test junk");

interface BlockJson {
  readonly hash: Hex;
  readonly number: Hex;
  readonly timestamp: Hex;
  readonly miner: Hex;
  readonly extraData: Hex;
  readonly parentBeaconBlockRoot: Hex;
  readonly transactions: readonly { readonly type: Hex; readonly hash: Hex; readonly input: Hex }[];
}

describe("a fork of an OP Stack chain", () => {
  let origin: TestClient;
  let fork: Fork;
  beforeAll(async () => {
    buildPackage();
    origin = await startTestClient([], undefined, { l1: { number: 77, baseFee: 7n * 10n ** 9n, sequenceNumber: 2 } });
    for (let block = 0; block < 3; block++) await origin.buildBlock();
    fork = await startFork(`--fork-url=${origin.httpUrl}`, `--chain=${join(origin.folder, "genesis.json")}`);
  });
  afterAll(async () => {
    await fork.stop();
    await origin.remove();
  });

  const latest = (): Promise<BlockJson> => fork.rpc.call("eth_getBlockByNumber", ["latest", true]);

  it("begins with the fork block, and its blocks with the L1 attributes", async () => {
    const first = await latest();
    expect(first).toEqual(await origin.rpc.call("eth_getBlockByNumber", ["0x3", true]));
    await fork.rpc.call("evm_mine", []);
    await fork.rpc.call("evm_mine", []);
    const block = await latest();
    expect(Number(block.number)).toBe(5);
    expect(Number(block.timestamp) - Number(first.timestamp)).toBe(4); // slots of 2 s
    expect(block).toMatchObject({ miner: "0x4200000000000000000000000000000000000011", extraData: first.extraData });
    expect(block.parentBeaconBlockRoot).toBe(first.parentBeaconBlockRoot);
    expect(block.transactions.map(({ type }) => type)).toEqual(["0x7e"]);
    expect(decodeL1BlockInfo(hexToBytes(block.transactions[0]!.input))).toMatchObject({
      layout: "jovian",
      baseFee: 7n * 10n ** 9n,
      baseFeeScalar: 1_368,
      blobBaseFeeScalar: 810_949,
      sequenceNumber: 2,
    });
    expect(fork.output()).not.toMatch(/lvl=warn/);
  });

  it("transactions pay the L1 fee of the forked L1Block, and receipts say so", async () => {
    const before = BigInt(await fork.rpc.call<Hex>("eth_getBalance", [alice.address, "latest"]));
    expect(before).toBe(10_000n * 10n ** 18n);
    const hash = await fork.rpc.call<Hex>("eth_sendTransaction", [{ from: alice.address, to: NOBODY, value: "0x5" }]);
    const raw = await fork.rpc.call<Hex>("eth_getRawTransactionByHash", [hash]);
    const receipt = await fork.rpc.call<Readonly<Record<string, Hex>>>("eth_getTransactionReceipt", [hash]);
    const slots = [0n, 7n * 10n ** 9n, 0n, (1368n << 96n) | (810_949n << 64n), 0n, 0n, 0n, 3n, 0n];
    const expected = l1Cost(
      rollupRules("jovian"),
      l1FeeParamsFromL1BlockStorage((slot) => slots[slot]!),
      hexToBytes(raw),
    );
    expect(expected).toBeGreaterThan(0n);
    expect(receipt).toMatchObject({ status: "0x1", transactionIndex: "0x1", l1GasPrice: "0x1a13b8600", l1BaseFeeScalar: "0x558" });
    expect(BigInt(receipt.l1Fee!)).toBe(expected);
    const after = BigInt(await fork.rpc.call<Hex>("eth_getBalance", [alice.address, "latest"]));
    expect(before - after).toBe(5n + expected + BigInt(receipt.gasUsed!) * BigInt(receipt.effectiveGasPrice!));
    expect(BigInt(await origin.rpc.call<Hex>("eth_getBalance", [alice.address, "latest"]))).toBe(0n);
  });

  it("an L1 base fee that was set by hand stays, in attributes and fees", async () => {
    const id = await fork.rpc.call("evm_snapshot", []);
    const word = `0x${(14n * 10n ** 9n).toString(16).padStart(64, "0")}`;
    await fork.rpc.call("anvil_setStorageAt", [L1_BLOCK, "0x1", word]);
    for (let block = 0; block < 2; block++) {
      const hash = await fork.rpc.call("eth_sendTransaction", [{ from: alice.address, to: NOBODY, value: "0x5" }]);
      expect(await fork.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ l1GasPrice: "0x342770c00" });
    }
    expect(await fork.rpc.call("evm_revert", [id])).toBe(true);
  });

  it("deposits and blobs are not accepted from users", async () => {
    const { transactions } = await latest();
    const deposit = await fork.rpc.call("eth_getRawTransactionByHash", [transactions[0]!.hash]);
    await expect(fork.rpc.call("eth_sendRawTransaction", [deposit])).rejects.toThrow(/failed to decode signed transaction/);
    expect((await fetch(`${fork.url}/eth/v1/beacon/genesis`)).status).toBe(404);
  });

  it("blocks that replace others differ, and are as many as asked for", async () => {
    await fork.rpc.call("evm_mine", []);
    const before = await latest();
    await fork.rpc.call("dev_reorg", [{ depth: 2 }]);
    const after = await latest();
    expect(after.number).toBe(before.number);
    expect(after.hash).not.toBe(before.hash);
    expect(after.transactions[0]!.type).toBe("0x7e");
  });

  it("a transaction that fits into no block makes one block at most", async () => {
    const before = Number((await latest()).number);
    const gas = `0x${(30_000_000 - 100).toString(16)}`;
    await expect(fork.rpc.call("eth_sendTransaction", [{ from: alice.address, to: NOBODY, gas }])).rejects.toThrow();
    expect(Number((await latest()).number) - before).toBeLessThanOrEqual(1);
  });

  it("fees of blocks on both sides of the fork are one history", async () => {
    const history = await fork.rpc.call<{ oldestBlock: Hex; baseFeePerGas: Hex[]; gasUsedRatio: number[] }>("eth_feeHistory", [
      ...["0x400", "latest", [50]],
    ]);
    const { number } = await latest();
    expect(history.oldestBlock).toBe("0x0");
    expect(history.gasUsedRatio).toHaveLength(Number(number) + 1);
    expect(history.baseFeePerGas).toHaveLength(Number(number) + 2);
    const fees: string[] = [];
    for (let at = 0; at <= Number(number); at++)
      fees.push(
        (await fork.rpc.call<{ baseFeePerGas: Hex }>("eth_getBlockByNumber", [`0x${at.toString(16)}`, false])).baseFeePerGas,
      );
    expect(history.baseFeePerGas.slice(0, -1)).toEqual(fees);
  });

  it.each<[string, ...unknown[]]>([
    ["eth_getProof", L1_BLOCK, [], "BLOCK"],
    ["eth_getAccount", L1_BLOCK, "BLOCK"],
    ["eth_getMultiProof", [[L1_BLOCK, []]], "BLOCK"],
    ["debug_dumpBlock", "BLOCK"],
    ["debug_accountRange", "BLOCK", "0x", 10, true, true],
  ])("%s is the endpoint's up to the fork block, and refused after it", async (name, ...params) => {
    const at = (block: Hex) => params.map((param) => (param === "BLOCK" ? block : param));
    const answer = (rpc: RpcClient) => rpc.call(name, at("0x3")).catch((error: Error) => error.message);
    expect(await answer(fork.rpc)).toEqual(await answer(origin.rpc));
    await expect(fork.rpc.call(name, at("0x4"))).rejects.toThrow(/no proofs and no whole state/);
  });

  it("a cache of its folder's size serves the next start", { tags: "long" }, async () => {
    const folder = join(origin.folder, "cache");
    const started = async (...args: readonly string[]) => {
      const asked: string[] = [];
      const proxy = createServer((request, response) => {
        void text(request).then(async (body) => {
          asked.push(...[JSON.parse(body) as { method: string }].flat().map(({ method }) => method));
          const answer = await fetch(origin.httpUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
          response.setHeader("content-type", "application/json").end(await answer.text());
        });
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
      const cached = await startFork(
        `--fork-url=http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        ...[`--chain=${join(origin.folder, "genesis.json")}`, "--fork-block=3", `--fork-cache=${folder}`, ...args],
      );
      try {
        await cached.rpc.call("eth_sendTransaction", [{ from: alice.address, to: NOBODY, value: "0x5" }]);
      } finally {
        await cached.stop();
        await new Promise((resolve) => proxy.close(resolve));
      }
      return { proofs: asked.filter((name) => name === "eth_getProof").length, output: cached.output() };
    };
    expect((await started()).proofs).toBeGreaterThan(10);
    expect((await started()).proofs).toBeLessThanOrEqual(3); // slots of the block's own time
    writeFileSync(
      join(folder, String(CHAIN_ID), readdirSync(join(folder, String(CHAIN_ID)))[0]!, "proven"),
      new Uint8Array(2 ** 20),
    );
    const { proofs, output } = await started("--fork-cache.size=1");
    expect(proofs).toBeGreaterThan(10); // it was removed
    expect(output).not.toMatch(/damaged/);
    await expect(
      startFork(`--fork-url=${origin.httpUrl}`, "--fork-cache=/dev/null", `--chain=${join(origin.folder, "genesis.json")}`),
    ).rejects.toThrow(/--fork-cache=\/dev\/null cannot be used/);
  });

  it("without a file, a chain that no table has gets the newest forks of its block's form, with a warning", async () => {
    const unknown = await startFork(`--fork-url=${origin.httpUrl}`);
    try {
      expect(unknown.output()).toMatch(/no table has the forks of this OP Stack chain.*fork=karst.*--chain/);
      await unknown.rpc.call("evm_mine", []);
      expect(await unknown.rpc.call("eth_blockNumber", [])).toBe("0x4");
      expect(BigInt(await unknown.rpc.call("eth_getBalance", [RICH_ADDRESS, "latest"]))).toBeGreaterThan(0n);
    } finally {
      await unknown.stop();
    }
  });

  it.each<[string, (folder: string) => string, RegExp]>([
    [
      "another chain's name",
      () => "op-sepolia",
      /--chain=op-sepolia is chain 11155420, but the endpoint of --fork-url serves chain/,
    ],
    [
      "another chain's file",
      (folder) => {
        const path = join(folder, "other.json");
        writeFileSync(path, JSON.stringify({ ...GENESIS, config: { ...GENESIS.config, chainId: 5 } }));
        return path;
      },
      new RegExp(`other.json is chain 5, but the endpoint of --fork-url serves chain ${CHAIN_ID}`),
    ],
    [
      "a broken rollup.json",
      (folder) => {
        const path = join(folder, "rollup.json");
        writeFileSync(path, JSON.stringify({ l2_chain_id: 5 }));
        return path;
      },
      /rollup.json: .*genesis/,
    ],
  ])("--chain=%s is refused", { tags: "long" }, async (_name, path, expected) => {
    await expect(startFork(`--fork-url=${origin.httpUrl}`, `--chain=${path(origin.folder)}`)).rejects.toThrow(expected);
  });
});
