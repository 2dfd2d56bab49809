import { concatBytes, type Hex } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import {
  type AltDaConfig,
  type BlockId,
  encodeBatcherData,
  encodeDaCommitment,
  keccakCommitment,
  type Log,
  type OpFork,
  type Transaction,
} from "@rnode/protocol";
import { challengeLog, resolveCalldata } from "@rnode/protocol/testing";
import { expect, it } from "vitest";
import { MemoryDaInputs } from "../testing/da-inputs.ts";
import { compress, decompressor } from "../testing/pipeline-steps.ts";
import { forksUpTo, Sim } from "../testing/sim.ts";
import { BATCHER_KEY } from "../testing/sim-l1.ts";

const SEEDS = Number(process.env.RNODE_ALT_DA_SEEDS ?? 60);
const CONTRACT = new Uint8Array(20).fill(0xda);
const CONFIG: AltDaConfig = {
  daChallengeContractAddress: CONTRACT,
  daCommitmentType: "KeccakCommitment",
  daChallengeWindow: 6,
  daResolveWindow: 4,
};

/** The planned events of one L1 block, in order. */
interface Planned {
  readonly transactions: { readonly transaction: Transaction; readonly logs: readonly Log[] }[];
}

/** A whole L1 with several commitments, challenges in overlapping windows, and ordinary data that replaces challenged data. */
async function history(fork: OpFork, below: (limit: number) => number) {
  const inputs = new MemoryDaInputs();
  const common = {
    forkTimes: forksUpTo(fork),
    decompressor,
    altDa: CONFIG,
    daInputs: inputs,
    seqWindowSize: 60,
    channelTimeoutL1Blocks: 50,
  };
  const author = new Sim(common);
  const { l1 } = author;
  const planned = new Map<number, Planned>();
  const at = (number: number): Planned["transactions"] => {
    const block = planned.get(number) ?? { transactions: [] };
    planned.set(number, block);
    return block.transactions;
  };
  const first = l1.head.number + 1;
  const outcomes: string[] = [];
  let number = first;
  let sequenced = 0;
  const data = (from: number, to: number) => encodeBatcherData(author.frames(compress(author.batches("singular", from, to))));
  for (let left = 3 + below(4); left > 0; left--, number += below(4)) {
    const from = sequenced + 1;
    sequenced += 1 + below(2);
    await author.sequenceMany(sequenced - from + 1);
    const input = data(from, sequenced);
    const commitment = keccakCommitment(input);
    at(number).push({ transaction: l1.calldata(concatBytes(Uint8Array.of(1), encodeDaCommitment(commitment))), logs: [] });
    const outcome = (["never challenged", "resolved", "expired"] as const)[below(3)]!;
    // Unchallenged data must be available, because derivation stops otherwise.
    const isLost = outcome !== "never challenged" && below(2) === 0;
    if (!isLost) inputs.put(commitment, input);
    outcomes.push(`${outcome}${isLost ? ", lost" : ""} @${number - first}`);
    if (outcome !== "never challenged") {
      const challenged = number + below(CONFIG.daChallengeWindow + 1);
      at(challenged).push({
        transaction: l1.calldata(new Uint8Array(4), BATCHER_KEY, CONTRACT),
        logs: [challengeLog(CONTRACT, commitment, number, "active")],
      });
      const answered = challenged + below(CONFIG.daResolveWindow + 1);
      const call = l1.calldata(resolveCalldata(commitment, number, input), BATCHER_KEY, CONTRACT);
      if (outcome === "resolved")
        at(answered).push({ transaction: call, logs: [challengeLog(CONTRACT, commitment, number, "resolved")] });
    }
    if (below(2) === 0) at(number + below(3)).push({ transaction: l1.calldata(data(1, sequenced)), logs: [] });
  }
  const end = number + CONFIG.daChallengeWindow + CONFIG.daResolveWindow + 2;
  at(end).push({ transaction: l1.calldata(data(1, sequenced)), logs: [] });
  for (let next = first; next <= end + 1; next++) {
    const { transactions = [] } = planned.get(next) ?? {};
    l1.mine({
      transactions: transactions.map(({ transaction }) => transaction),
      transactionLogs: transactions.map(({ logs }) => logs),
    });
  }
  return { l1, outcomes, sequenced, newVerifier: () => new Sim({ ...common, l1 }) };
}

