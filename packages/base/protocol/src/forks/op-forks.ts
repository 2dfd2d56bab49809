import type { ExtraDataVersion } from "../params/eip1559-params.ts";
import type { L1InfoLayout } from "../params/l1-info-layouts.ts";
import {
  ECOTONE_UPGRADE,
  FJORD_UPGRADE,
  ISTHMUS_UPGRADE,
  JOVIAN_UPGRADE,
  KARST_UPGRADE,
  LAGOON_UPGRADE,
  PRELIMINARY_LAGOON_UPGRADE,
  type UpgradeBundle,
  type UpgradeStep,
} from "../params/upgrade-steps.ts";
import type { EvmFork, EvmRules } from "./evm-forks.ts";

/** OP Stack forks in order; each implies those before it. The last one is not scheduled on a public network. */
export const OP_FORKS = [
  "bedrock",
  "regolith",
  "canyon",
  "delta",
  "ecotone",
  "fjord",
  "granite",
  "holocene",
  "isthmus",
  "jovian",
  "karst",
  "lagoon",
] as const;
export type OpFork = (typeof OP_FORKS)[number];

/** Changes of OP Stack forks in L2 blocks, by the block's own timestamp. */
export interface RollupBlockRules {
  readonly acceptsDeposits: boolean;
  /** deposits that are system transactions use no gas */
  readonly hasFreeSystemTransactions: boolean;
  /** a deposit counts its used gas; before, its gas limit */
  readonly countsGasOfDeposits: boolean;
  readonly receiptsHaveDepositNonce: boolean;
  readonly receiptsHaveDepositVersion: boolean;
  /** non-zero bytes that the L1 fee adds for the signature */
  readonly l1FeeSignatureBytes: number;
  /** the L1 fee has a blob part, and a scalar for each part */
  readonly l1FeeCountsBlobs: boolean;
  /** the L1 fee is based on an estimate of the compressed size instead of calldata gas */
  readonly l1FeeEstimatesCompression: boolean;
  readonly hasOperatorFee: boolean;
  /** operator fee = gas × scalar × multiplier ÷ divisor + constant */
  readonly operatorFeeFactor: { readonly multiplier: bigint; readonly divisor: bigint };
  /** `blobGasUsed` is the block's DA footprint, which is limited like gas and influences the base fee */
  readonly hasDaFootprint: boolean;
  /** version of the EIP-1559 parameters in `extraData`; `undefined`: `extraData` is empty */
  readonly extraDataVersion: ExtraDataVersion | undefined;
  readonly eip1559DenominatorField: "eip1559Denominator" | "eip1559DenominatorCanyon";
  /** `withdrawalsRoot` is the storage root of L2ToL1MessagePasser; otherwise that of the empty trie */
  readonly hasMessagePasserRoot: boolean;
  /** a block may end with a post-exec transaction, which refunds gas (sequencer-defined metering) */
  readonly acceptsGasRefunds: boolean;
  /** transactions may execute messages of other chains, which must be checked before the block is safe */
  readonly hasExecutingMessages: boolean;
}

/** Changes of OP Stack forks in derivation. */
export interface DerivationFacts {
  // by the time of the L1 block that is read
  /** any ready channel of the bank may be read, not only the first */
  readonly readsChannelsOutOfOrder: boolean;
  /** a span batch must also activate by the time of its first L1 origin */
  readonly allowsSpanBatches: boolean;
  readonly readsBlobs: boolean;
  readonly allowsBrotli: boolean;
  /** frames and batches must arrive in order, one channel at a time; any other frame or batch ends the channel */
  readonly hasStrictOrder: boolean;
  /** a block that cannot be executed is rebuilt with its deposits only; before, its batch was dropped */
  readonly replacesInvalidBlocks: boolean;
  readonly maxRlpBytesPerChannel: number;
  readonly maxChannelBankBytes: number;
  /** `undefined`: the value of the rollup configuration */
  readonly channelTimeoutL1Blocks: number | undefined;
  /** updates of the fee scalars carry a version and both scalars in one word */
  readonly hasVersionedFeeScalars: boolean;

  // by the time of a block's L1 origin
  /** `undefined`: the value of the rollup configuration */
  readonly maxSequencerDriftSec: number | undefined;

  // by the timestamp of an L2 block's parent, because the contract that reads the attributes is upgraded in the fork's first block
  readonly l1InfoLayout: L1InfoLayout;
}

/** Deposits that a fork adds to its first block. */
export type NetworkUpgrade =
  | { readonly kind: "none" }
  | { readonly kind: "steps"; readonly steps: readonly UpgradeStep[] }
  /** @property preliminary the revision of chains with `lagoonPreliminary` */
  | { readonly kind: "bundle"; readonly bundle: UpgradeBundle; readonly preliminary?: UpgradeBundle };

