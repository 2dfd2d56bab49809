import { concatHex, type Hex, toHex } from "viem";

/** The L2's system contracts: the last bytes of the address 0x4200…, and whether it is a proxy. */
export const PREDEPLOYS = {
  LegacyMessagePasser: { suffix: 0x00, isProxied: true },
  DeployerWhitelist: { suffix: 0x02, isProxied: true },
  WETH: { suffix: 0x06, isProxied: false },
  L2CrossDomainMessenger: { suffix: 0x07, isProxied: true },
  GasPriceOracle: { suffix: 0x0f, isProxied: true },
  L2StandardBridge: { suffix: 0x10, isProxied: true },
  SequencerFeeVault: { suffix: 0x11, isProxied: true },
  OptimismMintableERC20Factory: { suffix: 0x12, isProxied: true },
  L1BlockNumber: { suffix: 0x13, isProxied: true },
  L2ERC721Bridge: { suffix: 0x14, isProxied: true },
  L1Block: { suffix: 0x15, isProxied: true },
  L2ToL1MessagePasser: { suffix: 0x16, isProxied: true },
  OptimismMintableERC721Factory: { suffix: 0x17, isProxied: true },
  ProxyAdmin: { suffix: 0x18, isProxied: true },
  BaseFeeVault: { suffix: 0x19, isProxied: true },
  L1FeeVault: { suffix: 0x1a, isProxied: true },
  OperatorFeeVault: { suffix: 0x1b, isProxied: true },
  SchemaRegistry: { suffix: 0x20, isProxied: true },
  EAS: { suffix: 0x21, isProxied: true },
} as const;

export type PredeployName = keyof typeof PREDEPLOYS;

/** The address of a predeploy. */
export function predeploy(name: PredeployName): Hex {
  return concatHex(["0x42000000000000000000000000000000000000", toHex(PREDEPLOYS[name].suffix, { size: 1 })]);
}

export const predeployAddresses = (): Record<PredeployName, Hex> =>
  Object.fromEntries((Object.keys(PREDEPLOYS) as PredeployName[]).map((name) => [name, predeploy(name)])) as Record<
    PredeployName,
    Hex
  >;
