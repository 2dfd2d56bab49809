import { isCodedError } from "@rnode/primitives";
import {
  type AltDaConfig,
  type BlockId,
  CHALLENGE_STATUS_TOPIC,
  type ChallengeEvent,
  challengeEventFromLog,
  DA_COMMITMENT_VERSION,
  type DaCommitment,
  daCommitmentKey,
  decodeDaCommitment,
  isInputOf,
  type L1BlockRef,
  MAX_DA_INPUT_BYTES,
  readContractLogs,
  resolvedInput,
} from "@rnode/protocol";
import { DaChallenges } from "./da-challenges.ts";
import type { BatcherData } from "./l1-retrieval.ts";
import type { L1Position } from "./l1-traversal.ts";
import type { DataDropReason, DerivationObserver } from "./observer.ts";
import { DerivationError } from "./pipeline-types.ts";
import type { DaInputs, L1Provider } from "./providers.ts";
import { AGAIN, type PipelineStage, type Pull, type Source } from "./pull.ts";

/** What became of looking for the data of a commitment. */
type Found =
  | { readonly kind: "input"; readonly input: Uint8Array }
  | { readonly kind: "skipped"; readonly reason: DataDropReason }
  /** look again: another L1 block has been searched for events */
  | { readonly kind: "pending" };

/**
 * Turns commitments in batcher data into the data that they commit to, and follows the challenges of data. Batcher data of other versions passes
 * unchanged. Spec: docs/protocol/05-services.md#alternative-da
 */
export class AltDaStage implements PipelineStage<BatcherData> {
  readonly #config: AltDaConfig;
  readonly #position: L1Position;
  readonly #previous: Source<BatcherData>;
  readonly #l1: L1Provider;
  readonly #inputs: DaInputs;
  readonly #observer: DerivationObserver;
  readonly #challenges: DaChallenges;
  /** events of L1 blocks up to this one are known: it can be ahead of the block that is being read */
  #challengeOrigin = -1;
  #commitmentOrigin = -1;
  /** the commitment whose data is looked for */
  #current: { readonly data: BatcherData; readonly commitment: DaCommitment } | undefined;
  /** a reset that this stage asked for: the challenges are still what L1 has */
  #isOwnReset = false;
  #finalizedL1: BlockId | undefined;

  constructor(
    config: AltDaConfig,
    position: L1Position,
    previous: Source<BatcherData>,
    { l1, inputs }: { readonly l1: L1Provider; readonly inputs: DaInputs },
    observer: DerivationObserver,
  ) {
    this.#config = config;
    this.#position = position;
    this.#previous = previous;
    this.#l1 = l1;
    this.#inputs = inputs;
    this.#observer = observer;
    this.#challenges = new DaChallenges(config);
  }

  reset(): void {
    const { number } = this.#position.origin;
    this.#current = undefined;
    this.#commitmentOrigin = number;
    if (this.#isOwnReset) {
      this.#challenges.clearCommitments();
    } else {
      this.#challenges.clear();
      this.#challengeOrigin = number;
    }
    this.#isOwnReset = false;
  }

  activateStrictOrder(): void {}

  async next(...args: Parameters<Source<BatcherData>["next"]>): Promise<Pull<BatcherData>> {
    const { origin } = this.#position;
    const expired = await this.#advance(origin);
    if (expired !== undefined) return expired;
    if (this.#current === undefined) {
      const pulled = await this.#previous.next(...args);
      if (pulled.kind !== "value" || pulled.value.bytes[0] !== DA_COMMITMENT_VERSION) return pulled;
      const commitment = this.#decode(pulled.value);
      if (commitment === undefined) return AGAIN;
      this.#current = { data: pulled.value, commitment };
    }
    const { data, commitment } = this.#current;
    const found = await this.#find(commitment, origin);
    if (found.kind === "pending") return AGAIN;
    this.#current = undefined;
    if (found.kind === "input") return { kind: "value", value: { ...data, bytes: found.input } };
    this.#drop(data, found.reason);
    return AGAIN;
  }

  /**
   * Which L1 block counts as final once L1 calls `l1Finalized` final: data of later ones can still be challenged. undefined: none yet.
   *
   * Spec: docs/protocol/05-services.md#challenge-tracking
   */
  async finalizedBy(l1Finalized: BlockId): Promise<BlockId | undefined> {
    this.#challenges.prune(l1Finalized.number);
    if (this.#challenges.lastPruned !== undefined) this.#finalizedL1 = this.#challenges.lastPruned;
    if (this.#challenges.isEmpty && l1Finalized.number >= this.#config.daChallengeWindow) {
      const number = l1Finalized.number - this.#config.daChallengeWindow;
      const block = number > (this.#finalizedL1?.number ?? -1) ? await this.#l1.blockByNumber(number) : undefined;
      if (block !== undefined) this.#finalizedL1 = { hash: block.hash, number: block.number };
    }
    return this.#finalizedL1;
  }

  #decode(data: BatcherData): DaCommitment | undefined {
    try {
      return decodeDaCommitment(data.bytes.subarray(1));
    } catch (error) {
      if (!isCodedError(error, "da-commitment/")) throw error;
      this.#drop(data, "bad-commitment");
      return undefined;
    }
  }

  #drop({ transactionHash }: BatcherData, reason: DataDropReason): void {
    this.#observer.onDataDropped({ block: this.#position.origin, transactionHash, reason });
  }

