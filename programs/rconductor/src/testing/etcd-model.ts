import type { Comparison, KeyValue, Operation, TxnResult } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";

interface Lease {
  readonly ttlMs: number;
  endsMs: number;
}

interface Version {
  readonly revision: number;
  /** undefined: deleted */
  readonly pair: KeyValue | undefined;
}

const MIN_TTL_SEC = 2;
/** As etcd's defaults. */
const MAX_REQUEST_BYTES = 1.5 * 1024 * 1024;
const MAX_OPERATIONS = 128;

/**
 * A model of etcd's store with revisions and leases, without its network: it processes requests one by one, as a cluster with a
 * leader does.
 */
export class EtcdModel {
  readonly #now: () => number;
  readonly #keys = new Map<string, Version[]>();
  readonly #leases = new Map<string, Lease>();
  #revision = 1;
  #compacted = 0;
  #lastLease = 7_000_000_000_000_000_000n;
  /** called for every change, in order */
  onChange: (key: string, pair: KeyValue | undefined, revision: number) => void = () => {};

  /** @param now in milliseconds, by etcd's clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  get revision(): number {
    return this.#revision;
  }

  txn(comparisons: readonly Comparison[], success: readonly Operation[], failure: readonly Operation[]): TxnResult {
    this.expireLeases();
    for (const operations of [success, failure]) checkOperations(operations);
    const size = [...success, ...failure].reduce(
      (sum, operation) => sum + (operation.kind === "put" ? operation.value.length : 0),
      0,
    );
    if (size > MAX_REQUEST_BYTES) throw new EtcdError("etcd/refused", { what: "txn", reason: "request is too large" });
    const succeeded = comparisons.every(({ key, target, revision }) => {
      const pair = this.get(key);
      return (target === "create" ? (pair?.createRevision ?? 0) : (pair?.modRevision ?? 0)) === revision;
    });
    const operations = succeeded ? success : failure;
    for (const operation of operations) this.#check(operation);
    const revision = this.#revision + 1;
    let hasWritten = false;
    const ranges: (readonly KeyValue[])[] = [];
    for (const operation of operations) {
      let found: readonly KeyValue[] = [];
      if (operation.kind === "range") found = this.#range(operation.key, operation.end, operation.revision);
      else if (operation.kind === "put") {
        this.#put(operation, revision);
        hasWritten = true;
      } else {
        const deleted = this.#range(operation.key, operation.end, undefined);
        for (const { key } of deleted) this.#delete(key, revision);
        if (deleted.length > 0) hasWritten = true;
      }
      ranges.push(found);
    }
    if (hasWritten) this.#revision = revision;
    return { succeeded, revision: this.#revision, ranges };
  }

  grant(ttlSec: number): { readonly leaseId: string; readonly ttlSec: number } {
    const ttl = Math.max(MIN_TTL_SEC, ttlSec);
    const leaseId = String(++this.#lastLease);
    this.#leases.set(leaseId, { ttlMs: ttl * 1000, endsMs: this.#now() + ttl * 1000 });
    return { leaseId, ttlSec: ttl };
  }

  keepAlive(leaseId: string): number {
    this.expireLeases();
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) return 0;
    lease.endsMs = this.#now() + lease.ttlMs;
    return lease.ttlMs / 1000;
  }

  revoke(leaseId: string): void {
    if (!this.#leases.delete(leaseId)) return;
    const revision = this.#revision + 1;
    const held = this.#range("\0", "\uffff", undefined).filter((pair) => pair.leaseId === leaseId);
    for (const { key } of held) this.#delete(key, revision);
    if (held.length > 0) this.#revision = revision;
  }

  compact(revision: number): void {
    if (revision <= this.#compacted) throw new EtcdError("etcd/compacted", {});
    if (revision > this.#revision) throw new EtcdError("etcd/refused", { what: "compaction", reason: "future revision" });
    this.#compacted = revision;
    for (const [key, versions] of this.#keys) {
      const last = versions.findLastIndex((version) => version.revision <= revision);
      if (last > 0) versions.splice(0, last);
      if (versions.length === 1 && versions[0]!.pair === undefined && versions[0]!.revision <= revision) this.#keys.delete(key);
    }
  }

  /** A new leader of etcd gives every lease its whole time again. */
  renewLeases(): void {
    for (const lease of this.#leases.values()) lease.endsMs = this.#now() + lease.ttlMs;
  }

  expireLeases(): void {
    for (const [leaseId, { endsMs }] of this.#leases) if (this.#now() >= endsMs) this.revoke(leaseId);
  }

  get(key: string): KeyValue | undefined {
    return this.#keys.get(key)?.at(-1)?.pair;
  }

  /** The number of keys, and of all versions that are kept. */
  get size(): { readonly keys: number; readonly versions: number } {
    const versions = [...this.#keys.values()].reduce((sum, all) => sum + all.length, 0);
    return { keys: this.#range("\0", "\uffff", undefined).length, versions };
  }

  #check(operation: Operation): void {
    if (operation.kind === "put" && operation.leaseId !== undefined && !this.#leases.has(operation.leaseId)) {
      throw new EtcdError("etcd/refused", { what: "txn", reason: "requested lease not found", grpc: 5 });
    }
    if (operation.kind !== "range" || operation.revision === undefined) return;
    if (operation.revision < this.#compacted) throw new EtcdError("etcd/compacted", {});
    if (operation.revision > this.#revision)
      throw new EtcdError("etcd/refused", { what: "txn", reason: "required revision is a future revision" });
  }

  #put({ key, value, leaseId = "0" }: Extract<Operation, { kind: "put" }>, revision: number): void {
    const createRevision = this.get(key)?.createRevision ?? revision;
    this.#write(key, { key, value, createRevision, modRevision: revision, leaseId }, revision);
  }

  #delete(key: string, revision: number): void {
    this.#write(key, undefined, revision);
  }

  #write(key: string, pair: KeyValue | undefined, revision: number): void {
    const versions = this.#keys.get(key);
    if (versions === undefined) this.#keys.set(key, [{ revision, pair }]);
    else versions.push({ revision, pair });
    this.onChange(key, pair, revision);
  }

  #range(key: string, end: string | undefined, revision: number | undefined): KeyValue[] {
    const found: KeyValue[] = [];
    for (const [name, versions] of this.#keys) {
      if (end === undefined ? name !== key : name < key || name >= end) continue;
      const version = revision === undefined ? versions.at(-1) : versions.findLast((candidate) => candidate.revision <= revision);
      if (version?.pair !== undefined) found.push(version.pair);
    }
    return found.sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

function checkOperations(operations: readonly Operation[]): void {
  if (operations.length > MAX_OPERATIONS)
    throw new EtcdError("etcd/refused", { what: "txn", reason: "too many operations in txn request" });
  const puts = operations.flatMap((operation) => (operation.kind === "put" ? [operation.key] : []));
  const isDeleted = (key: string): boolean =>
    operations.some(
      (operation) =>
        operation.kind === "delete" &&
        (operation.end === undefined ? operation.key === key : operation.key <= key && key < operation.end),
    );
  if (new Set(puts).size < puts.length || puts.some(isDeleted)) {
    throw new EtcdError("etcd/refused", { what: "txn", reason: "duplicate key given in txn request" });
  }
}
