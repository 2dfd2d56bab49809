import type { BlobParams } from "./blob-params.ts";
import type { EvmFork } from "./forks/evm-forks.ts";
import type { OpFork } from "./forks/op-forks.ts";
import type { ForkRules } from "./forks/rules.ts";

/** The execution client's chain configuration: Geth's genesis `config`, parsed. */
export interface ChainConfig {
  readonly chainId: bigint;
  /** activation block of the Ethereum forks before the merge; missing: never */
  readonly forkBlocks: Readonly<Partial<Record<EvmFork, number>>>;
  /** activation time of Ethereum forks from Shanghai on */
  readonly evmForkTimes: Readonly<Partial<Record<EvmFork, number>>>;
  /** total difficulty from which a block is proof of stake; undefined: never; OP chains: 0 */
  readonly terminalTotalDifficulty?: bigint | undefined;
  readonly daoForkBlock?: number | undefined;
  readonly daoForkSupport?: boolean | undefined;
  /** ice-age delays, which change only difficulty */
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
  /** present on OP Stack chains only */
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

/** Everything that depends on the fork, resolved once per block and passed down. */
export interface BlockRules extends ForkRules {
  readonly chainId: bigint;
  readonly blobParams: BlobParams | undefined;
  /** the DAO fork's state change happens in this block */
  readonly isDaoForkBlock: boolean;
}
