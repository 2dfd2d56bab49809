import type { RpcClient } from "@rnode/jsonrpc";
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  http,
  numberToHex,
  parseEther,
  parseGwei,
  publicActions,
  recoverMessageAddress,
  recoverTypedDataAddress,
  walletActions,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";
import { startTestClient } from "../testing/test-client.ts";

const MNEMONIC = "test test test test test test test test test test test junk";
const alice = mnemonicToAccount(MNEMONIC);
const bob = mnemonicToAccount(MNEMONIC, { addressIndex: 1 });
const NOBODY = "0x00000000000000000000000000000000000b0d1e";
/** PUSH0 SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN: returns slot 0 */
const READS_SLOT_0 = "0x5f545f5260205ff3";

let dev: DevClient;
const clientsOf = (url: string) => ({
  test: createTestClient({ mode: "anvil", chain: foundry, transport: http(url) })
    .extend(publicActions)
    .extend(walletActions),
  wallet: createWalletClient({ account: alice, chain: foundry, transport: http(url) }),
  hardhat: createTestClient({ mode: "hardhat", chain: foundry, transport: http(url) }),
});
let { test, wallet, hardhat } = clientsOf("http://127.0.0.1:1");
beforeAll(async () => {
  dev = await startDevTestClient();
  ({ test, wallet, hardhat } = clientsOf(dev.url));
});
afterAll(() => dev.close());

/** Runs with what it changes undone, which tests snapshots as well. */
const undone = (action: () => Promise<void>) => async (): Promise<void> => {
  const id = await test.snapshot();
  try {
    await action();
  } finally {
    await test.revert({ id });
    await test.setAutomine(true);
  }
};

