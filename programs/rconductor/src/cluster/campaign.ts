import type { ClusterView } from "./cluster-view.ts";
import type { Fitness, MemberRecord, RosterRecord } from "./records.ts";

export interface Candidate {
  readonly id: string;
  readonly fitness: Fitness;
  /** number of its unsafe head */
  readonly unsafe: number;
  /** it may begin where etcd has no committed block */
  readonly mayBootstrap: boolean;
  /** it takes part in elections */
  readonly isStopped: boolean;
}

export type CampaignVerdict =
  | { readonly kind: "campaign" }
  /** no leader is known, but this candidate must not campaign, or not yet */
  | { readonly kind: "wait"; readonly reason: string };

/** One whose sequencer is not fit, or lacks blocks, leaves the others this time, and leads if none of them does. */
export const UNFIT_DELAY_MS = 2_000;
/** However many are ahead of it, a member tries after this many delays. */
const MAX_DELAYS = 3;

/** Whether the roster lets a member lead, and its sequencer could. */
export function couldLead({ id, fitness }: Pick<MemberRecord, "id" | "fitness">, roster: RosterRecord | undefined): boolean {
  if (fitness !== "healthy" && fitness !== "stalled") return false;
  return roster?.nonvoters.includes(id) !== true && roster?.removed.includes(id) !== true;
}

/**
 * Whether to create the leader key, which is not there.
 *
 * @param leaderlessMs how long this candidate has seen no leader
 */
export function checkCampaign(candidate: Candidate, view: ClusterView, leaderlessMs: number): CampaignVerdict {
  const { id, fitness, unsafe, mayBootstrap, isStopped } = candidate;
  const { transfer, head, roster, members } = view;
  const wait = (reason: string): CampaignVerdict => ({ kind: "wait", reason });
  if (isStopped) return wait("conductor_stop");
  if (roster.removed.includes(id)) return wait("conductor_addServerAsVoter: this server was removed");
  if (roster.nonvoters.includes(id)) return wait("conductor_addServerAsVoter: this server is no voter");
  if (head === undefined && !mayBootstrap) return wait("a conductor with --bootstrap: etcd has no committed block");
  if (fitness === "down") return wait("its sequencer to answer");
  if (transfer !== undefined) {
    if (transfer.to === id) return { kind: "campaign" };
    if (transfer.to !== undefined || transfer.from === id) return wait("another server to lead, after a transfer");
  }
  // One that lacks blocks would have to fetch them first, and the chain would stand still meanwhile: the member with the most blocks comes first.
  const ahead = members.filter((other) => other.id !== id && couldLead(other, roster) && other.unsafe > unsafe + 1).length;
  const isBehind = head !== undefined && unsafe + 1 < head.number;
  const delays = Math.min(MAX_DELAYS, (fitness === "unfit" ? 1 : 0) + Math.max(ahead, isBehind ? 1 : 0));
  if (leaderlessMs < delays * UNFIT_DELAY_MS) return wait("fitter servers to lead");
  return { kind: "campaign" };
}
