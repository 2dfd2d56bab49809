import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { clientsOfTest, OTHER, signTransfer } from "../testing/clients-of-test.ts";
import { CHAIN_ID, RICH_ADDRESS, startTestClient } from "../testing/test-client.ts";

const { start } = clientsOfTest();

describe("forwarding to the sequencer", () => {
  it("sends there first, answers its errors verbatim, and keeps what it took", async () => {
    const sequencer = await start(["--profile=G"]);
    const replica = await start(["--profile=R", `--rollup.sequencer-http=${sequencer.httpUrl}`, "--rollup.disable-tx-pool-gossip"]);
    const send = (raw: string) => replica.rpc.call<string>("eth_sendRawTransaction", [raw]);
    const hash = await send(await signTransfer(0));
    expect(await sequencer.rpc.call("eth_getTransactionByHash", [hash])).toMatchObject({ hash });
    expect(await replica.rpc.call("eth_getTransactionByHash", [hash])).toMatchObject({ hash, blockHash: null });
    // The words are the sequencer's (profile G), not the replica's.
    await expect(send(await signTransfer(0, { gas: 20_000n }))).rejects.toMatchObject({
      code: -32000,
      message: "intrinsic gas too low: gas 20000, minimum needed 21000",
    });
    await expect(send("0x02")).rejects.toMatchObject({ code: -32602, message: "failed to decode signed transaction" });
  });

  it("fails where the sequencer is not reached, and takes nothing", async () => {
    const replica = await start(["--rollup.sequencer-http=http://127.0.0.1:1"]);
    await expect(replica.rpc.call("eth_sendRawTransaction", [await signTransfer(0)])).rejects.toMatchObject({
      code: -32000,
      message: "failed to forward the transaction to the sequencer: rpc/unreachable",
    });
    expect(await replica.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  });
});

describe("the pool and the chain", () => {
  it("orders by tip, waits for missing nonces, counts the L1 fee", async () => {
    const node = await start();
    const send = async (nonce: number, fields?: object) =>
      node.rpc.call<string>("eth_sendRawTransaction", [await signTransfer(nonce, fields)]);
    const third = await send(2);
    const second = await send(1);
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x0", queued: "0x2" });
    const first = await send(0);
    expect(await node.rpc.call("txpool_status")).toEqual({ pending: "0x3", queued: "0x0" });
    expect(await node.rpc.call("eth_getTransactionCount", [RICH_ADDRESS, "pending"])).toBe("0x3");
    const { hash } = await node.buildBlock();
    const { transactions } = await node.rpc.call<{ transactions: string[] }>("eth_getBlockByHash", [hash, false]);
    expect(transactions.slice(1)).toEqual([first, second, third]);

    // An account with exactly enough for gas and value cannot pay the L1 fee in addition.
    const poorKey = `0x${"b2".repeat(32)}` as const;
    const poor = privateKeyToAccount(poorKey);
    const exact = 21_000n * 2_000_000_000n;
    await send(3, { to: poor.address, value: exact });
    await node.buildBlock();
    const raw = await poor.signTransaction({
      chainId: CHAIN_ID,
      type: "eip1559",
      gas: 21_000n,
      maxFeePerGas: 2_000_000_000n,
      nonce: 0,
      to: OTHER,
    });
    await expect(node.rpc.call("eth_sendRawTransaction", [raw])).rejects.toMatchObject({
      code: -32003,
      message: expect.stringMatching(new RegExp(`^insufficient funds for gas \\* price \\+ value: have ${exact} want \\d+$`)),
    });
  });

  it("leaves what does not fit the block's data limit to a later block", async () => {
    const node = await start();
    await node.rpc.call("eth_sendRawTransaction", [await signTransfer(0)]);
    expect(await node.rpc.call("miner_setMaxDASize", ["0x0", "0x1"])).toBe(true);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1);
    await node.rpc.call("miner_setMaxDASize", ["0x0", "0x0"]);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(2);
  });

  it.each([
    ["the estimate of a transfer, 100 bytes", 100, 0, 3],
    ["less than that", 99, 0, 0],
    ["what two transfers take in a block", 0, 200, 2],
    ["one byte less", 0, 199, 1],
    ["what a batcher says without throttling", 0, 130_000, 3],
    ["more than a number can hold", 2 ** 63, 2 ** 63, 3],
  ])("takes data limits in bytes: %s", async (_, ofTransaction, ofBlock, included) => {
    const node = await start();
    for (let nonce = 0; nonce < 3; nonce++) await node.rpc.call("eth_sendRawTransaction", [await signTransfer(nonce)]);
    const params = [ofTransaction, ofBlock].map((bytes) => `0x${bytes.toString(16)}`);
    expect(await node.rpc.call("miner_setMaxDASize", params)).toBe(true);
    expect((await node.buildBlock()).payload.executionPayload.transactions).toHaveLength(1 + included);
  });

  it("goes on after a restart where it stopped", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rengine-"));
    const before = await startTestClient([], folder);
    await before.rpc.call("eth_sendRawTransaction", [await signTransfer(0, { value: 5n })]);
    const block = await before.buildBlock();
    await before.close();
    const after = await startTestClient([], folder);
    expect(await after.rpc.call("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash: block.hash });
    expect(await after.rpc.call("eth_getBalance", [OTHER, "latest"])).toBe("0x5");
    expect((await after.buildBlock()).number).toBe(2);
    await after.close();
  });
});
