import type { ForkchoiceOutcome, ForkchoiceState } from "@rnode/node-clients";
import { silentLogger } from "@rnode/observe";
import type { L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { headsAfterReset } from "../common/heads.ts";
import { findHeads, withOwnLabels } from "../safe/find-heads.ts";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { createHarness, invalidTransaction } from "../testing/harness.ts";
import { EngineControl } from "./engine-control.ts";

const config = testConfig();
const l1 = new FakeL1(3);

/** An engine with three blocks on its genesis, and a control whose unsafe head is the last of them. */
async function setUp() {
  const engine = new FakeEngine(config);
  const refs: L2BlockRef[] = [engine.block(engine.head).ref];
  for (let i = 0; i < 3; i++) refs.push(engine.make(refs.at(-1)!, attributesOn(config, refs.at(-1)!, l1.blocks[0]!)).ref);
  const states: ForkchoiceState[] = [];
  const answers: (ForkchoiceOutcome | Error)[] = [];
  const recording = {
    forkchoiceUpdated: async (state: ForkchoiceState) => {
      states.push(state);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer ?? engine.forkchoiceUpdated(state);
    },
    buildBlocks: engine.buildBlocks.bind(engine),
    getPayload: engine.getPayload.bind(engine),
    newPayload: engine.newPayload.bind(engine),
  };
  const control = new EngineControl(recording, config);
  const [genesis, first, , third] = refs as [L2BlockRef, L2BlockRef, L2BlockRef, L2BlockRef];
  control.setHeads(headsAfterReset({ unsafe: third, safe: genesis, finalized: genesis, base: genesis }));
  await control.sendForkchoice();
  return { engine, control, states, answers, genesis, first, third };
}

describe("what the engine was told", () => {
  it("is the parent after attributes were refused: the fork choice is sent again", async () => {
    const { control, states, answers, first, third } = await setUp();
    answers.push({ kind: "invalid-attributes", reason: "bad" });
    expect(await control.startBuild(first, attributesOn(config, first, l1.blocks[0]!))).toMatchObject({ kind: "invalid" });
    expect(control.isForkchoiceSent).toBe(false);
    await control.sendForkchoice();
    expect(states.at(-1)?.head).toBe(third.hash);
  });

  it("is unknown after a lost answer: the fork choice is sent again", async () => {
    const { engine, control, answers, first, third } = await setUp();
    engine.isDown = true;
    expect(await control.startBuild(first, attributesOn(config, first, l1.blocks[0]!))).toMatchObject({ kind: "temporary" });
    engine.isDown = false;
    expect(answers).toEqual([]);
    expect(control.isForkchoiceSent).toBe(false);
    await control.sendForkchoice();
    expect(engine.head).toBe(third.hash);
  });

  it("never has a safe head above the head: building below the safe head lowers it until the next fork choice", async () => {
    const { control, states, first, third } = await setUp();
    control.setHeads({ ...control.heads, safe: third });
    await control.startBuild(first, attributesOn(config, first, l1.blocks[0]!));
    expect(states.at(-1)).toMatchObject({ head: first.hash, safe: first.hash });
    await control.sendForkchoice();
    expect(states.at(-1)).toMatchObject({ head: third.hash, safe: third.hash });
  });

  it("is what others are told: a label that the engine does not have yet is not shown", async () => {
    const { control, first, genesis } = await setUp();
    control.setHeads({ ...control.heads, safe: first, finalized: first });
    expect(control.toldHeads?.finalized).toEqual(genesis);
    await control.sendForkchoice();
    expect(control.toldHeads?.finalized).toEqual(first);
  });
});

describe("heads after a reset", () => {
  it("are never below those that this process had, as long as the engine has the blocks", async () => {
    const { engine, control, first, third } = await setUp();
    control.setHeads({ ...control.heads, safe: third, finalized: first });
    engine.safe = first.hash;
    const derivation = { rollup: config, l1BlobSchedule: [] };
    const found = await findHeads(derivation, { l1, l2: withOwnLabels(engine, () => control.heads) }, silentLogger);
    expect(found).toMatchObject({ kind: "found", finalized: first, highestFormerSafe: third });
  });
});

describe("an invalid batch below the safe head", () => {
  for (const isReplacedIfInvalid of [true, false]) {
    it(`is ${isReplacedIfInvalid ? "replaced by deposits" : "dropped"} again when L1 is read again, and is no contradiction`, async () => {
      const harness = createHarness({ l1Blocks: 3 });
      const { pipeline, driver, engine, found, untilIdle } = harness;
      pipeline.isReplacedIfInvalid = isReplacedIfInvalid;
      const genesis = engine.block(engine.head).ref;
      const valid = { origin: 0, from: 1 };
      let validReads = 0;
      const derive = async (): Promise<void> => {
        const read = [{ ...valid, userTransactions: [invalidTransaction] }];
        const next = () => {
          const batch = read.pop() ?? valid;
          if (batch === valid) validReads++;
          return batch;
        };
        Object.defineProperty(pipeline.batches, 0, { configurable: true, get: next });
        driver.requestReset("test");
        await untilIdle();
      };
      await derive();
      expect(harness.heads()).toMatchObject({ unsafe: 1, safe: 1 });
      const first = engine.block(engine.head).ref;
      found.next = { kind: "found", unsafe: first, safe: genesis, finalized: genesis, highestFormerSafe: first, base: genesis };
      await derive();
      expect(harness.heads()).toMatchObject({ unsafe: 1, safe: 1 });
      expect(engine.head).toBe(first.hash);

      // a safe chain is derived again below its label, and what comes after the invalid batch is compared, too
      found.next = { ...found.next, safe: first };
      validReads = 0;
      await derive();
      expect(harness.heads()).toMatchObject({ unsafe: 1, pendingSafe: 1, safe: 1 });
      expect(engine.head).toBe(first.hash);
      expect(validReads).toBe(isReplacedIfInvalid ? 0 : 1);
    });
  }
});
