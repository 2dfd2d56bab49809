import { bigintToBytes, concatBytes, isCriticalError } from "@rnode/primitives";
import {
  type AltDaConfig,
  type DaCommitment,
  encodeBatcherData,
  encodeDaCommitment,
  keccakCommitment,
  MAX_DA_INPUT_BYTES,
} from "@rnode/protocol";
import { challengeLog, resolveCalldata } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { MemoryDaInputs } from "../testing/da-inputs.ts";
import { compress, decompressor, expectDerived } from "../testing/pipeline-steps.ts";
import { forksUpTo, Sim } from "../testing/sim.ts";
import { BATCHER_KEY } from "../testing/sim-l1.ts";

const CONTRACT = new Uint8Array(20).fill(0xda);
const KECCAK: AltDaConfig = {
  daChallengeContractAddress: CONTRACT,
  daCommitmentType: "KeccakCommitment",
  daChallengeWindow: 6,
  daResolveWindow: 4,
};
const GENERIC: AltDaConfig = { ...KECCAK, daChallengeContractAddress: undefined, daCommitmentType: "GenericCommitment" };

const word = (value: number): Uint8Array => bigintToBytes(BigInt(value), 32);

function setUp(altDa: AltDaConfig = KECCAK) {
  const inputs = new MemoryDaInputs();
  const sim = new Sim({ forkTimes: forksUpTo("jovian"), decompressor, altDa, daInputs: inputs, channelTimeoutL1Blocks: 50 });
  const blocks = { next: 1 };
  return {
    sim,
    inputs,
    /** The next blocks of the sequencer's chain as data on the DA server, and their commitment on L1. */
    post: async (count = 1): Promise<{ commitment: DaCommitment; input: Uint8Array; l1Block: number }> => {
      await sim.sequenceMany(count);
      const from = blocks.next;
      blocks.next += count;
      const [frame] = sim.frames(compress(sim.batches("singular", from, from + count - 1)));
      const input = encodeBatcherData([frame!]);
      const commitment: DaCommitment =
        altDa === GENERIC ? { kind: "generic", opaque: concatBytes(Uint8Array.of(0xff), word(from)) } : keccakCommitment(input);
      inputs.put(commitment, input);
      return { commitment, input, l1Block: postCommitment(sim, commitment) };
    },
    lose: ({ commitment }: { readonly commitment: DaCommitment }) => inputs.lose(commitment),
    challenge: (posted: { readonly commitment: DaCommitment; readonly l1Block: number }) =>
      sim.l1.mine({ logs: [challengeLog(CONTRACT, posted.commitment, posted.l1Block, "active")] }),
    resolve: (
      { commitment, l1Block, input }: { commitment: DaCommitment; l1Block: number; input: Uint8Array },
      isFailed = false,
    ) => {
      const transaction = sim.l1.calldata(resolveCalldata(commitment, l1Block, input), BATCHER_KEY, CONTRACT);
      const log = challengeLog(CONTRACT, commitment, l1Block, "resolved");
      return sim.l1.mine({ transactions: [transaction], transactionLogs: [[log]], isFailed });
    },
    dropped: () => sim.events.filter((event) => event.startsWith("data-dropped")),
  };
}

const postCommitment = (sim: Sim, commitment: DaCommitment | Uint8Array): number => {
  const bytes = commitment instanceof Uint8Array ? commitment : encodeDaCommitment(commitment);
  return sim.l1.mine({ transactions: [sim.l1.calldata(concatBytes(Uint8Array.of(1), bytes))] }).number;
};

