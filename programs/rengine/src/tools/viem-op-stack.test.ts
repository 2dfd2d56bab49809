import { type ContractBundle, contract, loadContracts } from "@rnode/devnet";
import { hexToBytes } from "@rnode/primitives";
import { depositFromLog, encodeTransaction } from "@rnode/protocol";
import {
  concatHex,
  createPublicClient,
  createTestClient,
  createWalletClient,
  defineChain,
  encodeAbiParameters,
  encodeEventTopics,
  http,
  keccak256,
  type Log,
  numberToHex,
  padHex,
  parseAbiItem,
  parseEther,
  parseEventLogs,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  buildInitiateWithdrawal,
  chainConfig,
  getL2TransactionHashes,
  getWithdrawals,
  publicActionsL2,
  walletActionsL2,
} from "viem/op-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHAIN_ID, RICH_ADDRESS, RICH_BALANCE, RICH_KEY } from "../testing/test-client.ts";
import { startToolChain, type ToolChain } from "../testing/tool-chain.ts";

const MESSAGE_PASSER = "0x4200000000000000000000000000000000000016";
const OTHER = "0x00000000000000000000000000000000000000aa";
const DEPOSITED = parseAbiItem(
  "event TransactionDeposited(address indexed from, address indexed to, uint256 indexed version, bytes opaqueData)",
);
const account = privateKeyToAccount(RICH_KEY);

