import type { Header } from "../blocks/block.ts";
import { extraDataBytes } from "../params/eip1559-params.ts";
import type { EvmFork } from "./evm-forks.ts";
import { type DerivationFacts, type FirstBlockFacts, forkFacts, OP_FORKS, type OpFork } from "./op-forks.ts";
import { derivationFacts, EVM_FORK_BEARERS, type ForkRules, rollupRules } from "./rules.ts";

/** Activation times in seconds; 0: active at genesis, missing: not scheduled. */
export type ForkTimes = Readonly<Partial<Record<OpFork, number>>>;

/** The newest fork that is active at `timestampSec`, or the first fork if none is. */
export function activeOpFork(forkTimes: ForkTimes, timestampSec: number): OpFork {
  for (let i = OP_FORKS.length - 1; i > 0; i--) {
    const time = forkTimes[OP_FORKS[i]!];
    if (time !== undefined && timestampSec >= time) return OP_FORKS[i]!;
  }
  return OP_FORKS[0];
}

/** The rules of an L2 block. */
export function rollupRulesAt(forkTimes: ForkTimes, timestampSec: number): ForkRules {
  return rollupRules(activeOpFork(forkTimes, timestampSec));
}

export const derivationFactsAt = (forkTimes: ForkTimes, timestampSec: number): DerivationFacts =>
  derivationFacts(activeOpFork(forkTimes, timestampSec));

/** The facts when all scheduled forks are active. */
export const lastDerivationFacts = (forkTimes: ForkTimes): DerivationFacts =>
  derivationFactsAt(forkTimes, Number.POSITIVE_INFINITY);

/** The forks whose activation block is the one at `timestampSec`, in order. A genesis block is no activation block. */
export function forksBeginningAt(forkTimes: ForkTimes, timestampSec: number, parentTimestampSec: number): readonly OpFork[] {
  return OP_FORKS.filter((fork) => {
    const time = forkTimes[fork];
    return time !== undefined && timestampSec >= time && parentTimestampSec < time;
  });
}

/** Facts about the activation block of a fork. */
export const firstBlockFacts = (fork: OpFork): FirstBlockFacts => forkFacts(fork).firstBlock;

/** Whether the block may have user transactions: an activation block may not, or sequencers omit them. */
export function userTransactionsAt(
  forkTimes: ForkTimes,
  timestampSec: number,
  parentTimestampSec: number,
): FirstBlockFacts["userTransactions"] {
  const answers = forksBeginningAt(forkTimes, timestampSec, parentTimestampSec).map(
    (fork) => firstBlockFacts(fork).userTransactions,
  );
  if (answers.includes("forbidden")) return "forbidden";
  return answers.includes("omitted") ? "omitted" : "allowed";
}

/** Every fork up to and including `newest`, active at genesis. */
export function forksUpTo(newest: OpFork): ForkTimes {
  return Object.fromEntries(OP_FORKS.slice(1, OP_FORKS.indexOf(newest) + 1).map((fork) => [fork, 0]));
}

/**
 * The newest fork, among those that upstream has scheduled on any chain, whose blocks have this header's fields. Several forks
 * have the same fields, so the chain can be on an older one.
 */
export function newestForkLike(header: Header): OpFork {
  return (
    OP_FORKS.findLast((fork) => {
      const { hasWithdrawals, hasBeaconRoot, hasExecutionRequests, extraDataVersion } = rollupRules(fork);
      return (
        forkFacts(fork).isUnscheduled !== true &&
        hasWithdrawals === (header.withdrawalsRoot !== undefined) &&
        hasBeaconRoot === (header.parentBeaconBlockRoot !== undefined) &&
        hasExecutionRequests === (header.requestsHash !== undefined) &&
        header.extraData.length === (extraDataVersion === undefined ? 0 : extraDataBytes(extraDataVersion))
      );
    }) ?? OP_FORKS[0]
  );
}

/** Only the forks that are active at a time. */
export const forksBegunBy = <Fork extends string>(times: Readonly<Partial<Record<Fork, number>>>, timestampSec: number) =>
  Object.fromEntries(Object.entries<number | undefined>(times).filter(([, time]) => (time ?? Infinity) <= timestampSec)) as Partial<
    Record<Fork, number>
  >;

/** Activation times of the Ethereum forks that come with a rollup's forks. */
export function evmForkTimesOf(forkTimes: ForkTimes): Partial<Record<EvmFork, number>> {
  const times: Partial<Record<EvmFork, number>> = {};
  for (const [fork, evm] of EVM_FORK_BEARERS) {
    const time = forkTimes[fork];
    if (time !== undefined) times[evm] = time;
  }
  return times;
}

/** When a chain begins to execute messages of other chains, in seconds; `undefined`: never, as far as is known. */
export function messagesBegin(forkTimes: ForkTimes): number | undefined {
  const fork = OP_FORKS.find((known) => forkTimes[known] !== undefined && rollupRules(known).hasExecutingMessages);
  return fork && forkTimes[fork];
}
