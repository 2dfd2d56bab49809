import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  concatBytes,
  encodeRlp,
  expectRlpNumber,
  expectRlpString,
  type Hex,
  hexToBytes,
  rlpUint,
  uint64ToBytes,
} from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { Table } from "@rnode/storage/environment";
import { blockIdFromRlp, blockIdToRlp, readRow } from "./rows.ts";

/** A block that L1 alone would make safe, and that executes an invalid message. */
export interface DeniedBlock {
  readonly chainId: bigint;
  readonly block: BlockId;
  /** time of the round that found it, in seconds */
  readonly timestamp: number;
  /** the highest L1 block that the blocks of that round were derived from */
  readonly l1: BlockId;
  readonly reason: string;
  /** of the output root of the denied block, which games ask for */
  readonly stateRoot: Uint8Array;
  readonly messagePasserStorageRoot: Uint8Array;
}

const chainPrefix = (chainId: bigint): Uint8Array => bigintToBytes(chainId, 32);

/** The verdicts. Row: `chain id ‖ number ‖ hash → RLP [time of the round, state root, storage root, reason, L1 block]`. */
export class DeniedBlocks {
  /** grows with each verdict */
  verdicts = 0;
  /** of rows, by chain id; `undefined`: not counted yet */
  private counts: Map<bigint, number> | undefined;
  private readonly table: Table;

  constructor(table: Table) {
    this.table = table;
  }

  has(chainId: bigint, number: number, hash: Hex): boolean {
    return this.table.has(keyOf(chainId, { number, hash }));
  }

  /** A denied block of a height. If reorganisations left several, one of them. */
  at(chainId: bigint, number: number): DeniedBlock | undefined {
    const [row] = this.table.withPrefix(concatBytes(chainPrefix(chainId), uint64ToBytes(number)));
    return row && stored(row);
  }

  count(chainId: bigint): number {
    this.counts ??= this.counted();
    return this.counts.get(chainId) ?? 0;
  }

  /** The denied blocks of a chain with the highest numbers, descending. */
  newest(chainId: bigint, limit: number): DeniedBlock[] {
    const found: DeniedBlock[] = [];
    for (const row of this.table.backFrom(concatBytes(chainPrefix(chainId), new Uint8Array(40).fill(0xff)))) {
      if (chainOf(row.key) !== chainId || found.length === limit) break;
      found.push(stored(row));
    }
    return found;
  }

  /** The denied blocks of a chain, or of all, by ascending number. */
  *list(chainId?: bigint): Generator<DeniedBlock> {
    for (const row of chainId === undefined ? this.table.range(new Uint8Array(0)) : this.table.withPrefix(chainPrefix(chainId))) {
      yield stored(row);
    }
  }

  /** Adds a verdict; only inside a commit. */
  add({ chainId, block, timestamp, l1, reason, stateRoot, messagePasserStorageRoot }: DeniedBlock): void {
    const row = [rlpUint(timestamp), stateRoot, messagePasserStorageRoot, new TextEncoder().encode(reason), blockIdToRlp(l1)];
    const key = keyOf(chainId, block);
    if (!this.table.has(key)) this.counts?.set(chainId, this.count(chainId) + 1);
    this.table.write(key, encodeRlp(row));
    this.verdicts++;
  }

  /** Removes the verdicts of rounds after a time; only inside a commit. @returns those */
  rewind(timestamp: number): DeniedBlock[] {
    const removed = [...this.list()].filter((denied) => denied.timestamp > timestamp);
    for (const { chainId, block } of removed) this.table.delete(keyOf(chainId, block));
    this.forget();
    return removed;
  }

  /** Drops what is kept in memory of the table. */
  forget(): void {
    this.counts = undefined;
  }

  private counted(): Map<bigint, number> {
    const counts = new Map<bigint, number>();
    for (const key of this.table.keys(new Uint8Array(0))) counts.set(chainOf(key), (counts.get(chainOf(key)) ?? 0) + 1);
    return counts;
  }
}

const keyOf = (chainId: bigint, { number, hash }: BlockId): Uint8Array =>
  concatBytes(chainPrefix(chainId), uint64ToBytes(number), hexToBytes(hash));

const chainOf = (key: Uint8Array): bigint => bytesToBigint(key.subarray(0, 32));

const stored = (row: { readonly key: Uint8Array; readonly value: Uint8Array }): DeniedBlock =>
  readRow("denied", row, ([timestamp, stateRoot, messagePasserStorageRoot, reason, l1]) => ({
    chainId: chainOf(row.key),
    block: { number: Number(bytesToBigint(row.key.subarray(32, 40))), hash: bytesToHex(row.key.subarray(40)) },
    timestamp: expectRlpNumber(timestamp),
    l1: blockIdFromRlp(l1),
    reason: new TextDecoder().decode(expectRlpString(reason)),
    stateRoot: expectRlpString(stateRoot, 32),
    messagePasserStorageRoot: expectRlpString(messagePasserStorageRoot, 32),
  }));
