import type { ForkTimes } from "./fork-times.ts";
import { forkFacts, OP_FORKS, type OpFork } from "./op-forks.ts";

/** An error in a schedule: the key of a fork's time, that time, and the expected value. */
export interface ScheduleFault {
  readonly key: string;
  readonly timeSec: number;
  readonly expected: string;
}

/**
 * Checks that each scheduled fork has all its predecessors, none of them later. A fork whose first block has no user transactions
 * must not activate together with its predecessor, except at genesis. Spec: docs/protocol/02-derivation.md#fork-schedule
 *
 * @param keyOf the configuration's key for a fork; `undefined` for forks that the configuration cannot schedule
 * @param genesisTimeSec time of the genesis block; `undefined` if it is unknown, which skips the last check
 * @returns the first fault
 */
export function checkForkSchedule(
  times: ForkTimes,
  keyOf: (fork: OpFork) => string | undefined,
  genesisTimeSec: number | undefined,
): ScheduleFault | undefined {
  let previous: { readonly key: string; readonly timeSec: number | undefined } | undefined;
  for (const fork of OP_FORKS) {
    const key = keyOf(fork);
    if (key === undefined) continue;
    const timeSec = times[fork];
    if (timeSec !== undefined && previous !== undefined) {
      const expected = expectationOf(fork, timeSec, previous, genesisTimeSec);
      if (expected !== undefined) return { key, timeSec, expected };
    }
    previous = { key, timeSec };
  }
  return undefined;
}

function expectationOf(
  fork: OpFork,
  timeSec: number,
  previous: { readonly key: string; readonly timeSec: number | undefined },
  genesisTimeSec: number | undefined,
): string | undefined {
  if (previous.timeSec === undefined) return `not set, because ${previous.key} is not set`;
  if (timeSec < previous.timeSec) return `at least ${previous.key} (${previous.timeSec})`;
  const needsOwnBlock = forkFacts(fork).firstBlock.userTransactions === "forbidden";
  if (!needsOwnBlock || timeSec !== previous.timeSec) return undefined;
  if (genesisTimeSec === undefined || timeSec <= genesisTimeSec) return undefined;
  return `later than ${previous.key} (${previous.timeSec}), because both are after genesis (${genesisTimeSec})`;
}
