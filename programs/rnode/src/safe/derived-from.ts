import type { SafeSince } from "@rnode/derivation";
import type { BlockId } from "@rnode/protocol";

/** The safe head after an L1 block had been read. */
export interface DerivedUpTo {
  readonly l1Block: BlockId;
  readonly safeHead: BlockId;
}

/** Nine hours of blocks of two seconds; by then, finality has long passed the oldest. */
const MAX_ENTRIES = 16_384;

/** The L1 block from which each safe block above the finalized one was derived, as seen by this process or recorded earlier. */
export class DerivedFrom {
  /** one for each block that became the safe head; the heights of both chains grow; `isWhole`: all of the L1 block was read by then */
  private entries: (DerivedUpTo & { isWhole?: boolean })[] = [];
  /** the block that was derived last since the last reset; entries above it are from before that reset */
  private tip = 0;

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Loads the records of earlier processes, oldest first. */
  load(entries: Iterable<DerivedUpTo>): void {
    this.entries = [];
    for (const entry of entries) if (this.entries.push(entry) === MAX_ENTRIES) return;
  }

  /** Derivation restarts after a block. The L1 blocks of earlier safe blocks stay known. */
  onReset(base: BlockId): void {
    this.tip = base.number;
  }

  onSafe({ hash, number }: BlockId, l1: BlockId): void {
    const known = this.entries.findLastIndex(({ safeHead }) => safeHead.number <= this.tip) + 1;
    let replaced = known;
    while (replaced < this.entries.length && this.entries[replaced]!.safeHead.number <= number) replaced++;
    const before = this.entries[known - 1];
    if (before !== undefined && before.l1Block.hash !== l1.hash) before.isWhole = true;
    const entry = { l1Block: { hash: l1.hash, number: l1.number }, safeHead: { hash, number } };
    this.entries.splice(known, replaced - known, entry);
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
    this.tip = number;
  }

  /** The first safe head that includes block `number`, and the last ones of the L1 blocks before, newest first. */
  downFrom(number: number): DerivedUpTo[] {
    const at = this.entries.findIndex(({ safeHead }) => safeHead.number >= number);
    const isLast = ({ l1Block }: DerivedUpTo, index: number): boolean =>
      index === at || l1Block.hash !== this.entries[index + 1]!.l1Block.hash;
    return this.entries
      .slice(0, at + 1)
      .filter(isLast)
      .reverse();
  }

  /** The L1 block since which `block` was the safe head; undefined: unknown */
  lastOf({ hash }: BlockId): SafeSince | undefined {
    const entry = this.entries.find(({ safeHead }) => safeHead.hash === hash);
    return entry && { l1Block: entry.l1Block, isWhole: entry.isWhole === true };
  }

  /** The first safe head that includes block `number`, and its L1 block; undefined: unknown */
  of(number: number): DerivedUpTo | undefined {
    return this.entries.find(({ safeHead }) => safeHead.number >= number);
  }
}
