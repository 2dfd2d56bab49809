/** The part of etcd's API (3.4 or newer) that the conductor uses. https://etcd.io/docs/v3.5/learning/api/ */

/** A key with its value, as it was at the revision that was read. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** the revision of the store at which the key came into being: no other life of the key has the same */
  readonly createRevision: number;
  /** the revision of its latest change */
  readonly modRevision: number;
  /** the lease that it lives by; "0": none */
  readonly leaseId: string;
}

/** Holds if the key's revision is the one given; 0: there is no such key. */
export interface Comparison {
  readonly key: string;
  readonly target: "create" | "mod";
  readonly revision: number;
}

export type Operation =
  | { readonly kind: "put"; readonly key: string; readonly value: Uint8Array; readonly leaseId?: string | undefined }
  /** `end`: all keys from `key` to before it */
  | { readonly kind: "delete"; readonly key: string; readonly end?: string | undefined }
  | {
      readonly kind: "range";
      readonly key: string;
      readonly end?: string | undefined;
      /** as the keys were then; default: as they are now */
      readonly revision?: number | undefined;
    };

export interface TxnResult {
  readonly succeeded: boolean;
  /** of the store, after the transaction */
  readonly revision: number;
  /** by place of the operation: the keys of a range; empty for other operations */
  readonly ranges: readonly (readonly KeyValue[])[];
}

/**
 * Every method rejects with an `EtcdError` if no endpoint answered in time. The request may have been carried out, or may be
 * carried out later. A request may be sent to several endpoints, one after the other, so that it may be carried out twice.
 */
export interface Etcd {
  /** Atomic: `success` if every comparison holds, else `failure`. Without puts and deletes, the read is linearizable. */
  txn(comparisons: readonly Comparison[], success: readonly Operation[], failure?: readonly Operation[]): Promise<TxnResult>;
  leaseGrant(ttlSec: number): Promise<{ readonly leaseId: string; readonly ttlSec: number }>;
  /** @returns the seconds it lives from now; 0: it is gone */
  leaseKeepAlive(leaseId: string): Promise<number>;
  leaseRevoke(leaseId: string): Promise<void>;
  /** Forgets what keys were before this revision. */
  compact(revision: number): Promise<void>;
}

/** The end of the range of all keys that begin with `prefix`. */
export const prefixEnd = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