/** A verifier's chain, and from which L1 block each of its blocks was derived. */
class Follower {
  readonly sim: Sim;
  readonly #derivedFrom: BlockId[] = [];
  #seen = 0;
  finalized = 0;
  #resetsHandled = 0;

  constructor(sim: Sim) {
    this.sim = sim;
  }

  get chain(): readonly { readonly hash: Hex; readonly derivedFrom: number | undefined }[] {
    return this.sim.verifier.hashes.map((hash, number) => ({ hash, derivedFrom: this.#derivedFrom[number]?.number }));
  }

  /** Runs some steps, not necessarily until idle. */
  async step(count: number): Promise<void> {
    await this.sim.derive(count).catch((error: { code?: string; message: string }) => {
      if (error.code !== "derivation/da-input-pending" && error.message !== "the pipeline does not come to rest") throw error;
    });
    this.#note();
    if (this.sim.resets.length > this.#resetsHandled) await this.startAgain();
  }

  /** Derives all that there is. */
  async follow(): Promise<void> {
    for (;;) {
      const outcome = await this.sim.derive().catch((error: { code?: string }) => {
        if (error.code !== "derivation/da-input-pending") throw error;
        return "idle" as const;
      });
      this.#note();
      if (outcome === "idle") return;
      if (this.resets > 100) throw new Error(`too many resets: ${this.sim.resets.slice(-5).join()}`);
      await this.startAgain();
    }
  }

  get resets(): number {
    return this.sim.resets.length;
  }

  async startAgain(): Promise<void> {
    this.#resetsHandled = this.resets;
    this.sim.verifier.rewind(this.finalized);
    const l1Block = this.#derivedFrom[this.finalized];
    await this.sim.reset(l1Block && { l1Block, isWhole: true });
  }

  async finalize(l1Finalized: BlockId): Promise<void> {
    const by = await this.sim.pipeline.finalizedBy(l1Finalized);
    if (by === undefined) return;
    const number = this.sim.verifier.hashes.findLastIndex((_, i) => i === 0 || this.#derivedFrom[i]!.number <= by.number);
    this.finalized = Math.max(this.finalized, number);
  }

  #note(): void {
    for (const { parent, derivedFrom } of this.sim.derived.slice(this.#seen)) this.#derivedFrom[parent.number + 1] = derivedFrom;
    this.#seen = this.sim.derived.length;
  }
}

for (const fork of ["granite", "jovian"] as const)
  it(`several challenges in one window lead to one chain, whenever derivation starts again and L1 finalizes: ${fork}`, {
    tags: fork === "jovian" ? [] : "long",
  }, async () => {
    let ownResets = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const below = createRandom(seed);
      const { l1, outcomes, sequenced, newVerifier } = await history(fork, below);
      const reference = new Follower(newVerifier());
      await reference.follow();
      ownResets += reference.resets;
      const follower = new Follower(newVerifier());
      const { head, refs } = l1;
      const seen: string[] = [];
      try {
        for (l1.visibleTo = refs[0]!.number; l1.visibleTo < head.number; ) {
          l1.visibleTo = Math.min(head.number, l1.visibleTo + 1 + below(3));
          // Sometimes L1 is far ahead of derivation.
          if (below(6) === 0) l1.visibleTo = head.number;
          if (below(4) > 0) await follower.follow();
          else await follower.step(1 + below(40));
          seen.push(`${l1.visibleTo - refs[0]!.number}`);
          if (below(2) === 0) {
            const l1Finalized = refs[below(l1.visibleTo - refs[0]!.number + 1)]!;
            await follower.finalize(l1Finalized);
            seen.push(`L1 finalized ${l1Finalized.number - refs[0]!.number}: ${follower.finalized}`);
          }
          if (below(5) === 0) {
            await follower.startAgain();
            seen.push("start");
          }
        }
        await follower.follow();
      } catch (cause) {
        throw new Error(`seed ${seed}: ${outcomes.join("; ")}: ${seen.join(", ")}`, { cause });
      }
      l1.visibleTo = Number.POSITIVE_INFINITY;
      expect({ seed, outcomes, chain: follower.chain }).toEqual({ seed, outcomes, chain: reference.chain });
      expect(reference.chain).toHaveLength(sequenced + 1);
    }
    expect(ownResets).toBeGreaterThan(SEEDS / 10);
  });
