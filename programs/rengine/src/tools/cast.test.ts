import { type ContractBundle, contract, loadContracts } from "@rnode/devnet";
import { foundryBinary, runProgram } from "@rnode/program/testing";
import { encodeDeployData } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, GENESIS_TIME_SEC, RICH_ADDRESS, RICH_BALANCE, RICH_KEY } from "../testing/test-client.ts";
import { startToolChain, type ToolChain } from "../testing/tool-chain.ts";

const binary = foundryBinary("cast");
// npm installs it on most platforms; where it is missing, this is reported and the rest is tested.
if (binary === undefined)
  console.warn(`cast is not tested: @foundry-rs/cast has no program for ${process.platform}-${process.arch}`);
it.runIf(process.env.CI !== undefined && process.platform === "linux")("cast is installed", () => expect(binary).toBeDefined());

const OTHER = "0x00000000000000000000000000000000000000AA";
const L1_BLOCK = "0x4200000000000000000000000000000000000015";
const ORACLE = "0x420000000000000000000000000000000000000F";
const API = "eth,net,web3,debug,txpool,trace";
type Json = Record<string, unknown>;

const testProfile = (profile: "R" | "G"): void => {
  let bundle: ContractBundle;
  let tools: ToolChain;
  let token: string;
  let creation: Json;
  beforeAll(async () => {
    bundle = loadContracts();
    tools = await startToolChain([`--profile=${profile}`, `--http.api=${API}`], bundle);
  });
  afterAll(() => tools.stop());

  const cast = (...args: string[]): Promise<string> => runProgram(binary!, args, { ETH_RPC_URL: tools.node.httpUrl });
  const castJson = async (...args: string[]): Promise<Json> => JSON.parse(await cast(...args, "--json")) as Json;
  const send = (...args: string[]): Promise<Json> => castJson("send", "--private-key", RICH_KEY, ...args);

  it("sends ether and deploys a contract, and prints their receipts", async () => {
    const [legacy, market] = [await send("--legacy", OTHER, "--value", "1ether"), await send(OTHER, "--value", "5wei")];
    expect(legacy).toMatchObject({ status: "0x1", type: "0x0", gasUsed: "0x5208", from: RICH_ADDRESS });
    expect(market).toMatchObject({ status: "0x1", type: "0x2" });
    const { l1Fee } = await castJson("receipt", market.transactionHash as string);
    expect(BigInt(l1Fee as string)).toBeGreaterThan(0n);
    const { abi, creationCode } = contract(bundle, "TestToken");
    const code = encodeDeployData({ abi, bytecode: creationCode, args: ["Test", "TST", 1000n] });
    creation = await send("--create", code);
    token = creation.contractAddress as string;
    expect(token).toMatch(/^0x[0-9a-fA-F]{40}$/);
  });

  it("answers about the chain", async () => {
    const block = await castJson("block", "1");
    const time = GENESIS_TIME_SEC + 2;
    const [id, number, gasPrice, baseFee, age, at, client] = await Promise.all([
      cast("chain-id"),
      cast("block-number"),
      cast("gas-price"),
      cast("base-fee", "1"),
      cast("age", "1"),
      cast("find-block", String(time)),
      cast("client"),
    ]);
    expect(id).toBe(String(CHAIN_ID));
    expect(Number(number)).toBeGreaterThan(2);
    expect(BigInt(gasPrice)).toBeGreaterThan(0n);
    expect(BigInt(baseFee)).toBe(BigInt(block.baseFeePerGas as string));
    expect(age).toContain("2023");
    expect(at).toBe("1");
    expect(client).toMatch(/^rengine\/v/);
    expect(await cast("block", "1", "-f", "timestamp")).toContain(String(time));
    expect(await castJson("block", "latest", "--full")).toMatchObject({
      transactions: expect.any(Array),
      stateRoot: expect.any(String),
    });
    expect(await cast("block", "1")).toContain(block.hash as string);
  });

  it("shows transactions and receipts of every kind, deposits too", { tags: "long" }, async () => {
    const { transactions } = (await castJson("block", "1")) as { transactions: string[] };
    const deposit = transactions[0]!;
    expect(await castJson("tx", deposit)).toMatchObject({ type: "0x7e", hash: deposit, sourceHash: expect.stringMatching(/^0x/) });
    expect(await castJson("receipt", deposit)).toMatchObject({ type: "0x7e", status: "0x1", depositNonce: expect.any(String) });
    const hash = creation.transactionHash as string;
    expect(await castJson("tx", hash)).toMatchObject({ type: "0x2", hash, from: RICH_ADDRESS, to: null });
    expect(await castJson("receipt", hash)).toMatchObject({ transactionHash: hash, blockHash: creation.blockHash });
    expect(await cast("receipt", hash, "gasUsed")).toBe(String(BigInt(creation.gasUsed as string)));
    expect(await cast("tx", hash, "nonce")).toBe("2");
    expect(await cast("tx", hash, "--raw")).toMatch(/^0x02/);
  });

  it("reads balances, code, storage, nonces, proofs", { tags: "long" }, async () => {
    expect(await cast("balance", RICH_ADDRESS, "-B", "0")).toBe(String(RICH_BALANCE));
    expect(await cast("balance", OTHER, "--ether", "--block", "latest")).toMatch(/^1\.0+5$/);
    expect(await cast("nonce", RICH_ADDRESS)).toBe("3");
    expect(await cast("nonce", RICH_ADDRESS, "-B", "1")).toBe("0");
    expect(await cast("code", token)).toMatch(/^0x60/);
    expect(await cast("code", OTHER)).toBe("0x");
    expect(Number(await cast("codesize", token))).toBeGreaterThan(100);
    expect(await cast("codehash", token)).toMatch(/^0x[0-9a-f]{64}$/);
    expect(BigInt(await cast("storage", token, "2"))).toBe(1000n); // totalSupply
    const proof = await castJson("proof", token, "2");
    expect(proof).toMatchObject({ address: token.toLowerCase(), nonce: "0x1", storageProof: [{ value: "0x3e8" }] });
    expect(await cast("storage-root", token)).toBe(proof.storageHash);
    expect(await cast("implementation", OTHER)).toBe("0x0000000000000000000000000000000000000000");
  });

  it("calls, estimates, lists accesses and logs", { tags: "long" }, async () => {
    expect(await cast("call", token, "symbol()(string)")).toBe('"TST"');
    expect(await cast("call", token, "balanceOf(address)(uint256)", RICH_ADDRESS, "--block", "latest")).toBe("1000");
    expect(await cast("call", ORACLE, "l1BaseFee()(uint256)")).toContain("7000000000");
    expect(await cast("call", L1_BLOCK, "number()(uint64)")).toBe("100");
    await expect(cast("call", token, "transfer(address,uint256)", OTHER, "5000")).rejects.toThrow(/execution reverted/);
    const estimate = Number(await cast("estimate", token, "transfer(address,uint256)", OTHER, "5", "--from", RICH_ADDRESS));
    expect(estimate).toBeGreaterThan(40_000);
    const list = await castJson("access-list", token, "transfer(address,uint256)", OTHER, "5", "--from", RICH_ADDRESS);
    expect(JSON.stringify(list).toLowerCase()).toContain(token.slice(2).toLowerCase());

    const transfer = await send(token, "transfer(address,uint256)", OTHER, "5");
    expect(Number(transfer.gasUsed)).toBeLessThanOrEqual(estimate);
    const logs = (await castJson(
      "logs",
      "--from-block",
      "0",
      "--address",
      token,
      "Transfer(address,address,uint256)",
    )) as unknown as Json[];
    expect(logs.map(({ transactionHash }) => transactionHash)).toEqual([creation.transactionHash, transfer.transactionHash]);
    const overridden = await cast("call", OTHER, "--override-code", `${OTHER}:0x60ff60005260206000f3`);
    expect(BigInt(overridden)).toBe(255n);
    await expect(send(token, "transfer(address,uint256)", OTHER, "5000")).rejects.toThrow(/InsufficientBalance|execution reverted/);
  });

  // `cast run` is missing here: for a chain it does not know, it cannot read blocks that contain deposits.
  it("traces on the node", async () => {
    const hash = creation.transactionHash as string;
    const traced = await castJson("rpc", "debug_traceTransaction", hash, '{"tracer":"callTracer"}');
    expect(traced).toMatchObject({ type: "CREATE", from: RICH_ADDRESS });
    const [created] = await castJson("rpc", "debug_traceBlockByNumber", "latest", '{"tracer":"prestateTracer"}').then(
      (all) => all as unknown as Json[],
    );
    expect(created).toMatchObject({ txHash: expect.stringMatching(/^0x/), result: expect.any(Object) });
    const parity = cast("rpc", "trace_transaction", hash);
    if (profile === "G") await expect(parity).rejects.toThrow(/-32601/);
    else
      expect(JSON.parse(await parity)).toMatchObject([{ type: "create", action: { from: RICH_ADDRESS }, transactionHash: hash }]);
  });

  it("passes requests and answers on as they are", async () => {
    expect(await cast("rpc", "eth_chainId")).toBe(`"0x${CHAIN_ID.toString(16)}"`);
    expect(await cast("rpc", "eth_getBalance", RICH_ADDRESS, "0x0")).toBe(`"0x${RICH_BALANCE.toString(16)}"`);
    await expect(cast("rpc", "no_such_method")).rejects.toThrow(/-32601/);
    expect(await castJson("tx-pool", "status")).toMatchObject({ pending: expect.anything(), queued: expect.anything() });
    await expect(cast("publish", "0x02c0")).rejects.toThrow(/error code -3\d+/);
  });

  it("says why it cannot send", async () => {
    const poor = `0x${"c3".repeat(32)}`;
    await expect(cast("send", "--private-key", poor, OTHER, "--value", "1ether", "--gas-limit", "21000")).rejects.toThrow(
      /insufficient funds/,
    );
    await expect(cast("send", "--private-key", RICH_KEY, "--nonce", "0", "--gas-limit", "21000", OTHER)).rejects.toThrow(
      /nonce too low/,
    );
  });
};
describe.skipIf(binary === undefined)("cast against profile R", () => testProfile("R"));
describe.skipIf(binary === undefined)("cast against profile G", { tags: "long" }, () => testProfile("G"));
