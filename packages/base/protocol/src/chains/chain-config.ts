import type { EvmFork } from "../forks/evm-forks.ts";
import type { OpFork } from "../forks/op-forks.ts";
import type { ForkRules } from "../forks/rules.ts";
import type { BlobParams } from "../params/blob-params.ts";

/** The execution client's chain configuration: Geth's genesis `config`, parsed. */
export interface ChainConfig {
  readonly chainId: bigint;
  /** activation blocks of the Ethereum forks before the merge; missing: never */
  readonly forkBlocks: Readonly<Partial<Record<EvmFork, number>>>;
  /** activation times of the Ethereum forks from Shanghai on */
  readonly evmForkTimes: Readonly<Partial<Record<EvmFork, number>>>;
  /** total difficulty from which blocks are proof of stake; `undefined`: never; 0 on OP Stack chains */
  readonly terminalTotalDifficulty?: bigint | undefined;
  readonly daoForkBlock?: number | undefined;
  readonly daoForkSupport?: boolean | undefined;
  /** delays of the difficulty bomb, which affect only the difficulty */
  readonly difficultyBombBlocks?:
    | {
        readonly muirGlacier?: number | undefined;
        readonly arrowGlacier?: number | undefined;
        readonly grayGlacier?: number | undefined;
      }
    | undefined;
  /** blob limits by activation time, ascending (Cancun, Prague, Osaka, BPO1…) */
  readonly blobSchedule: readonly { readonly timeSec: number; readonly params: BlobParams }[];
  readonly depositContractAddress?: Uint8Array | undefined;
  /** for a development chain with impersonated accounts: accounts with code may send transactions (no EIP-3607) */
  readonly acceptsContractSenders?: boolean | undefined;
  /** on OP Stack chains only */
  readonly optimism?:
    | {
        readonly eip1559Elasticity: number;
        readonly eip1559Denominator: number;
        readonly eip1559DenominatorCanyon: number;
        readonly forkTimes: Readonly<Partial<Record<OpFork, number>>>;
        /** OP Mainnet's first executable block; 0 elsewhere */
        readonly bedrockBlock: number;
      }
    | undefined;
}

/** All values that depend on the fork, computed once per block and passed down. */
export interface BlockRules extends ForkRules {
  readonly chainId: bigint;
  readonly blobParams: BlobParams | undefined;
  /** as in the configuration; default: no */
  readonly acceptsContractSenders?: boolean | undefined;
  /** the DAO fork's state change happens in this block */
  readonly isDaoForkBlock: boolean;
}
