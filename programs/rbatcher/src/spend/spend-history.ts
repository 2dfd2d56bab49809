import type { Clock } from "@rnode/primitives";
import type { L1Access } from "../l1/l1-access.ts";

export interface Payment {
  readonly atMs: number;
  readonly wei: bigint;
}

export interface PastPayments {
  /** in the order of their times */
  readonly payments: readonly Payment[];
  /** earlier payments are unknown */
  readonly sinceMs: number;
}

interface Sample {
  readonly number: number;
  readonly atMs: number;
  readonly balanceWei: bigint;
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Payments within this interval count as one. The last hour has a finer resolution. */
const GRAIN_MS = HOUR_MS;
const RECENT_GRAIN_MS = HOUR_MS / 6;

/**
 * What an account has paid in the last day, computed from its balances on L1. A payment is dated to the end of the interval in
 * which it was found, so that it never expires too early. Received ether hides a payment in the same block, or in an interval in
 * which more was paid than received. The search takes about seventy requests and needs the states of one day; an endpoint with
 * fewer states gives a shorter history.
 *
 * @throws the errors of L1: the payments are unknown
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
