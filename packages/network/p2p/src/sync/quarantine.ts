import type { CheckedPayload } from "./checked-payload.ts";

export interface Quarantined {
  readonly block: CheckedPayload;
  /** the peer that sent it */
  readonly peer: string;
}

export const MAX_QUARANTINED = 100;
const MAX_QUARANTINED_BYTES = 64 * 1024 * 1024;

/** Unconfirmed blocks, one per number: the first one received. */
export class Quarantine {
  private readonly byNumber = new Map<number, Quarantined>();
  private bytes = 0;

  get size(): number {
    return this.byNumber.size;
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  /** So little room is left that no more blocks should be requested, because the size of those in flight is unknown. */
  get isNearlyFull(): boolean {
    return this.bytes > MAX_QUARANTINED_BYTES / 2;
  }

  has(number: number): boolean {
    return this.byNumber.has(number);
  }

  /** @returns false: there is a block of that number already, or no room */
  add(entry: Quarantined): boolean {
    const { number, sizeBytes } = entry.block;
    if (this.has(number) || this.size >= MAX_QUARANTINED || this.bytes + sizeBytes > MAX_QUARANTINED_BYTES) return false;
    this.byNumber.set(number, entry);
    this.bytes += sizeBytes;
    return true;
  }

  /** Removes and returns the block of a number. */
  take(number: number): Quarantined | undefined {
    const entry = this.byNumber.get(number);
    if (entry === undefined) return undefined;
    this.byNumber.delete(number);
    this.bytes -= entry.block.sizeBytes;
    return entry;
  }

  /** Forgets the blocks outside of a range. Nothing was found out about them. */
  keepBetween(low: number, high: number): void {
    for (const number of [...this.byNumber.keys()]) if (number < low || number > high) this.take(number);
  }
}
