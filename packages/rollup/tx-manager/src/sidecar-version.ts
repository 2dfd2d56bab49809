import { blockRules, type ChainConfig, l1ChainConfig } from "@rnode/protocol";

export interface SidecarVersionOptions {
  readonly l1ChainId: bigint;
  /** seconds: L1 time from which its pools require cell proofs; `undefined`: known from the chain, otherwise found by trial */
  readonly cellProofTimeSec: number | undefined;
}

/**
 * The proofs that L1's pools require: one for each blob (version 0), or one for each cell (version 1, since Osaka). Known for
 * public networks and by option; elsewhere the version that a pool refused last is not used.
 */
export class SidecarVersion {
  readonly #timeSec: number | undefined;
  readonly #isKnown: boolean;
  readonly #chain: ChainConfig | undefined;
  #onTrial: 0 | 1 = 0;

  constructor({ l1ChainId, cellProofTimeSec }: SidecarVersionOptions) {
    this.#timeSec = cellProofTimeSec;
    this.#chain = l1ChainConfig(l1ChainId);
    this.#isKnown = cellProofTimeSec !== undefined || this.#chain !== undefined;
  }

  /** @param l1TimeSec of the block that the transaction may be in at the earliest */
  at(l1TimeSec: number): 0 | 1 {
    if (this.#timeSec !== undefined) return l1TimeSec >= this.#timeSec ? 1 : 0;
    if (this.#chain !== undefined) {
      return blockRules(this.#chain, { number: 0, timestamp: l1TimeSec, isPostMerge: true }).provesBlobCells ? 1 : 0;
    }
    return this.#onTrial;
  }

  /** A pool requires the other version. @returns whether the version changed */
  refused(version: 0 | 1): boolean {
    if (this.#isKnown) return false;
    this.#onTrial = version === 0 ? 1 : 0;
    return true;
  }
}
