import { type Chain, defineChain, zeroAddress } from "viem";
import { chainConfig } from "viem/op-stack";
import type { DevnetInfo } from "./files.ts";

const ETHER = { name: "Ether", symbol: "ETH", decimals: 18 } as const;

/** An L1 of which nothing else is known. */
export const bareL1Chain = (id: number, url: string): Chain =>
  defineChain({ id, name: "L1", nativeCurrency: ETHER, rpcUrls: { default: { http: [url] } } });

export function l1ViemChain({ l1ChainId, endpoints: { l1, l1Ws } }: DevnetInfo): Chain {
  return defineChain({
    id: l1ChainId,
    name: "devnet L1",
    nativeCurrency: ETHER,
    rpcUrls: { default: { http: [l1], ...(l1Ws !== undefined && { webSocket: [l1Ws] }) } },
    contracts: { multicall3: MULTICALL3 },
  });
}

const MULTICALL3 = { address: "0xcA11bde05977b3631167028862bE2a173976CA11" } as const;

/** With everything that `viem/op-stack` needs for deposits and withdrawals. */
export function l2ViemChain({ l1ChainId, l2ChainId, endpoints, contracts: { l1 } }: DevnetInfo) {
  const onL1 = <A extends `0x${string}`>(address: A) => ({ [l1ChainId]: { address } });
  return defineChain({
    ...chainConfig,
    id: l2ChainId,
    name: "devnet L2",
    nativeCurrency: ETHER,
    rpcUrls: { default: { http: [endpoints.sequencer.http], webSocket: [endpoints.sequencer.ws] } },
    sourceId: l1ChainId,
    contracts: {
      ...chainConfig.contracts,
      multicall3: MULTICALL3,
      portal: onL1(l1.OptimismPortal),
      // The actions ask the portal which of the two it has; of the other one they need no address that exists.
      l2OutputOracle: onL1(l1.L2OutputOracle ?? zeroAddress),
      disputeGameFactory: onL1(l1.DisputeGameFactory ?? zeroAddress),
      l1StandardBridge: onL1(l1.L1StandardBridge),
    },
  });
}