describe("each action of viem's test client", () => {
  it(
    "mine, with an interval",
    undone(async () => {
      const before = await test.getBlock();
      await test.mine({ blocks: 3, interval: 10 });
      const after = await test.getBlock();
      expect(after.number).toBe(before.number + 3n);
      const [last, previous] = [after.timestamp, (await test.getBlock({ blockNumber: after.number - 1n })).timestamp];
      expect(last - previous).toBe(10n);
      await hardhat.mine({ blocks: 2 });
      expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(before.number + 5n);
    }),
  );

  it(
    "setAutomine and getAutomine",
    undone(async () => {
      expect(await test.getAutomine()).toBe(true);
      await test.setAutomine(false);
      expect(await test.getAutomine()).toBe(false);
      const hash = await wallet.sendTransaction({ to: bob.address, value: 1n });
      expect((await test.getTxpoolStatus()).pending).toBe(1);
      const content = await test.getTxpoolContent();
      expect(Object.keys(content.pending).map((address) => address.toLowerCase())).toEqual([alice.address.toLowerCase()]);
      expect(Object.keys((await test.inspectTxpool()).pending)).toHaveLength(1);
      await test.setAutomine(true);
      expect((await test.getTransactionReceipt({ hash })).status).toBe("success");
    }),
  );

  it(
    "dropTransaction",
    undone(async () => {
      await test.setAutomine(false);
      const hash = await wallet.sendTransaction({ to: bob.address, value: 1n });
      await test.dropTransaction({ hash });
      expect((await test.getTxpoolStatus()).pending).toBe(0);
    }),
  );

  it(
    "setBalance, setNonce, setCode and setStorageAt, seen at once and by the next block",
    undone(async () => {
      const number = await test.getBlockNumber({ cacheTime: 0 });
      await test.setBalance({ address: NOBODY, value: parseEther("7") });
      await test.setNonce({ address: NOBODY, nonce: 42 });
      await test.setCode({ address: NOBODY, bytecode: READS_SLOT_0 });
      await test.setStorageAt({ address: NOBODY, index: 0, value: numberToHex(99, { size: 32 }) });
      const check = async () => {
        expect(await test.getBalance({ address: NOBODY })).toBe(parseEther("7"));
        expect(await test.getTransactionCount({ address: NOBODY })).toBe(42);
        expect(await test.getCode({ address: NOBODY })).toBe(READS_SLOT_0);
        expect(await test.getStorageAt({ address: NOBODY, slot: "0x0" })).toBe(numberToHex(99, { size: 32 }));
        expect(await test.call({ to: NOBODY })).toEqual({ data: numberToHex(99, { size: 32 }) });
      };
      await check();
      expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(number);
      await test.mine({ blocks: 1 });
      await check();
      const proof = await test.getProof({ address: NOBODY, storageKeys: [numberToHex(0, { size: 32 })] });
      expect([proof.balance, proof.nonce, proof.storageProof[0]?.value]).toEqual([parseEther("7"), 42, 99n]);
      await hardhat.setBalance({ address: NOBODY, value: 5n });
      expect(await test.getBalance({ address: NOBODY })).toBe(5n);
    }),
  );

  it(
    "snapshot and revert, edits of the same block included",
    undone(async () => {
      await test.setBalance({ address: NOBODY, value: 1n });
      const id = await test.snapshot();
      const before = await test.getBlock();
      await test.setBalance({ address: NOBODY, value: 2n });
      await test.mine({ blocks: 2 });
      await test.increaseTime({ seconds: 1000 });
      await test.revert({ id });
      expect((await test.getBlock({ blockTag: "latest" })).hash).toBe(before.hash);
      expect(await test.getBalance({ address: NOBODY })).toBe(1n);
      await test.mine({ blocks: 1 });
      expect(await test.getBalance({ address: NOBODY })).toBe(1n);
      expect(Number((await test.getBlock()).timestamp) - Number(before.timestamp)).toBeLessThan(500);
      expect(await dev.rpc.call("evm_revert", [id])).toBe(false); // it was used up
    }),
  );

  it(
    "increaseTime, setNextBlockTimestamp, setBlockTimestampInterval and removeBlockTimestampInterval",
    undone(async () => {
      const { timestamp } = await test.getBlock();
      await test.increaseTime({ seconds: 3600 });
      await test.mine({ blocks: 1 });
      const later = (await test.getBlock()).timestamp;
      expect(Number(later - timestamp)).toBeGreaterThanOrEqual(3600);
      await test.setNextBlockTimestamp({ timestamp: later + 500n });
      await test.mine({ blocks: 1 });
      expect((await test.getBlock()).timestamp).toBe(later + 500n);
      await expect(test.setNextBlockTimestamp({ timestamp: later })).rejects.toThrow(/is not after that of the latest block/);
      await test.setBlockTimestampInterval({ interval: 77 });
      await test.mine({ blocks: 2 });
      expect((await test.getBlock()).timestamp).toBe(later + 500n + 154n);
      await test.removeBlockTimestampInterval();
      await test.mine({ blocks: 1 });
      expect((await test.getBlock()).timestamp - (later + 654n)).toBeLessThan(77n);
    }),
  );

  it(
    "setIntervalMining",
    undone(async () => {
      const before = await test.getBlockNumber({ cacheTime: 0 });
      await test.setIntervalMining({ interval: 1 });
      await expect.poll(() => test.getBlockNumber({ cacheTime: 0 })).toBeGreaterThan(before);
      await test.setIntervalMining({ interval: 0 });
      const stopped = await test.getBlockNumber({ cacheTime: 0 });
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(stopped);
    }),
  );

  it(
    "setBlockGasLimit, setCoinbase and setNextBlockBaseFeePerGas",
    undone(async () => {
      await test.setBlockGasLimit({ gasLimit: 12_345_678n });
      await test.setCoinbase({ address: NOBODY });
      await test.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("20") });
      await test.mine({ blocks: 1 });
      const block = await test.getBlock();
      expect([block.gasLimit, block.miner.toLowerCase(), block.baseFeePerGas]).toEqual([12_345_678n, NOBODY, parseGwei("20")]);
      await test.mine({ blocks: 1 });
      expect((await test.getBlock()).baseFeePerGas).toBe(parseGwei("17.5"));
      await test.setBlockGasLimit({ gasLimit: 30_000_000n });
    }),
  );

  it(
    "hardhat_setPrevRandao, for one block",
    undone(async () => {
      const prevRandao = `0x${"12".repeat(32)}`;
      await dev.rpc.call("hardhat_setPrevRandao", [prevRandao]);
      await test.mine({ blocks: 1 });
      expect((await test.getBlock()).mixHash).toBe(prevRandao);
      await test.mine({ blocks: 1 });
      expect((await test.getBlock()).mixHash).not.toBe(prevRandao);
    }),
  );

  it(
    "impersonateAccount and stopImpersonatingAccount, for accounts with code, too",
    undone(async () => {
      await test.setBalance({ address: NOBODY, value: parseEther("10") });
      await test.setCode({ address: NOBODY, bytecode: READS_SLOT_0 });
      await expect(test.sendTransaction({ account: NOBODY, to: bob.address, value: 1n })).rejects.toThrow(/No Signer available/);
      await test.impersonateAccount({ address: NOBODY });
      const hash = await test.sendTransaction({ account: NOBODY, to: bob.address, value: parseEther("1") });
      const receipt = await test.getTransactionReceipt({ hash });
      expect([receipt.status, receipt.from.toLowerCase()]).toEqual(["success", NOBODY]);
      expect((await test.getTransaction({ hash })).from.toLowerCase()).toBe(NOBODY);
      await dev.rpc.call("debug_traceTransaction", [hash, { tracer: "callTracer" }]);
      await test.stopImpersonatingAccount({ address: NOBODY });
      await expect(test.sendTransaction({ account: NOBODY, to: bob.address, value: 1n })).rejects.toThrow(/No Signer available/);
      await dev.rpc.call("anvil_autoImpersonateAccount", [true]);
      await test.sendTransaction({ account: NOBODY, to: bob.address, value: 1n });
      await dev.rpc.call("anvil_autoImpersonateAccount", [false]);
    }),
  );

  it(
    "sendUnsignedTransaction",
    undone(async () => {
      await test.setBalance({ address: NOBODY, value: parseEther("10") });
      const before = await test.getBalance({ address: bob.address });
      await test.sendUnsignedTransaction({ from: NOBODY, to: bob.address, value: 5n });
      expect((await test.getBalance({ address: bob.address })) - before).toBe(5n);
    }),
  );

  it(
    "dumpState and loadState",
    undone(async () => {
      await test.setBalance({ address: NOBODY, value: 123n });
      await test.setCode({ address: NOBODY, bytecode: READS_SLOT_0 });
      await test.setStorageAt({ address: NOBODY, index: 0, value: numberToHex(7, { size: 32 }) });
      const state = await test.dumpState();
      const other = await startDevTestClient("--dev.accounts=0");
      try {
        const there = clientsOf(other.url).test;
        await there.loadState({ state });
        expect(await there.getBalance({ address: NOBODY })).toBe(123n);
        expect(await there.getBalance({ address: alice.address })).toBe(await test.getBalance({ address: alice.address }));
        expect(await there.call({ to: NOBODY })).toEqual({ data: numberToHex(7, { size: 32 }) });
        await expect(there.loadState({ state: "0x1234" })).rejects.toThrow(/state: /);
      } finally {
        await other.close();
      }
    }),
  );

  it("reset goes back to the genesis; an endpoint that does not answer changes nothing", async () => {
    await test.mine({ blocks: 2 });
    await dev.rpc.call("anvil_reset", []);
    expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(0n);
    await test.mine({ blocks: 1 });
    await expect(test.reset({ jsonRpcUrl: "http://127.0.0.1:1", blockNumber: 1n })).rejects.toThrow(/cannot be reached/);
    expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(1n);
    await expect(test.setRpcUrl("http://127.0.0.1:1")).rejects.toThrow(/the endpoint of a fork stays/);
  });

  it("setMinGasPrice is refused, as by anvil; setLoggingEnabled is not", async () => {
    await expect(test.setMinGasPrice({ gasPrice: 1n })).rejects.toThrow(/not supported when EIP-1559 is active/);
    await test.setLoggingEnabled(false);
    await test.setLoggingEnabled(true);
  });
});

