import { EVM_FORKS, type EvmFork } from "./evm-forks.ts";
import { activeOpFork, type ForkTimes } from "./fork-times.ts";
import { OP_FORKS, type OpFork } from "./op-forks.ts";

// Leaves with the last place that asks for a fork by its name.
export const isOpForkAtLeast = (active: OpFork, wanted: OpFork): boolean => OP_FORKS.indexOf(active) >= OP_FORKS.indexOf(wanted);
export const isEvmForkAtLeast = (active: EvmFork, wanted: EvmFork): boolean =>
  EVM_FORKS.indexOf(active) >= EVM_FORKS.indexOf(wanted);

export function isOpForkActive(forkTimes: ForkTimes, fork: OpFork, timestampSec: number): boolean {
  return isOpForkAtLeast(activeOpFork(forkTimes, timestampSec), fork);
}
export function isActivationBlock(forkTimes: ForkTimes, fork: OpFork, timestampSec: number, blockTimeSec: number): boolean {
  return isOpForkActive(forkTimes, fork, timestampSec) && !isOpForkActive(forkTimes, fork, timestampSec - blockTimeSec);
}