describe("data outside of L1", () => {
  it.each([
    ["keccak256", KECCAK],
    ["generic", GENERIC],
  ])("is read by %s commitments; ordinary batcher data passes beside them", async (_, altDa) => {
    const { sim, post } = setUp(altDa);
    await post(2);
    await post(1);
    await sim.sequence();
    const [frame] = sim.frames(compress(sim.batches("singular", 4, 4)));
    sim.l1.mine({ transactions: [sim.l1.calldata(encodeBatcherData([frame!]))] });
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 4);
  });

  it.each<[string, Uint8Array, string]>([
    ["nothing after the version", new Uint8Array(0), "bad-commitment"],
    ["an unknown type", Uint8Array.of(2, 1), "bad-commitment"],
    ["half a hash", Uint8Array.of(0, 1, 2), "bad-commitment"],
    ["a generic one without content", Uint8Array.of(1), "bad-commitment"],
    ["one of the type that the chain does not use", Uint8Array.of(1, 0xff, 3), "wrong-commitment-type"],
  ])("is skipped behind %s", async (_, bytes, reason) => {
    const { sim, post, dropped } = setUp();
    postCommitment(sim, bytes);
    await post();
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
    expect(dropped()).toEqual([`data-dropped ${reason}`]);
  });

  it("is skipped if it is longer than the contract takes", async () => {
    const { sim, inputs, post, dropped } = setUp();
    const input = new Uint8Array(MAX_DA_INPUT_BYTES + 1);
    inputs.put(keccakCommitment(input), input);
    postCommitment(sim, keccakCommitment(input));
    await post();
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
    expect(dropped()).toEqual(["data-dropped input-too-long"]);
  });

  it("is tried again when the server fails", async () => {
    const { sim, inputs, post } = setUp();
    await post();
    inputs.isDown = true;
    await expect(sim.derive()).rejects.toThrow("the DA server is away");
    inputs.isDown = false;
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
  });

  it("that is missing is waited for while it can be challenged, without reading later batches", async () => {
    const { sim, inputs, post, lose } = setUp();
    const first = await post();
    await post();
    lose(first);
    await expect(sim.derive()).rejects.toMatchObject({ code: "derivation/da-input-pending" });
    expectDerived(sim, 0);
    inputs.put(first.commitment, first.input);
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 2);
  });

  it("that is missing and was never challenged stops derivation", async () => {
    const { sim, post, lose } = setUp();
    lose(await post());
    sim.l1.mineEmpty(KECCAK.daChallengeWindow + 1);
    const error: unknown = await sim.derive().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "derivation/da-input-lost" });
    expect(isCriticalError(error)).toBe(true);
  });

  it("that a challenge has shown comes from L1", async () => {
    const { sim, post, lose, challenge, resolve } = setUp();
    const posted = await post();
    lose(posted);
    challenge(posted);
    await expect(sim.derive()).rejects.toMatchObject({ code: "derivation/da-input-pending" });
    resolve(posted);
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
    sim.l1.mineEmpty(20);
    expect(await sim.derive()).toBe("idle");
    expect(sim.resets).toEqual([]);
  });

  it.each<
    [string, (posted: { commitment: DaCommitment; l1Block: number; input: Uint8Array }, s: ReturnType<typeof setUp>) => void]
  >([
    ["nobody shows", () => {}],
    ["is shown in a transaction that failed", (posted, s) => void s.resolve(posted, true)],
    ["is shown wrongly", (posted, s) => void s.resolve({ ...posted, input: Uint8Array.of(1) })],
    [
      "is shown by another contract",
      ({ commitment, l1Block }, s) =>
        void s.sim.l1.mine({ logs: [challengeLog(new Uint8Array(20).fill(1), commitment, l1Block, "resolved")] }),
    ],
  ])("that was challenged and %s is skipped once the time for it is over", async (_, act) => {
    const s = setUp();
    const { sim, post, lose, challenge, dropped } = s;
    const first = await post();
    lose(first);
    challenge(first);
    act(first, s);
    sim.l1.mineEmpty(KECCAK.daResolveWindow);
    expect(await sim.derive()).toBe("idle");
    expect(dropped()).toEqual(["data-dropped challenge-expired"]);
    expectDerived(sim, 0);
    expect(sim.resets).toEqual([]); // nothing had been derived from it
  });

  it("that was used, and then challenged and not shown, is taken back by a reset", async () => {
    const { sim, post, challenge, dropped } = setUp();
    const first = await post();
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
    challenge(first);
    sim.l1.mineEmpty(KECCAK.daResolveWindow - 1);
    expect(await sim.derive()).toBe("idle");
    sim.l1.mine();
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["da-challenge-expired"]);
    sim.verifier.rewind(0);
    expect(await sim.derive()).toBe("idle");
    expect(dropped()).toEqual(["data-dropped challenge-expired"]);
    expectDerived(sim, 0);
  });

  it("is taken back, too, if L1 has finalized the end of the challenge before earlier data is safe from challenges", async () => {
    const daChallengeWindow = 12;
    const { sim, post, challenge, dropped } = setUp({ ...KECCAK, daChallengeWindow });
    await post(); // its window ends later
    const second = await post();
    const challenged = challenge(second);
    sim.l1.mineEmpty(KECCAK.daResolveWindow);
    expect(await sim.derive()).toBe("idle");
    await sim.pipeline.finalizedBy(sim.l1.refs.find(({ number }) => number === challenged.number + KECCAK.daResolveWindow)!);
    sim.l1.mineEmpty(daChallengeWindow);
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["da-challenge-expired"]);
    sim.verifier.rewind(0);
    expect(await sim.derive()).toBe("idle");
    expect(dropped()).toEqual(["data-dropped challenge-expired"]);
    expectDerived(sim, 1);
  });

  it("that was used is taken back a second time, when finality has removed what was known of the first", async () => {
    const { sim, post, lose, challenge, dropped } = setUp();
    const first = await post();
    lose(first);
    challenge(first);
    sim.l1.mineEmpty(KECCAK.daResolveWindow);
    expect(await sim.derive()).toBe("idle");
    const second = await post();
    challenge(second);
    sim.l1.mineEmpty(KECCAK.daResolveWindow - 1);
    expect(await sim.derive()).toBe("idle");
    await sim.pipeline.finalizedBy(sim.l1.head);
    sim.l1.mine();
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["da-challenge-expired"]);
    sim.verifier.rewind(0);
    expect(await sim.derive()).toBe("idle");
    expect(dropped()).toEqual(Array.from({ length: 3 }, () => "data-dropped challenge-expired"));
    expect(sim.resets).toHaveLength(1);
  });

  it("is judged by the challenges that L1 has, not by those of blocks that it had", async () => {
    const { sim, post, lose, challenge } = setUp();
    const first = await post();
    lose(first);
    challenge(first);
    await expect(sim.derive()).rejects.toMatchObject({ code: "derivation/da-input-pending" });
    sim.l1.reorg(1);
    sim.l1.mineEmpty(KECCAK.daResolveWindow + 1);
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["l1-reorg"]);
    await expect(sim.derive()).rejects.toMatchObject({ code: "derivation/da-input-pending" });
  });

  it("that is found is not used beside challenges of L1 blocks that are gone", async () => {
    const { sim, inputs, post, lose, challenge } = setUp();
    const first = await post();
    lose(first);
    challenge(first);
    await expect(sim.derive()).rejects.toMatchObject({ code: "derivation/da-input-pending" });
    sim.l1.reorg(1);
    sim.l1.mine();
    inputs.put(first.commitment, first.input);
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["l1-reorg"]);
    expect(await sim.derive()).toBe("idle");
    expectDerived(sim, 1);
  });

  it("is read again after a reorganisation of L1, whatever the challenges were", async () => {
    const { sim, post, lose, challenge } = setUp();
    const first = await post();
    lose(first);
    challenge(first);
    sim.l1.mineEmpty(KECCAK.daResolveWindow);
    expect(await sim.derive()).toBe("idle");
    sim.l1.reorg(KECCAK.daResolveWindow + 2);
    sim.l1.mineEmpty(KECCAK.daResolveWindow + 3);
    expect(await sim.derive()).toBe("reset");
    expect(sim.resets).toEqual(["l1-reorg"]);
    expect(await sim.derive()).toBe("idle");
  });
});

