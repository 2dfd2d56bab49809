import type { Clock } from "@rnode/primitives";
import type { L1Access } from "../l1/l1-access.ts";

export interface Payment {
  readonly atMs: number;
  readonly wei: bigint;
}

export interface PastPayments {
  /** in the order of their times */
  readonly payments: readonly Payment[];
  /** what was paid before is not known */
  readonly sinceMs: number;
}

interface Sample {
  readonly number: number;
  readonly atMs: number;
  readonly balanceWei: bigint;
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Payments within this are one; those of the last hour are told apart better. */
const GRAIN_MS = HOUR_MS;
const RECENT_GRAIN_MS = HOUR_MS / 6;

/**
 * What an account has paid in the last day, from its balances on L1. A payment counts from the end of the time in which it was found, so that
 * none counts too short. Ether that arrives hides what was paid in the same block, or in an interval in which more was paid than arrived. It
 * takes some seventy requests, and states of a day, of which an endpoint may have fewer: then less is known.
 *
 * @throws the errors of L1: it is not known
 */
export async function pastPayments(
  l1: Pick<L1Access, "head" | "accountAfter">,
  address: Uint8Array,
  clock: Pick<Clock, "unixMs">,
): Promise<PastPayments> {
  const nowMs = clock.unixMs();
  const sinceMs = nowMs - DAY_MS;
  const sample = async (number: number): Promise<Sample | undefined> => {
    const found = await l1.accountAfter(address, number);
    return found && { number, atMs: found.timestampSec * 1000, balanceWei: found.balanceWei };
  };
  const head = await sample((await l1.head()).number);
  if (head === undefined) return { payments: [], sinceMs: nowMs };

  // Back in growing steps to a block that is old enough, or whose state is gone, then to the boundary.
  let oldest = head;
  let beyond = -1;
  for (let step = 1; oldest.atMs > sinceMs && beyond < 0 && oldest.number > 0; step *= 2) {
    const number = Math.max(0, head.number - step);
    const found = await sample(number);
    if (found === undefined) beyond = number;
    else oldest = found;
  }
  while (oldest.number - beyond > 1 && beyond >= 0) {
    const number = Math.floor((oldest.number + beyond) / 2);
    const found = await sample(number);
    if (found === undefined) beyond = number;
    else oldest = found;
  }

  const payments: Payment[] = [];
  const look = async (from: Sample, to: Sample): Promise<void> => {
    if (to.atMs <= sinceMs || from.balanceWei === to.balanceWei) return;
    const isPayment = to.balanceWei < from.balanceWei;
    const grainMs = nowMs - to.atMs < 2 * HOUR_MS ? RECENT_GRAIN_MS : GRAIN_MS;
    if (to.number - from.number <= 1 || (isPayment && to.atMs - from.atMs <= grainMs)) {
      if (isPayment) payments.push({ atMs: to.atMs, wei: from.balanceWei - to.balanceWei });
      return;
    }
    const middle = await sample(Math.floor((from.number + to.number) / 2));
    if (middle === undefined) return;
    await look(from, middle);
    await look(middle, to);
  };
  await look(oldest, head);
  return { payments, sinceMs: oldest.number === 0 ? sinceMs : Math.max(sinceMs, oldest.atMs) };
}
