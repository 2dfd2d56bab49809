/** OP Stack forks in order; each implies those before it. Interop ("Lagoon") is last and not scheduled. */
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
  "interop",
] as const;
export type OpFork = (typeof OP_FORKS)[number];

/** Ethereum forks that change execution, in order. */
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

const OP_ORDER = new Map<OpFork, number>(OP_FORKS.map((fork, index) => [fork, index]));
const EVM_ORDER = new Map<EvmFork, number>(EVM_FORKS.map((fork, index) => [fork, index]));

export const isOpForkAtLeast = (active: OpFork, wanted: OpFork): boolean => OP_ORDER.get(active)! >= OP_ORDER.get(wanted)!;
export const isEvmForkAtLeast = (active: EvmFork, wanted: EvmFork): boolean => EVM_ORDER.get(active)! >= EVM_ORDER.get(wanted)!;

/** The Ethereum rules an OP fork runs on. Spec: docs/protocol/01-execution.md#fork-map. */
export const EVM_FORK_OF_OP_FORK: Readonly<Record<OpFork, EvmFork>> = {
  bedrock: "paris",
  regolith: "paris",
  canyon: "shanghai",
  delta: "shanghai",
  ecotone: "cancun",
  fjord: "cancun",
  granite: "cancun",
  holocene: "cancun",
  isthmus: "prague",
  jovian: "prague",
  karst: "osaka",
  interop: "osaka",
};

export type ForkTimes = Readonly<Partial<Record<OpFork, number>>>;

/** The newest fork active at `timestampSec` (Bedrock when none is). */
export function activeOpFork(forkTimes: ForkTimes, timestampSec: number): OpFork {
  for (let i = OP_FORKS.length - 1; i > 0; i--) {
    const time = forkTimes[OP_FORKS[i]!];
    if (time !== undefined && timestampSec >= time) return OP_FORKS[i]!;
  }
  return "bedrock";
}

/** Whether `fork` (or a later one) is active at `timestampSec`. */
export function isOpForkActive(forkTimes: ForkTimes, fork: OpFork, timestampSec: number): boolean {
  return isOpForkAtLeast(activeOpFork(forkTimes, timestampSec), fork);
}

/** Active at this block and not at its parent (`blockTimeSec` earlier); never at a genesis at which it is active. */
export function isActivationBlock(forkTimes: ForkTimes, fork: OpFork, timestampSec: number, blockTimeSec: number): boolean {
  return isOpForkActive(forkTimes, fork, timestampSec) && !isOpForkActive(forkTimes, fork, timestampSec - blockTimeSec);
}
