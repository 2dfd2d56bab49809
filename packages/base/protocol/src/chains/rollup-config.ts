import type { BlockId } from "../blocks/refs.ts";
import type { OpFork } from "../forks/op-forks.ts";

/**
 * The rollup's parameters that L1 can change.
 * Spec: docs/protocol/02-derivation.md#systemconfig-updates. Encodings: `system-config.ts`.
 */
export interface SystemConfig {
  /** 20 bytes */
  readonly batcherAddress: Uint8Array;
  /** 32 bytes; 0 from Ecotone */
  readonly overhead: Uint8Array;
  /** 32 bytes; the first byte is the version */
  readonly scalar: Uint8Array;
  readonly gasLimit: bigint;
  /** 8 bytes: denominator u32 ‖ elasticity u32; zeros: never set */
  readonly eip1559Params: Uint8Array;
  readonly operatorFeeScalar: number;
  readonly operatorFeeConstant: bigint;
  readonly minBaseFee: bigint;
  /** 0: the default, 400 */
  readonly daFootprintGasScalar: number;
}

export interface AltDaConfig {
  readonly daChallengeContractAddress: Uint8Array | undefined;
  readonly daCommitmentType: "KeccakCommitment" | "GenericCommitment";
  readonly daChallengeWindow: number;
  readonly daResolveWindow: number;
}

/** The chain parameters for derivation. Times are in seconds, windows in L1 blocks. */
export interface RollupConfig {
  readonly genesis: {
    readonly l1: BlockId;
    readonly l2: BlockId;
    readonly l2TimeSec: number;
    readonly systemConfig: SystemConfig;
  };
  readonly blockTimeSec: number;
  /** 0 if only Fjord's constant applies */
  readonly maxSequencerDriftSec: number;
  readonly seqWindowSize: number;
  readonly channelTimeoutL1Blocks: number;
  readonly l1ChainId: bigint;
  readonly l2ChainId: bigint;
  /** activation time of each scheduled fork; 0: active at genesis */
  readonly forkTimes: Readonly<Partial<Record<OpFork, number>>>;
  readonly pectraBlobScheduleTime?: number | undefined;
  readonly keepKarstUpgradeGas?: boolean | undefined;
  /** Lagoon begins with the contracts of optimism v1.19.6, from before it was scheduled, as on development chains of that time */
  readonly lagoonPreliminary?: boolean | undefined;
  /** 20 bytes each */
  readonly batchInboxAddress: Uint8Array;
  readonly depositContractAddress: Uint8Array;
  readonly l1SystemConfigAddress: Uint8Array;
  readonly protocolVersionsAddress: Uint8Array;
  readonly altDa?: AltDaConfig | undefined;
  readonly chainOpConfig: {
    readonly eip1559Elasticity: number;
    readonly eip1559Denominator: number;
    readonly eip1559DenominatorCanyon: number;
  };
}

/** JSON of one L1 chain's blob schedule entry, for the L1 blob base fee. */
export interface BlobScheduleEntry {
  readonly timeSec: number;
  readonly baseFeeUpdateFraction: bigint;
}
