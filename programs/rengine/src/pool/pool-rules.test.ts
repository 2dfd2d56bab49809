import { assemble } from "@rnode/eth-api/testing";
import { bytesToHex, type Hex, hexToBytes, toQuantity } from "@rnode/primitives";
import { type Authorization, encodeTransaction, PREDEPLOYS, type SignedTransaction, signTransaction } from "@rnode/protocol";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { clientsOfTest, OTHER, signTransfer } from "../testing/clients-of-test.ts";
import { CHAIN_ID, GENESIS, RICH_ADDRESS, RICH_KEY, type TestClient } from "../testing/test-client.ts";

// The pool's rules as users meet them: over RPC, in the words of both profiles. The rules themselves are tested in the pool's own
// package.

const GWEI = 10n ** 9n;
const keyOf = (digits: string): Hex => `0x${digits.repeat(32)}`;
const rich = privateKeyToAccount(RICH_KEY);
const bob = privateKeyToAccount(keyOf("b0"));
const carol = privateKeyToAccount(keyOf("ca"));
const FUNDED = {
  [bob.address.toLowerCase()]: { balance: toQuantity(10n ** 20n) },
  [carol.address.toLowerCase()]: { balance: toQuantity(10n ** 20n) },
};
const NO_SIGNATURE = { r: new Uint8Array(32), s: new Uint8Array(32), yParity: 0 } as const;

const { start } = clientsOfTest();

/** The transaction's hash, or code and message of the refusal. */
const submit = (node: TestClient, raw: string): Promise<string | [number, string]> =>
  node.rpc
    .call<string>("eth_sendRawTransaction", [raw])
    .catch(({ code, message }: { code: number; message: string }) => [code, message]);
const status = (node: TestClient) => node.rpc.call("txpool_status");
const TAKEN = expect.stringMatching(/^0x[0-9a-f]{64}$/);

async function authorization(account: PrivateKeyAccount, nonce: number): Promise<Authorization> {
  const { r, s, yParity, address } = await account.signAuthorization({ address: OTHER, chainId: CHAIN_ID, nonce });
  return {
    chainId: BigInt(CHAIN_ID),
    address: hexToBytes(address),
    nonce: BigInt(nonce),
    yParity: yParity ?? 0,
    r: BigInt(r),
    s: BigInt(s),
  };
}

function setCode(key: Hex, nonce: number, authorizationList: readonly Authorization[], gasLimit = 100_000n): string {
  const tx: SignedTransaction = {
    type: 0x04,
    chainId: BigInt(CHAIN_ID),
    nonce: BigInt(nonce),
    gasLimit,
    to: hexToBytes(OTHER),
    value: 0n,
    data: new Uint8Array(0),
    maxFeePerGas: 2n * GWEI,
    maxPriorityFeePerGas: 1n,
    accessList: [],
    authorizationList,
    signature: NO_SIGNATURE,
  };
  return bytesToHex(encodeTransaction(signTransaction(tx, hexToBytes(key))));
}

