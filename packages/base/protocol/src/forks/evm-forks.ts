import type { BlobParams } from "../params/blob-params.ts";

/** Ethereum forks that change execution, in order; each implies those before it. */
export const EVM_FORKS = [
  "frontier",
  "homestead",
  "tangerineWhistle",
  "spuriousDragon",
  "byzantium",
  "constantinople",
  "petersburg",
  "istanbul",
  "berlin",
  "london",
  "paris",
  "shanghai",
  "cancun",
  "prague",
  "osaka",
] as const;
export type EvmFork = (typeof EVM_FORKS)[number];

/**
 * Versions of an Engine API method for the blocks of a fork. Spec: execution-apis src/engine;
 * docs/protocol/04-rpc.md#version-selection-by-l2-timestamp
 */
export interface EngineMethodVersions<Version extends number> {
  /** the version that a rollup node calls */
  readonly called: Version;
  /** the versions that an execution client accepts */
  readonly accepted: readonly Version[];
}

export type ForkchoiceUpdatedVersion = 1 | 2 | 3;
export type NewPayloadVersion = 1 | 2 | 3 | 4;
export type GetPayloadVersion = 1 | 2 | 3 | 4 | 5;

/** Changes of Ethereum forks outside the interpreter, which selects opcodes by the fork's number. Infinity means no limit. */
export interface EvmRules {
  /** proof of stake: `mixHash` is prevRandao, difficulty is 0 */
  readonly isPostMerge: boolean;

  // transactions
  readonly acceptsAccessLists: boolean;
  readonly acceptsDynamicFees: boolean;
  readonly acceptsBlobs: boolean;
  /** EIP-7702; accounts with a delegation may also send transactions */
  readonly acceptsSetCode: boolean;
  /** whether s may be in the upper half of the curve's order */
  readonly allowsHighS: boolean;
  /** EIP-155 */
  readonly allowsChainIdInSignature: boolean;
  readonly creationGas: number;
  readonly nonzeroByteGas: number;
  /** EIP-3860 */
  readonly initcodeWordGas: number;
  readonly maxInitcodeBytes: number;
  /** EIP-7623; 0: data has no minimum price */
  readonly floorGasPerToken: number;
  /** EIP-7825 */
  readonly maxTransactionGas: bigint | undefined;
  /** EIP-7594 */
  readonly maxBlobsPerTransaction: number;

  // execution
  /** EIP-2929: sender, target and the access list are warm from the start */
  readonly chargesColdAccess: boolean;
  /** EIP-3651 */
  readonly startsWithWarmBeneficiary: boolean;
  /** the refund is at most the gas used divided by this; EIP-3529 */
  readonly maxRefundQuotient: bigint;
  /** EIP-6780: SELFDESTRUCT deletes an account only if the same transaction created it */
  readonly keepsDestructedAccounts: boolean;
  /** EIP-161: an empty account that is touched is deleted */
  readonly clearsEmptyAccounts: boolean;
  /** precompiles exist from 0x01 to this address */
  readonly lastPrecompile: number;
  readonly modexpPricing: "eip198" | "eip2565" | "eip7883";
  /** EIP-1108 */
  readonly hasCheapBn254: boolean;
  readonly hasP256Precompile: boolean;
  readonly p256Gas: bigint;
  /** input sizes that the OP Stack limits */
  readonly maxBn254PairingBytes: number;
  readonly maxBlsG1MsmBytes: number;
  readonly maxBlsG2MsmBytes: number;
  readonly maxBlsPairingBytes: number;

