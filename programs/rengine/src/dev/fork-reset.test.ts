import type { Hex } from "@rnode/primitives";
import { createTestClient, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";
import { type Fork, startFork } from "../testing/fork-process.ts";
import { CHAIN_ID, startTestClient, type TestClient } from "../testing/test-client.ts";

const NOBODY = "0x00000000000000000000000000000000000b0d1e";
const alice = mnemonicToAccount("test test test test test test test test test test test junk");

describe("anvil_reset to another fork", () => {
  let rollup: TestClient;
  let ethereum: DevClient;
  let chain: Fork;
  beforeAll(async () => {
    buildPackage();
    rollup = await startTestClient();
    for (let block = 0; block < 3; block++) await rollup.buildBlock();
    ethereum = await startDevTestClient(
      "--dev.mnemonic=legal winner thank year wave sausage worth useful legal winner thank yellow",
    );
    await ethereum.rpc.call("anvil_mine", ["0x4"]);
    chain = await startFork();
  });
  afterAll(async () => {
    await chain.stop();
    await ethereum.close();
    await rollup.remove();
  });

  const call = <T = Hex>(method: string, ...params: unknown[]): Promise<T> => chain.rpc.call<T>(method, params);
  const where = async () => [Number(await call("eth_chainId")), Number(await call("eth_blockNumber"))];
  const reset = (jsonRpcUrl?: string, blockNumber?: unknown) => call("anvil_reset", { forking: { jsonRpcUrl, blockNumber } });
  /** A transaction of a funded account makes one block. */
  const send = async (): Promise<void> => {
    const before = Number(await call("eth_blockNumber"));
    const hash = await call("eth_sendTransaction", { from: alice.address, to: NOBODY, value: "0x1" });
    expect(await call("eth_getTransactionReceipt", hash)).toMatchObject({ status: "0x1" });
    expect(Number(await call("eth_blockNumber"))).toBe(before + 1);
  };

  it("serves the chain of the endpoint, then another, then another block of it, each with its own rules", async () => {
    await send();
    expect(await where()).toEqual([31_337, 1]);
    await reset(rollup.httpUrl);
    expect(await where()).toEqual([Number(CHAIN_ID), 3]);
    await send();
    expect(await call<{ transactions: unknown[] }>("eth_getBlockByNumber", "latest", false)).toMatchObject({
      transactions: [expect.anything(), expect.anything()],
    });
    await reset(ethereum.url, 2);
    expect(await where()).toEqual([31_337, 2]);
    await send();
    await reset(undefined, "0x3");
    expect(await where()).toEqual([31_337, 3]);
    expect(BigInt(await call("eth_getBalance", alice.address, "latest"))).toBe(10_000n * 10n ** 18n);
    await send();
  });

  it("says what it forked", async () => {
    await reset(rollup.httpUrl, 2);
    const { hash } = await rollup.rpc.call<{ hash: Hex }>("eth_getBlockByNumber", ["0x2", false]);
    expect(await call("anvil_metadata")).toMatchObject({
      forkedNetwork: { chainId: Number(CHAIN_ID), forkBlockNumber: 2, forkBlockHash: hash },
    });
    expect(await call("anvil_nodeInfo")).toMatchObject({ forkConfig: { forkUrl: rollup.httpUrl, forkBlockNumber: 2 } });
  });

  it("with no chain, or the same one, goes back to the first block", async () => {
    await reset(rollup.httpUrl, 2);
    for (const params of [[], [null], [{}], [{ forking: null }], [{ forking: {} }], [{ forking: { blockNumber: 2 } }]]) {
      await send();
      await call("anvil_reset", ...params);
      expect(await where()).toEqual([Number(CHAIN_ID), 2]);
    }
    await createTestClient({ mode: "anvil", transport: http(chain.url) }).reset({ jsonRpcUrl: rollup.httpUrl, blockNumber: 1n });
    expect(await where()).toEqual([Number(CHAIN_ID), 1]);
  });

  it.each<[string, () => unknown, RegExp]>([
    ["itself", () => ({ jsonRpcUrl: chain.url }), /is this chain itself/],
    ["itself by name", () => ({ jsonRpcUrl: chain.url.replace("127.0.0.1", "localhost") }), /is this chain itself/],
    ["no URL", () => ({ jsonRpcUrl: "nonsense" }), /must be an http or https URL/],
    ["a file", () => ({ jsonRpcUrl: "file:///etc/passwd" }), /must be an http or https URL/],
    ["a number", () => ({ jsonRpcUrl: 7 }), /expected a URL/],
    ["nobody there", () => ({ jsonRpcUrl: "http://127.0.0.1:9" }), /cannot be reached/],
    ["no such block", () => ({ jsonRpcUrl: rollup.httpUrl, blockNumber: 1_000_000 }), /has no block 0xf4240/],
    ["a bad block", () => ({ jsonRpcUrl: rollup.httpUrl, blockNumber: -1 }), /expected a number/],
  ])("to %s is refused, and the chain stays", async (_name, forking, expected) => {
    await reset(rollup.httpUrl, 2);
    await send();
    await expect(call("anvil_reset", { forking: forking() })).rejects.toThrow(expected);
    expect(await where()).toEqual([Number(CHAIN_ID), 3]);
    await send();
  });

  it("many at once and requests meanwhile: each is answered by one chain or the other", async () => {
    const outcomes = await Promise.allSettled([
      ...[1, 2, 3].map((number) => reset(rollup.httpUrl, number)),
      ...Array.from({ length: 20 }, () => where()),
    ]);
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []));
    expect(failures.filter((text) => !/another one is running/.test(text))).toEqual([]);
    await send();
  });

  it("from no fork, a block without an endpoint is refused", async () => {
    const plain = await startFork();
    try {
      await expect(plain.rpc.call("anvil_reset", [{ forking: { blockNumber: 1 } }])).rejects.toThrow(/is no fork; say which/);
    } finally {
      await plain.stop();
    }
  });
});
