import { bytesToHex } from "@rnode/primitives";
import { attributesToJson, envelopeToJson } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { attributesOn } from "../testing/fake-chain.ts";
import { createHarness } from "../testing/harness.ts";
import { opstackMethods } from "./opstack-methods.ts";
import { TestSequencer } from "./test-sequencer.ts";

/** A node at its genesis whose blocks a test makes. */
async function setUp({ hasNetwork = true } = {}) {
  const harness = createHarness({ l1Blocks: 3 });
  const { config, control, engine, l1, driver } = harness;
  await driver.turn(); // finds the heads
  const published: number[] = [];
  const methods = opstackMethods(
    new TestSequencer({
      config,
      control,
      l2: { blockRefByHash: async (hash) => (await engine.blockByHash(hash))?.ref },
      run: (task) => task(),
      publish: hasNetwork
        ? async ({ executionPayload }, signature) => {
            expect(signature).toHaveLength(65);
            published.push(executionPayload.blockNumber);
          }
        : undefined,
    }),
  );
  const call = async (name: string, ...args: unknown[]): Promise<unknown> => {
    const { params, handler } = methods[`opstack_${name}`]!;
    return JSON.parse(
      JSON.stringify(
        await handler(
          params.map(({ shape }, index) => shape.parse(args[index])),
          {} as never,
        ),
      ),
    );
  };
  const genesis = control.heads.unsafe;
  const attributes = attributesToJson(attributesOn(config, genesis, l1.blocks[0]!));
  return { ...harness, call, published, genesis, attributes };
}

const SIGNATURE = `0x${"11".repeat(65)}`;

describe("the opstack namespace", () => {
  it("builds a block that is nobody's head until it is committed, and publishes it", async () => {
    const { call, control, genesis, attributes, published } = await setUp();
    const info = await call("openBlockV1", { hash: genesis.hash, number: 0 }, attributes);
    expect(info).toEqual({ id: expect.stringMatching(/^0x[0-9a-f]{16}$/), timestamp: Number(attributes.timestamp) });
    const envelope = (await call("sealBlockV1", info)) as ReturnType<typeof envelopeToJson>;
    expect(envelope.executionPayload.parentHash).toBe(genesis.hash);
    expect(control.heads.unsafe).toEqual(genesis);
    const signed = { envelope, signature: SIGNATURE };
    expect(await call("commitBlockV1", signed)).toBeNull();
    expect(control.heads.unsafe).toMatchObject({ number: 1, hash: envelope.executionPayload.blockHash });
    expect(control.isForkchoiceSent).toBe(true);
    expect(await call("publishBlockV1", signed)).toBeNull();
    expect(published).toEqual([1]);
  });

  it("replaces an unsafe block by another one, and no safe block", async () => {
    const { call, control, engine, l1, config, genesis, attributes } = await setUp();
    const first = engine.make(genesis, attributesOn(config, genesis, l1.blocks[0]!));
    await call("commitBlockV1", { envelope: envelopeToJson(first.envelope), signature: SIGNATURE });
    const info = await call(
      "openBlockV1",
      { hash: genesis.hash, number: 0 },
      { ...attributes, suggestedFeeRecipient: `0x${"77".repeat(20)}` },
    );
    const other = (await call("sealBlockV1", info)) as ReturnType<typeof envelopeToJson>;
    await call("commitBlockV1", { envelope: other, signature: SIGNATURE });
    expect(control.heads.unsafe.hash).toBe(other.executionPayload.blockHash);
    control.setHeads({ ...control.heads, safe: control.heads.unsafe });
    await expect(call("commitBlockV1", { envelope: envelopeToJson(first.envelope), signature: SIGNATURE })).rejects.toThrow(
      "block 1 cannot replace a safe block: the safe head is 1",
    );
  });

  it("says what it cannot do", async () => {
    const { call, genesis, attributes } = await setUp({ hasNetwork: false });
    const unknown = `0x${"99".repeat(32)}`;
    await expect(call("openBlockV1", { hash: unknown, number: 4 }, attributes)).rejects.toThrow(
      `failed to retrieve parent block ${unknown}:4: not found`,
    );
    await expect(call("sealBlockV1", { id: "0x0000000000000009", timestamp: 1 })).rejects.toThrow(
      "unknown payload 0x0000000000000009",
    );
    await expect(call("openBlockV1", { hash: genesis.hash, number: 0 }, { timestamp: "x" })).rejects.toThrow("timestamp");
    const info = await call("openBlockV1", { hash: genesis.hash, number: 0 }, attributes);
    expect(await call("cancelBlockV1", info)).toBeNull();
    await expect(call("sealBlockV1", info)).rejects.toThrow("unknown payload");
    await expect(
      call("publishBlockV1", { envelope: envelopeToJson(await built()), signature: bytesToHex(new Uint8Array(65)) }),
    ).rejects.toThrow("--p2p.disable");

    async function built() {
      const { engine, config, l1 } = await setUp();
      return engine.make(genesis, attributesOn(config, genesis, l1.blocks[0]!)).envelope;
    }
  });
});
