import { codedErrors } from "@rnode/primitives";

export type EtcdErrorCode =
  /** no endpoint gave an answer: etcd is down, out of reach, or has no leader */
  | "etcd/unavailable"
  /** etcd does not want this user, or this certificate */
  | "etcd/denied"
  /** its database has reached its quota: it takes no writes */
  | "etcd/no-space"
  /** the requested revision has been compacted */
  | "etcd/compacted"
  /** any other refusal */
  | "etcd/refused"
  /** not what etcd's gateway answers */
  | "etcd/bad-answer";

export class EtcdError extends codedErrors<EtcdErrorCode>({
  "etcd/unavailable": "etcd does not answer {what}: {reason}",
  "etcd/denied": "etcd refuses {what}: {reason}; check --etcd.username, --etcd.password-file and the client certificate",
  "etcd/no-space":
    "etcd's database is full ({reason}): compact and defragment it and disarm the alarm (etcdctl compact, defrag, alarm disarm)",
  "etcd/compacted": "etcd no longer has the revision that was asked for",
  "etcd/refused": "etcd refuses {what}: {reason}",
  "etcd/bad-answer": "{endpoint} answered {what} with what is no answer of etcd's JSON gateway: {reason}",
}) {}
