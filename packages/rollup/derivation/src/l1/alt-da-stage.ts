import { type Hex, isCodedError } from "@rnode/primitives";
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
import type { DataDropReason, DerivationObserver } from "../observer.ts";
import { DerivationError } from "../pipeline-types.ts";
import { AGAIN, EXHAUSTED, type PipelineStage, type Pull, type Source } from "../pull.ts";
import { DaChallenges } from "./da-challenges.ts";
import type { BatcherData } from "./l1-retrieval.ts";
import type { L1Position } from "./l1-traversal.ts";
import type { DaInputs, L1Provider } from "./providers.ts";

type Reset = Extract<Pull<never>, { readonly kind: "reset" }>;

/** Result of a search for the data of a commitment. */
type Found =
  | { readonly kind: "input"; readonly input: Uint8Array }
  | { readonly kind: "skipped"; readonly reason: DataDropReason }
  /** look again: another L1 block has been searched for events */
  | { readonly kind: "pending" }
  | Reset;

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
  /** L1 blocks after the current one whose events are known, in order */
  #ahead: BlockId[] = [];
  /** events up to this L1 block are known before any data is used */
  #readAheadTo = -1;
  /** events of L1 blocks up to this one are known */
  #challengeOrigin = -1;
  /** the L1 block that is being read */
  #commitmentOrigin = -1;
  /** the commitment whose data is looked for */
  #current: { readonly data: BatcherData; readonly commitment: DaCommitment } | undefined;
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

  /**
   * A reset clears commitments and challenges, because finality may have pruned a part of them. Known events are read again
   * before any data, so data with an expired challenge is not used again.
   */
  reset(): void {
    const { number } = this.#position.origin;
    this.#current = undefined;
    this.#challenges.clear();
    this.#ahead = [];
    this.#readAheadTo = Math.max(this.#readAheadTo, this.#challengeOrigin);
    this.#challengeOrigin = number - 1;
    this.#commitmentOrigin = number - 1;
    // Until the challenges are read again, data that was not shown may be used again.
    this.#finalizedL1 = undefined;
  }

  activateStrictOrder(): void {}

  async next(...args: Parameters<Source<BatcherData>["next"]>): Promise<Pull<BatcherData>> {
    const { origin } = this.#position;
    const reset = await this.#advance(origin);
    if (reset !== undefined) return reset;
    if (this.#current === undefined) {
      const pulled = await this.#previous.next(...args);
      if (pulled.kind !== "value" || pulled.value.bytes[0] !== DA_COMMITMENT_VERSION) return pulled;
      const commitment = this.#decode(pulled.value);
      if (commitment === undefined) return AGAIN;
      this.#current = { data: pulled.value, commitment };
    }
    const { data, commitment } = this.#current;
    const found = await this.#find(commitment, origin);
    if (found.kind === "reset") return found;
    if (found.kind === "pending") return AGAIN;
    this.#current = undefined;
    if (found.kind === "input") return { kind: "value", value: { ...data, bytes: found.input } };
    this.#drop(data, found.reason);
    return AGAIN;
  }

  /**
   * The L1 block that counts as final if L1 has finalized `l1Finalized`, because data of later blocks can still be challenged.
   * `undefined`: none yet.
   *
   * Spec: docs/protocol/05-services.md#challenge-tracking
   */
  async finalizedBy(l1Finalized: BlockId): Promise<BlockId | undefined> {
    const known = () => this.#finalizedL1?.number ?? -1;
    this.#challenges.prune(l1Finalized.number, this.#commitmentOrigin);
    const { lastPruned } = this.#challenges;
    if (lastPruned !== undefined && lastPruned.number > known()) this.#finalizedL1 = lastPruned;
    // If derivation is behind L1's finality, it has not read some challenges yet.
    const number = Math.min(l1Finalized.number, this.#commitmentOrigin) - this.#config.daChallengeWindow;
    if (this.#challenges.isEmpty && number > known()) {
      const block = await this.#l1.blockByNumber(number);
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

  /** Once for each L1 block that is read. @returns a reset if data that was used turned out not to be available, or if L1 has changed */
  async #advance(origin: L1BlockRef): Promise<Reset | undefined> {
    const [known] = this.#ahead;
    if (known?.number === origin.number) {
      this.#ahead.shift();
      if (known.hash !== origin.hash) return reorganised(known, origin.hash);
    }
    if (origin.number > this.#challengeOrigin) {
      const gone = await this.#readEvents(origin);
      if (gone !== undefined) return gone;
    }
    while (this.#challengeOrigin < this.#readAheadTo) {
      const outcome = await this.#readAhead();
      if (outcome.kind === "reset") return outcome;
      if (outcome.kind === "exhausted") this.#readAheadTo = -1; // the end of the challenge has left L1
    }
    if (origin.number <= this.#commitmentOrigin) return undefined;
    const isReorgRequired = this.#challenges.expireCommitments(origin.number);
    this.#commitmentOrigin = origin.number;
    if (!isReorgRequired) return undefined;
    const detail = `data that was used was challenged and not shown by L1 block ${origin.number}`;
    return { kind: "reset", reason: "da-challenge-expired", detail };
  }

  /** Reads the events of the next L1 block. `exhausted`: L1 does not have it yet. */
  async #readAhead(): Promise<Pull<never>> {
    const tip = this.#ahead.at(-1) ?? this.#position.origin;
    const block = await this.#l1.blockByNumber(tip.number + 1);
    if (block === undefined) return EXHAUSTED;
    if (block.parentHash !== tip.hash) return reorganised(tip, block.parentHash);
    const gone = await this.#readEvents(block);
    if (gone !== undefined) return gone;
    this.#ahead.push({ hash: block.hash, number: block.number });
    return AGAIN;
  }

  async #readEvents(block: L1BlockRef): Promise<Reset | undefined> {
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

  /** The data is missing. The next L1 blocks show whether it is lost for all nodes. */
  async #lookAhead(commitment: DaCommitment, inclusion: L1BlockRef): Promise<Found> {
    const outcome = await this.#readAhead();
    if (outcome.kind === "reset") return outcome;
    if (outcome.kind !== "exhausted") return { kind: "pending" };
    throw new DerivationError("derivation/da-input-pending", {
      l1Block: inclusion.number,
      commitment: daCommitmentKey(commitment),
    });
  }
}

const reorganised = ({ number, hash }: BlockId, other: Hex): Reset => ({
  kind: "reset",
  reason: "l1-reorg",
  detail: `L1 block ${number} was ${hash}, and is ${other}`,
});

const gone = ({ number, hash }: L1BlockRef): Reset => ({
  kind: "reset",
  reason: "l1-reorg",
  detail: `L1 block ${number} ${hash} is gone`,
});

/** `undefined`: another contract made the call that resolved the challenge, and its calldata has another form */
function inputOfCall(calldata: Uint8Array): Uint8Array | undefined {
  try {
    return resolvedInput(calldata);
  } catch (error) {
    if (isCodedError(error, "da-commitment/")) return undefined;
    throw error;
  }
}
