import { EVM_FORKS, type EvmFork, type EvmRules, evmForkFacts } from "./evm-forks.ts";
import { type DerivationFacts, ETHEREUM_BLOCKS, forkFacts, OP_FORKS, type OpFork, type RollupBlockRules } from "./op-forks.ts";

/** All values of a block that depend on forks. `op` is `undefined` on an Ethereum chain. */
export interface ForkRules extends EvmRules, RollupBlockRules {
  readonly evm: EvmFork;
  readonly op: OpFork | undefined;
}

/** For each fork, the facts with all changes up to and including its own. */
function accumulate<Fork extends string, Facts extends object>(
  forks: readonly Fork[],
  changesOf: (fork: Fork) => Partial<Facts>,
): ReadonlyMap<Fork, Facts> {
  const sums = new Map<Fork, Facts>();
  let sum = {} as Facts; // the first row is complete, because its type requires all fields
  for (const fork of forks) {
    sum = { ...sum, ...changesOf(fork) };
    sums.set(fork, sum);
  }
  return sums;
}

const EVM_RULES = accumulate<EvmFork, EvmRules>(EVM_FORKS, (fork) => evmForkFacts(fork).changes);
const ROLLUP_RULES = accumulate<OpFork, Partial<RollupBlockRules & EvmRules>>(OP_FORKS, (fork) => forkFacts(fork).blocks);
const DERIVATION_FACTS = accumulate<OpFork, DerivationFacts>(OP_FORKS, (fork) => forkFacts(fork).derivation);
const EVM_FORK_OF_OP_FORK = accumulate<OpFork, { evm: EvmFork }>(OP_FORKS, (fork) => {
  const { evm } = forkFacts(fork);
  return evm === undefined ? {} : { evm };
});

/** The Ethereum fork of an OP fork. */
export const evmForkOf = (op: OpFork): EvmFork => EVM_FORK_OF_OP_FORK.get(op)!.evm;

/** OP Stack forks that include an Ethereum fork. */
export const EVM_FORK_BEARERS: readonly (readonly [OpFork, EvmFork])[] = OP_FORKS.slice(1).flatMap((fork) => {
  const { evm } = forkFacts(fork);
  return evm === undefined ? [] : [[fork, evm] as const];
});

export const derivationFacts = (op: OpFork): DerivationFacts => DERIVATION_FACTS.get(op)!;

const resolved = new Map<OpFork | undefined, Map<EvmFork, ForkRules>>();

/** @param op `undefined`: an Ethereum chain */
export function forkRules(evm: EvmFork, op?: OpFork): ForkRules {
  let byEvmFork = resolved.get(op);
  if (byEvmFork === undefined) resolved.set(op, (byEvmFork = new Map()));
  let rules = byEvmFork.get(evm);
  if (rules === undefined) {
    rules = { ...ETHEREUM_BLOCKS, ...EVM_RULES.get(evm)!, ...(op !== undefined && ROLLUP_RULES.get(op)), evm, op };
    byEvmFork.set(evm, rules);
  }
  return rules;
}

export const rollupRules = (op: OpFork): ForkRules => forkRules(evmForkOf(op), op);
