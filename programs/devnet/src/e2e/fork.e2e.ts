import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type DevProgram, startDevProgram } from "@rnode/program/testing";
import { createPublicClient, createTestClient, createWalletClient, type Hex, http, numberToHex, parseEther } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RENGINE } from "../processes/commands.ts";

const MNEMONIC = "test test test test test test test test test test test junk";
const alice = mnemonicToAccount(MNEMONIC);
const bob = mnemonicToAccount(MNEMONIC, { addressIndex: 1 });
const CONTRACT: Hex = `0x${"c0".repeat(20)}`;
const POOR: Hex = `0x${"b0".repeat(20)}`;
/** adds one to each of its first 32 slots and returns their sum: 32 times (slot) */
const CODE: Hex = `0x${Array.from({ length: 32 }, (_, slot) => {
  const push = `60${slot.toString(16).padStart(2, "0")}`;
  return `${push}54600101${"80"}${push}55${slot === 0 ? "" : "01"}`;
}).join("")}5f5260205ff3`;

const start = (...args: string[]): Promise<DevProgram> => startDevProgram(RENGINE, ...args);

/** Passes requests on, counts them, and can change answers. */
async function startProxy(
  url: () => string,
  change: (method: string, answer: { result?: unknown; error?: unknown }) => void = () => {},
) {
  let requests = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      requests++;
      void (async () => {
        const asked = JSON.parse(body) as { id: number; method: string }[] | { id: number; method: string };
        const answer = await fetch(url(), { method: "POST", headers: { "content-type": "application/json" }, body });
        const found = (await answer.json()) as { id: number; result?: unknown }[];
        for (const one of Array.isArray(found) ? found : [found])
          change([asked].flat().find(({ id }) => id === one.id)!.method, one);
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(found));
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe("a fork of another chain", () => {
  let origin: DevProgram;
  let fork: DevProgram;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let sent: Hex;
  const on = (url: string) => createPublicClient({ chain: foundry, transport: http(url) });
  const tools = (url: string) => createTestClient({ chain: foundry, mode: "anvil", transport: http(url) });
  const wallet = (url: string) => createWalletClient({ account: alice, chain: foundry, transport: http(url) });

  beforeAll(async () => {
    origin = await start();
    await tools(origin.url).setCode({ address: CONTRACT, bytecode: CODE });
    for (let slot = 0; slot < 32; slot++)
      await tools(origin.url).setStorageAt({ address: CONTRACT, index: slot, value: numberToHex(slot, { size: 32 }) });
    sent = await wallet(origin.url).sendTransaction({ to: bob.address, value: parseEther("3") });
    await wallet(origin.url).sendTransaction({ to: CONTRACT, gas: 5_000_000n });
    await tools(origin.url).mine({ blocks: 3 });
    proxy = await startProxy(() => origin.url);
    fork = await start(`--fork-url=${proxy.url}`);
  });
  afterAll(async () => {
    await Promise.all([fork.stop(), proxy.close()]);
    await origin.stop();
  });

  it("calls see the state, with few requests, and none the second time", async () => {
    const before = proxy.requests;
    const call = () => on(fork.url).call({ to: CONTRACT, gas: 5_000_000n });
    const { data } = await call();
    expect(data).toBe((await on(origin.url).call({ to: CONTRACT, gas: 5_000_000n })).data);
    const cold = proxy.requests - before;
    expect(cold).toBeLessThanOrEqual(4);
    await call();
    expect(proxy.requests - before).toBe(cold);
  });

  it("shows what was before the fork, as the endpoint has it", async () => {
    const [there, here] = [on(origin.url), on(fork.url)];
    expect(await here.getBlock()).toEqual(await there.getBlock());
    expect(await here.getBlock({ blockNumber: 1n })).toEqual(await there.getBlock({ blockNumber: 1n }));
    expect(await here.getTransactionReceipt({ hash: sent })).toEqual(await there.getTransactionReceipt({ hash: sent }));
    expect(await here.getBalance({ address: bob.address, blockNumber: 0n })).toBe(parseEther("10000"));
    expect(await here.getBalance({ address: POOR })).toBe(0n);
    expect(await here.getProof({ address: CONTRACT, storageKeys: [numberToHex(1, { size: 32 })] })).toEqual(
      await there.getProof({ address: CONTRACT, storageKeys: [numberToHex(1, { size: 32 })] }),
    );
  });

  it("logs are joined at the fork", async () => {
    const emitter: Hex = `0x${"e0".repeat(20)}`;
    const emitting = await start();
    await tools(emitting.url).setCode({ address: emitter, bytecode: "0x435f5260205fa0" });
    for (let block = 0; block < 3; block++) await wallet(emitting.url).sendTransaction({ to: emitter, gas: 60_000n });
    const forked = await start(`--fork-url=${emitting.url}`, "--fork-block=2");
    try {
      await wallet(forked.url).sendTransaction({ to: emitter, gas: 60_000n });
      await wallet(forked.url).sendTransaction({ to: emitter, gas: 60_000n });
      const numbers = async (fromBlock: bigint, toBlock: bigint | "latest") =>
        (await on(forked.url).getLogs({ address: emitter, fromBlock, toBlock })).map((log) => [log.blockNumber, BigInt(log.data)]);
      expect(await numbers(0n, "latest")).toEqual([1n, 2n, 3n, 4n].map((number) => [number, number]));
      expect(await numbers(2n, 3n)).toEqual([2n, 3n].map((number) => [number, number]));
      expect(await numbers(1n, 2n)).toEqual([1n, 2n].map((number) => [number, number]));
      expect(await numbers(3n, "latest")).toEqual([3n, 4n].map((number) => [number, number]));
    } finally {
      await forked.stop();
      await emitting.stop();
    }
  });

  it("local blocks change it, the endpoint's chain stays", async () => {
    const here = on(fork.url);
    const number = await here.getBlockNumber();
    const slot = (index: number, blockNumber?: bigint) =>
      here.getStorageAt({ address: CONTRACT, slot: numberToHex(index), ...(blockNumber !== undefined && { blockNumber }) });
    const id = await tools(fork.url).snapshot();
    const before = proxy.requests;
    const hash = await wallet(fork.url).sendTransaction({ to: CONTRACT, gas: 5_000_000n });
    expect(proxy.requests - before).toBeLessThanOrEqual(6);
    expect((await here.waitForTransactionReceipt({ hash })).status).toBe("success");
    expect(await here.getBlockNumber({ cacheTime: 0 })).toBe(number + 1n);
    expect([await slot(7), await slot(7, number)].map(Number)).toEqual([9, 8]);
    expect(Number(await on(origin.url).getStorageAt({ address: CONTRACT, slot: "0x7" }))).toBe(8);
    // A slot and an account that become nothing are nothing, not the endpoint's.
    await tools(fork.url).setStorageAt({ address: CONTRACT, index: 9, value: numberToHex(0, { size: 32 }) });
    await tools(fork.url).setBalance({ address: bob.address, value: 0n });
    await tools(fork.url).mine({ blocks: 1 });
    expect(Number(await slot(9))).toBe(0);
    expect(await here.getBalance({ address: bob.address })).toBe(0n);
    await tools(fork.url).revert({ id });
    expect([await slot(7), await slot(9)].map(Number)).toEqual([8, 10]);
    expect(await here.getBalance({ address: bob.address })).toBe(parseEther("10000"));
  });

  it("a block by number is the state then; the chain and its dev accounts", async () => {
    const older = await start(`--fork-url=${proxy.url}`, "--fork-block=1");
    try {
      expect(await on(older.url).getBlockNumber()).toBe(1n);
      expect(Number(await on(older.url).getStorageAt({ address: CONTRACT, slot: "0x7" }))).toBe(7);
      expect(await on(older.url).getChainId()).toBe(31337);
    } finally {
      await older.stop();
    }
  });

  it.each<[string, string, (answer: { result?: unknown; error?: unknown }) => void, RegExp]>([
    [
      "a wrong proof",
      "eth_getProof",
      (answer) => ((answer.result as { accountProof: string[] }).accountProof.length = 0),
      /proof of account/,
    ],
    ["wrong code", "eth_getCode", (answer) => (answer.result = "0x6001"), /code does not have the hash/],
    [
      "an error",
      "eth_getCode",
      (answer) => Object.assign(answer, { result: undefined, error: { code: -32005, message: "daily limit" } }),
      /daily limit/,
    ],
  ])("%s is an error, not another state", async (_name, method, change, expected) => {
    const liar = await startProxy(
      () => origin.url,
      (name, answer) => name === method && change(answer),
    );
    const wrong = await start(`--fork-url=${liar.url}`).catch((error: Error) => error);
    if (!(wrong instanceof Error)) {
      await expect(on(wrong.url).getBalance({ address: CONTRACT })).rejects.toThrow(expected);
      await wrong.stop();
    } else expect(wrong.message).toMatch(expected);
    await liar.close();
  });

  it("an endpoint without proofs is used, with one line of warning", async () => {
    const plain = await startProxy(
      () => origin.url,
      (name, answer) =>
        name === "eth_getProof" &&
        Object.assign(answer, { result: undefined, error: { code: -32601, message: "the method eth_getProof does not exist" } }),
    );
    const unproven = await start(`--fork-url=${plain.url}`);
    try {
      expect(await on(unproven.url).call({ to: CONTRACT, gas: 5_000_000n })).toEqual(
        await on(origin.url).call({ to: CONTRACT, gas: 5_000_000n }),
      );
      expect(unproven.output().match(/not verified/g)).toHaveLength(1);
    } finally {
      await unproven.stop();
      await plain.close();
    }
  });
});
