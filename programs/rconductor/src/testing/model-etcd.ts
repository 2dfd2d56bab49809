import type { Etcd } from "../etcd/etcd-api.ts";
import type { EtcdModel } from "./etcd-model.ts";

/** The model as a client. @param request runs a request, and decides how long it takes and whether it has an answer */
export const etcdOver = (model: EtcdModel, request: <T>(what: string, act: () => T) => Promise<T>): Etcd => ({
  txn: (comparisons, success, failure = []) => request("txn", () => model.txn(comparisons, success, failure)),
  leaseGrant: (ttlSec) => request("grant", () => model.grant(ttlSec)),
  leaseKeepAlive: (leaseId) => request("keepalive", () => model.keepAlive(leaseId)),
  leaseRevoke: (leaseId) => request("revoke", () => model.revoke(leaseId)),
  compact: (revision) => request("compact", () => model.compact(revision)),
});

/** The model as a client that always gets its answer at once. */
export const modelEtcd = (model: EtcdModel): Etcd => {
  const etcd = etcdOver(model, async (_, act) => act());
  return { ...etcd, compact: (revision) => etcd.compact(revision).catch(() => {}) }; // the revisions are compacted already
};
