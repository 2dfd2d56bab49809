import { mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, hexToBytes, keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { clientsOfTest, OTHER, signTransfer } from "../testing/clients-of-test.ts";
import { GENESIS_TIME_SEC, RICH_ADDRESS } from "../testing/test-client.ts";

const L1_BLOCK = "0x4200000000000000000000000000000000000015";

const { start, forget } = clientsOfTest();

describe("eth_sendRawTransactionSync", () => {
  it("answers with the receipt once the transaction is in a block, else with code 4 and the hash", async () => {
    const node = await start();
    const waiting = node.rpc.call<{ status: string; blockNumber: string; transactionHash: string }>("eth_sendRawTransactionSync", [
      await signTransfer(0),
      10_000,
    ]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await node.buildBlock();
    expect(await waiting).toMatchObject({ status: "0x1", blockNumber: "0x1", from: RICH_ADDRESS });
    await expect(node.rpc.call("eth_sendRawTransactionSync", [await signTransfer(1), "0x32"])).rejects.toMatchObject({
      code: 4,
      data: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    await expect(node.rpc.call("eth_sendRawTransactionSync", ["0x02"])).rejects.toMatchObject({ code: -32602 });
  });
});

describe.each([
  ["R", 0],
  ["R", 1],
  ["G", 0],
  ["G", 1],
] as const)("eth_sendRawTransactionSync, profile %s, %i readers", (profile, readers) => {
  const startClient = async (...extra: readonly string[]) => {
    if (readers > 0) buildPackage();
    return start([`--profile=${profile}`, `--rpc.workers=${readers}`, "--rpc.txsync.defaulttimeout=50ms", ...extra]);
  };

  it("does not take a transaction that no block could include yet", async () => {
    const node = await startClient("--txpool.accountslots=2");
    const sync = (raw: string) => node.rpc.call("eth_sendRawTransactionSync", [raw]);
    const inPool = () => node.rpc.call("txpool_status");
    await expect(sync(await signTransfer(3))).rejects.toMatchObject({ code: 6, data: "0x0" });
    expect(await inPool()).toEqual({ pending: "0x0", queued: "0x0" });
    await expect(sync(await signTransfer(0))).rejects.toMatchObject({ code: 4 });
    await expect(sync(await signTransfer(2))).rejects.toMatchObject({ code: 6, data: "0x1" });
    await expect(sync(await signTransfer(1))).rejects.toMatchObject({ code: 4 });
    const full = await signTransfer(2);
    await expect(sync(full)).rejects.toMatchObject({ code: 5, data: bytesToHex(keccak256(hexToBytes(full))) });
    expect(await inPool()).toEqual({ pending: "0x2", queued: "0x0" });
    // A replacement takes no new place, and the other method queues as before.
    await expect(sync(await signTransfer(1, { maxFeePerGas: 4_000_000_000n, maxPriorityFeePerGas: 2n }))).rejects.toMatchObject({
      code: 4,
    });
    await node.rpc.call("eth_sendRawTransaction", [await signTransfer(5)]);
    expect(await inPool()).toEqual({ pending: "0x2", queued: "0x1" });
  });
});

describe("eth_sendRawTransactionConditional", () => {
  const root = `0x${"11".repeat(32)}`;
  const method = "eth_sendRawTransactionConditional";

  it("is not there without its flag", async () => {
    const node = await start();
    await expect(node.rpc.call(method, [await signTransfer(0), {}])).rejects.toMatchObject({ code: -32601 });
  });

  it.each([
    ["R", -32602],
    ["G", -32003],
  ] as const)("checks conditions when it is sent (profile %s)", async (profile, code) => {
    const node = await start([`--profile=${profile}`, "--rollup.enable-tx-conditional"]);
    const send = async (conditional: object) => node.rpc.call<string>(method, [await signTransfer(0), conditional]);
    for (const conditional of [
      { knownAccounts: { [L1_BLOCK]: root } },
      { knownAccounts: { [L1_BLOCK]: { "0x1": `0x${"00".repeat(32)}` } } },
      { blockNumberMin: "0x5" },
      { timestampMax: `0x${(GENESIS_TIME_SEC - 1).toString(16)}` },
    ]) {
      await expect(send(conditional)).rejects.toMatchObject({ code });
    }
    const slots = Object.fromEntries(Array.from({ length: 1001 }, (_, slot) => [`0x${slot.toString(16)}`, root]));
    await expect(send({ knownAccounts: { [L1_BLOCK]: slots } })).rejects.toMatchObject({ code: profile === "R" ? -32602 : -32005 });
    await expect(send({ blockNumberMin: "0x5", blockNumberMax: "0x4" })).rejects.toMatchObject({ code: -32602 });

    const slot0 = { "0x0": `0x${"00".repeat(32)}` };
    const hash = await send({ knownAccounts: { [OTHER]: slot0 }, blockNumberMax: "0x1" });
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1", blockNumber: "0x1" });
  });

  it("drops a transaction whose conditions are no longer met when a block is built", async () => {
    const node = await start(["--rollup.enable-tx-conditional"]);
    const hash = await node.rpc.call<string>(method, [await signTransfer(0), { blockNumberMax: "0x1" }]);
    await node.buildBlock({ noTxPool: true });
    await node.buildBlock();
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionByHash", [hash])).toBeNull();
  });
});

describe("miner_setGasPrice", () => {
  it("keeps transactions that tip less out of blocks", async () => {
    const node = await start();
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await signTransfer(0, { maxPriorityFeePerGas: 5n })]);
    expect(await node.rpc.call("miner_setGasPrice", ["0x6"])).toBe(true);
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toBeNull();
    await node.rpc.call("miner_setGasPrice", ["0x5"]);
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
    await expect(node.rpc.call("miner_setExtra", ["0x"])).rejects.toMatchObject({ code: -32000 });
  });
});

describe.each(["R", "G"])("miner_setGasLimit of %s", (profile) => {
  it("leaves room in blocks, whose gas limit stays that of the attributes", async () => {
    const node = await start([`--profile=${profile}`]);
    const sent: string[] = [];
    for (const nonce of [0, 1, 2]) sent.push(await node.rpc.call<string>("eth_sendRawTransaction", [await signTransfer(nonce)]));
    const { payload } = await node.buildBlock({ noTxPool: true });
    const forced = BigInt(payload.executionPayload.gasUsed as string);
    expect(await node.rpc.call("miner_setGasLimit", [`0x${(forced + 45_000n).toString(16)}`])).toBe(true);
    const { number } = await node.buildBlock();
    const block = await node.rpc.call<{ gasLimit: string; transactions: string[] }>("eth_getBlockByNumber", [
      `0x${number.toString(16)}`,
      false,
    ]);
    expect(block).toMatchObject({ gasLimit: "0x1c9c380" });
    expect(block.transactions.slice(1)).toEqual(sent.slice(0, 2));
    await node.rpc.call("miner_setGasLimit", ["0x0"]);
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionReceipt", [sent[2]])).toMatchObject({ status: "0x1" });
  });
});

describe("the journal", () => {
  it("gives transactions back after a restart, but not those that were mined", async () => {
    const node = await start();
    const send = async (nonce: number) => node.rpc.call<string>("eth_sendRawTransaction", [await signTransfer(nonce)]);
    const mined = await send(0);
    await node.buildBlock();
    const pending = await send(1);
    const queued = await send(5);
    await node.close();
    const again = await start([], node.folder);
    forget(node);
    await expect.poll(() => again.rpc.call("txpool_status")).toEqual({ pending: "0x1", queued: "0x1" });
    for (const hash of [pending, queued])
      expect(await again.rpc.call("eth_getTransactionByHash", [hash])).toMatchObject({ blockHash: null });
    expect(await again.rpc.call("eth_getTransactionByHash", [mined])).toMatchObject({ blockNumber: "0x1" });
  });

  it("grows with the pool, not with what was replaced in it", { tags: "long" }, async () => {
    const node = await start(["--rpc.txfeecap=0"]);
    const file = join(node.folder, "data", "transactions.rlp");
    const data = `0x${"00".repeat(120_000)}`;
    for (let wei = 2n * 10n ** 9n, times = 0; times < 60; times++, wei += wei / 9n) {
      const fees = { maxFeePerGas: wei, maxPriorityFeePerGas: wei };
      await node.rpc.call("eth_sendRawTransaction", [await signTransfer(0, { gas: 2_000_000n, data, ...fees })]);
    }
    // 7.2 MB were sent.
    await expect.poll(() => statSync(file).size).toBeLessThan(4_500_000);
  });

  it.each([
    ["a folder", (file: string) => mkdirSync(file)],
    ["nonsense", (file: string) => writeFileSync(file, "\x7f\xff\xc0".repeat(100_000))],
    [
      "larger than any buffer",
      (file: string) => {
        writeFileSync(file, "");
        truncateSync(file, 3 * 2 ** 30);
      },
    ],
  ])("ends no start and no end when it is %s", async (_, make) => {
    const first = await start();
    await first.close();
    const file = join(first.folder, "data", "transactions.rlp");
    rmSync(file);
    make(file);
    const node = await start([], first.folder);
    forget(first);
    const hash = await node.rpc.call<string>("eth_sendRawTransaction", [await signTransfer(0)]);
    expect(await node.rpc.call("eth_getTransactionByHash", [hash])).toMatchObject({ hash });
  });
});
