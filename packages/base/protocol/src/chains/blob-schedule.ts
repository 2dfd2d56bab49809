import { EVM_FORKS, type EvmFork } from "../forks/evm-forks.ts";
import { forkRules } from "../forks/rules.ts";
import type { BlobParams } from "../params/blob-params.ts";

/** Forks that change only the blob limits (EIP-7892), with the limits of all public L1s; `undefined`: not decided yet. */
const BLOB_PARAMETER_ONLY_FORKS = {
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n },
  bpo3: undefined,
  bpo4: undefined,
  bpo5: undefined,
} as const satisfies Readonly<Record<string, BlobParams | undefined>>;

export type BlobScheduleFork = EvmFork | keyof typeof BLOB_PARAMETER_ONLY_FORKS;

/** Forks that may change the blob limits, in the order of activation. */
export const BLOB_SCHEDULE_FORKS: readonly BlobScheduleFork[] = [
  ...EVM_FORKS.filter((fork) => forkRules(fork).acceptsBlobs),
  ...(Object.keys(BLOB_PARAMETER_ONLY_FORKS) as (keyof typeof BLOB_PARAMETER_ONLY_FORKS)[]),
];

/** Ethereum's blob limits from a fork on (EIP-7840), as every public L1 uses them. */
export function knownBlobParams(fork: BlobScheduleFork): BlobParams | undefined {
  return fork in BLOB_PARAMETER_ONLY_FORKS
    ? BLOB_PARAMETER_ONLY_FORKS[fork as keyof typeof BLOB_PARAMETER_ONLY_FORKS]
    : forkRules(fork as EvmFork).defaultBlobParams;
}

/** The limits at the introduction of blobs. */
export const FIRST_BLOB_PARAMS: BlobParams = knownBlobParams(BLOB_SCHEDULE_FORKS[0]!)!;
