import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { liesAbout } from "@rnode/jsonrpc/testing";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { hashTransaction, L1_DATA_PRICINGS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { L1Endpoints } from "./endpoints/endpoints.ts";
import { L1AccountClient } from "./l1-account-client.ts";
import { L1Client } from "./l1-client.ts";
import { blockFixture } from "./testing/block-json.ts";
import { FakeClock, FakeEndpoint } from "./testing/fake-endpoint.ts";

const BLOCK = blockFixture(101, 2);
const ADDRESS = new Uint8Array(20).fill(0x44);
const SENT = bytesToHex(hashTransaction(BLOCK.transactions[1]!));

function setUp(endpointCount = 1) {
  const fakes = Array.from({ length: endpointCount }, () => new FakeEndpoint([BLOCK]));
  const clock = new FakeClock();
  const endpoints = new L1Endpoints(
    { chainId: 900n, maxAttempts: endpointCount },
    {
      endpoints: fakes.map((rpc, index) => ({ name: `endpoint-${index}`, rpc })),
      clock,
      log: { warn: () => {}, debug: () => {} },
    },
  );
  const l1 = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 10 }, { endpoints, clock });
  return { fakes, fake: fakes[0]!, account: new L1AccountClient({ endpoints, l1 }) };
}

/** Answers some methods; an answer that is an error is thrown. */
const answering = (answers: Readonly<Record<string, unknown>>) => (method: string) => {
  const answer = answers[method];
  if (answer instanceof Error) throw answer;
  return answer;
};

describe("L1AccountClient", () => {
  it("reads nonces, balances and fees", async () => {
    const { fake, account } = setUp();
    fake.override = answering({
      eth_getTransactionCount: "0x5",
      eth_getBalance: "0x10",
      eth_maxPriorityFeePerGas: "0x3",
      eth_blobBaseFee: "0x9",
    });
    expect((await account.head()).hash).toBe(BLOCK.hash);
    expect(await account.nonce(ADDRESS, "pending")).toBe(5n);
    expect(await account.nonceAt(ADDRESS, 7)).toBe(5n);
    expect(await account.balance(ADDRESS)).toBe(16n);
    expect(await account.feeMarket({ withBlobs: true })).toEqual({
      tip: 3n,
      baseFee: 7n,
      blobBaseFee: 9n,
      dataPricing: L1_DATA_PRICINGS[1],
    });
  });

  it("takes no tip for 0 where L1 has no word on it, and does not ask for the blob base fee in vain", async () => {
    const { fake, account } = setUp();
    expect(await account.feeMarket({ withBlobs: false })).toEqual({
      tip: 0n,
      baseFee: 7n,
      blobBaseFee: undefined,
      dataPricing: L1_DATA_PRICINGS[1],
    });
    expect(fake.calls).not.toContain("eth_blobBaseFee");
  });

  it("never takes a base fee that is not of a block", async () => {
    const { fake, account } = setUp();
    fake.override = answering({ eth_getBlockByNumber: { ...BLOCK.json, baseFeePerGas: "0x1" } });
    await expect(account.feeMarket({ withBlobs: false })).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
  });

  it("says that a state is gone, and that nobody answers", async () => {
    const { fake, account } = setUp();
    fake.override = answering({ eth_getTransactionCount: new RpcError(-32000, "missing trie node") });
    expect(await account.nonceAt(ADDRESS, 7)).toBeUndefined();
    await expect(account.nonce(ADDRESS, "latest")).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
    fake.override = answering({ eth_getTransactionCount: new RpcTransportError("rpc/timeout", {}) });
    await expect(account.nonceAt(ADDRESS, 7)).rejects.toThrow(expect.objectContaining({ code: "l1/unavailable" }));
  });

  it("tells verdicts on a transaction from endpoints that do not answer", async () => {
    const { fakes, account } = setUp(2);
    fakes[0]!.override = answering({ eth_sendRawTransaction: new RpcTransportError("rpc/unreachable", {}) });
    fakes[1]!.override = answering({ eth_sendRawTransaction: new RpcError(-32000, "nonce too low: next nonce 3") });
    expect(await account.send(Uint8Array.of(2))).toEqual({ verdict: "nonce-too-low", message: "nonce too low: next nonce 3" });
    fakes[1]!.override = answering({ eth_sendRawTransaction: SENT });
    expect((await account.send(Uint8Array.of(2))).verdict).toBe("accepted");
  });

  it("finds the block of a transaction", async () => {
    const { account } = setUp();
    expect(await account.inclusion(SENT)).toEqual({ blockNumber: 101, isReverted: false, feeWei: 240_000n, blockHash: BLOCK.hash });
    expect(await account.inclusion(`0x${"ab".repeat(32)}`)).toBeUndefined();
  });

  it("never says that a transaction is in a block which does not have it", async () => {
    let refused = 0;
    for (const { name, answer } of liesAbout(BLOCK.receiptsJson[1])) {
      const { fake, account } = setUp();
      fake.override = (method) => (method === "eth_getTransactionReceipt" ? answer : undefined);
      try {
        // undefined is harmless: the transaction is sent again, with the same nonce
        const found = await account.inclusion(SENT);
        expect(found === undefined || found.blockHash === BLOCK.hash, name).toBe(true);
      } catch (error) {
        if (!isCodedError(error, "l1/unavailable")) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(10);
    const { fake, account } = setUp();
    const foreign = bytesToHex(new Uint8Array(32).fill(7));
    fake.override = (method) => (method === "eth_getTransactionReceipt" ? BLOCK.receiptsJson[1] : undefined);
    await expect(account.inclusion(foreign)).rejects.toThrow("receipt of a transaction that its block does not have");
  });
});
