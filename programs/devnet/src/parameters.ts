import { type ForkTimes, forksUpTo, OP_FORKS, type OpFork, rollupRulesAt } from "@rnode/protocol";
import type { Hex } from "viem";

/** Everything about the two chains that is fixed before they exist. */
export interface ChainParameters {
  readonly l1ChainId: number;
  readonly l2ChainId: number;
  readonly l1BlockTimeSec: number;
  readonly l2BlockTimeSec: number;
  /** L1 blocks; L1's `safe` is this far behind `latest`, `finalized` twice as far */
  readonly l1EpochBlocks: number;
  readonly l1GasLimit: number;
  readonly l2GasLimit: number;
  readonly maxSequencerDriftSec: number;
  /** L1 blocks */
  readonly seqWindowSize: number;
  /** L1 blocks; from Granite the protocol's own 50 applies */
  readonly channelTimeoutL1Blocks: number;
  readonly baseFeeScalar: number;
  readonly blobBaseFeeScalar: number;
  readonly eip1559Elasticity: number;
  readonly eip1559Denominator: number;
  readonly eip1559DenominatorCanyon: number;
  readonly batchInbox: Hex;
  /** L2 blocks between two output proposals */
  readonly outputIntervalBlocks: number;
  /** what withdrawals are proven against: outputs in an output oracle, or dispute games; an older chain has the first */
  readonly proofs?: "oracle" | "games";
  /** how long a proven withdrawal must wait */
  readonly finalizationPeriodSec: number;
  /** batches are kept on a DA server, with commitments on L1; absent: they are on L1 */
  readonly altDa?: AltDaParameters;
  /** how long after the genesis forks become active that are not active from the beginning, in seconds; null: never */
  readonly forkDelaysSec?: Readonly<Partial<Record<OpFork, number | null>>>;
  /** code of further accounts of the L2's genesis, by address */
  readonly genesisCodes?: Readonly<Record<Hex, Hex>>;
  /** ids of other chains whose messages the L2 may execute, once a fork brings messages */
  readonly otherChains?: readonly number[];
}

export const DA_COMMITMENTS = ["keccak256", "generic"] as const;

export interface AltDaParameters {
  /** keccak256 can be challenged on L1 */
  readonly commitments: (typeof DA_COMMITMENTS)[number];
  /** L1 blocks in which data can be challenged, and then be shown */
  readonly challengeWindow: number;
  readonly resolveWindow: number;
}

export const DEFAULT_PARAMETERS: ChainParameters = {
  l1ChainId: 900,
  l2ChainId: 901,
  l1BlockTimeSec: 4,
  l2BlockTimeSec: 2,
  l1EpochBlocks: 4,
  l1GasLimit: 60_000_000,
  l2GasLimit: 60_000_000,
  maxSequencerDriftSec: 600,
  seqWindowSize: 200,
  channelTimeoutL1Blocks: 120,
  baseFeeScalar: 1368,
  blobBaseFeeScalar: 810_949,
  eip1559Elasticity: 6,
  eip1559Denominator: 50,
  eip1559DenominatorCanyon: 250,
  batchInbox: "0x00289C189bEE4E70334629f04Cd5eD602B6600eB",
  outputIntervalBlocks: 10,
  proofs: "oracle",
  finalizationPeriodSec: 12,
};

/** The fork that L1 starts with; its blob schedule is in `l1-chain-config.ts`. */
export const L1_FORK = "prague";

/** Short enough that a devnet's data becomes final. */
export const altDaParameters = (commitments: AltDaParameters["commitments"]): AltDaParameters => ({
  commitments,
  challengeWindow: 16,
  resolveWindow: 16,
});

/** The L2 starts with every fork up to this one active, apart from those that are delayed. */
const NEWEST_L2_FORK: OpFork = "jovian";

/** When the forks come that bring messages between chains: their first blocks deploy contracts, so they cannot be active at the genesis. */
export const forkDelaysOfSet = (l2BlockTimeSec: number): NonNullable<ChainParameters["forkDelaysSec"]> => ({
  karst: l2BlockTimeSec,
  lagoon: 2 * l2BlockTimeSec,
});

/** Whether a fork is scheduled whose first block depends on the dependency set. */
export const needsDependencySet = (parameters: ChainParameters): boolean =>
  rollupRulesAt(l2ForkTimes(parameters, 0), Number.MAX_SAFE_INTEGER).hasExecutingMessages;

/** The forks of the L2 in the form of its configuration files. */
export function l2ForkTimes({ forkDelaysSec = {} }: ChainParameters, genesisTimeSec: number): ForkTimes {
  const times: Partial<Record<OpFork, number>> = { ...forksUpTo(NEWEST_L2_FORK) };
  for (const fork of OP_FORKS) {
    const delaySec = forkDelaysSec[fork];
    if (delaySec === null) delete times[fork];
    else if (delaySec !== undefined) times[fork] = genesisTimeSec + delaySec;
  }
  return times;
}
