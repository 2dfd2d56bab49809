import { createRpcClient } from "@rnode/jsonrpc";
import type { Hex } from "@rnode/primitives";
import { parseTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { COUNTER_CREATION } from "../testing/counter.ts";
import { CHAIN_ID, RICH_ADDRESS, RICH_KEY, startTestClient, type TestClient } from "../testing/test-client.ts";

const account = privateKeyToAccount(RICH_KEY);
const OTHER = "0x00000000000000000000000000000000000000aa";
const FEE_CAP = 1_000_000_000n * 2n + 1_000_000n;
interface Filled {
  readonly raw: Hex;
  readonly tx: Record<string, unknown>;
}

describe.each([
  ["R", 0],
  ["G", 0],
  ["R", 1],
] as const)("eth_fillTransaction, profile %s, %i readers", (profile, readers) => {
  let node: TestClient;
  beforeAll(async () => {
    if (readers > 0) buildPackage();
    node = await startTestClient([`--profile=${profile}`, `--rpc.workers=${readers}`]);
  });
  afterAll(() => node.remove());
  const fill = (request: object) => node.rpc.call<Filled>("eth_fillTransaction", [{ from: RICH_ADDRESS, ...request }]);
  /** Signs the filled-in transaction as it is. */
  const sign = ({ raw }: Filled) =>
    account.signTransaction({ ...parseTransaction(raw), r: undefined, s: undefined, v: undefined, yParity: undefined } as never);

  it("fills in nonce, gas, fees and chain: signed, it goes into a block", async () => {
    const filled = await fill({ to: OTHER, value: "0x5" });
    expect(filled.tx).toMatchObject({
      type: "0x2",
      chainId: `0x${CHAIN_ID.toString(16)}`,
      nonce: "0x0",
      gas: "0x5208",
      to: OTHER,
      value: "0x5",
      input: "0x",
      maxFeePerGas: `0x${FEE_CAP.toString(16)}`,
      maxPriorityFeePerGas: "0xf4240",
      accessList: [],
      r: "0x0",
      s: "0x0",
    });
    expect(filled.tx.gasPrice).toBe(profile === "G" ? null : undefined);
    for (const absent of ["blockHash", "blockNumber", "transactionIndex", "from"]) expect(filled.tx).not.toHaveProperty(absent);
    const hash = await node.rpc.call<Hex>("eth_sendRawTransaction", [await sign(filled)]);
    expect((await fill({ to: OTHER })).tx).toMatchObject({ nonce: "0x1" }); // the transaction in the pool counts
    await node.buildBlock();
    expect(await node.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1" });
  });

  it("estimates with the base fee that a contract will see; for a sender without funds, without fees", async () => {
    const STORE_BASE_FEE = "0x485f55"; // BASEFEE PUSH0 SSTORE: dearer if there is one
    const gasOf = async (request: object) => Number((await fill({ data: STORE_BASE_FEE, ...request })).tx.gas);
    expect(await gasOf({})).toBeGreaterThan(70_000);
    expect(await gasOf({ from: "0x00000000000000000000000000000000000000bb" })).toBeLessThan(70_000);
  });

  it("keeps what is given, and makes of it the type that it says", async () => {
    expect((await fill({ data: COUNTER_CREATION })).tx).toMatchObject({
      type: "0x2",
      to: null,
      gas: expect.stringMatching(/^0x[0-9a-f]{5}$/),
    });
    const given = { to: OTHER, nonce: "0x9", gas: "0x7530", maxFeePerGas: "0x77359400", maxPriorityFeePerGas: "0x2", value: "0x1" };
    const { raw, tx } = await fill(given);
    expect(tx).toMatchObject(given);
    expect(raw).toMatch(/^0x02/);
    const parsed = parseTransaction(raw);
    expect(parsed).toMatchObject({ nonce: 9, gas: 30_000n, maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 2n });
    expect((await fill({ to: OTHER, gasPrice: "0x77359400" })).tx).toMatchObject({ type: "0x0", gasPrice: "0x77359400" });
    const accessList = [{ address: OTHER, storageKeys: [] }];
    expect((await fill({ to: OTHER, gasPrice: "0x77359400", accessList })).tx).toMatchObject({ type: "0x1", accessList });
  });

  it("fills in the gas for a sender who could not pay it, and for nobody: a deposit's is paid on L1", async () => {
    for (const from of [OTHER, undefined])
      expect((await fill({ from, to: RICH_ADDRESS })).tx).toMatchObject({ gas: "0x5208", maxFeePerGas: expect.any(String) });
  });

  it("says what cannot be filled in", async () => {
    const text = (request: object) =>
      fill(request).then(
        () => "filled",
        ({ message }: Error) => message,
      );
    expect(await text({})).toBe("contract creation without any data provided");
    expect(await text({ to: OTHER, gasPrice: "0x1", maxFeePerGas: "0x1" })).toBe(
      "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
    );
    expect(await text({ to: OTHER, maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x2" })).toMatch(
      /^max priority fee per gas higher than max fee per gas/,
    );
    expect(await text({ to: OTHER, value: `0x1${"0".repeat(24)}` })).toMatch(
      profile === "R" ? /^EVM error: OutOfFunds$/ : /insufficient funds for /,
    );
  });
});

describe.each(["R", "G"] as const)("what is left of proof of work and of accounts, profile %s", (profile) => {
  let node: TestClient;
  beforeAll(async () => {
    node = await startTestClient([`--profile=${profile}`]);
  });
  afterAll(() => node.remove());

  const HASH = `0x${"11".repeat(32)}`;
  it.each<[string, unknown[], unknown]>([
    ["eth_protocolVersion", [], "0x5"],
    ["eth_hashrate", [], "0x0"],
    ["eth_submitHashrate", ["0x1", HASH], false],
    ["eth_coinbase", [], undefined],
    ["eth_mining", [], undefined],
    ["eth_getWork", [], undefined],
    ["eth_submitWork", ["0x0000000000000001", HASH, HASH], undefined],
  ])("%s", async (name, params, result) => {
    const answer = node.rpc.call(name, params);
    if (profile === "G")
      await expect(answer).rejects.toMatchObject({ code: -32601, message: `the method ${name} does not exist/is not available` });
    else if (result === undefined) await expect(answer).rejects.toMatchObject({ code: -32603, message: "unimplemented" });
    else expect(await answer).toBe(result);
  });

  it("refuses to sign, and says what to do instead", async () => {
    const rpc = createRpcClient({ url: node.httpUrl });
    for (const [name, params] of [
      ["eth_sign", [RICH_ADDRESS, "0x00"]],
      ["eth_signTypedData", [RICH_ADDRESS, {}]],
      ["eth_signTransaction", [{ from: RICH_ADDRESS }]],
      ["eth_sendTransaction", [{ from: RICH_ADDRESS }]],
    ] as const)
      await expect(rpc.call(name, params)).rejects.toMatchObject({
        code: profile === "R" ? -32602 : -32000,
        ...(profile === "R"
          ? { message: "unknown account", data: expect.stringMatching(/^this node holds no keys .* eth_sendRawTransaction$/) }
          : { message: expect.stringMatching(/^unknown account: this node holds no keys .* eth_sendRawTransaction$/) }),
      });
    expect(await rpc.call("eth_accounts")).toEqual([]);
    await rpc.close();
  });

  it("proves several accounts at once, as one by one", async () => {
    const key = `0x${"00".repeat(32)}`;
    const [first, second] = [
      await node.rpc.call("eth_getProof", [RICH_ADDRESS, [key], "latest"]),
      await node.rpc.call("eth_getProof", [OTHER, [], "latest"]),
    ];
    const targets = [
      [RICH_ADDRESS, [key]],
      [OTHER, []],
    ];
    expect(await node.rpc.call("eth_getMultiProof", [targets, "latest"])).toEqual([first, second]);
    expect(await node.rpc.call("eth_getMultiProof", [targets])).toEqual([first, second]);
    await expect(node.rpc.call("eth_getMultiProof", [[[RICH_ADDRESS]]])).rejects.toMatchObject({ code: -32602 });
  });
});