describe("finality of data outside of L1", () => {
  it("comes with the end of the challenge window of the last commitment", async () => {
    const { sim, post } = setUp();
    const first = await post();
    const second = await post();
    expect(await sim.derive()).toBe("idle");
    const finalizedBy = async (number: number) =>
      (await sim.pipeline.finalizedBy(sim.l1.refs.find((ref) => ref.number === number)!))?.number;
    expect(await finalizedBy(second.l1Block)).toBeUndefined();
    sim.l1.mineEmpty(KECCAK.daChallengeWindow);
    expect(await sim.derive()).toBe("idle");
    expect(await finalizedBy(first.l1Block + KECCAK.daChallengeWindow)).toBe(first.l1Block);
    expect(await finalizedBy(second.l1Block + KECCAK.daChallengeWindow)).toBe(second.l1Block);
  });

  it("waits for a challenge of the data to end", async () => {
    const { sim, post, challenge, resolve } = setUp();
    const first = await post();
    sim.l1.mineEmpty(3);
    const challenged = challenge(first);
    resolve(first);
    sim.l1.mineEmpty(KECCAK.daChallengeWindow + KECCAK.daResolveWindow);
    expect(await sim.derive()).toBe("idle");
    const at = (number: number) => sim.pipeline.finalizedBy(sim.l1.refs.find((ref) => ref.number === number)!);
    expect(await at(challenged.number + KECCAK.daResolveWindow - 1)).toBeUndefined();
    expect((await at(challenged.number + KECCAK.daResolveWindow))?.number).toBeGreaterThanOrEqual(first.l1Block);
  });

  it("waits for the other data of the same L1 block", async () => {
    const { sim, post, inputs } = setUp();
    const first = await post();
    const other = keccakCommitment(Uint8Array.of(0, 1));
    inputs.put(other, Uint8Array.of(0, 1));
    sim.l1.reorg(1);
    const transactions = [first.commitment, other].map((commitment) =>
      sim.l1.calldata(concatBytes(Uint8Array.of(1), encodeDaCommitment(commitment))),
    );
    const { number } = sim.l1.mine({ transactions });
    sim.l1.mineEmpty(KECCAK.daChallengeWindow - 1);
    sim.l1.mine({ logs: [challengeLog(CONTRACT, other, number, "active")] });
    sim.l1.mineEmpty(KECCAK.daResolveWindow - 1);
    expect(await sim.derive()).toBe("idle");
    expect(await sim.pipeline.finalizedBy(sim.l1.head)).toBeUndefined();
  });

  it("does not run ahead of derivation, which does not know later challenges yet", async () => {
    const { sim, post, challenge } = setUp();
    sim.l1.mineEmpty(20);
    const posted = await post();
    challenge(posted);
    sim.l1.mineEmpty(40);
    sim.l1.visibleTo = posted.l1Block - 1;
    expect(await sim.derive()).toBe("idle");
    sim.l1.visibleTo = Number.POSITIVE_INFINITY;
    const { number } = (await sim.pipeline.finalizedBy(sim.l1.head))!;
    expect(number).toBe(posted.l1Block - 1 - KECCAK.daChallengeWindow);
  });

  it("does not outlive a reset: expired data may be used again until the challenges are read again", async () => {
    const { sim, post, challenge } = setUp();
    const posted = await post();
    challenge(posted);
    sim.l1.mineEmpty(2 * (KECCAK.daChallengeWindow + KECCAK.daResolveWindow));
    expect(await sim.derive()).toBe("reset");
    expect(await sim.derive()).toBe("idle");
    const finalized = await sim.pipeline.finalizedBy(sim.l1.head);
    expect(finalized?.number).toBeGreaterThanOrEqual(posted.l1Block);
    await sim.reset();
    sim.l1.visibleTo = posted.l1Block;
    expect(await sim.derive()).toBe("idle");
    const { number = -1 } = (await sim.pipeline.finalizedBy(sim.l1.refs.at(-1)!)) ?? {};
    expect(number).toBeLessThan(posted.l1Block);
  });

  it("without any commitment is that of the L1 block a challenge window earlier", async () => {
    const { sim } = setUp();
    sim.l1.mineEmpty(12);
    expect(await sim.derive()).toBe("idle");
    expect((await sim.pipeline.finalizedBy(sim.l1.head))?.number).toBe(sim.l1.head.number - KECCAK.daChallengeWindow);
  });
});
