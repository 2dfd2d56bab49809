export { ClusterKeys } from "../cluster/keys.ts";
export { type HeadRecord, readHead, readLeader } from "../cluster/records.ts";
export { EtcdError } from "../etcd/etcd-error.ts";
export type { SequencerNode } from "../sequencer/sequencer-api.ts";
export { EtcdModel } from "./etcd-model.ts";
export { etcdOver } from "./model-etcd.ts";
export { type SimConductor, startSimConductor } from "./sim-conductor.ts";
