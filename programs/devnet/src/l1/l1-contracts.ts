import { type Hex, padHex, parseEther } from "viem";
import type { DevRoles } from "../accounts.ts";
import type { ChainParameters } from "../parameters.ts";
import type { ContractBundle } from "./contracts.ts";
import { DeployPlanBuilder, type DeployStep } from "./deploy-plan.ts";
import {
  type DisputeGameAddresses,
  disputeGameProxies,
  gameWindows,
  PERMISSIONED_GAME,
  planDisputeGames,
} from "./l1-dispute-games.ts";

/** The addresses that users interact with (the proxy, if there is one). */
export interface L1Addresses extends Partial<DisputeGameAddresses> {
  readonly AddressManager: Hex;
  readonly ProxyAdmin: Hex;
  readonly SuperchainConfig: Hex;
  readonly SystemConfig: Hex;
  readonly OptimismPortal: Hex;
  /** absent with dispute games */
  readonly L2OutputOracle?: Hex;
  readonly L1CrossDomainMessenger: Hex;
  readonly L1StandardBridge: Hex;
  readonly L1ERC721Bridge: Hex;
  readonly OptimismMintableERC20Factory: Hex;
  /** only where batches are kept outside of L1 */
  readonly DataAvailabilityChallenge?: Hex;
}

export interface DeployPlan {
  readonly addresses: L1Addresses;
  /** everything except the last step */
  readonly steps: readonly DeployStep[];
  /**
   * It is the only transaction of its block. The block has the timestamp of the L2 genesis, with which an output oracle is
   * initialized.
   */
  lastStep(l2GenesisTimeSec: number): DeployStep;
}

/** Proxy kinds of the ProxyAdmin. As on the public networks, the two oldest contracts of the bridge have separate kinds. */
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

/** The bond of a data challenge, and the percentage of the resolver's costs that is refunded from it. */
const CHALLENGE_BOND = parseEther("0.1");
const RESOLVER_REFUND_PERCENT = 50n;

/** Plans the deployment of the L1 side of the bridge: all addresses follow from the deployer's nonces. @param firstNonce of the first step */
export function planL1Deployment(bundle: ContractBundle, roles: DevRoles, parameters: ChainParameters, firstNonce = 0): DeployPlan {
  const deployer = roles.owner.address;
  const plan = new DeployPlanBuilder(bundle, deployer, firstNonce);
  const { proxyAdmin } = plan;
  const withGames = parameters.proofs === "games";
  const addressManager = plan.create("AddressManager");
  const addresses: L1Addresses = {
    ProxyAdmin: proxyAdmin,
    AddressManager: addressManager,
    SuperchainConfig: plan.proxy("SuperchainConfig"),
    SystemConfig: plan.proxy("SystemConfig"),
    OptimismPortal: plan.proxy("OptimismPortal"),
    ...(withGames ? disputeGameProxies(plan) : { L2OutputOracle: plan.proxy("L2OutputOracle") }),
    L1CrossDomainMessenger: plan.create(
      "ResolvedDelegateProxy",
      [addressManager, MESSENGER_NAME],
      "proxy of L1CrossDomainMessenger",
    ),
    L1StandardBridge: plan.create("L1ChugSplashProxy", [proxyAdmin], "proxy of L1StandardBridge"),
    L1ERC721Bridge: plan.proxy("L1ERC721Bridge"),
    OptimismMintableERC20Factory: plan.proxy("OptimismMintableERC20Factory"),
    ...(parameters.altDa === undefined ? {} : { DataAvailabilityChallenge: plan.proxy("DataAvailabilityChallenge") }),
  };
  plan.call(proxyAdmin, "ProxyAdmin", "setAddressManager", [addressManager]);
  plan.call(addressManager, "AddressManager", "transferOwnership", [proxyAdmin]);
  plan.call(proxyAdmin, "ProxyAdmin", "setProxyType", [addresses.L1StandardBridge, PROXY_KIND.chugSplash]);
  plan.call(proxyAdmin, "ProxyAdmin", "setProxyType", [addresses.L1CrossDomainMessenger, PROXY_KIND.resolved]);
  plan.call(proxyAdmin, "ProxyAdmin", "setImplementationName", [addresses.L1CrossDomainMessenger, MESSENGER_NAME]);
  planBridge(plan, addresses, roles, parameters);

  if (parameters.altDa !== undefined) {
    const { challengeWindow, resolveWindow } = parameters.altDa;
    const windows = [BigInt(challengeWindow), BigInt(resolveWindow)];
    const args = [deployer, ...windows, CHALLENGE_BOND, RESOLVER_REFUND_PERCENT];
    plan.install("DataAvailabilityChallenge", addresses.DataAvailabilityChallenge!, args);
  }

  const { OptimismPortal, SystemConfig, SuperchainConfig, L2OutputOracle } = addresses;
  if (L2OutputOracle === undefined) {
    const { finalitySec } = gameWindows(parameters);
    const factory = addresses.DisputeGameFactory!;
    const delays = [BigInt(parameters.finalizationPeriodSec), finalitySec];
    const implementation = plan.implement("OptimismPortal2", delays);
    const args = [factory, SystemConfig, SuperchainConfig, PERMISSIONED_GAME];
    plan.steps.push(plan.upgradeStep("OptimismPortal2", OptimismPortal, implementation, args));
    const lastStep = planDisputeGames(plan, { ...(addresses as Required<L1Addresses>) }, roles, parameters);
    return { addresses, steps: plan.steps, lastStep: () => lastStep };
  }
  plan.install("OptimismPortal", OptimismPortal, [L2OutputOracle, SystemConfig, SuperchainConfig]);
  const oracleImplementation = plan.implement("L2OutputOracle");
  return {
    addresses,
    steps: plan.steps,
    lastStep: (l2GenesisTimeSec) =>
      plan.upgradeStep("L2OutputOracle", L2OutputOracle, oracleImplementation, [
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

/** The contracts that are the same whatever withdrawals are proven against. */
function planBridge(plan: DeployPlanBuilder, addresses: L1Addresses, roles: DevRoles, parameters: ChainParameters): void {
  const deployer = roles.owner.address;
  const { SuperchainConfig, SystemConfig, OptimismPortal, L1CrossDomainMessenger, L1StandardBridge } = addresses;
  const install = (name: keyof L1Addresses, args: readonly unknown[]): void => plan.install(name, addresses[name]!, args);
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
  install("L1CrossDomainMessenger", [SuperchainConfig, OptimismPortal, SystemConfig]);
  install("L1StandardBridge", [L1CrossDomainMessenger, SuperchainConfig, SystemConfig]);
  install("L1ERC721Bridge", [L1CrossDomainMessenger, SuperchainConfig]);
  install("OptimismMintableERC20Factory", [L1StandardBridge]);
}
