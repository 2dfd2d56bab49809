import {
  type Abi,
  createPublicClient,
  createWalletClient,
  defineChain,
  type Hex,
  http,
  parseEther,
  type TransactionReceipt,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { devAccounts, devRoles } from "../accounts.ts";
import { predeploy } from "../l2/predeploys.ts";
import { type ChainParameters, DEFAULT_PARAMETERS } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import { type AnvilFixture, startAnvil } from "../testing/anvil-fixture.ts";
import { contract, loadContracts } from "./contracts.ts";
import { type L1Addresses, planL1Deployment } from "./l1-contracts.ts";
import { deployL1, type L1Genesis } from "./l1-deploy.ts";

const CONFIG_UPDATE = "0x1d2b0bda21d56b8bd12d4f94ebacffdfb35f5e226f84b461103bb8beab6353be";
const TRANSACTION_DEPOSITED = "0xb3813568d9991fc951961fcb4c784893574240a28925604d09fc577c55bb7c32";

const bundle = loadContracts();
const accounts = devAccounts();
const roles = devRoles(accounts);
const user = accounts[5]!;

describe("the L1 side of the bridge on anvil", () => {
  let anvil: AnvilFixture;
  let l1: L1Addresses;
  let genesis: L1Genesis;
  const chainAt = (url: string) =>
    defineChain({
      id: DEFAULT_PARAMETERS.l1ChainId,
      name: "L1",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [url] } },
    });

  beforeAll(async () => {
    anvil = await startAnvil(DEFAULT_PARAMETERS);
    const plan = planL1Deployment(bundle, roles, DEFAULT_PARAMETERS);
    l1 = plan.addresses;
    genesis = await deployL1(anvil.url, plan, roles, DEFAULT_PARAMETERS, bundle.preinstalls.MultiCall3);
    await rpcCall(anvil.url, "evm_setAutomine", [true]);
  });
  afterAll(async () => {
    await anvil.close();
  });

  const read = (address: Hex, name: string, functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
    createPublicClient({ chain: chainAt(anvil.url), transport: http() }).readContract({
      address,
      abi: contract(bundle, name).abi,
      functionName,
      args,
    });

  const write = async (
    privateKey: Hex,
    address: Hex,
    abi: Abi,
    functionName: string,
    args: readonly unknown[],
    value = 0n,
  ): Promise<TransactionReceipt> => {
    const chain = chainAt(anvil.url);
    const wallet = createWalletClient({ account: privateKeyToAccount(privateKey), chain, transport: http() });
    const hash = await wallet.writeContract({ address, abi, functionName, args, value });
    return createPublicClient({ chain, transport: http() }).waitForTransactionReceipt({ hash, pollingInterval: 50 });
  };

  it("is complete in the genesis block, which is the present", async () => {
    expect(Math.abs(genesis.timestampSec - Date.now() / 1000)).toBeLessThan(30);
    expect(await read(l1.L2OutputOracle!, "L2OutputOracle", "startingTimestamp")).toBe(BigInt(genesis.timestampSec));
    expect(await read(l1.OptimismPortal, "OptimismPortal", "l2Oracle")).toBe(l1.L2OutputOracle);
    expect(await read(l1.OptimismPortal, "OptimismPortal", "systemConfig")).toBe(l1.SystemConfig);
    expect(await read(l1.OptimismPortal, "OptimismPortal", "paused")).toBe(false);
    expect(await read(l1.L1CrossDomainMessenger, "L1CrossDomainMessenger", "portal")).toBe(l1.OptimismPortal);
    expect(await read(l1.L1CrossDomainMessenger, "L1CrossDomainMessenger", "otherMessenger")).toBe(
      predeploy("L2CrossDomainMessenger"),
    );
    expect(await read(l1.L1StandardBridge, "L1StandardBridge", "messenger")).toBe(l1.L1CrossDomainMessenger);
    expect(await read(l1.L1ERC721Bridge, "L1ERC721Bridge", "messenger")).toBe(l1.L1CrossDomainMessenger);
    expect(await read(l1.OptimismMintableERC20Factory, "OptimismMintableERC20Factory", "bridge")).toBe(l1.L1StandardBridge);
  });

  it("deposits ether through the portal and through the bridge", async () => {
    const portal = contract(bundle, "OptimismPortal").abi;
    const direct = await write(
      user.privateKey,
      l1.OptimismPortal,
      portal,
      "depositTransaction",
      [user.address, parseEther("1"), 100_000n, false, "0x"],
      parseEther("1"),
    );
    expect(direct.status).toBe("success");
    expect(direct.logs.map(({ address, topics }) => [address, topics[0]])).toEqual([
      [l1.OptimismPortal.toLowerCase(), TRANSACTION_DEPOSITED],
    ]);

    const bridge = contract(bundle, "L1StandardBridge").abi;
    const bridged = await write(user.privateKey, l1.L1StandardBridge, bridge, "depositETH", [200_000, "0x"], parseEther("2"));
    expect(bridged.status).toBe("success");
    expect(bridged.logs.some(({ topics }) => topics[0] === TRANSACTION_DEPOSITED)).toBe(true);
  });

  const word = (hex: string): string => hex.padStart(64, "0");
  const batcher = "0x00000000000000000000000000000000000000b1";
  const updates: [setter: string, args: readonly unknown[], type: number, payload: string, getter: string, value: unknown][] = [
    ["setBatcherHash", [`0x${word("b1")}`], 0, word("b1"), "batcherHash", `0x${word("b1")}`],
    ["setGasConfig", [188n, 684_000n], 1, word("bc") + word("a6fe0"), "overhead", 188n],
    [
      "setGasConfigEcotone",
      [1000, 2000],
      1,
      `${word("bc")}01${"00".repeat(23)}000007d0000003e8`,
      "scalar",
      (1n << 248n) | (2000n << 32n) | 1000n,
    ],
    ["setGasLimit", [45_000_000n], 2, word("2aea540"), "gasLimit", 45_000_000n],
    ["setUnsafeBlockSigner", [batcher], 3, word("b1"), "unsafeBlockSigner", "0x00000000000000000000000000000000000000b1"],
    ["setEIP1559Params", [250, 4], 4, word("fa00000004"), "eip1559Denominator", 250],
    ["setOperatorFeeScalars", [7, 9n], 5, word("70000000000000009"), "operatorFeeConstant", 9n],
    ["setMinBaseFee", [257n], 6, word("101"), "minBaseFee", 257n],
    ["setDAFootprintGasScalar", [500], 7, word("1f4"), "daFootprintGasScalar", 500],
  ];

  it.each(updates)("%s announces itself", async (setter, args, type, payload, getter, value) => {
    const abi = contract(bundle, "SystemConfig").abi.filter(
      // two overloads: the one with a single word is meant
      (item) => !(item.type === "function" && item.name === "setBatcherHash" && item.inputs[0]?.type === "address"),
    );
    const receipt = await write(roles.owner.privateKey, l1.SystemConfig, abi, setter, args);
    const [log] = receipt.logs;
    expect(receipt.logs).toHaveLength(1);
    expect(log?.topics).toEqual([CONFIG_UPDATE, `0x${word("")}`, `0x${word(type.toString(16))}`]);
    const sizeHex = (payload.length / 2).toString(16);
    expect(log?.data).toBe(`0x${word("20")}${word(sizeHex)}${payload}`);
    const result = await read(l1.SystemConfig, "SystemConfig", getter);
    expect(typeof result === "string" ? result.toLowerCase() : result).toBe(value);
  });

  it.each([
    ["a stranger", user.privateKey, "setGasLimit", [45_000_000n]],
    ["a gas limit below what deposits may use", roles.owner.privateKey, "setGasLimit", [20_999_999n]],
    ["a gas limit above the maximum", roles.owner.privateKey, "setGasLimit", [500_000_001n]],
    ["a zero denominator", roles.owner.privateKey, "setEIP1559Params", [0, 6]],
    ["a zero elasticity", roles.owner.privateKey, "setEIP1559Params", [50, 0]],
    ["a scalar of another version", roles.owner.privateKey, "setGasConfig", [0n, 2n << 248n]],
  ] as const)("refuses %s", async (_, key, setter, args) => {
    const abi = contract(bundle, "SystemConfig").abi;
    await expect(write(key, l1.SystemConfig, abi, setter, args)).rejects.toThrow(/NotOwner|OutOfRange/);
  });

  it("cannot be initialized again", async () => {
    const { abi } = contract(bundle, "SystemConfig");
    const parameters = {
      batcherHash: `0x${word("b1")}`,
      basefeeScalar: 1,
      blobbasefeeScalar: 1,
      gasLimit: 60_000_000n,
      unsafeBlockSigner: user.address,
      eip1559Denominator: 0,
      eip1559Elasticity: 0,
      minBaseFee: 0n,
      daFootprintGasScalar: 0,
      batchInbox: user.address,
      l2ChainId: 1n,
    };
    const resource = await read(l1.SystemConfig, "SystemConfig", "resourceConfig");
    const addresses = await read(l1.SystemConfig, "SystemConfig", "getAddresses");
    const args = [user.address, parameters, resource, addresses];
    await expect(write(user.privateKey, l1.SystemConfig, abi, "initialize", args)).rejects.toThrow("AlreadyInitialized");
  });
});

