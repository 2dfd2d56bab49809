/** Consecutive blocks, each the parent of the next, whose hashes are kept. */
export interface Segment {
  readonly low: number;
  readonly high: number;
  /** 32 bytes: hash of block `low − 1` */
  readonly parentHash: Uint8Array;
}

/**
 * Keeps the hashes of a header chain by block number. PERF: 32 bytes a block, so that a gap of fifty million blocks takes 1.6 GB of disk and
 * no memory.
 */
export interface HeaderStore {
  /** what the last `save` said; empty if it cannot be read, or is of another chain */
  load(): readonly Segment[];
  /** After it, what has been written so far survives a kill and a loss of power. Writes that follow may still be lost. */
  save(segments: readonly Segment[]): void;
  /** @param hashes of consecutive blocks, 32 bytes each */
  write(firstNumber: number, hashes: Uint8Array): void;
  /** @returns 32 bytes for each block; what was never written is zero */
  read(firstNumber: number, count: number): Uint8Array;
  /** Forgets everything. */
  clear(): void;
  close(): void;
}
