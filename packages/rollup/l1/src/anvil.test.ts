import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, concatBytes } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { L1Endpoints } from "./endpoints/endpoints.ts";
import { L1Client } from "./l1-client.ts";

// A real L1 with a transaction of every type that calldata rollups read. Skipped if the prebuilt anvil does not run.
const require = createRequire(import.meta.url);
const anvilBinary = (): string | undefined => {
  try {
    const manifest = require.resolve(
      `@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}/package.json`,
    );
    return join(dirname(manifest), "bin", "anvil");
  } catch {
    return undefined;
  }
};

const binary = anvilBinary();

describe.skipIf(binary === undefined)("L1Client against anvil", () => {
  let anvil: ChildProcess;
  let rpc: RpcClient;
  let url: string;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    anvil = spawn(binary!, ["--port", String(port), "--hardfork", "prague", "--slots-in-an-epoch", "2", "--silent"], {
      stdio: "ignore",
    });
    rpc = createRpcClient({ url });
    for (let attempt = 0; attempt < 100; attempt++) {
      const isUp = await rpc.call("eth_chainId").then(
        () => true,
        () => false,
      );
      if (isUp) return;
      await systemClock.sleep(100);
    }
    throw new Error("anvil did not start");
  });

  afterAll(async () => {
    anvil.kill("SIGKILL");
    await rpc.close();
  });

  it("verifies headers, transactions and receipts of all types by every strategy that anvil has", async () => {
    const account = privateKeyToAccount("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    const wallet = createWalletClient({ account, chain: foundry, transport: http(url) });
    const to = `0x${"70".repeat(20)}` as const;
    const gasPrice = 10n ** 10n;
    const gas = 200_000n;
    // blocks are mined manually, so the content of each is known
    await rpc.call("evm_setAutomine", [false]);
    const mine = (): Promise<unknown> => rpc.call("evm_mine");
    await wallet.sendTransaction({ to, value: 1n, type: "legacy", gasPrice, gas, nonce: 0 });
    await mine();
    const accessList = [{ address: to, storageKeys: [`0x${"01".repeat(32)}`] as const }];
    await wallet.sendTransaction({ to, value: 1n, type: "eip2930", gasPrice, gas, nonce: 1, accessList });
    await mine();
    await wallet.sendTransaction({ to, value: 1n, type: "eip1559", data: "0x00c0ffee", gas, nonce: 2 });
    await mine();
    const authorization = await wallet.signAuthorization({ contractAddress: `0x${"71".repeat(20)}`, nonce: 4 });
    await wallet.sendTransaction({ to, gas, authorizationList: [authorization], nonce: 3 });
    await mine();
    // init code that emits LOG1(topic 0x2a, data of 32 bytes) and deploys nothing
    await wallet.sendTransaction({ data: "0x602a60206000a160006000f3", gas, nonce: 5 });
    await mine();
    // several transactions in one block
    for (let i = 0; i < 5; i++) await wallet.sendTransaction({ to, value: BigInt(i), nonce: 6 + i, gas: 21_000n });
    await mine();
    const types = new Set<number>();
    for (const rpcKind of ["standard", "basic", "any"] as const) {
      const endpoints = new L1Endpoints(
        { chainId: 31_337n },
        {
          endpoints: [{ name: url, rpc }],
          clock: systemClock,
          log: { warn: (text, fields) => expect.fail(`${text} ${JSON.stringify(fields)}`), debug: () => {} },
        },
      );
      const l1 = new L1Client({ trustRpc: false, rpcKind, cacheSize: 100 }, { endpoints, clock: systemClock });
      expect(await l1.chainIds()).toEqual([{ endpoint: url, chainId: 31_337n }]);
      const head = (await l1.blockByLabel("latest"))!;
      expect(head.number).toBe(6);
      expect((await l1.blockByLabel("finalized"))?.number).toBe(head.number - 4);
      for (let number = 0; number <= head.number; number++) {
        const block = (await l1.blockByNumber(number))!;
        expect(block.baseFeePerGas).toBeGreaterThan(0n);
        const transactions = (await l1.transactions(block.hash))!;
        const receipts = (await l1.receipts(block.hash))!;
        expect(receipts.map(({ type }) => type)).toEqual(transactions.map(({ type }) => type));
        for (const { type } of transactions) types.add(Number(type));
        if (number === head.number) expect(transactions).toHaveLength(5);
      }
      expect(await l1.blockByNumber(head.number + 1)).toBeUndefined();
    }
    expect([...types].sort((a, b) => a - b)).toEqual([0, 1, 2, 4]);
  });

  it("proves what a storage slot holds", async () => {
    const endpoints = new L1Endpoints(
      { maxAttempts: 1 },
      { endpoints: [{ name: url, rpc }], clock: systemClock, log: { warn: () => {}, debug: () => {} } },
    );
    const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 100 }, { endpoints, clock: systemClock });
    const [contract, slot, word] = [new Uint8Array(20).fill(0x5c), new Uint8Array(32).fill(0x65), new Uint8Array(32).fill(0xab)];
    await rpc.call("anvil_setStorageAt", [bytesToHex(contract), bytesToHex(slot), bytesToHex(word)]);
    await rpc.call("anvil_setNonce", [bytesToHex(contract), "0x1"]);
    await rpc.call("evm_mine");
    const head = (await l1.blockByLabel("latest"))!;
    expect(await l1.storageAt(contract, slot, head)).toEqual({ value: word, isProven: true });
  });

  it("sees a block that a reorganisation removed as gone", async () => {
    const clock = { ...systemClock, sleep: () => Promise.resolve() };
    const endpoints = new L1Endpoints(
      { maxAttempts: 2 },
      { endpoints: [{ name: url, rpc }], clock, log: { warn: () => {}, debug: () => {} } },
    );
    const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 100 }, { endpoints, clock });
    const snapshot = await rpc.call("evm_snapshot");
    await rpc.call("evm_mine");
    const removed = (await l1.blockByLabel("latest"))!;
    await rpc.call("evm_revert", [snapshot]);
    await rpc.call("evm_setNextBlockTimestamp", [removed.timestamp + 5]);
    await rpc.call("evm_mine");
    await l1.blockByLabel("latest"); // the newest block determines the canonical chain
    const replacement = (await l1.blockByNumber(removed.number))!;
    expect(replacement.hash).not.toBe(removed.hash);
    expect((await l1.blockByHash(removed.hash))?.hash).toBe(removed.hash); // served from the cache, because it is requested by hash
    expect(await l1.transactions(bytesToHex(concatBytes(new Uint8Array(31), Uint8Array.of(1))))).toBeUndefined();
  });

  it("serves the same over a WebSocket, and tells of new heads there", async () => {
    const ws = createRpcClient({ url: url.replace("http:", "ws:") });
    try {
      const log = { warn: (text: string) => expect.fail(text), debug: () => {} };
      const endpoints = new L1Endpoints({ chainId: 31_337n }, { endpoints: [{ name: "ws", rpc: ws }], clock: systemClock, log });
      const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 100 }, { endpoints, clock: systemClock });
      const heads: number[] = [];
      const subscription = await l1.subscribeToHeads((block) => heads.push(block?.number ?? -1));
      const before = (await l1.blockByLabel("latest"))!.number;
      await rpc.call("evm_mine");
      await rpc.call("evm_mine");
      await expect.poll(() => heads).toEqual([before + 1, before + 2]);
      const { headers } = await l1.readBlocks(0, before + 3);
      expect(headers.map(({ number }) => number)).toEqual(Array.from({ length: before + 3 }, (_, number) => number));
      subscription!.close();
    } finally {
      await ws.close();
    }
  });
});
