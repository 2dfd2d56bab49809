import { hexToBytes } from "@rnode/primitives";

const predeploy = (suffix: string): Uint8Array => hexToBytes(`0x42${"0".repeat(34)}${suffix}`);

/** 20-byte addresses of the L2's contracts. Spec: docs/protocol/01-execution.md#predeploys-and-genesis */
export const PREDEPLOYS = {
  legacyMessagePasser: predeploy("0000"),
  deployerWhitelist: predeploy("0002"),
  weth9: predeploy("0006"),
  l2CrossDomainMessenger: predeploy("0007"),
  gasPriceOracle: predeploy("000f"),
  l2StandardBridge: predeploy("0010"),
  sequencerFeeVault: predeploy("0011"),
  optimismMintableErc20Factory: predeploy("0012"),
  l1BlockNumber: predeploy("0013"),
  l2Erc721Bridge: predeploy("0014"),
  l1Block: predeploy("0015"),
  l2ToL1MessagePasser: predeploy("0016"),
  optimismMintableErc721Factory: predeploy("0017"),
  proxyAdmin: predeploy("0018"),
  baseFeeVault: predeploy("0019"),
  l1FeeVault: predeploy("001a"),
  operatorFeeVault: predeploy("001b"),
  schemaRegistry: predeploy("0020"),
  eas: predeploy("0021"),
  crossL2Inbox: predeploy("0022"),
  l2ToL2CrossDomainMessenger: predeploy("0023"),
  superchainEthBridge: predeploy("0024"),
  ethLiquidity: predeploy("0025"),
  optimismSuperchainErc20Factory: predeploy("0026"),
  optimismSuperchainErc20Beacon: predeploy("0027"),
  superchainTokenBridge: predeploy("0028"),
  nativeAssetLiquidity: predeploy("0029"),
  liquidityController: predeploy("002a"),
  feeSplitter: predeploy("002b"),
  conditionalDeployer: predeploy("002c"),
  governanceToken: predeploy("0042"),
} as const satisfies Record<string, Uint8Array>;

export type PredeployName = keyof typeof PREDEPLOYS;

/** Predeploys that are not behind a proxy, unlike every other address from 0x4200…0000 to 0x4200…07ff. */
export const UNPROXIED_PREDEPLOYS: readonly PredeployName[] = ["weth9", "governanceToken"];
/** The addresses from 0x4200…0000 up to, but not including, 0x4200…0800 are proxies in the genesis. */
export const PREDEPLOY_PROXY_COUNT = 2048;

/** Where the implementation behind a predeploy's proxy is at genesis. */
export function predeployImplementation(address: Uint8Array): Uint8Array {
  const implementation = IMPLEMENTATION_NAMESPACE.slice();
  implementation.set(address.subarray(18), 18);
  return implementation;
}
const IMPLEMENTATION_NAMESPACE = hexToBytes(`0x${"c0d3".repeat(10)}`);

/** Sender of the first deposit of every block. */
export const L1_ATTRIBUTES_DEPOSITOR = hexToBytes("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001");
export const LEGACY_ERC20_ETH = hexToBytes("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000");

/** ERC-1967 storage slots. */
export const PROXY_IMPLEMENTATION_SLOT = hexToBytes("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
export const PROXY_ADMIN_SLOT = hexToBytes("0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103");

/** Caller of the system calls before a block's first transaction. */
export const SYSTEM_ADDRESS = hexToBytes("0xfffffffffffffffffffffffffffffffffffffffe");
/** EIP-4788: beacon roots. */
export const BEACON_ROOTS_ADDRESS = hexToBytes("0x000f3df6d732807ef1319fb7b8bb8522d0beac02");
/** EIP-2935: block hashes. */
export const HISTORY_STORAGE_ADDRESS = hexToBytes("0x0000f90827f1c53a10cb7a02335b175320002935");
/** EIP-7002: withdrawal requests. */
export const WITHDRAWAL_REQUESTS_ADDRESS = hexToBytes("0x00000961ef480eb55e80d19ad83579a64c007002");
/** EIP-7251: consolidation requests. */
export const CONSOLIDATION_REQUESTS_ADDRESS = hexToBytes("0x0000bbddc7ce488642fb579f8b00f3a590007251");
/** Gets its code in Canyon's activation block. */
export const CREATE2_DEPLOYER_ADDRESS = hexToBytes("0x13b0d85ccb8bf860b6b79af3029fca081ae9bef2");