  // blocks
  /** receipts have a status instead of a state root; EIP-658 */
  readonly receiptsHaveStatus: boolean;
  /** EIP-1559 */
  readonly hasBaseFee: boolean;
  readonly hasWithdrawals: boolean;
  /** `blobGasUsed` and `excessBlobGas` in headers */
  readonly hasBlobGas: boolean;
  /** EIP-4788: the header has a parent beacon block root, which a contract stores */
  readonly hasBeaconRoot: boolean;
  /** EIP-2935: a contract stores block hashes */
  readonly storesParentHash: boolean;
  /** EIP-7685: `requestsHash` in headers */
  readonly hasExecutionRequests: boolean;
  /** EIP-7918: the blob base fee has a lower bound that depends on the base fee */
  readonly bindsBlobFeeToBaseFee: boolean;
  /** EIP-7594: the pool expects cell proofs */
  readonly provesBlobCells: boolean;
  /** EIP-7934 */
  readonly maxBlockRlpBytes: number;
  /** blob limits if the configuration has none */
  readonly defaultBlobParams: BlobParams | undefined;

  // proof of work
  /** EIP-649, EIP-1234 */
  readonly blockRewardWei: bigint;
  /**
   * how a block's time changes the difficulty: by a threshold, in steps (EIP-2), or in steps that depend on the parent's ommers
   * (EIP-100)
   */
  readonly difficultyAdjustment: "threshold" | "steps" | "steps-and-ommers";
  /** total number of blocks by which the difficulty bomb is delayed; EIP-649, 1234, 3554 */
  readonly bombDelayBlocks: number;

  // Engine API
  readonly forkchoiceUpdated: EngineMethodVersions<ForkchoiceUpdatedVersion>;
  readonly newPayload: EngineMethodVersions<NewPayloadVersion>;
  readonly getPayload: EngineMethodVersions<GetPayloadVersion>;
}