const testProfile = (profile: "R" | "G"): void => {
  let bundle: ContractBundle;
  let tools: ToolChain;
  beforeAll(async () => {
    bundle = loadContracts();
    tools = await startToolChain([`--profile=${profile}`], bundle);
  });
  afterAll(() => tools.stop());

  const opChain = () =>
    defineChain({
      ...chainConfig,
      id: CHAIN_ID,
      name: "test",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [tools.node.httpUrl] } },
      contracts: { ...chainConfig.contracts, multicall3: { address: "0xcA11bde05977b3631167028862bE2a173976CA11" } },
    });
  const transport = () => http(tools.node.httpUrl, { batch: true });
  const client = () =>
    createPublicClient({ chain: opChain(), transport: transport(), pollingInterval: 20, cacheTime: 0 }).extend(publicActionsL2());
  const wallet = () => createWalletClient({ account, chain: opChain(), transport: transport() }).extend(walletActionsL2());
  const mined = (hash: `0x${string}`) => client().waitForTransactionReceipt({ hash });

  it("estimates the L1 fee, the operator's and the whole, and is charged no more than a little off", async () => {
    const request = { account, to: OTHER, value: parseEther("0.1"), data: toHex("a message of some length") } as const;
    const l1Fee = await client().estimateL1Fee(request);
    const l1Gas = await client().estimateL1Gas(request);
    const operatorFee = await client().estimateOperatorFee(request);
    const totalFee = await client().estimateTotalFee(request);
    const totalGas = await client().estimateTotalGas(request);
    const gas = await client().estimateGas(request);
    expect(await client().getL1BaseFee()).toBe(7_000_000_000n);
    expect(l1Gas).toBeGreaterThan(0n);
    expect(totalGas).toBe(l1Gas + gas);

    const before = await client().getBalance({ address: RICH_ADDRESS });
    const receipt = await mined(await wallet().sendTransaction(request));
    const after = await client().getBalance({ address: RICH_ADDRESS });
    expect(receipt).toMatchObject({ status: "success", l1GasPrice: 7_000_000_000n, l1FeeScalar: null });
    const share = Number(receipt.l1Fee) / Number(l1Fee); // the oracle gets an unsigned transaction, and guesses the size of the signature
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(1.2);
    // Jovian: gas × scalar × 100 + constant
    expect(operatorFee).toBe(gas * 2_000_000n * 100n + 7n);
    const operatorPaid = receipt.gasUsed * 2_000_000n * 100n + 7n;
    const paid = before - after - request.value;
    expect(paid).toBe(receipt.gasUsed * receipt.effectiveGasPrice + receipt.l1Fee! + operatorPaid);
    expect(Number(totalFee) / Number(paid)).toBeGreaterThan(0.8);
    expect(Number(totalFee) / Number(paid)).toBeLessThan(1.5);
  });

  it("estimates fees of a contract's call", async () => {
    const { abi } = contract(bundle, "L2ToL1MessagePasser");
    const call = {
      account,
      address: MESSAGE_PASSER,
      abi,
      functionName: "initiateWithdrawal",
      args: [OTHER, 100_000n, "0x"],
      value: 1n,
    } as const;
    const [l1Fee, l1Gas, gas, total] = await Promise.all([
      client().estimateContractL1Fee(call),
      client().estimateContractL1Gas(call),
      client().estimateContractTotalGas(call),
      client().estimateContractTotalFee(call),
    ]);
    expect(l1Fee).toBeGreaterThan(0n);
    expect(gas).toBeGreaterThan(l1Gas);
    expect(total).toBeGreaterThan(l1Fee);
  });

  it("finds a deposit by the hash that viem computes from its log on L1", async () => {
    const mint = parseEther("2");
    const blockHash = padHex("0x0b", { size: 32 });
    // mint ‖ value ‖ gas limit ‖ is creation ‖ data
    const opaque = concatHex([
      numberToHex(mint, { size: 32 }),
      numberToHex(mint, { size: 32 }),
      numberToHex(50_000, { size: 8 }),
      "0x00",
    ]);
    const topics = encodeEventTopics({ abi: [DEPOSITED], args: { from: account.address, to: OTHER, version: 0n } });
    const log = {
      address: padHex("0x99", { size: 20 }),
      topics,
      data: encodeAbiParameters([{ type: "bytes" }], [opaque]),
      blockHash,
      logIndex: 3,
      blockNumber: 1n,
      transactionHash: padHex("0x01", { size: 32 }),
      transactionIndex: 0,
      removed: false,
    } as unknown as Log;
    const [l2Hash] = getL2TransactionHashes({ logs: [log] });
    const ours = depositFromLog(
      { address: hexToBytes(log.address), topics: (topics as `0x${string}`[]).map(hexToBytes), data: hexToBytes(log.data) },
      hexToBytes(blockHash),
      3,
    );
    const balance = await client().getBalance({ address: OTHER });
    const raw = encodeTransaction(ours);
    await tools.withoutMining(() => tools.node.buildBlock({ transactions: [toHex(raw)] }));
    expect(await mined(l2Hash!)).toMatchObject({ status: "success", type: "0x7e", from: RICH_ADDRESS });
    expect(await client().getTransaction({ hash: l2Hash! })).toMatchObject({ type: "deposit", mint, value: mint, typeHex: "0x7e" });
    expect(await client().getBalance({ address: OTHER })).toBe(balance + mint);
    expect(keccak256(raw)).toBe(l2Hash);
  });

  it("builds deposits", async () => {
    const request = await client().buildDepositTransaction({ account, mint: 5n, to: OTHER });
    expect(request).toMatchObject({ account, request: { mint: 5n, to: OTHER, gas: expect.any(BigInt) } });
  });

  it("initiates a withdrawal, and proves it by the state", async () => {
    const request = await buildInitiateWithdrawal(client(), { account, to: OTHER, value: 3n });
    expect(await client().estimateInitiateWithdrawalGas({ account, request: request.request })).toBeGreaterThan(21_000n);
    const receipt = await mined(await wallet().initiateWithdrawal(request));
    const [withdrawal] = getWithdrawals(receipt);
    expect(withdrawal).toMatchObject({ sender: account.address, target: expect.stringMatching(/aa$/i), value: 3n });

    const block = await client().getBlock({ blockNumber: receipt.blockNumber });
    const output = { l2BlockNumber: receipt.blockNumber, outputIndex: 0n, outputRoot: padHex("0x", { size: 32 }), timestamp: 0n };
    const prove = await client().buildProveWithdrawal({ account, withdrawal: withdrawal!, output });
    const { messagePasserStorageRoot, stateRoot, latestBlockhash } = prove.outputRootProof;
    expect({ stateRoot, latestBlockhash }).toEqual({ stateRoot: block.stateRoot, latestBlockhash: block.hash });
    // Isthmus: the header has the message passer's storage root
    const { withdrawalsRoot } = block as unknown as { withdrawalsRoot: string };
    expect(messagePasserStorageRoot).toBe(withdrawalsRoot);
    expect(prove.withdrawalProof.length).toBeGreaterThan(0);
  });

  it("calls contracts: reads, multicall, simulation, events, errors by name", async () => {
    const { abi, creationCode } = contract(bundle, "TestToken");
    const deployed = await mined(await wallet().deployContract({ abi, bytecode: creationCode, args: ["Test", "TST", 100n] }));
    const token = { address: deployed.contractAddress!, abi } as const;
    const results = await client().multicall({
      contracts: [
        { ...token, functionName: "symbol" },
        { ...token, functionName: "balanceOf", args: [account.address] },
        { ...token, functionName: "transfer", args: [OTHER, 1n] }, // multicall has no tokens
      ],
    });
    expect(results.map(({ status, result }) => [status, result])).toEqual([
      ["success", "TST"],
      ["success", 100n],
      ["failure", undefined],
    ]);
    const { request, result } = await client().simulateContract({ ...token, account, functionName: "transfer", args: [OTHER, 7n] });
    expect(result).toBe(true);
    const receipt = await mined(await wallet().writeContract(request));
    expect(parseEventLogs({ abi, logs: receipt.logs })).toMatchObject([
      { eventName: "Transfer", args: { to: expect.stringMatching(/aa$/i), value: 7n } },
    ]);
    const events = await client().getContractEvents({ ...token, eventName: "Transfer", args: { to: OTHER }, fromBlock: 0n });
    expect(events.map(({ transactionHash }) => transactionHash)).toEqual([receipt.transactionHash]);
    const tooMuch = client().simulateContract({ ...token, account, functionName: "transfer", args: [OTHER, 1000n] });
    await expect(tooMuch).rejects.toThrow(/InsufficientBalance/);
  });

  it("simulates blocks and calls, and makes access lists", async () => {
    const [block] = await client().simulateBlocks({
      blocks: [
        {
          calls: [{ from: OTHER, to: account.address, value: 1n }],
          stateOverrides: [{ address: OTHER, balance: parseEther("1") }],
        },
      ],
    });
    expect(block).toMatchObject({
      number: (await client().getBlockNumber()) + 1n,
      calls: [{ status: "success", gasUsed: 21_000n }],
    });
    const { results, assetChanges } = await client().simulateCalls({
      account,
      calls: [{ to: OTHER, value: 5n }],
      traceAssetChanges: true,
    });
    expect(results).toMatchObject([{ status: "success" }]);
    expect(assetChanges[0]!.value.diff).toBe(-5n);
    const { accessList, gasUsed } = await client().createAccessList({
      account,
      to: "0x420000000000000000000000000000000000000F",
      data: "0x519b4bd3",
    });
    expect(accessList.map(({ address }) => address)).toContain("0x4200000000000000000000000000000000000015");
    expect(gasUsed).toBeGreaterThan(21_000n);
  });

  it("sends each type of transaction, fills in what is missing, and replaces one that waits", async () => {
    const authorization = await wallet().signAuthorization({ contractAddress: OTHER, executor: "self" });
    const sent = [
      await mined(await wallet().sendTransaction({ to: OTHER, value: 1n, type: "legacy" })),
      await mined(
        await wallet().sendTransaction({
          to: OTHER,
          value: 1n,
          accessList: [{ address: OTHER, storageKeys: [] }],
          gasPrice: await client().getGasPrice(),
          type: "eip2930",
        }),
      ),
      await mined(await wallet().sendTransaction({ to: OTHER, value: 1n })),
    ];
    expect(sent.map(({ type, status }) => [type, status])).toEqual([
      ["legacy", "success"],
      ["eip2930", "success"],
      ["eip1559", "success"],
    ]);
    const nonce = await client().getTransactionCount({ address: account.address });
    const delegated = await mined(
      await wallet().sendTransaction({
        to: OTHER,
        authorizationList: [await wallet().signAuthorization({ contractAddress: OTHER, executor: "self" })],
      }),
    );
    expect(delegated).toMatchObject({ type: "eip7702", status: "success" });
    expect(await client().getDelegation({ address: account.address })).toMatch(/aa$/i);
    expect(await client().getTransactionCount({ address: account.address })).toBe(nonce + 2); // its own and the authorization's
    expect(authorization.chainId).toBe(CHAIN_ID);

    const replaced: string[] = [];
    const receipt = await tools.withoutMining(async () => {
      const at = await client().getTransactionCount({ address: account.address });
      const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000n };
      const hash = await wallet().sendTransaction({ to: OTHER, value: 1n, nonce: at, ...fees });
      const waiting = client().waitForTransactionReceipt({ hash, onReplaced: ({ reason }) => replaced.push(reason) });
      await new Promise((resolve) => setTimeout(resolve, 60)); // it looks at the transaction before it is replaced
      await wallet().sendTransaction({
        to: OTHER,
        value: 2n,
        nonce: at,
        maxFeePerGas: 6_000_000_000n,
        maxPriorityFeePerGas: 2_000_000n,
      });
      await tools.node.buildBlock();
      await tools.node.buildBlock();
      return await waiting;
    });
    expect(receipt.status).toBe("success");
    expect(replaced).toEqual(["replaced"]);
  });

  it("answers the test actions that look at the pool; those that change the chain are refused", async () => {
    const tester = createTestClient({ chain: opChain(), mode: "anvil", transport: http(tools.node.httpUrl, { retryCount: 0 }) });
    await tools.withoutMining(async () => {
      const hash = await wallet().sendTransaction({ to: OTHER, value: 1n });
      expect(await tester.getTxpoolStatus()).toEqual({ pending: 1, queued: 0 });
      const { pending } = await tester.getTxpoolContent();
      const [transactions] = Object.values(pending);
      expect(Object.values(transactions!).map((transaction) => (transaction as { hash: string }).hash)).toEqual([hash]);
      const inspected = await tester.inspectTxpool();
      expect(Object.values(Object.values(inspected.pending)[0]!)).toEqual([expect.stringMatching(/: 1 wei \+ \d+ gas/)]);
      await expect(tester.mine({ blocks: 1 })).rejects.toThrow(/not found|not exist/i);
      await expect(tester.setBalance({ address: OTHER, value: RICH_BALANCE })).rejects.toThrow(/not found|not exist/i);
      await tools.node.buildBlock();
      await mined(hash);
    });
  });
};
describe("viem/op-stack against profile R", () => testProfile("R"));
describe("viem/op-stack against profile G", { tags: "long" }, () => testProfile("G"));
