import { equalBytes, keccak256 } from "@rnode/primitives";
import type { V4Node } from "./v4-packets.ts";

/** A node that has answered a ping. */
export interface TableEntry extends V4Node {
  /** keccak256 of the public key */
  readonly nodeId: Uint8Array;
  seenMs: number;
  /** pings in a row without an answer */
  failures: number;
}

const BUCKET_SIZE = 16;
/** closer nodes share one bucket: the first 16 bits of a distance distinguish the others */
const BUCKETS = 17;
/** limit per bucket and /24 (IPv6: address), so many addresses of one network do not fill the table */
const MAX_OF_NETWORK = 2;

/** The distance's number of leading zero bits, at most `BUCKETS − 1`. */
function bucketOf(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < 3; i++) {
    const difference = a[i]! ^ b[i]!;
    if (difference !== 0) return Math.min(BUCKETS - 1, i * 8 + Math.clz32(difference) - 24);
  }
  return BUCKETS - 1;
}

const isNearer = (target: Uint8Array, a: Uint8Array, b: Uint8Array): number => {
  for (let i = 0; i < 32; i++) {
    const difference = (a[i]! ^ target[i]!) - (b[i]! ^ target[i]!);
    if (difference !== 0) return difference;
  }
  return 0;
};

/** Sorts nodes by their distance from a target, the nearest first. */
export const byDistance = <T extends { readonly nodeId: Uint8Array }>(nodes: readonly T[], target: Uint8Array): T[] =>
  [...nodes].sort((a, b) => isNearer(target, a.nodeId, b.nodeId));

/** Nodes by their distance from us: many that are near, few of each larger distance. */
export class V4Table {
  readonly #ownId: Uint8Array;
  readonly #buckets: TableEntry[][] = Array.from({ length: BUCKETS }, () => []);

  /** @param ownId keccak256 of our public key */
  constructor(ownId: Uint8Array) {
    this.#ownId = ownId;
  }

  get size(): number {
    return this.#buckets.reduce((sum, { length }) => sum + length, 0);
  }

  all(): TableEntry[] {
    return this.#buckets.flat();
  }

  closest(target: Uint8Array, count: number): TableEntry[] {
    return byDistance(this.all(), target).slice(0, count);
  }

  find(publicKey: Uint8Array): TableEntry | undefined {
    const nodeId = keccak256(publicKey);
    return this.#buckets[bucketOf(this.#ownId, nodeId)]!.find((entry) => equalBytes(entry.publicKey, publicKey));
  }

  /**
   * Adds a node that has answered, or updates its time.
   *
   * @returns the least recently seen node if the bucket is full; the caller pings it
   */
  seen(node: V4Node, nowMs: number): TableEntry | undefined {
    const nodeId = keccak256(node.publicKey);
    if (equalBytes(nodeId, this.#ownId)) return undefined;
    const bucket = this.#buckets[bucketOf(this.#ownId, nodeId)]!;
    const index = bucket.findIndex((entry) => equalBytes(entry.publicKey, node.publicKey));
    if (index >= 0) bucket.splice(index, 1);
    else if (bucket.filter(({ ip }) => networkOf(ip) === networkOf(node.ip)).length >= MAX_OF_NETWORK && !isLoopback(node.ip))
      return undefined;
    else if (bucket.length >= BUCKET_SIZE) return bucket[0];
    bucket.push({ ...node, nodeId, seenMs: nowMs, failures: 0 });
    return undefined;
  }

  remove(publicKey: Uint8Array): void {
    for (const bucket of this.#buckets) {
      const index = bucket.findIndex((entry) => equalBytes(entry.publicKey, publicKey));
      if (index >= 0) bucket.splice(index, 1);
    }
  }
}

const networkOf = (ip: string): string => (ip.includes(":") ? ip : ip.slice(0, ip.lastIndexOf(".")));
const isLoopback = (ip: string): boolean => ip.startsWith("127.") || ip === "::1";
