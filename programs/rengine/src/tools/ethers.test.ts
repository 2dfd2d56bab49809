import { type ContractBundle, contract, loadContracts } from "@rnode/devnet";
import {
  type BaseContract,
  type BigNumberish,
  type BytesLike,
  Contract,
  ContractFactory,
  type ContractTransactionResponse,
  type InterfaceAbi,
  isError,
  JsonRpcProvider,
  parseEther,
  parseUnits,
  type TransactionReceipt,
  Wallet,
  WebSocketProvider,
} from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY } from "../testing/test-client.ts";
import { startToolChain, type ToolChain } from "../testing/tool-chain.ts";

const OTHER = "0x00000000000000000000000000000000000000AA";
const POOR_KEY = `0x${"b2".repeat(32)}`;
const SUPPLY = 1000n;

/** The methods that `ethers` adds at run time, from the contract's ABI. */
type Token = BaseContract & {
  symbol(): Promise<string>;
  balanceOf(account: string): Promise<bigint>;
  transfer: ((to: string, value: BigNumberish, overrides?: object) => Promise<ContractTransactionResponse>) & {
    staticCall(to: string, value: BigNumberish): Promise<boolean>;
    estimateGas(to: string, value: BigNumberish): Promise<bigint>;
  };
};

const testProfile = (profile: "R" | "G"): void => {
  let bundle: ContractBundle;
  let tools: ToolChain;
  let provider: JsonRpcProvider;
  let wallet: Wallet;
  let token: Token;
  let deployed: TransactionReceipt;
  beforeAll(async () => {
    bundle = loadContracts();
    tools = await startToolChain([`--profile=${profile}`], bundle);
    provider = new JsonRpcProvider(tools.node.httpUrl, undefined, { pollingInterval: 30, cacheTimeout: -1 });
    wallet = new Wallet(RICH_KEY, provider);
  });
  afterAll(async () => {
    provider.destroy();
    await tools.stop();
  });

  const refusal = async (attempt: Promise<unknown>): Promise<{ code: string; message: string }> =>
    await attempt.then(
      () => {
        throw new Error("was accepted");
      },
      (error: unknown) => error as { code: string; message: string },
    );

  it("reads network, blocks, balances, code, storage and fees", async () => {
    expect((await provider.getNetwork()).chainId).toBe(BigInt(CHAIN_ID));
    expect(await provider.getBalance(RICH_ADDRESS, 0)).toBe(RICH_BALANCE);
    expect(await provider.getTransactionCount(RICH_ADDRESS, 0)).toBe(0);
    expect(await provider.getCode(OTHER)).toBe("0x");
    expect(await provider.getStorage("0x4200000000000000000000000000000000000015", 1)).toMatch(/^0x[0-9a-f]{64}$/);
    const block = await provider.getBlock(1, true);
    expect(block).toMatchObject({ number: 1, stateRoot: expect.stringMatching(/^0x/), receiptsRoot: expect.stringMatching(/^0x/) });
    const [attributes] = block!.prefetchedTransactions;
    expect(attributes).toMatchObject({ type: 0x7e, index: 0, to: "0x4200000000000000000000000000000000000015", gasPrice: 0n });
    expect((await provider.getBlock(block!.hash!))!.number).toBe(1);
    expect(await provider.getBlock(10_000)).toBeNull();
    const receipt = await provider.getTransactionReceipt(attributes!.hash);
    expect(receipt).toMatchObject({ status: 1, type: 0x7e, index: 0, from: "0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001" });
    const fees = await provider.getFeeData();
    expect(fees.gasPrice).toBeGreaterThan(0n);
    expect(fees.maxFeePerGas! - fees.maxPriorityFeePerGas!).toBeGreaterThan(0n);
    for (const tag of ["latest", "pending", "safe", "finalized"] as const) {
      // nothing is safe or finalized on a chain without a rollup node
      const found = await provider.getBlock(tag).catch((error: unknown) => error);
      if (tag === "latest" || tag === "pending") expect(found).toMatchObject({ number: expect.any(Number) });
    }
  });

  it("sends ether of each type and waits for it", async () => {
    const gasPrice = parseUnits("2", "gwei");
    const before = await provider.getBalance(OTHER);
    for (const fields of [{ type: 0, gasPrice }, { type: 1, gasPrice, accessList: [] }, { type: 2 }]) {
      const response = await wallet.sendTransaction({ to: OTHER, value: 5n, ...fields });
      expect(response).toMatchObject({ from: wallet.address, to: OTHER, value: 5n, type: fields.type });
      const receipt = await response.wait();
      expect(receipt).toMatchObject({ status: 1, gasUsed: 21_000n, hash: response.hash, type: fields.type });
      const found = await provider.getTransaction(response.hash);
      expect(found).toMatchObject({ blockNumber: receipt!.blockNumber, nonce: response.nonce, signature: response.signature });
      expect(await provider.waitForTransaction(response.hash, 1, 5000)).toMatchObject({ hash: response.hash });
    }
    expect(await provider.getBalance(OTHER)).toBe(before + 15n);
  });

  it("sends a transaction that sets code", async () => {
    const authorizer = Wallet.createRandom().connect(provider);
    const authorization = await authorizer.authorize({ address: OTHER, nonce: 0, chainId: CHAIN_ID });
    const response = await wallet.sendTransaction({ type: 4, to: OTHER, authorizationList: [authorization] });
    expect(await response.wait()).toMatchObject({ status: 1, type: 4 });
    expect(await provider.getCode(authorizer.address)).toBe(`0xef0100${OTHER.slice(2).toLowerCase()}`);
    expect((await provider.getTransaction(response.hash))!.authorizationList).toMatchObject([{ address: OTHER, nonce: 0n }]);
  });

  it("deploys a contract, calls it, sends to it, reads its events", async () => {
    const { abi, creationCode } = contract(bundle, "TestToken");
    const factory = new ContractFactory(abi as unknown as InterfaceAbi, creationCode, wallet);
    token = (await factory.deploy("Test", "TST", SUPPLY)) as Token;
    deployed = (await token.deploymentTransaction()!.wait())!;
    expect(deployed).toMatchObject({ status: 1, contractAddress: await token.getAddress() });
    expect(await token.symbol()).toBe("TST");
    expect(await token.transfer.staticCall(OTHER, 1n)).toBe(true);
    const estimate = await token.transfer.estimateGas(OTHER, 3n);
    const receipt = await (await token.transfer(OTHER, 3n)).wait();
    expect(receipt!.gasUsed).toBeLessThanOrEqual(estimate);
    expect(await token.balanceOf(OTHER)).toBe(3n);
    expect(await token.balanceOf.call(token, wallet.address)).toBe(SUPPLY - 3n);
    const events = await token.queryFilter("Transfer", deployed.blockNumber);
    expect(events.map((event) => "args" in event && [...event.args])).toEqual([
      ["0x0000000000000000000000000000000000000000", wallet.address, SUPPLY],
      [wallet.address, OTHER, 3n],
    ]);
    const toOther = await token.queryFilter(token.filters.Transfer!(null, OTHER), 0, "latest");
    expect(toOther).toMatchObject([{ transactionHash: receipt!.hash, index: 0, removed: false }]);
    const past = new Contract(await token.getAddress(), abi as unknown as InterfaceAbi, provider);
    expect(await past.getFunction("balanceOf").staticCall(OTHER, { blockTag: receipt!.blockNumber - 1 })).toBe(0n);
  });

  it("names the error of a call that reverts", async () => {
    const error = await refusal(token.transfer.staticCall(OTHER, SUPPLY * 2n));
    expect(isError(error, "CALL_EXCEPTION")).toBe(true);
    expect(error).toMatchObject({
      action: "call",
      revert: { name: "InsufficientBalance", args: [wallet.address, SUPPLY - 3n, SUPPLY * 2n] },
    });
    // sending starts with an estimate, whose errors ethers does not decode
    const unsent = await refusal(token.transfer(OTHER, SUPPLY * 2n));
    expect(unsent).toMatchObject({ code: "CALL_EXCEPTION", action: "estimateGas" });
    expect(token.interface.parseError((unsent as unknown as { data: string }).data)).toMatchObject({ name: "InsufficientBalance" });
    // with an explicit gas limit it is mined all the same, and the receipt says that it failed
    const response = await token.transfer(OTHER, SUPPLY * 2n, { gasLimit: 100_000n });
    const failed = await refusal(response.wait());
    expect(failed).toMatchObject({ code: "CALL_EXCEPTION", receipt: { status: 0, hash: response.hash } });
    const code = "0x60006000fd"; // reverts without data
    const bare = await refusal(provider.call({ data: code }));
    expect(bare).toMatchObject({ code: "CALL_EXCEPTION", data: profile === "G" ? "0x" : null });
  });

  it("tells why a transaction is refused", async () => {
    const poor = new Wallet(POOR_KEY, provider);
    expect(await refusal(poor.sendTransaction({ to: OTHER, value: 1n, gasLimit: 21_000n }))).toMatchObject({
      code: "INSUFFICIENT_FUNDS",
    });
    expect(await refusal(wallet.sendTransaction({ to: OTHER, nonce: 0, gasLimit: 21_000n }))).toMatchObject({
      code: "NONCE_EXPIRED",
    });
    await tools.withoutMining(async () => {
      const nonce = await wallet.getNonce();
      const fees = { maxFeePerGas: parseUnits("3", "gwei"), maxPriorityFeePerGas: parseUnits("1", "gwei") };
      const first = await wallet.sendTransaction({ to: OTHER, value: 1n, nonce, ...fees });
      expect(await wallet.getNonce("pending")).toBe(nonce + 1);
      const cheap = wallet.sendTransaction({ to: OTHER, value: 2n, nonce, ...fees });
      expect(await refusal(cheap)).toMatchObject({ code: "REPLACEMENT_UNDERPRICED" });
      const dear = { maxFeePerGas: fees.maxFeePerGas * 2n, maxPriorityFeePerGas: fees.maxPriorityFeePerGas * 2n };
      const second = await wallet.sendTransaction({ to: OTHER, value: 1n, nonce, ...dear });
      let isSettled = false;
      const waiting = refusal(first.wait()).finally(() => {
        isSettled = true;
      });
      while (!isSettled) {
        await tools.node.buildBlock();
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
      expect(await waiting).toMatchObject({
        code: "TRANSACTION_REPLACED",
        reason: "repriced",
        cancelled: false,
        replacement: { hash: second.hash },
      });
    });
  });

  it("puts calls of one moment into one request", async () => {
    const batching = new JsonRpcProvider(tools.node.httpUrl, CHAIN_ID, { batchMaxCount: 100, staticNetwork: true });
    const sizes: number[] = [];
    await batching.on("debug", (event: { action: string; payload: unknown }) => {
      if (event.action === "sendRpcPayload" && Array.isArray(event.payload)) sizes.push(event.payload.length);
    });
    const [number, balance, code, fault] = await Promise.all([
      batching.getBlockNumber(),
      batching.getBalance(RICH_ADDRESS, 0),
      batching.getCode(token.target),
      refusal(batching.send("no_such_method", [])),
    ]);
    expect(number).toBeGreaterThan(0);
    expect(balance).toBe(RICH_BALANCE);
    expect(code.length).toBeGreaterThan(2);
    expect(fault).toMatchObject({ code: profile === "G" ? "UNSUPPORTED_OPERATION" : "UNKNOWN_ERROR" });
    expect(sizes).toEqual([4]);
    batching.destroy();
  });

  it("follows blocks, logs and the pool over WebSocket", async () => {
    const socket = new WebSocketProvider(tools.node.wsUrl, CHAIN_ID);
    const blocks: number[] = [];
    const pending: string[] = [];
    const transfers: unknown[] = [];
    const { abi } = contract(bundle, "TestToken");
    const watched = new Contract(token.target, abi as unknown as InterfaceAbi, socket);
    await socket.on("block", (number: number) => blocks.push(number));
    await socket.on("pending", (hash: string) => pending.push(hash));
    await watched.on("Transfer", (from: BytesLike, to: BytesLike, value: bigint) => transfers.push([from, to, value]));
    await socket.getBlockNumber(); // the subscriptions were sent before it
    const response = await token.transfer(OTHER, 9n);
    const receipt = await response.wait();
    await expect.poll(() => transfers).toEqual([[wallet.address, OTHER, 9n]]);
    await expect.poll(() => blocks).toContain(receipt!.blockNumber);
    expect(pending).toContain(response.hash);
    expect(await socket.getBalance(OTHER)).toBeGreaterThan(0n);
    await watched.removeAllListeners();
    await socket.destroy();
  });

  it("estimates, refuses what cannot be paid for, and sends a signed transaction as it is", async () => {
    expect(await provider.estimateGas({ from: wallet.address, to: OTHER, value: 1n })).toBe(21_000n);
    const tooMuch = refusal(provider.estimateGas({ from: OTHER, to: wallet.address, value: parseEther("1000000") }));
    expect(await tooMuch).toMatchObject({ code: expect.stringMatching(/INSUFFICIENT_FUNDS|CALL_EXCEPTION/) });
    const signed = await wallet.signTransaction(await wallet.populateTransaction({ to: OTHER, value: 1n }));
    const sent = await provider.broadcastTransaction(signed);
    expect(await sent.wait()).toMatchObject({ status: 1 });
    expect(await refusal(provider.broadcastTransaction(signed))).toMatchObject({ code: "NONCE_EXPIRED" });
  });
};
describe("ethers against profile R", () => testProfile("R"));
describe("ethers against profile G", { tags: "long" }, () => testProfile("G"));
