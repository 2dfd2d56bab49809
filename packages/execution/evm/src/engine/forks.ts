import { EVM_FORKS, type EvmFork } from "@rnode/protocol";

/** Number of a fork in the engine (assembly/layout.ts): its position in the order of forks. */
export const forkNumber = (fork: EvmFork): number => EVM_FORKS.indexOf(fork);
