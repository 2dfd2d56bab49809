import type { ExecutionPayload, PayloadAttributes } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type AttributesMismatch, attributesMismatch } from "./consolidation.ts";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "./testing/fake-chain.ts";
import { userTransaction } from "./testing/harness.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const l1 = new FakeL1(2);

function derived(config = testConfig()) {
  const engine = new FakeEngine(config);
  const genesis = engine.block(engine.head).ref;
  const attributes = attributesOn(config, genesis, l1.blocks[0]!, [userTransaction(1)]);
  const { envelope } = engine.make(genesis, attributes);
  return { config, attributes, parentHash: genesis.hash, envelope };
}

const holoceneParams = (denominator: number, elasticity: number): Uint8Array =>
  Uint8Array.of(0, 0, 0, denominator, 0, 0, 0, elasticity);
const extraData = (...bytes: number[]): Uint8Array =>
  Uint8Array.of(1, 0, 0, 0, bytes[0]!, 0, 0, 0, bytes[1]!, 0, 0, 0, 0, 0, 0, 0, bytes[2]!);

describe("attributesMismatch", () => {
  it("accepts the block that the attributes make", () => {
    const { config, attributes, parentHash, envelope } = derived();
    expect(attributesMismatch(config, attributes, parentHash, envelope)).toBeUndefined();
  });

  it.each<[AttributesMismatch, Partial<ExecutionPayload>]>([
    ["parentHash", { parentHash: filled(32, 9) }],
    ["timestamp", { timestamp: 1 }],
    ["prevRandao", { prevRandao: filled(32, 9) }],
    ["transactionCount", { transactions: [] }],
    ["transaction", { transactions: [userTransaction(1), userTransaction(1)] }],
    ["gasLimit", { gasLimit: 1n }],
    ["withdrawals", { withdrawals: undefined }],
    ["withdrawals", { withdrawals: [{ index: 0n, validatorIndex: 0n, address: filled(20, 0), amount: 1n }] }],
    ["feeRecipient", { feeRecipient: filled(20, 9) }],
    ["extraData", { extraData: extraData(250, 5, 0) }],
    ["extraData", { extraData: extraData(50, 6, 0) }],
    ["extraData", { extraData: extraData(250, 6, 1) }],
    ["extraData", { extraData: new Uint8Array(0) }],
  ])("finds another %s", (field, change) => {
    const { config, attributes, parentHash, envelope } = derived();
    const changed = { ...envelope, executionPayload: { ...envelope.executionPayload, ...change } };
    expect(attributesMismatch(config, attributes, parentHash, changed)).toBe(field);
  });

  it("finds another beacon root, and a missing one", () => {
    const { config, attributes, parentHash, envelope } = derived();
    for (const parentBeaconBlockRoot of [filled(32, 9), undefined]) {
      expect(attributesMismatch(config, attributes, parentHash, { ...envelope, parentBeaconBlockRoot })).toBe(
        "parentBeaconBlockRoot",
      );
    }
  });

  it.each<[string, Partial<PayloadAttributes>, Uint8Array, AttributesMismatch | undefined]>([
    ["given parameters", { eip1559Params: holoceneParams(32, 4) }, extraData(32, 4, 0), undefined],
    ["given parameters, chain's in the block", { eip1559Params: holoceneParams(32, 4) }, extraData(250, 6, 0), "extraData"],
    ["zeros, which stand for the chain's", { eip1559Params: new Uint8Array(8) }, extraData(250, 6, 0), undefined],
    ["a minimum base fee", { minBaseFee: 7n }, extraData(250, 6, 7), undefined],
    ["parameters that no block can have", { eip1559Params: holoceneParams(0, 4) }, extraData(0, 4, 0), "extraData"],
  ])("compares extraData with %s", (_, change, blockExtraData, expected) => {
    const { config, attributes, parentHash, envelope } = derived();
    const block = { ...envelope, executionPayload: { ...envelope.executionPayload, extraData: blockExtraData } };
    expect(attributesMismatch(config, { ...attributes, ...change }, parentHash, block)).toBe(expected);
  });

  it("does not look at extraData before Holocene", () => {
    const { config, attributes, parentHash, envelope } = derived(testConfig("granite"));
    const block = { ...envelope, executionPayload: { ...envelope.executionPayload, extraData: filled(3, 1) } };
    expect(attributesMismatch(config, attributes, parentHash, block)).toBeUndefined();
  });
});