  /** Once for each L1 block that is read. @returns a reset if data that was used turned out not to be available */
  async #advance(origin: L1BlockRef): Promise<Pull<never> | undefined> {
    if (origin.number > this.#challengeOrigin) {
      const gone = await this.#readEvents(origin);
      if (gone !== undefined) return gone;
    }
    if (origin.number <= this.#commitmentOrigin) return undefined;
    const isReorgRequired = this.#challenges.expireCommitments(origin.number);
    this.#commitmentOrigin = origin.number;
    if (!isReorgRequired) return undefined;
    this.#isOwnReset = true;
    const detail = `data that was used was challenged and not shown by L1 block ${origin.number}`;
    return { kind: "reset", reason: "da-challenge-expired", detail };
  }

  async #readEvents(block: L1BlockRef): Promise<Pull<never> | undefined> {
    const contract = this.#config.daChallengeContractAddress;
    if (contract !== undefined) {
      const receipts = await this.#l1.receipts(block.hash);
      if (receipts === undefined) return gone(block);
      const source = { address: contract, topic: CHALLENGE_STATUS_TOPIC };
      const { read, skipped } = readContractLogs(receipts, source, (log, place) => ({ ...challengeEventFromLog(log), ...place }));
      const isResolved = read.some(({ status }) => status === "resolved");
      const transactions = isResolved ? await this.#l1.transactions(block.hash) : [];
      if (transactions === undefined) return gone(block);
      for (const event of read) {
        const emitter = transactions[event.transactionIndex];
        this.#apply(event, emitter === undefined || emitter.type === "unknown" ? undefined : emitter.data, block);
      }
      for (const log of skipped) this.#observer.onLogSkipped({ block, contract: "DataAvailabilityChallenge", ...log });
    }
    this.#challenges.expireChallenges(block.number);
    this.#challengeOrigin = block.number;
    return undefined;
  }

  /** @param calldata of the transaction that emitted the event */
  #apply({ status, commitment, challengedBlock }: ChallengeEvent, calldata: Uint8Array | undefined, block: L1BlockRef): void {
    if (status === "active") this.#challenges.challenge(commitment, challengedBlock, block.number);
    if (status !== "resolved" || calldata === undefined) return;
    const input = inputOfCall(calldata);
    if (input !== undefined && isInputOf(commitment, input)) this.#challenges.resolve(commitment, challengedBlock, input);
  }

  async #find(commitment: DaCommitment, inclusion: L1BlockRef): Promise<Found> {
    const isOfChain = (commitment.kind === "keccak256") === (this.#config.daCommitmentType === "KeccakCommitment");
    if (!isOfChain) return { kind: "skipped", reason: "wrong-commitment-type" };
    const status = this.#challenges.statusOf(commitment, inclusion.number);
    if (status === "expired") return { kind: "skipped", reason: "challenge-expired" };
    const input =
      (await this.#inputs.get(commitment)) ??
      (status === "resolved" ? this.#challenges.inputOf(commitment, inclusion.number) : undefined);
    if (input !== undefined) {
      // From now on it matters whether the data stays available.
      this.#challenges.track(commitment, { hash: inclusion.hash, number: inclusion.number });
      return this.#bounded(commitment, input);
    }
    if (status === "resolved" || (status === "none" && this.#challengeOrigin > inclusion.number + this.#config.daChallengeWindow)) {
      const data = { l1Block: inclusion.number, commitment: daCommitmentKey(commitment) };
      throw new DerivationError("derivation/da-input-lost", data);
    }
    return this.#lookAhead(commitment, inclusion);
  }

  /** The contract could not take longer inputs as an answer. */
  #bounded(commitment: DaCommitment, input: Uint8Array): Found {
    const isTooLong = commitment.kind === "keccak256" && input.length > MAX_DA_INPUT_BYTES;
    return isTooLong ? { kind: "skipped", reason: "input-too-long" } : { kind: "input", input };
  }

  /** The data is missing: whether that is because nobody has it, the next L1 blocks will say. */
  async #lookAhead(commitment: DaCommitment, inclusion: L1BlockRef): Promise<Found> {
    const block = await this.#l1.blockByNumber(this.#challengeOrigin + 1);
    if (block === undefined || (await this.#readEvents(block)) !== undefined) {
      const data = { l1Block: inclusion.number, commitment: daCommitmentKey(commitment) };
      throw new DerivationError("derivation/da-input-pending", data);
    }
    return { kind: "pending" };
  }
}

const gone = ({ number, hash }: L1BlockRef): Pull<never> => ({
  kind: "reset",
  reason: "l1-reorg",
  detail: `L1 block ${number} ${hash} is gone`,
});

/** undefined: another contract made the call that answered the challenge, and its calldata has some other form */
function inputOfCall(calldata: Uint8Array): Uint8Array | undefined {
  try {
    return resolvedInput(calldata);
  } catch (error) {
    if (isCodedError(error, "da-commitment/")) return undefined;
    throw error;
  }
}