export interface EvmForkFacts {
  /** key of its activation in a genesis file; `undefined`: active from the start */
  readonly activation:
    | {
        readonly block: string;
        /** additional keys of genesis files for the same block */
        readonly alsoWritten?: readonly string[];
      }
    | { readonly time: string }
    | undefined;
  /** anything not listed is as in the previous fork */
  readonly changes: Partial<EvmRules>;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;
const ETHER = 10n ** 18n;

/** The only definition of the changes of each Ethereum fork. Opcodes and their gas: packages/execution/evm/assembly. */
const EVM_FORK_FACTS: Readonly<Record<EvmFork, EvmForkFacts>> & { readonly frontier: { readonly changes: EvmRules } } = {
  frontier: {
    activation: undefined,
    changes: {
      isPostMerge: false,
      acceptsAccessLists: false,
      acceptsDynamicFees: false,
      acceptsBlobs: false,
      acceptsSetCode: false,
      allowsHighS: true,
      allowsChainIdInSignature: false,
      creationGas: 0,
      nonzeroByteGas: 68,
      initcodeWordGas: 0,
      maxInitcodeBytes: NO_LIMIT,
      floorGasPerToken: 0,
      maxTransactionGas: undefined,
      maxBlobsPerTransaction: NO_LIMIT,
      chargesColdAccess: false,
      startsWithWarmBeneficiary: false,
      maxRefundQuotient: 2n,
      keepsDestructedAccounts: false,
      clearsEmptyAccounts: false,
      lastPrecompile: 0x04,
      modexpPricing: "eip198",
      hasCheapBn254: false,
      hasP256Precompile: false,
      p256Gas: 3450n,
      maxBn254PairingBytes: NO_LIMIT,
      maxBlsG1MsmBytes: NO_LIMIT,
      maxBlsG2MsmBytes: NO_LIMIT,
      maxBlsPairingBytes: NO_LIMIT,
      receiptsHaveStatus: false,
      hasBaseFee: false,
      hasWithdrawals: false,
      hasBlobGas: false,
      hasBeaconRoot: false,
      storesParentHash: false,
      hasExecutionRequests: false,
      bindsBlobFeeToBaseFee: false,
      provesBlobCells: false,
      maxBlockRlpBytes: NO_LIMIT,
      defaultBlobParams: undefined,
      blockRewardWei: 5n * ETHER,
      difficultyAdjustment: "threshold",
      bombDelayBlocks: 0,
      forkchoiceUpdated: { called: 1, accepted: [1, 2] },
      newPayload: { called: 2, accepted: [1, 2] },
      getPayload: { called: 2, accepted: [1, 2] },
    },
  },
  homestead: {
    activation: { block: "homesteadBlock" },
    changes: { allowsHighS: false, creationGas: 32_000, difficultyAdjustment: "steps" },
  },
  tangerineWhistle: { activation: { block: "eip150Block" }, changes: {} },
  spuriousDragon: {
    activation: { block: "eip158Block", alsoWritten: ["eip155Block"] },
    changes: { allowsChainIdInSignature: true, clearsEmptyAccounts: true },
  },
  byzantium: {
    activation: { block: "byzantiumBlock" },
    changes: {
      lastPrecompile: 0x08,
      receiptsHaveStatus: true,
      blockRewardWei: 3n * ETHER,
      difficultyAdjustment: "steps-and-ommers",
      bombDelayBlocks: 3_000_000,
    },
  },
  constantinople: {
    activation: { block: "constantinopleBlock" },
    changes: { blockRewardWei: 2n * ETHER, bombDelayBlocks: 5_000_000 },
  },
  petersburg: { activation: { block: "petersburgBlock" }, changes: {} },
  istanbul: {
    activation: { block: "istanbulBlock" },
    changes: { nonzeroByteGas: 16, lastPrecompile: 0x09, hasCheapBn254: true },
  },
  berlin: {
    activation: { block: "berlinBlock" },
    changes: { acceptsAccessLists: true, chargesColdAccess: true, modexpPricing: "eip2565" },
  },
  london: {
    activation: { block: "londonBlock" },
    changes: { acceptsDynamicFees: true, maxRefundQuotient: 5n, hasBaseFee: true, bombDelayBlocks: 9_700_000 },
  },
  paris: { activation: { block: "mergeNetsplitBlock" }, changes: { isPostMerge: true } },
  shanghai: {
    activation: { time: "shanghaiTime" },
    changes: {
      initcodeWordGas: 2,
      maxInitcodeBytes: 49_152,
      startsWithWarmBeneficiary: true,
      hasWithdrawals: true,
      forkchoiceUpdated: { called: 2, accepted: [2] },
      getPayload: { called: 2, accepted: [2] },
    },
  },
  cancun: {
    activation: { time: "cancunTime" },
    changes: {
      acceptsBlobs: true,
      keepsDestructedAccounts: true,
      lastPrecompile: 0x0a,
      hasBlobGas: true,
      hasBeaconRoot: true,
      defaultBlobParams: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n },
      forkchoiceUpdated: { called: 3, accepted: [3] },
      newPayload: { called: 3, accepted: [3] },
      getPayload: { called: 3, accepted: [3] },
    },
  },
  prague: {
    activation: { time: "pragueTime" },
    changes: {
      acceptsSetCode: true,
      floorGasPerToken: 10,
      lastPrecompile: 0x11,
      storesParentHash: true,
      hasExecutionRequests: true,
      defaultBlobParams: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n },
      newPayload: { called: 4, accepted: [4] },
      getPayload: { called: 4, accepted: [4] },
    },
  },
  osaka: {
    activation: { time: "osakaTime" },
    changes: {
      maxTransactionGas: 16_777_216n,
      maxBlobsPerTransaction: 6,
      modexpPricing: "eip7883",
      hasP256Precompile: true,
      p256Gas: 6900n,
      bindsBlobFeeToBaseFee: true,
      provesBlobCells: true,
      maxBlockRlpBytes: 10_485_760 - 2_097_152, // minus a margin for the consensus block around it
      getPayload: { called: 5, accepted: [5] },
    },
  },
};

/** The row of a fork. */
export const evmForkFacts = (fork: EvmFork): EvmForkFacts => EVM_FORK_FACTS[fork];
