import type { ClusterView } from "./cluster-view.ts";
import type { Fitness } from "./records.ts";

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
  /** now nobody leads as far as this candidate may know, but it must not try, or not yet */
  | { readonly kind: "wait"; readonly reason: string };

/** One whose sequencer is not fit leaves the others this time, and leads if none of them does. */
export const UNFIT_DELAY_MS = 2_000;

/**
 * Whether to create the leader key, which is not there.
 *
 * @param leaderlessMs how long this candidate has seen no leader
 */
export function checkCampaign(candidate: Candidate, view: ClusterView, leaderlessMs: number): CampaignVerdict {
  const { id, fitness, unsafe, mayBootstrap, isStopped } = candidate;
  const { transfer, head, roster } = view;
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
  // One that lacks blocks would have to fetch them first.
  const isBehind = head !== undefined && unsafe + 1 < head.number;
  if ((fitness === "unfit" || isBehind) && leaderlessMs < UNFIT_DELAY_MS) return wait("fitter servers to lead");
  return { kind: "campaign" };
}