describe("the L1 side with dispute games and a challenge contract for data", () => {
  const parameters: ChainParameters = {
    ...DEFAULT_PARAMETERS,
    proofs: "games",
    altDa: { commitments: "keccak256", challengeWindow: 16, resolveWindow: 8 },
  };
  let anvil: AnvilFixture;
  let l1: L1Addresses;
  beforeAll(async () => {
    anvil = await startAnvil(parameters);
    const plan = planL1Deployment(bundle, roles, parameters);
    l1 = plan.addresses;
    await deployL1(anvil.url, plan, roles, parameters, undefined);
  });
  afterAll(async () => {
    await anvil.close();
  });
  const read = (address: Hex, name: string, functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
    createPublicClient({ transport: http(anvil.url) }).readContract({
      address,
      abi: contract(bundle, name).abi,
      functionName,
      args,
    });

  it("has a portal that respects the permissioned games of its factory", async () => {
    expect(l1.L2OutputOracle).toBeUndefined();
    const portal = (functionName: string) => read(l1.OptimismPortal, "OptimismPortal2", functionName);
    expect(await portal("disputeGameFactory")).toBe(l1.DisputeGameFactory);
    expect(await portal("respectedGameType")).toBe(1);
    expect(await portal("proofMaturityDelaySeconds")).toBe(BigInt(parameters.finalizationPeriodSec));
    const game = (await read(l1.DisputeGameFactory!, "DisputeGameFactory", "gameImpls", [1])) as Hex;
    const ofGame = (functionName: string) => read(game, "PermissionedDisputeGame", functionName);
    expect(await ofGame("proposer")).toBe(roles.proposer.address);
    expect(await ofGame("challenger")).toBe(roles.challenger.address);
    expect(await ofGame("anchorStateRegistry")).toBe(l1.AnchorStateRegistry);
    expect(await ofGame("l2ChainId")).toBe(BigInt(parameters.l2ChainId));
    expect(await ofGame("weth")).toBe(l1.DelayedWETH);
    expect(await read(l1.DelayedWETH!, "DelayedWETH", "config")).toBe(l1.SuperchainConfig);
  });

  it("has the windows of the challenge contract", async () => {
    const ofContract = (functionName: string) => read(l1.DataAvailabilityChallenge!, "DataAvailabilityChallenge", functionName);
    expect(await ofContract("challengeWindow")).toBe(16n);
    expect(await ofContract("resolveWindow")).toBe(8n);
  });
});