/** Facts about the activation block of a fork, unless the fork is active at genesis. */
export interface FirstBlockFacts {
  /** allowed; omitted by all sequencers, although a batch may have them; or forbidden: a batch with them is invalid */
  readonly userTransactions: "allowed" | "omitted" | "forbidden";
  readonly upgrade: NetworkUpgrade;
  /** the code of Create2Deployer is written to the state before execution */
  readonly setsCreate2Deployer?: true;
}

export interface ForkFacts {
  /** the name in texts for people */
  readonly title: string;
  /** key of its time in a rollup configuration; `undefined`: active on every rollup */
  readonly rollupKey: string | undefined;
  /** `rollupKey` in files of before the fork got its name: read, never written */
  readonly oldRollupKey?: string;
  /** key of its time in a genesis file; `undefined`: execution does not depend on it */
  readonly genesisKey: string | undefined;
  /** `--override.<this>`; `undefined`: no such option */
  readonly override: string | undefined;
  /** `--override.<this>` before the fork got its name: read with a warning */
  readonly oldOverride?: string;
  readonly firstBlock: FirstBlockFacts;
  /** no public network is known to have it: a chain without configuration is not assumed to */
  readonly isUnscheduled?: true;
  /** The Ethereum fork that blocks run on, if it changes. Spec: docs/protocol/01-execution.md#fork-map */
  readonly evm?: EvmFork;
  /** anything not listed is as in the previous fork, or as in Ethereum */
  readonly blocks: Partial<RollupBlockRules & EvmRules>;
  /** anything not listed is as in the previous fork */
  readonly derivation: Partial<DerivationFacts>;
}

interface FirstForkFacts extends ForkFacts {
  readonly evm: EvmFork;
  readonly derivation: DerivationFacts;
}

/** The rules of an Ethereum chain, from which the first OP Stack fork starts. */
export const ETHEREUM_BLOCKS: RollupBlockRules = {
  acceptsDeposits: false,
  hasFreeSystemTransactions: false,
  countsGasOfDeposits: false,
  receiptsHaveDepositNonce: false,
  receiptsHaveDepositVersion: false,
  l1FeeSignatureBytes: 0,
  l1FeeCountsBlobs: false,
  l1FeeEstimatesCompression: false,
  hasOperatorFee: false,
  operatorFeeFactor: { multiplier: 1n, divisor: 1_000_000n },
  hasDaFootprint: false,
  extraDataVersion: undefined,
  eip1559DenominatorField: "eip1559Denominator",
  hasMessagePasserRoot: false,
  acceptsGasRefunds: false,
  hasExecutingMessages: false,
};

const ORDINARY_BLOCK = { userTransactions: "allowed", upgrade: { kind: "none" } } as const;

