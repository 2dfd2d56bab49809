import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { flzCompressLength } from "@rnode/protocol";
import {
  concatHex,
  createPublicClient,
  defineChain,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  numberToHex,
  parseEther,
  toHex,
} from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { devAccounts, devRoles } from "../accounts.ts";
import { contract, loadContracts } from "../l1/contracts.ts";
import { planL1Deployment } from "../l1/l1-contracts.ts";
import { DEFAULT_PARAMETERS } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import { type AnvilFixture, startAnvil } from "../testing/anvil-fixture.ts";
import { constructorRunner, createL2Genesis, type GenesisAlloc } from "./l2-genesis.ts";
import { PREDEPLOYS, type PredeployName, predeploy } from "./predeploys.ts";

const DEPOSITOR = "0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001";
const bundle = loadContracts();
const accounts = devAccounts();
const roles = devRoles(accounts);
const l1 = planL1Deployment(bundle, roles, DEFAULT_PARAMETERS).addresses;

/** Two transactions of docs/protocol/06-testing.md#fee-vectors. */
const T1 = "0xdd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080";
const T2: Hex = `0x${[
  "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8",
  "e41ef24f3f000000000000000000000000000000000000000000000000000000000000006e0000000000000000000000",
  "00af88d065e77c8cc2239327c5edb3a432268e5831000000000000000000000000000000000000000000000000000000",
  "000003c1e500000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000a0000000000000000000000000000000000000000000000000000000",
  "00000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2c",
  "ba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec0644",
  "9cb922b93b6a12744e",
].join("")}`;

