import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex, padHex } from "viem";
import type { DevRoles } from "./accounts.ts";
import { type ContractBundle, contract } from "./contracts.ts";
import type { ChainParameters } from "./parameters.ts";

/** The addresses that users interact with (the proxy, if there is one). */
export interface L1Addresses {
  readonly AddressManager: Hex;
  readonly ProxyAdmin: Hex;
  readonly SuperchainConfig: Hex;
  readonly SystemConfig: Hex;
  readonly OptimismPortal: Hex;
  readonly L2OutputOracle: Hex;
  readonly L1CrossDomainMessenger: Hex;
  readonly L1StandardBridge: Hex;
  readonly L1ERC721Bridge: Hex;
  readonly OptimismMintableERC20Factory: Hex;
}

/** A transaction of the deployer. The steps are sent in order, the first one with nonce 0. `to` undefined: a contract creation. */
export interface DeployStep {
  readonly what: string;
  readonly to?: Hex;
  readonly data: Hex;
}

export interface DeployPlan {
  readonly addresses: L1Addresses;
  /** everything except the oracle's initialization */
  readonly steps: readonly DeployStep[];
  /** The last step initializes the output oracle with the L2 genesis time, which is the time of the block that includes it. */
  lastStep(l2GenesisTimeSec: number): DeployStep;
}

/** Proxy kinds of the ProxyAdmin. As on the real networks, the oldest two contracts of the bridge have kinds of their own. */
const PROXY_KIND = { chugSplash: 1, resolved: 2 } as const;
const MESSENGER_NAME = "OVM_L1CrossDomainMessenger";

/** The deposit fee market of production networks. */
const RESOURCE_CONFIG = {
  maxResourceLimit: 20_000_000,
  elasticityMultiplier: 10,
  baseFeeMaxChangeDenominator: 8,
  minimumBaseFee: 1_000_000_000,
  systemTxMaxGas: 1_000_000,
  maximumBaseFee: 2n ** 128n - 1n,
} as const;

/** Plans the deployment of the L1 side of the bridge: all addresses follow from the deployer's nonces. */
export function planL1Deployment(bundle: ContractBundle, roles: DevRoles, parameters: ChainParameters): DeployPlan {
  const deployer = roles.owner.address;
  const steps: DeployStep[] = [];
  const abiOf = (name: string): Abi => contract(bundle, name).abi;

  const create = (name: string, args: readonly unknown[] = [], what = name): Hex => {
    const { abi, creationCode } = contract(bundle, name);
    const address = getContractAddress({ from: deployer, nonce: BigInt(steps.length) });
    steps.push({ what, data: encodeDeployData({ abi, bytecode: creationCode, args }) });
    return address;
  };
  const call = (to: Hex, name: string, functionName: string, args: readonly unknown[]): void => {
    steps.push({ what: `${name}.${functionName}`, to, data: encodeFunctionData({ abi: abiOf(name), functionName, args }) });
  };

  const proxyAdmin = create("ProxyAdmin", [deployer]);
  const addressManager = create("AddressManager");
  const proxy = (of: string): Hex => create("Proxy", [proxyAdmin], `proxy of ${of}`);
  const addresses: L1Addresses = {
    ProxyAdmin: proxyAdmin,
    AddressManager: addressManager,
    SuperchainConfig: proxy("SuperchainConfig"),
    SystemConfig: proxy("SystemConfig"),
    OptimismPortal: proxy("OptimismPortal"),
    L2OutputOracle: proxy("L2OutputOracle"),
    L1CrossDomainMessenger: create("ResolvedDelegateProxy", [addressManager, MESSENGER_NAME], "proxy of L1CrossDomainMessenger"),
    L1StandardBridge: create("L1ChugSplashProxy", [proxyAdmin], "proxy of L1StandardBridge"),
    L1ERC721Bridge: proxy("L1ERC721Bridge"),
    OptimismMintableERC20Factory: proxy("OptimismMintableERC20Factory"),
  };
  call(proxyAdmin, "ProxyAdmin", "setAddressManager", [addressManager]);
  call(addressManager, "AddressManager", "transferOwnership", [proxyAdmin]);
  call(proxyAdmin, "ProxyAdmin", "setProxyType", [addresses.L1StandardBridge, PROXY_KIND.chugSplash]);
  call(proxyAdmin, "ProxyAdmin", "setProxyType", [addresses.L1CrossDomainMessenger, PROXY_KIND.resolved]);
  call(proxyAdmin, "ProxyAdmin", "setImplementationName", [addresses.L1CrossDomainMessenger, MESSENGER_NAME]);

  const upgradeStep = (name: keyof L1Addresses, implementation: Hex, args: readonly unknown[]): DeployStep => ({
    what: `initialize ${name}`,
    to: proxyAdmin,
    data: encodeFunctionData({
      abi: abiOf("ProxyAdmin"),
      functionName: "upgradeAndCall",
      args: [
        addresses[name],
        implementation,
        encodeFunctionData({ abi: abiOf(name), functionName: "initialize", args: [...args] }),
      ],
    }),
  });
  const install = (name: keyof L1Addresses, args: readonly unknown[]): void => {
    const implementation = create(name, [], `implementation of ${name}`);
    steps.push(upgradeStep(name, implementation, args));
  };

  const { SuperchainConfig, SystemConfig, OptimismPortal, L2OutputOracle, L1CrossDomainMessenger, L1StandardBridge } = addresses;
  install("SuperchainConfig", [deployer, false]);
  install("SystemConfig", [
    deployer,
    {
      batcherHash: padHex(roles.batcher.address, { size: 32 }),
      basefeeScalar: parameters.baseFeeScalar,
      blobbasefeeScalar: parameters.blobBaseFeeScalar,
      gasLimit: BigInt(parameters.l2GasLimit),
      unsafeBlockSigner: roles.sequencer.address,
      eip1559Denominator: 0,
      eip1559Elasticity: 0,
      minBaseFee: 0n,
      daFootprintGasScalar: 0,
      batchInbox: parameters.batchInbox,
      l2ChainId: BigInt(parameters.l2ChainId),
    },
    RESOURCE_CONFIG,
    {
      l1CrossDomainMessenger: L1CrossDomainMessenger,
      l1ERC721Bridge: addresses.L1ERC721Bridge,
      l1StandardBridge: L1StandardBridge,
      optimismPortal: OptimismPortal,
      optimismMintableERC20Factory: addresses.OptimismMintableERC20Factory,
    },
  ]);
  install("OptimismPortal", [L2OutputOracle, SystemConfig, SuperchainConfig]);
  install("L1CrossDomainMessenger", [SuperchainConfig, OptimismPortal, SystemConfig]);
  install("L1StandardBridge", [L1CrossDomainMessenger, SuperchainConfig, SystemConfig]);
  install("L1ERC721Bridge", [L1CrossDomainMessenger, SuperchainConfig]);
  install("OptimismMintableERC20Factory", [L1StandardBridge]);
  const oracleImplementation = create("L2OutputOracle", [], "implementation of L2OutputOracle");

  return {
    addresses,
    steps,
    lastStep: (l2GenesisTimeSec) =>
      upgradeStep("L2OutputOracle", oracleImplementation, [
        BigInt(parameters.outputIntervalBlocks),
        BigInt(parameters.l2BlockTimeSec),
        0n,
        BigInt(l2GenesisTimeSec),
        roles.proposer.address,
        roles.challenger.address,
        BigInt(parameters.finalizationPeriodSec),
      ]),
  };
}
