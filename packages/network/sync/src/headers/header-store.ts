/** Consecutive blocks, each the parent of the next, whose hashes are kept. */
export interface Segment {
  readonly low: number;
  readonly high: number;
  /** 32 bytes: hash of block `low − 1` */
  readonly parentHash: Uint8Array;
}

/**
 * Stores the hashes of a header chain by block number. PERF: 32 bytes per block, so a gap of fifty million blocks takes 1.6 GB of
 * disk and no memory.
 */
export interface HeaderStore {
  /** the segments of the last `save`; empty if they are unreadable, or of another chain */
  load(): readonly Segment[];
  /** Afterwards, all earlier writes survive a kill and a power cut. Later writes can still be lost. */
  save(segments: readonly Segment[]): void;
  /** @param hashes of consecutive blocks, 32 bytes each */
  write(firstNumber: number, hashes: Uint8Array): void;
  /** @returns 32 bytes for each block; zero for missing ones */
  read(firstNumber: number, count: number): Uint8Array;
  /** Forgets everything. */
  clear(): void;
  close(): void;
}