/** The only definition of the changes of each OP Stack fork. */
export const FORK_FACTS = {
  bedrock: {
    title: "Bedrock",
    rollupKey: undefined,
    genesisKey: undefined,
    override: undefined,
    firstBlock: ORDINARY_BLOCK,
    evm: "paris",
    blocks: {
      acceptsBlobs: false,
      acceptsDeposits: true,
      hasFreeSystemTransactions: true,
      l1FeeSignatureBytes: 68,
      maxBlockRlpBytes: Number.POSITIVE_INFINITY,
    },
    derivation: {
      readsChannelsOutOfOrder: false,
      allowsSpanBatches: false,
      readsBlobs: false,
      allowsBrotli: false,
      hasStrictOrder: false,
      replacesInvalidBlocks: false,
      maxRlpBytesPerChannel: 10_000_000,
      maxChannelBankBytes: 100_000_000,
      channelTimeoutL1Blocks: undefined,
      hasVersionedFeeScalars: false,
      maxSequencerDriftSec: undefined,
      l1InfoLayout: "bedrock",
    },
  },
  regolith: {
    title: "Regolith",
    rollupKey: "regolith_time",
    genesisKey: "regolithTime",
    override: undefined,
    firstBlock: ORDINARY_BLOCK,
    blocks: {
      hasFreeSystemTransactions: false,
      countsGasOfDeposits: true,
      receiptsHaveDepositNonce: true,
      l1FeeSignatureBytes: 0,
    },
    derivation: {},
  },
  canyon: {
    title: "Canyon",
    rollupKey: "canyon_time",
    genesisKey: "canyonTime",
    override: "canyon",
    firstBlock: { ...ORDINARY_BLOCK, setsCreate2Deployer: true },
    evm: "shanghai",
    blocks: { receiptsHaveDepositVersion: true, eip1559DenominatorField: "eip1559DenominatorCanyon" },
    derivation: { readsChannelsOutOfOrder: true },
  },
  delta: {
    title: "Delta",
    rollupKey: "delta_time",
    genesisKey: undefined,
    override: "delta",
    firstBlock: ORDINARY_BLOCK,
    blocks: {},
    derivation: { allowsSpanBatches: true },
  },
  ecotone: {
    title: "Ecotone",
    rollupKey: "ecotone_time",
    genesisKey: "ecotoneTime",
    override: "ecotone",
    firstBlock: { userTransactions: "omitted", upgrade: { kind: "steps", steps: ECOTONE_UPGRADE } },
    evm: "cancun",
    blocks: { l1FeeCountsBlobs: true },
    derivation: { readsBlobs: true, hasVersionedFeeScalars: true, l1InfoLayout: "ecotone" },
  },
  fjord: {
    title: "Fjord",
    rollupKey: "fjord_time",
    genesisKey: "fjordTime",
    override: "fjord",
    firstBlock: { userTransactions: "omitted", upgrade: { kind: "steps", steps: FJORD_UPGRADE } },
    blocks: { l1FeeEstimatesCompression: true, hasP256Precompile: true },
    derivation: {
      allowsBrotli: true,
      maxRlpBytesPerChannel: 100_000_000,
      maxChannelBankBytes: 1_000_000_000,
      maxSequencerDriftSec: 1800,
    },
  },
  granite: {
    title: "Granite",
    rollupKey: "granite_time",
    genesisKey: "graniteTime",
    override: "granite",
    firstBlock: { userTransactions: "omitted", upgrade: { kind: "none" } },
    blocks: { maxBn254PairingBytes: 112_687 },
    derivation: { channelTimeoutL1Blocks: 50 },
  },
  holocene: {
    title: "Holocene",
    rollupKey: "holocene_time",
    genesisKey: "holoceneTime",
    override: "holocene",
    firstBlock: { userTransactions: "omitted", upgrade: { kind: "none" } },
    blocks: { extraDataVersion: 0 },
    derivation: { hasStrictOrder: true, replacesInvalidBlocks: true },
  },
  isthmus: {
    title: "Isthmus",
    rollupKey: "isthmus_time",
    genesisKey: "isthmusTime",
    override: "isthmus",
    firstBlock: { userTransactions: "omitted", upgrade: { kind: "steps", steps: ISTHMUS_UPGRADE } },
    evm: "prague",
    blocks: {
      hasOperatorFee: true,
      hasMessagePasserRoot: true,
      maxBlsG1MsmBytes: 513_760,
      maxBlsG2MsmBytes: 488_448,
      maxBlsPairingBytes: 235_008,
    },
    derivation: { l1InfoLayout: "isthmus" },
  },
  jovian: {
    title: "Jovian",
    rollupKey: "jovian_time",
    genesisKey: "jovianTime",
    override: "jovian",
    firstBlock: { userTransactions: "forbidden", upgrade: { kind: "steps", steps: JOVIAN_UPGRADE } },
    blocks: {
      operatorFeeFactor: { multiplier: 100n, divisor: 1n },
      hasDaFootprint: true,
      extraDataVersion: 1,
      maxBn254PairingBytes: 81_984,
      maxBlsG1MsmBytes: 288_960,
      maxBlsG2MsmBytes: 278_784,
      maxBlsPairingBytes: 156_672,
    },
    derivation: { l1InfoLayout: "jovian" },
  },
  karst: {
    title: "Karst",
    rollupKey: "karst_time",
    genesisKey: "karstTime",
    override: "karst",
    firstBlock: { userTransactions: "forbidden", upgrade: { kind: "bundle", bundle: KARST_UPGRADE } },
    evm: "osaka",
    blocks: { maxBn254PairingBytes: 57_600 },
    derivation: {},
  },
  lagoon: {
    title: "Lagoon",
    rollupKey: "lagoon_time",
    oldRollupKey: "interop_time",
    genesisKey: "lagoonTime",
    override: "lagoon",
    oldOverride: "interop",
    isUnscheduled: true,
    firstBlock: {
      userTransactions: "forbidden",
      upgrade: { kind: "bundle", bundle: LAGOON_UPGRADE, preliminary: PRELIMINARY_LAGOON_UPGRADE },
    },
    blocks: { acceptsGasRefunds: true, hasExecutingMessages: true },
    derivation: {},
  },
} as const satisfies Readonly<Record<OpFork, ForkFacts>> & { readonly bedrock: FirstForkFacts };

/** The row of a fork. */
export const forkFacts = (fork: OpFork): ForkFacts => (FORK_FACTS as Readonly<Record<OpFork, ForkFacts>>)[fork];
