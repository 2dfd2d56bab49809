/** Limits during an attack. All verdicts use these numbers. */
export interface Bounds {
  /** 99 of 100 cheap requests of the honest client are answered within this time, plus the time without an attack */
  readonly honestP99Ms: number;
  /** share of the honest client's requests that may fail */
  readonly honestFailedShare: number;
  /** longest time after an attack until the honest client is served as before */
  readonly recoverySec: number;
  /** longest time between the arrivals of two unsafe blocks, in block times */
  readonly blockGapBlockTimes: number;
  /** longest time without progress of the verifier's safe head */
  readonly safeStallSec: number;
  /** memory of each program with its child processes, without pages of the database file */
  readonly ownMemoryMib: Readonly<Record<MeasuredProgram, number>>;
}

export type MeasuredProgram = "sequencerEngine" | "verifierEngine" | "sequencerNode" | "verifierNode" | "batcher";

/** `npm run abuse`. */
export const FULL_BOUNDS: Bounds = {
  honestP99Ms: 50,
  honestFailedShare: 0,
  recoverySec: 2,
  blockGapBlockTimes: 2.5,
  safeStallSec: 30,
  ownMemoryMib: { sequencerEngine: 1536, verifierEngine: 1536, sequencerNode: 400, verifierNode: 400, batcher: 400 },
};

/** `npm test`: survival and progress. Another process may have the machine for seconds. */
export const SHORT_BOUNDS: Bounds = {
  honestP99Ms: 15_000,
  honestFailedShare: 0.5,
  recoverySec: 20,
  blockGapBlockTimes: 10,
  safeStallSec: 60,
  ownMemoryMib: { sequencerEngine: 3072, verifierEngine: 3072, sequencerNode: 800, verifierNode: 800, batcher: 800 },
};

/** For false answers: each is sent for `lieMs`; within `recoverySec` after it, the node must have an honest node's head. */
export const LIE_BOUNDS = { lieMs: 4_000, recoverySec: 10 } as const;
