import { encodeRlp, expectRlpList, expectRlpUint, type RlpItem, rlpUint, uint64ToBytes } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { Table } from "@rnode/storage/environment";
import { blockIdFromRlp, blockIdToRlp, readRow } from "./rows.ts";

/** All chains of the set were verified up to this time. */
export interface VerifiedRound {
  /** seconds; a chain of the set has a block at exactly this time */
  readonly timestamp: number;
  /** the highest L1 block that any of the heads was derived from */
  readonly l1: BlockId;
  /** by chain id: the newest block up to `timestamp` */
  readonly heads: ReadonlyMap<bigint, BlockId>;
}

/** What was verified, by time. Row: `time u64 → RLP [L1 block, [[chain id, block], …]]`. */
export class VerifiedRounds {
  private readonly table: Table;
  /** `undefined`: not read since the last change */
  private newest: { readonly round: VerifiedRound | undefined } | undefined;

  constructor(table: Table) {
    this.table = table;
  }

  get first(): VerifiedRound | undefined {
    return stored(this.table.firstFrom(uint64ToBytes(0)));
  }

  get last(): VerifiedRound | undefined {
    this.newest ??= { round: this.upTo(Number.MAX_SAFE_INTEGER) };
    return this.newest.round;
  }

  /** The last round at or before a time. */
  upTo(timestamp: number): VerifiedRound | undefined {
    return stored(this.table.lastUpTo(uint64ToBytes(timestamp)));
  }

  /** The last round whose blocks were derived from L1 blocks up to a number. L1 blocks of later rounds are never lower. */
  derivedUpTo(l1Number: number): VerifiedRound | undefined {
    const { first, last } = this;
    if (first === undefined || last === undefined || first.l1.number > l1Number) return undefined;
    let found = first;
    let until = last.timestamp;
    while (found.timestamp < until) {
      const middle = this.upTo(Math.ceil((found.timestamp + until) / 2))!;
      const round = middle.timestamp > found.timestamp ? middle : this.after(found.timestamp)!;
      if (round.l1.number <= l1Number) found = round;
      else until = Math.min(round.timestamp, until) - 1;
    }
    return found;
  }

  /** Adds a round; only inside a commit. */
  append({ timestamp, l1, heads }: VerifiedRound): void {
    this.forget();
    const chains = [...heads].map(([chainId, head]): RlpItem => [rlpUint(chainId), blockIdToRlp(head)]);
    this.table.append(uint64ToBytes(timestamp), encodeRlp([blockIdToRlp(l1), chains]));
  }

  /** Removes the rounds after a time; only inside a commit. */
  rewind(timestamp: number): void {
    for (const key of [...this.table.keys(uint64ToBytes(timestamp + 1))]) this.table.delete(key);
    this.forget();
  }

  /** Drops what is kept in memory of the table. */
  forget(): void {
    this.newest = undefined;
  }

  private after(timestamp: number): VerifiedRound | undefined {
    return stored(this.table.firstFrom(uint64ToBytes(timestamp + 1)));
  }
}

const stored = (row: { readonly key: Uint8Array; readonly value: Uint8Array } | undefined): VerifiedRound | undefined =>
  row &&
  readRow("verified", row, ([l1, heads]) => ({
    timestamp: Number(new DataView(row.key.buffer, row.key.byteOffset).getBigUint64(0)),
    l1: blockIdFromRlp(l1),
    heads: new Map(
      expectRlpList(heads).map((entry) => {
        const [chainId, head] = expectRlpList(entry, 2, 2);
        return [expectRlpUint(chainId, 32), blockIdFromRlp(head)];
      }),
    ),
  }));
