import type { Etcd } from "../etcd/etcd-api.ts";
import type { ClusterKeys } from "./keys.ts";
import {
  type HeadRecord,
  type LeaderRecord,
  type MemberRecord,
  type RosterRecord,
  readHead,
  readLeader,
  readMember,
  readRoster,
  readTransfer,
  type TransferRecord,
} from "./records.ts";

/** The cluster as etcd had it at one revision. */
export interface ClusterView {
  readonly revision: number;
  readonly leader: (LeaderRecord & { readonly fence: number; readonly leaseId: string }) | undefined;
  readonly transfer: TransferRecord | undefined;
  readonly head: HeadRecord | undefined;
  readonly members: readonly (MemberRecord & { readonly leaseId: string })[];
  /** 0: it was never changed */
  readonly roster: RosterRecord & { readonly version: number };
}

/** @throws {EtcdError}; {ConductorError} conductor/bad-record */
export async function readCluster(etcd: Etcd, keys: ClusterKeys): Promise<ClusterView> {
  const { revision, ranges } = await etcd.txn(
    [],
    [
      { kind: "range", key: keys.leader },
      { kind: "range", key: keys.transfer },
      { kind: "range", key: keys.head },
      { kind: "range", key: keys.members, end: keys.membersEnd },
      { kind: "range", key: keys.roster },
    ],
  );
  const [leader, transfer, head, members = [], roster] = ranges;
  const [leaderPair, transferPair, headPair, rosterPair] = [leader?.[0], transfer?.[0], head?.[0], roster?.[0]];
  return {
    revision,
    leader: leaderPair && { ...readLeader(leaderPair), fence: leaderPair.createRevision, leaseId: leaderPair.leaseId },
    transfer: transferPair && readTransfer(transferPair),
    head: headPair && readHead(headPair),
    members: members.map((pair) => ({ ...readMember(pair), leaseId: pair.leaseId })),
    roster: rosterPair
      ? { ...readRoster(rosterPair), version: rosterPair.modRevision }
      : { nonvoters: [], removed: [], version: 0 },
  };
}