describe.each(["R", "G"] as const)("the pool's rules, profile %s", (profile) => {
  const text = <T>(r: T, g: T): T => (profile === "R" ? r : g);

  it("refuses what no block could hold", async () => {
    const node = await start([`--profile=${profile}`]);
    const data = (bytes: number): Hex => `0x${"ff".repeat(bytes)}`;
    expect(await submit(node, await signTransfer(0, { gas: 30_000n, data: data(1000) }))).toEqual([
      -32000,
      text("intrinsic gas too low", "intrinsic gas too low: gas 30000, minimum needed 37000"),
    ]);
    expect(await submit(node, await signTransfer(0, { gas: 40_000n, data: data(1000) }))).toEqual([
      -32000,
      text("intrinsic gas too low", "insufficient gas for floor data gas cost: gas 40000, minimum needed 61000"),
    ]);
    expect(await submit(node, await signTransfer(0, { gas: 7_000_000n, data: data(131_073) }))).toEqual([
      -32000,
      expect.stringMatching(/^oversized data: transaction size 131\d\d\d, limit 131072$/),
    ]);
    expect(await submit(node, await signTransfer(0, { gas: 7_000_000n, to: undefined, data: data(49_153) }))).toEqual([
      -32000,
      text("max initcode size exceeded", "max initcode size exceeded: code size 49153 limit 49152"),
    ]);
    expect(await submit(node, setCode(RICH_KEY, 0, []))).toEqual([
      -32000,
      text("no items in authorization list for EIP7702 transaction", "set code tx must have at least one authorization tuple"),
    ]);
    expect(await status(node)).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it("counts the L1 fee and the operator fee of all of a sender's transactions", async () => {
    const l1Block = bytesToHex(PREDEPLOYS.l1Block);
    const own = GENESIS.alloc[l1Block] as { storage: object };
    const constant = 10n ** 15n;
    const storage = { ...own.storage, [`0x${"08".padStart(64, "0")}`]: `0x${constant.toString(16).padStart(64, "0")}` };
    const gasAndValue = 21_000n * 2n * GWEI;
    // Enough for two transactions with their operator fees (and the small L1 fees), but not for three.
    const balance = 2n * (gasAndValue + constant) + constant / 2n;
    const alloc = { [l1Block]: { ...own, storage }, [bob.address.toLowerCase()]: { balance: toQuantity(balance) } };
    const node = await start([`--profile=${profile}`], undefined, { alloc, l1: { operatorFeeConstant: constant } });
    for (const nonce of [0, 1]) expect(await submit(node, await signTransfer(nonce, {}, bob))).toEqual(TAKEN);
    const refused = (await submit(node, await signTransfer(2, {}, bob))) as [number, string];
    expect(refused[0]).toBe(text(-32003, -32000));
    expect(refused[1]).toMatch(
      text(
        /^insufficient funds for gas \* price \+ value: have \d+ want \d+$/,
        /^insufficient funds for gas \* price \+ value: balance \d+, queued cost \d+, tx cost \d+, overshot \d+$/,
      ),
    );
    expect(await status(node)).toEqual({ pending: "0x2", queued: "0x0" });
    // a replacement is judged by its additional cost; one that exceeds the whole balance is judged alone
    const dearer = { maxFeePerGas: 8n * GWEI, maxPriorityFeePerGas: 2n, gas: 80_000n };
    const bumped = (await submit(node, await signTransfer(1, dearer, bob))) as [number, string];
    expect(bumped[1]).toMatch(text(/have \d+ want \d+$/, /balance \d+, queued cost \d+, tx bumped \d+, overshot \d+$/));
    const alone = (await submit(node, await signTransfer(2, { value: balance }, bob))) as [number, string];
    expect(alone[1]).toMatch(text(/have \d+ want \d+$/, /balance \d+, tx cost \d+, overshot \d+$/));
  });

  it("bounds what one sender and all senders may have waiting", async () => {
    const own = ["--txpool.accountqueue=2", "--txpool.globalqueue=3"];
    const node = await start([`--profile=${profile}`, ...own], undefined, { alloc: FUNDED });
    expect(await submit(node, await signTransfer(5))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(6))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(7))).toEqual(
      text([-32003, "txpool is full"], [-32000, "account limit exceeded: pooled 2 txs"]),
    );
    expect(await submit(node, await signTransfer(5, {}, bob))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(5, {}, carol))).toEqual(TAKEN);
    expect(await status(node)).toEqual({ pending: "0x0", queued: "0x3" });
    expect(await node.rpc.call("txpool_contentFrom", [RICH_ADDRESS])).toMatchObject({ queued: { 5: {} } });
    expect(await submit(node, await signTransfer(0))).toEqual(TAKEN);
    expect(await status(node)).toEqual({ pending: "0x1", queued: "0x3" });
  });

  it("evicts by price when it is full, also among its own users; holds them to the least tip unless told otherwise", async () => {
    const full = ["--txpool.globalslots=2"];
    const locals = ["--txpool.nolocals=false", "--txpool.pricelimit=5"];
    const node = await start([`--profile=${profile}`, ...full, ...locals], undefined, { alloc: FUNDED });
    const tip = (wei: bigint) => ({ maxPriorityFeePerGas: wei });
    expect(await submit(node, await signTransfer(0, tip(1n)))).toEqual(TAKEN); // from a user of this node, to whom the minimum does not apply
    expect(await submit(node, await signTransfer(0, tip(20n), bob))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(0, tip(1n), carol))).toEqual(
      text([-32003, "txpool is full"], [-32000, "transaction underpriced"]),
    );
    expect(await submit(node, await signTransfer(9, tip(30n), carol))).toEqual([
      text(-32003, -32000),
      text("txpool is full", "future transaction tries to replace pending"),
    ]);
    expect(await submit(node, await signTransfer(0, tip(10n), carol))).toEqual(TAKEN);
    expect(await node.rpc.call("txpool_contentFrom", [RICH_ADDRESS])).toEqual({ pending: {}, queued: {} });

    const own = [`--txpool.locals=${bob.address}`, "--txpool.pricelimit=5"];
    const strict = await start([`--profile=${profile}`, ...own], undefined, { alloc: FUNDED });
    expect(await submit(strict, await signTransfer(0, tip(1n)))).toEqual([
      text(-32003, -32000),
      text(
        "transaction priority fee below minimum required priority fee 5",
        "transaction gas price below minimum: gas tip cap 1, minimum needed 5",
      ),
    ]);
    expect(await submit(strict, await signTransfer(0, tip(5n)))).toEqual(TAKEN);
    expect(await submit(strict, await signTransfer(0, tip(1n), bob))).toEqual(TAKEN);
  });

  it("has one transaction at a time of an account that delegates, and of one whose authorization it holds", async () => {
    const node = await start([`--profile=${profile}`], undefined, { alloc: FUNDED });
    const limit = [-32000, "in-flight transaction limit reached for delegated accounts"];
    const gap = [-32000, "gapped-nonce tx from delegated accounts"];
    expect(await submit(node, setCode(keyOf("b0"), 0, [await authorization(carol, 0)]))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(1, {}, carol))).toEqual(gap);
    await node.buildBlock();
    expect(await node.rpc.call("eth_getCode", [carol.address, "latest"])).toBe(`0xef0100${OTHER.slice(2)}`);
    expect(await submit(node, await signTransfer(1, {}, carol))).toEqual(TAKEN);
    expect(await submit(node, await signTransfer(2, {}, carol))).toEqual(limit);
    expect(await submit(node, await signTransfer(1, { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 1n }, carol))).toEqual(TAKEN);
    for (const nonce of [0, 1]) expect(await submit(node, await signTransfer(nonce))).toEqual(TAKEN);
    expect(await submit(node, setCode(keyOf("b0"), 1, [await authorization(rich, 2)]))).toEqual([
      -32000,
      "authority already reserved",
    ]);
    await node.buildBlock();
    expect(await status(node)).toEqual({ pending: "0x0", queued: "0x0" });
  });

  it("does not take transactions of contracts", async () => {
    const code = bytesToHex(assemble("STOP"));
    const alloc = { [bob.address.toLowerCase()]: { balance: toQuantity(10n ** 20n), code } };
    const node = await start([`--profile=${profile}`], undefined, { alloc });
    expect(await submit(node, await signTransfer(0, {}, bob))).toEqual([
      text(-32003, -32000),
      text("sender is not an EOA", "sender not an eoa"),
    ]);
  });
});