describe("what users of anvil ask besides", () => {
  it("accounts sign messages and typed data, and send", async () => {
    const accounts = await dev.rpc.call<`0x${string}`[]>("eth_accounts", []);
    expect([accounts.length, accounts[0]]).toEqual([10, alice.address.toLowerCase()]);
    const signature = await dev.rpc.call<`0x${string}`>("personal_sign", ["0x68656c6c6f", alice.address]);
    expect(await recoverMessageAddress({ message: "hello", signature })).toBe(alice.address);
    expect(signature).toBe(await alice.signMessage({ message: "hello" }));
    const typed = {
      domain: { name: "Ether Mail", version: "1", chainId: foundry.id, verifyingContract: NOBODY },
      types: {
        Person: [
          { name: "name", type: "string" },
          { name: "wallets", type: "address[]" },
        ],
        Mail: [
          { name: "from", type: "Person" },
          { name: "to", type: "Person[2]" },
          { name: "amount", type: "int64" },
          { name: "tag", type: "bytes4" },
          { name: "data", type: "bytes" },
          { name: "urgent", type: "bool" },
        ],
      },
      primaryType: "Mail",
      message: {
        from: { name: "Cow", wallets: [alice.address, bob.address] },
        to: [
          { name: "Bob", wallets: [] },
          { name: "Bert", wallets: [NOBODY] },
        ],
        amount: -5n,
        tag: "0x01020304",
        data: "0xdeadbeef",
        urgent: true,
      },
    } as const;
    const wanted = await alice.signTypedData(typed);
    const json = {
      ...typed,
      types: {
        EIP712Domain: [
          { name: "name", type: "string" },
          { name: "version", type: "string" },
          { name: "chainId", type: "uint256" },
          { name: "verifyingContract", type: "address" },
        ],
        ...typed.types,
      },
      message: { ...typed.message, amount: "-5" },
    };
    const got = await dev.rpc.call<`0x${string}`>("eth_signTypedData_v4", [alice.address, JSON.stringify(json)]);
    expect(got).toBe(wanted);
    expect(await recoverTypedDataAddress({ ...typed, signature: got })).toBe(alice.address);
    await expect(dev.rpc.call("eth_sign", [NOBODY, "0x00"])).rejects.toThrow(/No Signer available/);
    for (const fees of [{}, { gasPrice: "0x77359400" }]) {
      const hash = await dev.rpc.call<`0x${string}`>("eth_sendTransaction", [
        { from: alice.address, to: bob.address, value: "0x1", ...fees },
      ]);
      expect((await test.getTransactionReceipt({ hash })).status).toBe("success");
    }
  });

  it("contracts are deployed through the CREATE2 proxy at its usual address", async () => {
    const proxy = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
    const initcode = "0x6001600c60003960016000f300"; // deploys one byte
    const hash = await wallet.sendTransaction({ to: proxy, data: `0x${"00".repeat(32)}${initcode.slice(2)}` });
    expect((await test.getTransactionReceipt({ hash })).status).toBe("success");
  });

  it("anvil_nodeInfo and anvil_metadata", async () => {
    const info = await dev.rpc.call("anvil_nodeInfo", []);
    expect(info).toMatchObject({ hardFork: "osaka", environment: { chainId: 31_337, gasLimit: "0x1c9c380" } });
    const { number } = await test.getBlock();
    expect(await dev.rpc.call("anvil_metadata", [])).toMatchObject({ chainId: 31_337, latestBlockNumber: Number(number) });
  });

  it("without --dev none of this exists", async () => {
    const own = Object.keys(await methodsOf(dev.rpc)).filter((name) => /^(?:evm|anvil|hardhat|dev)_/.test(name));
    expect(own.length).toBeGreaterThan(60);
    const ordinary = await startTestClient();
    try {
      const there = await methodsOf(ordinary.rpc);
      expect(own.filter((name) => name in there)).toEqual([]);
      await expect(ordinary.rpc.call("evm_mine", [])).rejects.toMatchObject({ code: -32601 });
    } finally {
      await ordinary.remove();
    }
  });
});

