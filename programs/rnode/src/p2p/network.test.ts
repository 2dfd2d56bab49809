import { createRandomFraction } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { attributesOn, GENESIS_TIME_SEC } from "../testing/fake-chain.ts";
import { userTransaction } from "../testing/harness.ts";
import { SimNetwork } from "../testing/sim-network.ts";

const MINUTE_MS = 60_000;

/** The verifier, which knows only L1, has the same chain as the sequencer, and neither lags behind. */
function expectAgreement(network: SimNetwork): void {
  const { sequencer, verifier, clock } = network;
  const own = network.safeChain(sequencer);
  const derived = network.safeChain(verifier);
  const shared = Math.min(own.length, derived.length);
  expect(derived.slice(0, shared)).toEqual(own.slice(0, shared));
  const { unsafe } = sequencer.harness.control.heads;
  // blocks are made on time, and are published within a few L1 blocks
  expect(unsafe.timestamp).toBeGreaterThanOrEqual(Math.floor(clock.now / 1_000) - 2);
  expect(derived.length).toBeGreaterThan(unsafe.number - 40);
  const userTransactions = sequencer.engine
    .chain()
    .slice(1)
    .reduce((sum, { envelope }) => sum + envelope.executionPayload.transactions.length - 1, 0);
  expect(userTransactions).toBeGreaterThan(0);
}

describe("a sequencer and a verifier over one L1, in simulated time", () => {
  it("agree block for block, and finalize", async () => {
    const network = new SimNetwork();
    await network.run(10 * MINUTE_MS);
    expectAgreement(network);
    const { finalized, unsafe } = network.verifier.harness.control.heads;
    expect(unsafe.number).toBeGreaterThan(250);
    expect(finalized.number).toBeGreaterThan(200);
    expect(unsafe.timestamp).toBe(GENESIS_TIME_SEC + unsafe.number * 2);
    for (const { harness } of network.nodes)
      expect(harness.counts).toEqual({ resets: 1, derivationErrors: 0, publishingErrors: 0 });
  });

  it("follow an L1 reorganisation, and give up what was derived from the old branch", async () => {
    const network = new SimNetwork();
    await network.run(4 * MINUTE_MS);
    const before = network.sequencer.engine.head;
    network.reorgL1(4);
    await network.run(4 * MINUTE_MS);
    expectAgreement(network);
    expect(network.sequencer.engine.chain().map(({ ref }) => ref.hash)).not.toContain(before);
    for (const { engine } of network.nodes) {
      for (const { ref } of engine.chain()) expect(network.l1.blocks[ref.l1Origin.number]?.hash).toBe(ref.l1Origin.hash);
    }
  });

  it("go on where they were after a restart", async () => {
    const network = new SimNetwork();
    await network.run(5 * MINUTE_MS);
    const chain = network.sequencer.engine.chain().map(({ ref }) => ref.hash);
    network.sequencer.restart();
    network.verifier.restart();
    await network.run(2 * MINUTE_MS);
    expect(
      network.sequencer.engine
        .chain()
        .slice(0, chain.length)
        .map(({ ref }) => ref.hash),
    ).toEqual(chain);
    expectAgreement(network);
  });

  for (const seed of [1, 14])
    it(`agree in the end whatever happens: seed ${seed}`, { tags: "long" }, async () => {
      const random = createRandomFraction(seed);
      const network = new SimNetwork();
      await network.run(MINUTE_MS);
      for (let event = 0; event < 40; event++) {
        const node = random() < 0.5 ? network.sequencer : network.verifier;
        switch (Math.floor(random() * 7)) {
          case 0:
            network.reorgL1(1 + Math.floor(random() * 4));
            break;
          case 1:
            node.engine.isDown = true;
            await network.run(1_000 + Math.floor(random() * 20) * 1_000);
            node.engine.isDown = false;
            break;
          case 2:
            network.isL1Down = true;
            await network.run(1_000 + Math.floor(random() * 40) * 1_000);
            network.isL1Down = false;
            break;
          case 3:
            node.restart();
            break;
          case 4: {
            // an engine that was killed before its last blocks were written
            const chain = node.engine.chain();
            const lost = Math.min(
              Math.floor(random() * 3),
              chain.length - 1 - (node.harness.control.headsIfKnown?.safe.number ?? 0),
            );
            for (let i = 0; i < lost; i++) node.engine.forget(chain.pop()!.ref.hash);
            node.engine.head = chain.at(-1)!.ref.hash;
            break;
          }
          case 5: {
            // an unsafe block that the sequencer never made
            const parent = node.harness.control.headsIfKnown?.unsafe;
            const origin = network.l1.blocks.find(({ hash }) => hash === parent?.l1Origin.hash);
            if (parent === undefined || origin === undefined || node === network.sequencer) break;
            const attributes = attributesOn(network.config, parent, origin, [userTransaction(event)]);
            node.harness.inbox.offer(node.engine.make(parent, attributes).envelope);
            break;
          }
          default:
            node.harness.driver.requestReset("asked for");
        }
        await network.run(Math.floor(random() * 40) * 1_000);
      }
      await network.run(6 * MINUTE_MS);
      expectAgreement(network);
    });
});
