import type { DaInputs } from "@rnode/derivation";
import { bytesToHex, concatBytes, equalBytes, type Hex } from "@rnode/primitives";
import {
  type AltDaConfig,
  DA_COMMITMENT_VERSION,
  type DaCommitment,
  daCommitmentKey,
  encodeDaCommitment,
  hashTransaction,
  keccakCommitment,
} from "@rnode/protocol";
import { badChallenges, challengeLog, resolveCalldata } from "@rnode/protocol/testing";
import type { L1Transaction } from "./l1-rules.ts";
import type { Random } from "./random.ts";
import type { L1Block, SimL1 } from "./sim-l1.ts";

export interface SimDaDeps {
  readonly config: AltDaConfig;
  readonly inbox: Uint8Array;
  readonly l1: SimL1;
  readonly random: Random;
  /** a transaction to the challenge contract */
  readonly transaction: (calldata: Uint8Array) => L1Transaction;
  readonly onEvent: (text: string) => void;
}

interface Stored {
  readonly commitment: DaCommitment;
  readonly input: Uint8Array;
  /** the L1 blocks with the commitment, replaced ones included */
  readonly uses: Use[];
  /** by the number of the challenged L1 block: the contract takes one for each */
  readonly challenges: Map<number, Challenge>;
}

/** The outcome of a commitment in one L1 block. */
interface Use {
  readonly block: L1Block["ref"];
  readonly fate: "never challenged" | "resolved" | "expired";
  /** L1 block of the challenge */
  readonly challengeAt: number;
  /** L1 blocks from the challenge to the answer */
  readonly resolveAfter: number;
  /** the server does not have the data from the challenge on */
  readonly isWithheld: boolean;
}

interface Challenge {
  /** hash of its transaction */
  readonly hash: Hex;
  isAnswered: boolean;
}

/** Counters of the data's outcomes and events. */
export interface DaEvents {
  challenged: number;
  resolved: number;
  malformed: number;
  /** answers of the server that it does not have the data */
  missing: number;
}

const NO_CALLDATA = new Uint8Array(4);

/** A DA server, the challenge contract, and the accounts that challenge data on L1 and answer. */
export class SimDa implements DaInputs {
  readonly #deps: SimDaDeps;
  readonly #stored = new Map<Hex, Stored>();
  readonly #searched = new Set<Hex>();
  readonly events: DaEvents = { challenged: 0, resolved: 0, malformed: 0, missing: 0 };
  /** whether new commitments get challenged */
  areChallenged = true;

  constructor(deps: SimDaDeps) {
    this.#deps = deps;
  }

  /** @returns the batcher's data for L1 */
  put(input: Uint8Array): Uint8Array {
    const commitment = keccakCommitment(input);
    const key = daCommitmentKey(commitment);
    if (!this.#stored.has(key)) this.#stored.set(key, { commitment, input, uses: [], challenges: new Map() });
    return concatBytes(Uint8Array.of(DA_COMMITMENT_VERSION), encodeDaCommitment(commitment));
  }

  async get(commitment: DaCommitment): Promise<Uint8Array | undefined> {
    const stored = this.#stored.get(daCommitmentKey(commitment));
    if (stored === undefined) return undefined;
    const uses = stored.uses.filter(({ block }) => this.#deps.l1.isCanonical(block));
    const isGone = uses.length > 0 && uses.every((use) => use.isWithheld && this.#challengedAt(stored, use) !== undefined);
    if (isGone) this.events.missing++;
    return isGone ? undefined : stored.input;
  }

  /** Before the next L1 block: it gets the events that are due. */
  beforeBlock(): void {
    const { l1 } = this.#deps;
    const next = l1.head.ref.number + 1;
    for (const block of l1.blocks) this.#search(block);
    for (const stored of this.#stored.values()) {
      for (const use of stored.uses) {
        if (use.fate === "never challenged" || !l1.isCanonical(use.block)) continue;
        const challenge = stored.challenges.get(use.block.number);
        if (challenge === undefined) {
          if (next >= use.challengeAt) this.#challenge(stored, use);
          continue;
        }
        const challengedAt = this.#challengedAt(stored, use);
        if (use.fate !== "resolved" || challenge.isAnswered || challengedAt === undefined) continue;
        if (next >= challengedAt + use.resolveAfter) this.#resolve(stored, use, challenge);
      }
    }
  }

  #challenge({ commitment, challenges }: Stored, { block: { number } }: Use): void {
    const { l1, config, transaction, onEvent, random } = this.#deps;
    const contract = config.daChallengeContractAddress!;
    const tx = transaction(NO_CALLDATA);
    challenges.set(number, { hash: bytesToHex(hashTransaction(tx)), isAnswered: false });
    l1.force(tx, [challengeLog(contract, commitment, number, "active")], {
      isTaken: (at) => at > number && at <= number + config.daChallengeWindow,
    });
    onEvent(`data of L1 block ${number} is challenged`);
    this.events.challenged++;
    if (!random.chance(0.3)) return;
    l1.force(transaction(NO_CALLDATA), [random.pick(badChallenges(contract, commitment))]);
    this.events.malformed++;
  }

  #resolve(stored: Stored, use: Use, challenge: Challenge): void {
    const { l1, config, transaction, onEvent } = this.#deps;
    const { commitment, input } = stored;
    const { number } = use.block;
    challenge.isAnswered = true;
    l1.force(
      transaction(resolveCalldata(commitment, number, input)),
      [challengeLog(config.daChallengeContractAddress!, commitment, number, "resolved")],
      {
        isTaken: (at) => {
          const challengedAt = this.#challengedAt(stored, use);
          return challengedAt !== undefined && at > challengedAt && at <= challengedAt + config.daResolveWindow;
        },
      },
    );
    onEvent(`the challenge of data of L1 block ${number} is answered`);
    this.events.resolved++;
  }

  #challengedAt({ challenges }: Stored, { block }: Use): number | undefined {
    const challenge = challenges.get(block.number);
    return challenge === undefined ? undefined : this.#deps.l1.inclusion(challenge.hash)?.ref.number;
  }

  #search({ ref, stored: { block } }: L1Block): void {
    if (this.#searched.has(ref.hash)) return;
    this.#searched.add(ref.hash);
    const { config, inbox, random } = this.#deps;
    for (const { to, data } of block.transactions) {
      if (to === undefined || !equalBytes(to, inbox) || data[0] !== DA_COMMITMENT_VERSION) continue;
      const fate = this.areChallenged
        ? random.pick(["never challenged", "never challenged", "resolved", "expired"] as const)
        : "never challenged";
      this.#stored.get(bytesToHex(data.subarray(1)))?.uses.push({
        block: ref,
        fate,
        challengeAt: ref.number + random.between(1, config.daChallengeWindow),
        resolveAfter: random.between(1, config.daResolveWindow),
        isWithheld: random.chance(0.5),
      });
    }
  }
}