/** Runs the L2's genesis state in another EVM: anvil takes the place of the engine. */
describe("the L2 genesis state", () => {
  let anvil: AnvilFixture;
  let alloc: GenesisAlloc;
  let probe: Hex;

  beforeAll(async () => {
    const runner = await startAnvil(DEFAULT_PARAMETERS);
    const genesis = await createL2Genesis({
      bundle,
      parameters: DEFAULT_PARAMETERS,
      roles,
      accounts,
      l1,
      genesisTimeSec: 1_700_000_000,
      runConstructor: constructorRunner(runner.url),
    });
    await runner.close();
    alloc = (genesis as { alloc: GenesisAlloc }).alloc;
    anvil = await startAnvil(DEFAULT_PARAMETERS, (folder) => {
      const path = join(folder, "genesis.json");
      writeFileSync(path, JSON.stringify(genesis));
      const chain = ["--chain-id", String(DEFAULT_PARAMETERS.l2ChainId), "--hardfork", "prague"];
      return [...chain, "--init", path, "--accounts", "0", "--auto-impersonate", "--gas-price", "0", "--base-fee", "0"];
    });
    const { abi, creationCode } = contract(bundle, "FastLzProbe");
    probe = await send(roles.owner.address, undefined, encodeDeployData({ abi, bytecode: creationCode })).then(
      ({ contractAddress }) => contractAddress!,
    );
  });
  afterAll(async () => {
    await anvil.close();
  });

  const send = async (from: Hex, to: Hex | undefined, data: Hex): Promise<{ status: Hex; contractAddress: Hex | null }> => {
    const transaction = { from, data, gas: numberToHex(10_000_000), gasPrice: "0x0", ...(to === undefined ? {} : { to }) };
    const hash = await rpcCall<Hex>(anvil.url, "eth_sendTransaction", [transaction]);
    await rpcCall(anvil.url, "evm_mine");
    const receipt = await rpcCall<{ status: Hex; contractAddress: Hex | null } | null>(anvil.url, "eth_getTransactionReceipt", [
      hash,
    ]);
    expect(receipt?.status).toBe("0x1");
    return receipt!;
  };
  const read = (address: Hex, name: string, functionName: string, args: readonly unknown[] = []): Promise<unknown> => {
    const chain = defineChain({
      id: DEFAULT_PARAMETERS.l2ChainId,
      name: "L2",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [anvil.url] } },
    });
    const client = createPublicClient({ chain, transport: http() });
    return client.readContract({ address, abi: contract(bundle, name).abi, functionName, args });
  };
  const ask = (name: PredeployName, functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
    read(predeploy(name), name, functionName, args);

  interface L1Values {
    baseFee: bigint;
    blobBaseFee: bigint;
    baseFeeScalar: number;
    blobBaseFeeScalar: number;
    operatorFeeScalar: number;
    operatorFeeConstant: bigint;
  }
  const setJovian = (values: L1Values): Promise<unknown> =>
    send(
      DEPOSITOR,
      predeploy("L1Block"),
      concatHex([
        "0x3db6be2b",
        toHex(values.baseFeeScalar, { size: 4 }),
        toHex(values.blobBaseFeeScalar, { size: 4 }),
        toHex(5, { size: 8 }),
        toHex(1_713_121_139, { size: 8 }),
        toHex(19_655_712, { size: 8 }),
        toHex(values.baseFee, { size: 32 }),
        toHex(values.blobBaseFee, { size: 32 }),
        `0x${"22".repeat(32)}`,
        `0x${"00".repeat(12)}${"68".repeat(20)}`,
        toHex(values.operatorFeeScalar, { size: 4 }),
        toHex(values.operatorFeeConstant, { size: 8 }),
        toHex(400, { size: 2 }),
      ]),
    );
  const t1Values: L1Values = {
    baseFee: 1_000_000_000n,
    blobBaseFee: 10_000_000n,
    baseFeeScalar: 2,
    blobBaseFeeScalar: 3,
    operatorFeeScalar: 1000,
    operatorFeeConstant: 10n,
  };

  it("has proxies in the whole namespace and the dev accounts' money", async () => {
    const proxyCode = contract(bundle, "Proxy").runtimeCode;
    for (const suffix of ["0000", "0001", "0015", "0042", "0300", "07ff"]) {
      expect(alloc[`0x420000000000000000000000000000000000${suffix}`]?.code).toBe(proxyCode);
    }
    expect(alloc["0x4200000000000000000000000000000000000800"]).toBeUndefined();
    expect(alloc[predeploy("WETH")]?.code).toBe(contract(bundle, "WETH").runtimeCode);
    for (const { address } of accounts) expect(BigInt(alloc[address.toLowerCase() as Hex]!.balance)).toBe(parseEther("10000"));
  });

  it("answers through every proxy", async () => {
    for (const name of Object.keys(PREDEPLOYS) as PredeployName[]) {
      const { abi } = contract(bundle, name);
      const hasVersion = abi.some((item) => item.type === "function" && item.name === "version");
      if (hasVersion) expect(await ask(name, "version")).toMatch(/^\d+\.\d+\.\d+/);
      else expect(["ProxyAdmin"]).toContain(name);
    }
    expect(await ask("ProxyAdmin", "owner")).toBe(roles.owner.address);
    expect(await ask("L2CrossDomainMessenger", "otherMessenger")).toBe(l1.L1CrossDomainMessenger);
    expect(await ask("L2CrossDomainMessenger", "messageNonce")).toBe(1n << 240n);
    expect(await ask("L2StandardBridge", "otherBridge")).toBe(l1.L1StandardBridge);
    expect(await ask("L2StandardBridge", "messenger")).toBe(predeploy("L2CrossDomainMessenger"));
    expect(await ask("L2ERC721Bridge", "otherBridge")).toBe(l1.L1ERC721Bridge);
    expect(await ask("L2ERC721Bridge", "messenger")).toBe(predeploy("L2CrossDomainMessenger"));
    expect(await ask("OptimismMintableERC20Factory", "bridge")).toBe(predeploy("L2StandardBridge"));
    expect(await ask("OptimismMintableERC721Factory", "BRIDGE")).toBe(predeploy("L2ERC721Bridge"));
    expect(await ask("OperatorFeeVault", "RECIPIENT")).toBe(roles.owner.address);
    expect(await ask("SequencerFeeVault", "RECIPIENT")).toBe(roles.owner.address);
    expect(await ask("WETH", "symbol")).toBe("WETH");
    expect(await ask("EAS", "getName")).toBe("EAS");
  });

  it("cannot be initialized again, neither proxy nor implementation", async () => {
    const { abi } = contract(bundle, "L2StandardBridge");
    const data = encodeFunctionData({ abi, functionName: "initialize", args: [roles.owner.address] });
    for (const to of [predeploy("L2StandardBridge"), "0xc0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d3c0d30010"]) {
      await expect(rpcCall(anvil.url, "eth_call", [{ to, data }, "latest"])).rejects.toThrow("already initialized");
    }
  });

  it("has the preinstalls, with the code their specifications fix", async () => {
    const codeOf = (address: Hex): Hex => alloc[address.toLowerCase() as Hex]!.code!;
    expect(keccak256(codeOf("0x0000F90827F1C53a10cb7A02335B175320002935"))).toBe(
      "0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d",
    );
    expect(keccak256(codeOf("0x13b0D85CcB8bf860b6b79AF3029fCA081AE9beF2"))).toBe(
      "0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2",
    );
    for (const address of ["0xcA11bde05977b3631167028862bE2a173976CA11", "0x4e59b44847b379578588920cA78FbF26c0B4956C"] as const) {
      expect(codeOf(address).length).toBeGreaterThan(100);
    }
    // Permit2 compares the chain id it was built for with the current one
    const separator = await rpcCall<Hex>(anvil.url, "eth_call", [
      { to: "0x000000000022D473030F116dDEE9F6B43aC78BA3", data: "0x3644e515" },
      "latest",
    ]);
    const cached = codeOf("0x000000000022D473030F116dDEE9F6B43aC78BA3");
    expect(cached).toContain(separator.slice(2));
  });

  it("keeps L1 values in the slots that execution clients read", async () => {
    await setJovian({ ...t1Values, operatorFeeScalar: 0xabcd, operatorFeeConstant: 0xdcban });
    const slot = (index: number): Promise<Hex> =>
      rpcCall(anvil.url, "eth_getStorageAt", [predeploy("L1Block"), numberToHex(index), "latest"]);
    expect(await slot(0)).toBe(`0x${"00".repeat(16)}00000000661c277300000000012bec20`);
    expect(BigInt(await slot(1))).toBe(t1Values.baseFee);
    expect(await slot(2)).toBe(`0x${"22".repeat(32)}`);
    expect(await slot(3)).toBe(`0x${"00".repeat(16)}00000002000000030000000000000005`);
    expect(await slot(4)).toBe(`0x${"00".repeat(12)}${"68".repeat(20)}`);
    expect(BigInt(await slot(7))).toBe(t1Values.blobBaseFee);
    expect(await slot(8)).toBe(`0x${"00".repeat(18)}01900000abcd000000000000dcba`);
    expect(await ask("L1Block", "daFootprintGasScalar")).toBe(400);
    expect(await ask("L1BlockNumber", "getL1BlockNumber")).toBe(19_655_712n);
  });

  it("takes L1 values only from the depositor and only at their length", async () => {
    const to = predeploy("L1Block");
    const call = (from: Hex, data: Hex): Promise<unknown> => rpcCall(anvil.url, "eth_call", [{ from, to, data }, "latest"]);
    await expect(call(roles.owner.address, "0x3db6be2b")).rejects.toThrow();
    await expect(call(DEPOSITOR, "0x3db6be2b")).rejects.toThrow();
    await expect(call(DEPOSITOR, concatHex(["0x3db6be2b", `0x${"00".repeat(174)}`]))).resolves.toBe("0x");
    await expect(call(DEPOSITOR, concatHex(["0x098999be", `0x${"00".repeat(172)}`]))).resolves.toBe("0x");
    await expect(call(DEPOSITOR, concatHex(["0x440a5e20", `0x${"00".repeat(160)}`]))).resolves.toBe("0x");
    await expect(call(DEPOSITOR, concatHex(["0x015d8eb9", `0x${"00".repeat(256)}`]))).resolves.toBe("0x");
  });

  it.each([
    ["nothing", "0x", 0],
    ["zeros", `0x${"00".repeat(1000)}`, 21],
    ["ones", `0x${"01".repeat(1000)}`, 21],
    ["other equal bytes", `0x${"2a".repeat(1000)}`, 21],
    ["three bytes", "0xfacade", 4],
    ["a short transaction", T1, 31],
    ["a long transaction", T2, 202],
  ] as const)("counts FastLZ bytes: %s", async (_, data, length) => {
    expect(await read(probe, "FastLzProbe", "compressedLength", [data])).toBe(BigInt(length));
  });

  it("counts FastLZ bytes as the protocol package does", async () => {
    // xorshift: compressible bytes of different sizes, the same in every run
    let state = 0x2545f491;
    const next = (below: number): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % below;
    };
    for (let round = 0; round < 40; round++) {
      const symbols = 1 + next(round % 2 === 0 ? 4 : 256);
      const bytes = Uint8Array.from({ length: next(600) }, () => next(symbols));
      const repeated = round % 3 === 0 ? Uint8Array.from([...bytes, ...bytes, ...bytes]) : bytes;
      const counted = await read(probe, "FastLzProbe", "compressedLength", [toHex(repeated)]);
      expect(counted).toBe(BigInt(flzCompressLength(repeated)));
    }
  });

  it("prices transactions by Fjord and Jovian", async () => {
    await setJovian(t1Values);
    expect(await ask("GasPriceOracle", "l1BaseFee")).toBe(t1Values.baseFee);
    expect(await ask("GasPriceOracle", "blobBaseFee")).toBe(t1Values.blobBaseFee);
    expect(await ask("GasPriceOracle", "baseFeeScalar")).toBe(2);
    expect(await ask("GasPriceOracle", "blobBaseFeeScalar")).toBe(3);
    expect(await ask("GasPriceOracle", "decimals")).toBe(6n);
    // 31 + 68 bytes stay below the minimum of 100
    expect(await ask("GasPriceOracle", "getL1GasUsed", [T1])).toBe(1600n);
    expect(await ask("GasPriceOracle", "getL1Fee", [T1])).toBe(3_203_000n);
    expect(await ask("GasPriceOracle", "getOperatorFee", [1000n])).toBe(100_000_010n);
    for (const fork of ["isEcotone", "isFjord", "isIsthmus", "isJovian"]) {
      expect(await ask("GasPriceOracle", fork)).toBe(true);
    }

    await setJovian({ ...t1Values, baseFee: 1000n, blobBaseFee: 1000n, baseFeeScalar: 1000, blobBaseFeeScalar: 1000 });
    // FastLZ 202 + 68 for the missing signature
    const estimate = 836_500n * 270n - 42_585_600n;
    expect(await ask("GasPriceOracle", "getL1GasUsed", [T2])).toBe((estimate * 16n) / 1_000_000n);
    expect(await ask("GasPriceOracle", "getL1Fee", [T2])).toBe((estimate * 17_000_000n) / 1_000_000_000_000n);
    const bound = 345n + 68n + (345n + 68n) / 255n + 16n;
    expect(await ask("GasPriceOracle", "getL1FeeUpperBound", [345n])).toBe(
      ((836_500n * bound - 42_585_600n) * 17_000_000n) / 1_000_000_000_000n,
    );
  });
});
