import { codedErrors } from "@rnode/primitives";

export type ConductorErrorCode =
  /** a block was to be committed by who does not lead */
  | "conductor/not-leader"
  /** a payload that does not hash to its block hash */
  | "conductor/bad-payload"
  /** a block that does not follow the last committed one */
  | "conductor/not-on-committed-head"
  /** etcd holds what this program did not write, or half of it */
  | "conductor/bad-record"
  /** etcd's prefix belongs to another chain */
  | "conductor/wrong-chain"
  /** another conductor runs under the same id */
  | "conductor/id-taken"
  /** the rollup node does not ask a conductor before it releases blocks */
  | "conductor/node-without-conductor"
  /** the sequencer cannot be started from the last committed block */
  | "conductor/cannot-start"
  /** the cluster cannot carry out the request */
  | "conductor/refused";

export class ConductorError extends codedErrors<ConductorErrorCode>({
  "conductor/not-leader": "node is not the leader: block {number} is not committed",
  "conductor/bad-payload": "the payload of block {number} hashes to {actual}, not to its blockHash {stated}: it is not committed",
  "conductor/not-on-committed-head":
    "block {number} follows {parent}, but the last committed block is {headNumber} {head}: it is not committed, and the sequencer starts again from there",
  "conductor/bad-record": "{key} in etcd is not what rconductor writes: {reason}",
  "conductor/wrong-chain": "{prefix} in etcd belongs to chain {theirs}, not {ours}: choose another --etcd.prefix",
  "conductor/id-taken": "another rconductor with the id {id} is at work ({addr}): give each one its own --server-id",
  "conductor/node-without-conductor":
    "{option} {endpoint}: the rollup node runs without --conductor.enabled, so that it would release blocks without asking; start it with that option",
  "conductor/cannot-start": "the sequencer cannot start: {reason}",
  "conductor/refused": "{reason}",
}) {}
