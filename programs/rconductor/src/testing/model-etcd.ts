import type { Comparison, Etcd, Operation, TxnResult } from "../etcd/etcd-api.ts";
import type { EtcdModel } from "./etcd-model.ts";

/** The model as a client that always gets its answer at once. */
export const modelEtcd = (model: EtcdModel): Etcd => ({
  txn: async (
    comparisons: readonly Comparison[],
    success: readonly Operation[],
    failure: readonly Operation[] = [],
  ): Promise<TxnResult> => model.txn(comparisons, success, failure),
  leaseGrant: async (ttlSec) => model.grant(ttlSec),
  leaseKeepAlive: async (leaseId) => model.keepAlive(leaseId),
  leaseRevoke: async (leaseId) => model.revoke(leaseId),
  compact: async (revision) => {
    try {
      model.compact(revision);
    } catch {
      // the revisions are compacted already
    }
  },
});
