import { type AltDaConfig, type BlockId, type DaCommitment, daCommitmentKey } from "@rnode/protocol";

/** The state of a commitment's data. */
export type ChallengeStatus = "none" | "active" | "resolved" | "expired";

interface TrackedCommitment {
  readonly commitment: DaCommitment;
  readonly inclusion: BlockId;
  /** L1 block from which it can no longer be challenged */
  readonly windowEnd: number;
}

interface Challenge {
  readonly key: string;
  /** L1 block with the commitment */
  readonly challengedBlock: number;
  /** L1 block at which the data cannot be shown any more */
  readonly resolveEnd: number;
  status: Exclude<ChallengeStatus, "none">;
  input: Uint8Array | undefined;
}

const keyOf = (commitment: DaCommitment, inclusionNumber: number): string => `${inclusionNumber} ${daCommitmentKey(commitment)}`;

/**
 * The commitments that derivation has used, and the challenges of data, by the events of the challenge contract.
 * Spec: docs/protocol/05-services.md#challenge-tracking
 */
export class DaChallenges {
  readonly #config: AltDaConfig;
  /** in the order of their inclusion */
  #commitments: TrackedCommitment[] = [];
  /** past their windows, not yet final */
  #expired: TrackedCommitment[] = [];
  readonly #challenges = new Map<string, Challenge>();
  #lastPruned: BlockId | undefined;

  constructor(config: AltDaConfig) {
    this.#config = config;
  }

  get isEmpty(): boolean {
    return this.#commitments.length === 0 && this.#expired.length === 0 && this.#challenges.size === 0;
  }

  /** the newest L1 block with commitments of which all are final */
  get lastPruned(): BlockId | undefined {
    return this.#lastPruned;
  }

  statusOf(commitment: DaCommitment, inclusionNumber: number): ChallengeStatus {
    return this.#challenges.get(keyOf(commitment, inclusionNumber))?.status ?? "none";
  }

  /** The input of a resolved challenge. */
  inputOf(commitment: DaCommitment, inclusionNumber: number): Uint8Array | undefined {
    return this.#challenges.get(keyOf(commitment, inclusionNumber))?.input;
  }

  /** Once for each use of a commitment; asking again for the same one changes nothing. */
  track(commitment: DaCommitment, inclusion: BlockId): void {
    const last = this.#commitments.at(-1);
    const key = keyOf(commitment, inclusion.number);
    if (last !== undefined && keyOf(last.commitment, last.inclusion.number) === key) return;
    this.#commitments.push({ commitment, inclusion, windowEnd: inclusion.number + this.#config.daChallengeWindow });
  }

  challenge(commitment: DaCommitment, challengedBlock: number, inclusionNumber: number): void {
    const key = keyOf(commitment, challengedBlock);
    const resolveEnd = inclusionNumber + this.#config.daResolveWindow;
    this.#challenges.set(key, { key, challengedBlock, resolveEnd, status: "active", input: undefined });
  }

  /** @param input was checked against the commitment */
  resolve(commitment: DaCommitment, challengedBlock: number, input: Uint8Array): void {
    const challenge = this.#challenges.get(keyOf(commitment, challengedBlock));
    if (challenge === undefined) return;
    challenge.status = "resolved";
    challenge.input = input;
  }

  expireChallenges(l1Number: number): void {
    for (const challenge of this.#challenges.values()) {
      if (challenge.status === "active" && challenge.resolveEnd <= l1Number) challenge.status = "expired";
    }
  }

  /** @returns whether used data turned out to be unavailable, which invalidates the blocks derived from it */
  expireCommitments(l1Number: number): boolean {
    let isReorgRequired = false;
    for (let first = this.#commitments[0]; first !== undefined; first = this.#commitments[0]) {
      if (this.#endOf(first) > l1Number) break;
      this.#commitments.shift();
      this.#expired.push(first);
      const status = this.statusOf(first.commitment, first.inclusion.number);
      if (status !== "none" && status !== "resolved") isReorgRequired = true;
    }
    return isReorgRequired;
  }

  /**
   * L1 has finalized a block: windows that ended by then cannot change, so their entries are pruned, unless derivation still
   * needs them. Otherwise the chain would depend on the time of L1's finality. Derivation needs a challenge until it has read the
   * commitment's L1 block, and while the commitment waits for the expiry of earlier ones.
   *
   * @param readTo derivation has read all L1 blocks before this one
   */
  prune(l1Number: number, readTo: number): void {
    const final: BlockId[] = [];
    for (let first = this.#expired[0]; first !== undefined; first = this.#expired[0]) {
      if (this.#endOf(first) > l1Number) break;
      this.#expired.shift();
      final.push(first.inclusion);
    }
    // Another commitment in the same L1 block can still be challenged.
    const next = this.#expired[0] ?? this.#commitments[0];
    const last = final.findLast(({ number }) => next === undefined || number < next.inclusion.number);
    if (last !== undefined) this.#lastPruned = last;
    const waiting = new Set(this.#commitments.map(({ commitment, inclusion }) => keyOf(commitment, inclusion.number)));
    for (const { key, status, resolveEnd, challengedBlock } of this.#challenges.values()) {
      const isOver = status !== "active" && resolveEnd <= l1Number && challengedBlock < readTo;
      if (isOver && !waiting.has(key)) this.#challenges.delete(key);
    }
  }

  clear(): void {
    this.#commitments = [];
    this.#expired = [];
    this.#challenges.clear();
    this.#lastPruned = undefined;
  }

  #endOf({ commitment, inclusion, windowEnd }: TrackedCommitment): number {
    return this.#challenges.get(keyOf(commitment, inclusion.number))?.resolveEnd ?? windowEnd;
  }
}
