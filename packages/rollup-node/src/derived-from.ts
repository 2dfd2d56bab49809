import type { SafeSince } from "@rnode/derivation";
import { type Hex, LruCache } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";

/** The safe head after an L1 block had been read. */
export interface DerivedUpTo {
  readonly l1Block: BlockId;
  readonly safeHead: BlockId;
}

/** One per L1 block with data; by then, finality has long passed the oldest. */
const MAX_ENTRIES = 4_096;

/** Which L1 block each safe block above the finalized one was derived from: what this process saw, and what was recorded before. */
export class DerivedFrom {
  /** the heights of both chains grow; `isWhole`: all of the L1 block was read by then */
  private entries: (DerivedUpTo & { isWhole?: boolean })[] = [];
  /** of every block that became the safe head in this process, by its hash: some of several in one L1 block are in no entry */
  private readonly l1BlockOf = new LruCache<Hex, BlockId>(MAX_ENTRIES);
  /** the block that was derived last since the last reset; entries above it are from before that reset */
  private tip = 0;

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Takes over what was recorded before this process, oldest first. */
  load(entries: Iterable<DerivedUpTo>): void {
    this.entries = [];
    for (const entry of entries) if (this.entries.push(entry) === MAX_ENTRIES) return;
  }

  /** Derivation starts over after a block. What was derived from which L1 block before that is still known. */
  onReset(base: BlockId): void {
    this.tip = base.number;
  }

  onSafe({ hash, number }: BlockId, l1: BlockId): void {
    this.l1BlockOf.set(hash, { hash: l1.hash, number: l1.number });
    const known = this.entries.findLastIndex(({ safeHead }) => safeHead.number <= this.tip) + 1;
    let replaced = known;
    while (replaced < this.entries.length && this.entries[replaced]!.safeHead.number <= number) replaced++;
    const isSameL1Block = known > 0 && this.entries[known - 1]!.l1Block.hash === l1.hash;
    const entry = { l1Block: { hash: l1.hash, number: l1.number }, safeHead: { hash, number } };
    if (known > 0 && !isSameL1Block) this.entries[known - 1]!.isWhole = true;
    this.entries.splice(isSameL1Block ? known - 1 : known, replaced - known + (isSameL1Block ? 1 : 0), entry);
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
    this.tip = number;
  }

  /** The first safe head that includes block `number`, and those before it, newest first, each with the L1 block that it came from. */
  downFrom(number: number): DerivedUpTo[] {
    const at = this.entries.findIndex(({ safeHead }) => safeHead.number >= number);
    return at === -1 ? [] : this.entries.slice(0, at + 1).reverse();
  }

  /** Since which L1 block `block` was the safe head; undefined: not known */
  lastOf({ hash }: BlockId): SafeSince | undefined {
    const entry = this.entries.find(({ safeHead }) => safeHead.hash === hash);
    if (entry !== undefined) return { l1Block: entry.l1Block, isWhole: entry.isWhole === true };
    const l1Block = this.l1BlockOf.get(hash);
    return l1Block && { l1Block, isWhole: false };
  }

  /** The first safe head that includes block `number`, and the L1 block that it came from; undefined: not known */
  of(number: number): DerivedUpTo | undefined {
    return this.entries.find(({ safeHead }) => safeHead.number >= number);
  }
}