/** by name */
async function methodsOf(rpc: RpcClient): Promise<Record<string, true>> {
  const { methods } = await rpc.call<{ methods: { name: string }[] }>("rpc.discover", []);
  return Object.fromEntries(methods.map(({ name }) => [name, true]));
}

const publicClient = () => createPublicClient({ chain: foundry, transport: http(dev.url) });

describe("reorganisations on demand", () => {
  it(
    "dev_reorg replaces blocks in their slots; transactions go in again, or are dropped",
    undone(async () => {
      await test.mine({ blocks: 2 });
      const hash = await wallet.sendTransaction({ to: bob.address, value: 1n });
      await test.mine({ blocks: 2 });
      const before = await publicClient().getBlock();
      await dev.rpc.call("dev_reorg", [{ depth: 3 }]);
      const after = await publicClient().getBlock();
      expect([after.number, after.timestamp]).toEqual([before.number, before.timestamp]);
      expect(after.hash).not.toBe(before.hash);
      expect((await test.getTransactionReceipt({ hash })).status).toBe("success");
      await dev.rpc.call("dev_reorg", [{ depth: 4, blocks: 5, keepTransactions: false }]);
      expect((await publicClient().getBlock()).number).toBe(before.number + 1n);
      expect(await dev.rpc.call("eth_getTransactionReceipt", [hash])).toBeNull();
    }),
  );

  it("is refused below the finalized block, and below the genesis", async () => {
    await test.mine({ blocks: 10 });
    await dev.rpc.call("dev_setFinalityLag", [1, 2]);
    await test.mine({ blocks: 1 });
    const number = await test.getBlockNumber({ cacheTime: 0 });
    expect((await test.getBlock({ blockTag: "safe" })).number).toBe(number - 1n);
    expect((await test.getBlock({ blockTag: "finalized" })).number).toBe(number - 2n);
    await expect(dev.rpc.call("dev_reorg", [{ depth: 3 }])).rejects.toThrow(/below the finalized block/);
    await dev.rpc.call("dev_reorg", [{ depth: 3, force: true }]);
    await expect(dev.rpc.call("dev_reorg", [{ depth: 1000 }])).rejects.toThrow(/there is no block -/);
    await dev.rpc.call("dev_setFinalityLag", [32, 64]);
  });

  it(
    "anvil_rollback and anvil_reorg",
    undone(async () => {
      await test.mine({ blocks: 3 });
      const number = await test.getBlockNumber({ cacheTime: 0 });
      await dev.rpc.call("anvil_rollback", [2]);
      expect(await test.getBlockNumber({ cacheTime: 0 })).toBe(number - 2n);
      await test.mine({ blocks: 2 });
      const raw = await wallet.signTransaction(await wallet.prepareTransactionRequest({ to: bob.address, value: 3n }));
      await dev.rpc.call("anvil_reorg", [2, [[raw, 1]]]);
      const block = await test.getBlock({ includeTransactions: true });
      expect([block.number, block.transactions.length]).toEqual([number, 1]);
    }),
  );

  it(
    "dev_stall stops blocks until dev_resume",
    undone(async () => {
      await dev.rpc.call("dev_stall", []);
      const hash = await wallet.sendTransaction({ to: bob.address, value: 1n });
      expect(await dev.rpc.call("eth_getTransactionReceipt", [hash])).toBeNull();
      await dev.rpc.call("dev_resume", []);
      expect((await test.getTransactionReceipt({ hash })).status).toBe("success");
    }),
  );
});
