import { blockRules, type ChainConfig, l1ChainConfig } from "@rnode/protocol";

export interface SidecarVersionOptions {
  readonly l1ChainId: bigint;
  /** seconds: from this time of L1 on its pools want proofs of cells; undefined: as is known of the chain, or else by trial */
  readonly cellProofTimeSec: number | undefined;
}

/**
 * Which proofs L1's pools want: one for each blob (version 0), or one for each cell (version 1, since Osaka). Known for the public
 * networks and by option; elsewhere what a pool refused last is not offered again.
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

  /** A pool wants the other version. @returns whether another one is offered now */
  refused(version: 0 | 1): boolean {
    if (this.#isKnown) return false;
    this.#onTrial = version === 0 ? 1 : 0;
    return true;
  }
}
