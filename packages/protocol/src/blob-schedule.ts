import type { BlobParams } from "./chain-config.ts";

/** Ethereum's blob limits by fork (EIP-7840, EIP-7892), as every public L1 uses them. */
export const BLOB_PARAMS = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n },
  osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n },
} as const satisfies Record<string, BlobParams>;

/** Forks that may change the blob limits, in the order of activation. */
export const BLOB_SCHEDULE_FORKS = ["cancun", "prague", "osaka", "bpo1", "bpo2", "bpo3", "bpo4", "bpo5"] as const;
export type BlobScheduleFork = (typeof BLOB_SCHEDULE_FORKS)[number];

export function knownBlobParams(fork: BlobScheduleFork): BlobParams | undefined {
  return (BLOB_PARAMS as Partial<Record<BlobScheduleFork, BlobParams>>)[fork];
}
