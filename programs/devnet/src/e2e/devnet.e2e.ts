import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import {
  type Account,
  concatHex,
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  numberToHex,
  padHex,
  parseEther,
  parseEventLogs,
  parseGwei,
  webSocket,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  getL2TransactionHashes,
  getWithdrawals,
  publicActionsL1,
  publicActionsL2,
  walletActionsL1,
  walletActionsL2,
} from "viem/op-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, startDevnet } from "../devnet.ts";
import { type DevnetInfo, devnetPaths } from "../files.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { predeploy } from "../l2/predeploys.ts";
import { rpcCall } from "../rpc.ts";
import type { SyncStatus } from "../status.ts";
import { l1ViemChain, l2ViemChain } from "../viem-chains.ts";
import { ChainView, type OutputAtBlock, type Role } from "./chain-view.ts";
import { DevnetCli } from "./devnet-cli.ts";
import { waitFor } from "./wait.ts";

const datadir = mkdtempSync(join(tmpdir(), "rnode-e2e-"));
const runFile = promisify(execFile);
const bundle = loadContracts();
const abiOf = (name: string) => contract(bundle, name).abi;

describe("npm start", () => {
  let cli: DevnetCli;
  let startedMs: number;
  afterAll(async () => {
    cli.signal("SIGKILL");
    await cli.exited;
  });

  it("makes the first L2 block", async () => {
    startedMs = Date.now();
    cli = new DevnetCli(["--base-port=0", `--datadir=${datadir}`, "--status-interval=1s"]);
    const info = await waitFor("devnet.json", 50_000, readInfo);
    await waitFor("the first L2 block", 20_000, async () => {
      const number = Number(await rpcCall<Hex>(info.endpoints.sequencer.http, "eth_blockNumber"));
      return number > 0 ? number : undefined;
    });
    console.log(`first L2 block after ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
  });

  it("has a safe block on the verifier, with default block times", async () => {
    const info = readInfo()!;
    const safe = await waitFor("a safe block on the verifier", 60_000, async () => {
      const status = await rpcCall<SyncStatus>(info.endpoints.verifier.node, "rnode_syncStatus");
      return status.safe_l2.number > 0 ? status.safe_l2 : undefined;
    });
    console.log(`first safe block after ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
    const block = await rpcCall<{ hash: Hex }>(info.endpoints.sequencer.http, "eth_getBlockByNumber", [
      numberToHex(safe.number),
      false,
    ]);
    expect(safe.hash).toBe(block.hash);
  });

  it("prints endpoints, accounts, contracts and the status, and refuses a second one on its data", async () => {
    await waitFor("the last node, and the summary", 40_000, () => cli.output.includes("Ctrl-C stops everything.") || undefined);
    const info = readInfo()!;
    for (const text of [
      info.endpoints.l1,
      info.endpoints.sequencer.http,
      info.accounts[9]!.privateKey,
      info.contracts.l1.OptimismPortal,
      info.contracts.l2.L1Block,
    ]) {
      expect(cli.output).toContain(text);
    }
    for (const text of [info.endpoints.follower!.http, info.p2p!.follower!]) expect(cli.output).toContain(text);
    await waitFor("a status line with a batch", 10_000, () => cli.output.includes("| last batch L1 ") || undefined);
    const second = new DevnetCli(["--base-port=0", `--datadir=${datadir}`]);
    expect((await second.exited).code).toBe(1);
    expect(second.output).toContain(`a devnet is running on ${datadir}`);
  });

  it("stops cleanly on Ctrl-C", async () => {
    cli.signal("SIGINT");
    expect(await cli.exited).toEqual({ code: 0, signal: null });
    const { endpoints } = readInfo()!;
    for (const url of [endpoints.l1, endpoints.sequencer.http, endpoints.verifier.node]) {
      await expect(rpcCall(url, "eth_chainId")).rejects.toThrow("fetch failed");
    }
  });
});

describe("a devnet that goes on", () => {
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  /** further options of the follower's programs, at their next start */
  const late: { engine: (args: readonly string[]) => readonly string[]; node: readonly string[] } = {
    engine: (args) => args,
    node: [],
  };
  let devnet: Devnet;
  let view: ChainView;
  let before: { info: DevnetInfo };
  const L1_BLOCK_TIME = 2;

  beforeAll(async () => {
    before = { info: readInfo()! };
    devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      parameters: { l1BlockTimeSec: L1_BLOCK_TIME },
      nodes: 3,
      supervise: false,
      changeArgs: (name, args) =>
        name === "followerEngine" ? late.engine(args) : name === "followerNode" ? [...args, ...late.node] : args,
    });
    view = new ChainView(devnet);
  });
  afterAll(async () => {
    await scope.close();
  });

  const key = (index: number): Account => privateKeyToAccount(devnet.info.accounts[index]!.privateKey);
  const l1Client = () =>
    createPublicClient({ chain: l1ViemChain(devnet.info), transport: http(), pollingInterval: 300 }).extend(publicActionsL1());
  const l2Client = () =>
    createPublicClient({ chain: l2ViemChain(devnet.info), transport: http(), pollingInterval: 300 }).extend(publicActionsL2());
  const l1Wallet = (index: number) =>
    createWalletClient({ account: key(index), chain: l1ViemChain(devnet.info), transport: http() }).extend(walletActionsL1());
  const l2Wallet = (index: number) =>
    createWalletClient({ account: key(index), chain: l2ViemChain(devnet.info), transport: http() }).extend(walletActionsL2());
  const setConfig = async (functionName: string, args: readonly unknown[]): Promise<void> => {
    const hash = await l1Wallet(0).writeContract({
      address: devnet.info.contracts.l1.SystemConfig,
      abi: abiOf("SystemConfig"),
      functionName,
      args,
    });
    const receipt = await l1Client().waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
  };
  const verifierReaches = (number: number, timeoutMs = 40_000): Promise<number> =>
    waitFor(`safe block ${number} on the verifier`, timeoutMs, async () => {
      const safe = await view.safeNumber("verifier");
      // The node first moves its labels and then tells the engine.
      return safe >= number && (await view.unsafeNumber("verifier")) >= number ? safe : undefined;
    });
  const expectSameHash = async (number: number): Promise<void> => {
    expect(await view.blockHash("verifier", number)).toBe(await view.blockHash("sequencer", number));
  };
  const sendEther = async (index: number, to: Hex, value: bigint) => {
    const hash = await l2Wallet(index).sendTransaction({ to, value });
    return await l2Client().waitForTransactionReceipt({ hash });
  };

  it("is the chain of before", async () => {
    expect(devnet.isNew).toBe(false);
    expect(devnet.info.genesis).toEqual(before.info.genesis);
    expect(await view.blockHash("sequencer", 0)).toBe(before.info.genesis.l2);
    expect(await view.blockHash("verifier", 0)).toBe(before.info.genesis.l2);
    const head = await view.unsafeNumber("sequencer");
    expect(head).toBeGreaterThan(0);
    await waitFor("the next L2 block", 20_000, async () => ((await view.unsafeNumber("sequencer")) > head ? true : undefined));
  });

  it("passes blocks on from node to node: the last one, which knows only the verifier, has them before they are safe", async () => {
    interface Peers {
      readonly totalConnected: number;
      readonly peers: Readonly<Record<string, { readonly addresses: readonly string[] }>>;
    }
    const idOf = async (role: Role) => (await view.node<{ peerID: string }>(role, "rnodep2p_self")).peerID;
    const { peers, totalConnected } = await view.node<Peers>("follower", "rnodep2p_peers", [true]);
    expect([totalConnected, Object.keys(peers)]).toEqual([1, [await idOf("verifier")]]);

    for (let times = 0; times < 3; times++) {
      const { number } = (await view.syncStatus("sequencer")).unsafe_l2;
      await waitFor(`block ${number + 1} on the follower`, 30_000, async () =>
        (await view.syncStatus("follower")).unsafe_l2.number > number ? true : undefined,
      );
    }
    // The blocks that are not on L1 yet came over P2P.
    const { unsafe_l2: unsafe, safe_l2: safe } = await view.syncStatus("follower");
    expect(unsafe.number).toBeGreaterThan(safe.number);
    expect(unsafe.hash).toBe(await view.blockHash("sequencer", unsafe.number));
  });

  it("brings a transaction that is sent to the follower's rengine to the sequencer's", async () => {
    const { endpoints } = devnet.info;
    const chain = l2ViemChain(devnet.info);
    const wallet = createWalletClient({ account: key(9), chain, transport: http(endpoints.follower!.http) });
    const hash = await wallet.sendTransaction({ to: key(8).address, value: 7n });
    const receipt = await l2Client().waitForTransactionReceipt({ hash });
    expect(receipt.status).toBe("success");
    expect(await view.engine("follower", "net_peerCount")).toBe("0x2");
  });

  it("mints a deposit on L2", async () => {
    const value = parseEther("1.5");
    const receiver = key(7).address;
    const balance = await l2Client().getBalance({ address: receiver });
    const request = await l2Client().buildDepositTransaction({ account: key(6), mint: value, to: receiver });
    const l1Hash = await l1Wallet(6).depositTransaction(request);
    const l1Receipt = await l1Client().waitForTransactionReceipt({ hash: l1Hash });
    const [l2Hash] = getL2TransactionHashes(l1Receipt);
    const l2Receipt = await l2Client().waitForTransactionReceipt({ hash: l2Hash! });
    expect(l2Receipt.status).toBe("success");
    expect((await l2Client().getTransaction({ hash: l2Hash! })).type).toBe("deposit");
    expect(await l2Client().getBalance({ address: receiver })).toBe(balance + value);

    await verifierReaches(Number(l2Receipt.blockNumber));
    const onVerifier = await view.engine<Hex>("verifier", "eth_getBalance", [receiver, numberToHex(l2Receipt.blockNumber)]);
    expect(BigInt(onVerifier)).toBe(balance + value);
  });

  it("relays a deposit of the standard bridge", async () => {
    const value = parseEther("0.1");
    const address = key(9).address;
    const l1Hash = await l1Wallet(9).writeContract({
      address: devnet.info.contracts.l1.L1StandardBridge,
      abi: abiOf("L1StandardBridge"),
      functionName: "depositETH",
      args: [200_000, "0x"],
      value,
    });
    const [l2Hash] = getL2TransactionHashes(await l1Client().waitForTransactionReceipt({ hash: l1Hash }));
    const { status, blockNumber } = await l2Client().waitForTransactionReceipt({ hash: l2Hash! });
    expect(status).toBe("success");
    const balanceAt = (number: bigint) => l2Client().getBalance({ address, blockNumber: number });
    expect((await balanceAt(blockNumber)) - (await balanceAt(blockNumber - 1n))).toBe(value);
  });

  it("runs an ERC-20 through viem", async () => {
    const { abi, creationCode } = contract(bundle, "TestToken");
    const supply = parseEther("1000000");
    const owner = l2Wallet(5);
    const client = l2Client();
    const deployed = await client.waitForTransactionReceipt({
      hash: await owner.deployContract({ abi, bytecode: creationCode, args: ["Test", "TST", supply] }),
    });
    const address = deployed.contractAddress!;
    const read = (functionName: string, args: readonly unknown[] = []) => client.readContract({ address, abi, functionName, args });
    expect(await read("symbol")).toBe("TST");

    const to = key(8).address;
    const transfer = await client.waitForTransactionReceipt({
      hash: await owner.writeContract({ address, abi, functionName: "transfer", args: [to, 5n] }),
    });
    expect(await read("balanceOf", [to])).toBe(5n);
    expect(await read("balanceOf", [key(5).address])).toBe(supply - 5n);
    const [event] = parseEventLogs({ abi, eventName: "Transfer", logs: transfer.logs });
    expect(event).toMatchObject({ args: { from: key(5).address, to, value: 5n } });
    const logs = await client.getContractEvents({ address, abi, eventName: "Transfer", fromBlock: deployed.blockNumber });
    expect(logs.map(({ transactionHash }) => transactionHash)).toEqual([deployed.transactionHash, transfer.transactionHash]);

    const tooMuch = owner.writeContract({ address, abi, functionName: "transfer", args: [to, supply * 2n] });
    await expect(tooMuch).rejects.toThrow("InsufficientBalance");
  });

  it("pushes new heads over WebSocket", async () => {
    const client = createPublicClient({ chain: l2ViemChain(devnet.info), transport: webSocket() });
    const numbers: bigint[] = [];
    const unwatch = client.watchBlocks({ onBlock: ({ number }) => numbers.push(number) });
    await waitFor("two heads", 15_000, () => (numbers.length >= 2 ? true : undefined));
    unwatch();
    (await client.transport.getRpcClient()).close();
    expect(numbers[1]! - numbers[0]!).toBe(1n);
  });

  it("answers GasPriceOracle.l1BaseFee() with the L1 origin's base fee, and charges by it", { tags: "long" }, async () => {
    const vault = predeploy("L1FeeVault");
    const receipt = await sendEther(5, key(9).address, 1n);
    const { blockNumber } = receipt;
    const at = { blockNumber };
    const oracle = { address: predeploy("GasPriceOracle"), abi: abiOf("GasPriceOracle") } as const;
    const client = l2Client();
    const baseFee = await client.readContract({ ...oracle, functionName: "l1BaseFee", ...at });
    const originNumber = await client.readContract({
      address: predeploy("L1Block"),
      abi: abiOf("L1Block"),
      functionName: "number",
      ...at,
    });
    const origin = await l1Client().getBlock({ blockNumber: originNumber as bigint });
    expect(baseFee).toBe(origin.baseFeePerGas);
    expect(receipt.l1GasPrice).toBe(origin.baseFeePerGas);
    expect(receipt.l1Fee).toBeGreaterThan(0n);
    const paid =
      (await client.getBalance({ address: vault, ...at })) -
      (await client.getBalance({ address: vault, blockNumber: blockNumber - 1n }));
    expect(paid).toBe(receipt.l1Fee);
  });

  it("gives an output root that follows from the proof of a withdrawal", { tags: "long" }, async () => {
    const receiver = padHex("0xfeed", { size: 20 });
    const l2Hash = await l2Wallet(6).initiateWithdrawal({ request: { gas: 100_000n, to: receiver, value: parseEther("0.25") } });
    const receipt = await l2Client().waitForTransactionReceipt({ hash: l2Hash });
    const [withdrawal] = getWithdrawals(receipt);
    const number = Number(receipt.blockNumber);
    await verifierReaches(number);

    const outputRoot = await view.outputRoot("verifier", number);
    expect(outputRoot).toBe(await view.outputRoot("sequencer", number));
    const slot = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "uint256" }], [withdrawal!.withdrawalHash, 0n]));
    const address = predeploy("L2ToL1MessagePasser");
    const proof = await l2Client().getProof({ address, storageKeys: [slot], blockNumber: BigInt(number) });
    const block = await l2Client().getBlock({ blockNumber: BigInt(number) });
    expect(proof.storageProof[0]!.value).toBe(1n);
    const output = await view.node<OutputAtBlock>("verifier", "optimism_outputAtBlock", [numberToHex(number)]);
    expect(output.withdrawalStorageRoot).toBe(proof.storageHash);
    expect(output.stateRoot).toBe(block.stateRoot);
    expect(output.blockRef.hash).toBe(block.hash);
    expect(outputRoot).toBe(keccak256(concatHex([padHex("0x", { size: 32 }), block.stateRoot, proof.storageHash, block.hash])));
  });

  it("stops and starts the sequencer by the admin API", { tags: "long" }, async () => {
    expect(await view.node("sequencer", "admin_sequencerActive")).toBe(true);
    expect(await view.node("sequencer", "admin_stopSequencer")).toBeNull();
    const number = await view.unsafeNumber("sequencer");
    expect(await view.node("sequencer", "admin_sequencerActive")).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 2.5 * devnet.info.parameters.l2BlockTimeSec * 1000));
    expect(await view.unsafeNumber("sequencer")).toBe(number);

    await expect(view.node("sequencer", "admin_startSequencer", [padHex("0x01", { size: 32 })])).rejects.toThrow();
    await view.node("sequencer", "admin_startSequencer", [await view.blockHash("sequencer", number)]);
    expect(await view.node("sequencer", "admin_sequencerActive")).toBe(true);
    await waitFor("new blocks", 20_000, async () => ((await view.unsafeNumber("sequencer")) > number ? true : undefined));
    await expectSameHashAfterDerivation(number + 1);
  });

  it("applies gas limit and fee updates of SystemConfig on both nodes", { tags: "long" }, async () => {
    await setConfig("setGasLimit", [45_000_000n]);
    await setConfig("setGasConfigEcotone", [2000, 3000]);
    await setConfig("setOperatorFeeScalars", [10, 777n]);
    await setConfig("setMinBaseFee", [parseGwei("0.5")]);
    const client = l2Client();
    const l1Block = { address: predeploy("L1Block"), abi: abiOf("L1Block") } as const;
    const number = await waitFor("the updates on the sequencer", 30_000, async () => {
      const block = await client.getBlock();
      const blockNumber = block.number;
      const scalar = await client.readContract({ ...l1Block, functionName: "baseFeeScalar", blockNumber });
      const constant = await client.readContract({ ...l1Block, functionName: "operatorFeeConstant", blockNumber });
      const isDone = block.gasLimit === 45_000_000n && scalar === 2000 && constant === 777n;
      return isDone && block.extraData.endsWith(numberToHex(parseGwei("0.5"), { size: 8 }).slice(2)) ? blockNumber : undefined;
    });

    const vault = predeploy("OperatorFeeVault");
    const receipt = await sendEther(5, key(9).address, 1n);
    const at = (blockNumber: bigint) => client.getBalance({ address: vault, blockNumber });
    const paid = (await at(receipt.blockNumber)) - (await at(receipt.blockNumber - 1n));
    expect(paid).toBe(receipt.gasUsed * 10n * 100n + 777n);
    expect(receipt.blockNumber).toBeGreaterThanOrEqual(number);

    await verifierReaches(Number(receipt.blockNumber));
    await expectSameHash(Number(receipt.blockNumber));
    const onVerifier = await view.engine<{ gasLimit: Hex; extraData: Hex }>("verifier", "eth_getBlockByNumber", [
      numberToHex(receipt.blockNumber),
      false,
    ]);
    expect(Number(onVerifier.gasLimit)).toBe(45_000_000);
  });

  const killOrder = ["batcher", "sequencerNode", "sequencerEngine", "verifierNode", "verifierEngine"] as const;
  for (const name of killOrder)
    it(`loses nothing when ${name} is killed and started again`, { tags: name === "sequencerNode" ? [] : "long" }, async () => {
      const sent = await sendEther(5, key(9).address, 1n);
      const number = Number(sent.blockNumber);
      const hash = await view.blockHash("sequencer", number);
      const safe = await view.safeNumber("verifier");
      const safeHash = await view.blockHash("verifier", safe);

      expect((await devnet.programs[name].kill("SIGKILL")).signal).toBe("SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await devnet.programs[name].start();

      expect(await view.blockHash("sequencer", number)).toBe(hash);
      expect(await view.blockHash("verifier", safe)).toBe(safeHash);
      await waitFor(`blocks after the restart of ${name}`, 30_000, async () =>
        (await view.unsafeNumber("sequencer")) > number + 1 ? true : undefined,
      );
      await verifierReaches(number);
      expect(await view.blockHash("verifier", number)).toBe(hash);
      expect(await view.blockHash("sequencer", number)).toBe(hash);
    });

  it("follows an L1 reorganisation three blocks deep", { tags: "long" }, async () => {
    const l1Head = async (): Promise<number> => Number(await view.l1<Hex>("eth_blockNumber"));
    const l1Hash = async (number: number): Promise<Hex> =>
      (await view.l1<{ hash: Hex }>("eth_getBlockByNumber", [numberToHex(number), false])).hash;
    const snapshot = await view.l1<Hex>("evm_snapshot");
    const fork = await l1Head();

    // A deposit that the reorganisation undoes; the verifier derives three blocks on top of the fork point.
    const undone = key(7).address;
    const undoneRequest = await l2Client().buildDepositTransaction({ account: key(7), mint: 1n, to: undone });
    const undoneReceipt = await l1Client().waitForTransactionReceipt({ hash: await l1Wallet(7).depositTransaction(undoneRequest) });
    const [undoneHash] = getL2TransactionHashes(undoneReceipt);
    await l2Client().waitForTransactionReceipt({ hash: undoneHash! });
    await waitFor("three L1 blocks", 20_000, async () => ((await l1Head()) >= fork + 3 ? true : undefined));
    await waitFor("the verifier to have seen them", 20_000, async () =>
      (await view.syncStatus("verifier")).current_l1.number >= fork + 3 ? true : undefined,
    );

    await view.l1("evm_setIntervalMining", [0]);
    const depth = (await l1Head()) - fork;
    expect(depth).toBeGreaterThanOrEqual(3);
    const oldHashes = await Promise.all([1, 2, 3].map((above) => l1Hash(fork + above)));
    expect(await view.l1("evm_revert", [snapshot])).toBe(true);
    expect(await l1Head()).toBe(fork);
    await view.l1("anvil_dropAllTransactions");
    // Four blocks, so that the new chain is the longer one; one of them contains a different deposit.
    const forkTime = Number((await view.l1<{ timestamp: Hex }>("eth_getBlockByNumber", [numberToHex(fork), false])).timestamp);
    const nowSec = Math.floor(Date.now() / 1000);
    const step = Math.max(1, Math.floor((nowSec - forkTime) / (depth + 1)));
    const request = await l2Client().buildDepositTransaction({ account: key(8), mint: parseEther("3"), to: key(8).address });
    const newDeposit = await l1Wallet(8).depositTransaction(request);
    for (let above = 1; above <= depth + 1; above++) {
      await view.l1("evm_setNextBlockTimestamp", [forkTime + above * step]);
      await view.l1("evm_mine");
    }
    await view.l1("evm_setIntervalMining", [L1_BLOCK_TIME]);
    const newHashes = await Promise.all([1, 2, 3].map((above) => l1Hash(fork + above)));
    for (const [index, hash] of newHashes.entries()) expect(hash).not.toBe(oldHashes[index]);

    const newReceipt = await l1Client().waitForTransactionReceipt({ hash: newDeposit });
    const [newHash] = getL2TransactionHashes(newReceipt);
    const minted = await l2Client().waitForTransactionReceipt({ hash: newHash! });
    expect(minted.status).toBe("success");
    await verifierReaches(Number(minted.blockNumber), 60_000);
    await expectSameHash(Number(minted.blockNumber));
    for (const role of ["sequencer", "verifier"] as const) {
      expect(await view.engine(role, "eth_getTransactionReceipt", [undoneHash])).toBeNull();
      const { safe_l2: safe } = await view.syncStatus(role);
      expect(safe.l1origin.hash).toBe(await l1Hash(safe.l1origin.number));
    }
  });

  it("finalizes what L1 has finalized", { tags: "long" }, async () => {
    const finalized = await waitFor("a finalized L2 block on both nodes", 40_000, async () => {
      const both = await Promise.all([view.syncStatus("sequencer"), view.syncStatus("verifier")]);
      const number = Math.min(...both.map(({ finalized_l2 }) => finalized_l2.number));
      return number > 0 ? number : undefined;
    });
    const block = await view.engine<{ number: Hex }>("verifier", "eth_getBlockByNumber", ["finalized", false]);
    expect(Number(block.number)).toBeGreaterThanOrEqual(finalized);
  });

  it("rnode resync takes the engine back, even its finalized block, and the node derives the same chain again", {
    tags: "long",
  }, async () => {
    const { safe_l2: safe, finalized_l2: finalized } = await view.syncStatus("verifier");
    const from = Math.max(0, finalized.number - 3);
    expect(finalized.number).toBeGreaterThan(from);
    const hash = await view.blockHash("verifier", safe.number);
    const { verifierNode } = devnet.programs;
    expect((await verifierNode.stop()).code).toBe(0);

    const [rnode, ...options] = verifierNode.spec.args();
    const { stdout } = await runFile(verifierNode.spec.command, [rnode!, "resync", `--from=${from}`, ...options]);
    expect(stdout).toMatch(new RegExp(`the execution client went back from block \\d+ to ${from} 0x`));
    for (const label of ["latest", "safe", "finalized"]) {
      const block = await view.engine<{ number: Hex }>("verifier", "eth_getBlockByNumber", [label, false]);
      expect([label, Number(block.number)]).toEqual([label, from]);
    }
    expect(await view.blockHash("verifier", safe.number)).toBeUndefined();

    await verifierNode.start();
    await verifierReaches(safe.number, 60_000);
    expect(await view.blockHash("verifier", safe.number)).toBe(hash);
  });

  it("has a late follower get its blocks from the sequencer's rengine, also when it is killed in the midst", {
    tags: "long",
  }, async () => {
    const { followerEngine, followerNode } = devnet.programs;
    await followerNode!.stop();
    await followerEngine!.stop();
    rmSync(devnetPaths(datadir).engine("follower"), { recursive: true });
    // Lets through what two nodes say to introduce themselves, and little more, until it is opened.
    let isOpen = false;
    const sequencer = /@127\.0\.0\.1:(\d+)/;
    const gate = createServer((near) => {
      const far = connect(Number(sequencer.exec(enode)![1]), "127.0.0.1");
      let passed = 0;
      near.on("data", (data) => far.write(data));
      far.on("data", (data) => {
        passed += data.length;
        if (isOpen || passed <= 4_096) near.write(data);
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const)
        one.on("error", () => {}).on("close", () => other.destroy());
    });
    await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
    let enode = "";
    late.engine = (args) =>
      args.map((arg) => {
        if (!arg.startsWith("--trusted-peers=")) return arg;
        enode = arg.split("=")[1]!.split(",")[0]!;
        return `--trusted-peers=${enode.replace(sequencer, `@127.0.0.1:${(gate.address() as AddressInfo).port}`)}`;
      });
    late.node = ["--syncmode=execution-layer"];
    try {
      const head = await view.unsafeNumber("sequencer");
      await followerEngine!.start();
      await followerNode!.start();
      interface Syncing {
        readonly currentBlock: Hex;
        readonly highestBlock: Hex;
      }
      await waitFor("the sync", 30_000, async () => {
        const status = await view.engine<Syncing | false>("follower", "eth_syncing");
        return (status !== false && Number(status.highestBlock) > Number(status.currentBlock)) || undefined;
      });
      await followerEngine!.kill("SIGKILL");
      isOpen = true;
      await followerEngine!.start();
      await waitFor(`block ${head} on the follower`, 40_000, async () =>
        (await view.unsafeNumber("follower")) >= head ? true : undefined,
      );
      expect(await view.hashes("follower", head)).toEqual(await view.hashes("sequencer", head));
      await waitFor("the end of the sync", 20_000, () => followerLog().includes("execution-layer sync is finished") || undefined);
    } finally {
      gate.close();
    }
  });
  const followerLog = (): string => readFileSync(devnet.programs.followerNode!.spec.logPath, "utf8");

  it("has 50 or more L2 blocks with the same hashes on all nodes", { tags: "long" }, async () => {
    const last = await verifierReaches(Math.max(50, await view.unsafeNumber("sequencer")), 60_000);
    const [onSequencer, onVerifier] = await Promise.all([view.hashes("sequencer", last), view.hashes("verifier", last)]);
    expect(onSequencer.length).toBeGreaterThan(50);
    expect(onSequencer).not.toContain(undefined);
    expect(onVerifier).toEqual(onSequencer);
    await waitFor(`safe block ${last} on the follower`, 40_000, async () =>
      (await view.safeNumber("follower")) >= last ? true : undefined,
    );
    expect(await view.hashes("follower", last)).toEqual(onSequencer);
  });

  async function expectSameHashAfterDerivation(number: number): Promise<void> {
    await verifierReaches(number);
    await expectSameHash(number);
  }
});

function readInfo(): DevnetInfo | undefined {
  try {
    return JSON.parse(readFileSync(join(datadir, "devnet.json"), "utf8")) as DevnetInfo;
  } catch {
    return undefined;
  }
}
