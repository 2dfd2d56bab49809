import { payloadFromHeader } from "@rnode/node-clients";
import { EMPTY_REQUESTS_HASH, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  encodeHeader,
  type Header,
  OP_FORKS,
  type PayloadAttributes,
  payloadToHeader,
  positionFields,
  type RollupBlockRules,
  type RollupConfig,
  rollupRulesAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { describe, expect, it } from "vitest";
import { attributesOn, FakeEngine, FakeL1, testConfig } from "../testing/fake-chain.ts";
import { userTransaction } from "../testing/harness.ts";
import { type AttributesMismatch, attributesMismatch } from "./consolidation.ts";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);
const l1 = new FakeL1(2);

function derived(config = testConfig()) {
  const engine = new FakeEngine(config);
  const genesis = engine.block(engine.head).ref;
  const attributes = attributesOn(config, genesis, l1.blocks[0]!, [userTransaction(1)]);
  const { envelope } = engine.make(genesis, attributes);
  return { config, attributes, parent: genesis, envelope };
}

/** The block of a payload, whatever its hash says. */
function blockOf(config: RollupConfig, envelope: ExecutionPayloadEnvelope) {
  const { hasExecutionRequests } = rollupRulesAt(config.forkTimes, envelope.executionPayload.timestamp);
  return { envelope, header: payloadToHeader(envelope, hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot) };
}

const holoceneParams = (denominator: number, elasticity: number): Uint8Array =>
  Uint8Array.of(0, 0, 0, denominator, 0, 0, 0, elasticity);
const extraData = (...bytes: number[]): Uint8Array =>
  Uint8Array.of(1, 0, 0, 0, bytes[0]!, 0, 0, 0, bytes[1]!, 0, 0, 0, 0, 0, 0, 0, bytes[2]!);

describe("attributesMismatch", () => {
  it("accepts the block that the attributes make", () => {
    const { config, attributes, parent, envelope } = derived();
    expect(attributesMismatch(config, attributes, parent, blockOf(config, envelope))).toBeUndefined();
  });

  it.each<[AttributesMismatch, Partial<ExecutionPayload>]>([
    ["parentHash", { parentHash: filled(32, 9) }],
    ["blockNumber", { blockNumber: 2 }],
    ["timestamp", { timestamp: 1 }],
    ["prevRandao", { prevRandao: filled(32, 9) }],
    ["transactionCount", { transactions: [] }],
    ["transaction", { transactions: [userTransaction(1), userTransaction(1)] }],
    ["gasLimit", { gasLimit: 1n }],
    ["withdrawals", { withdrawals: undefined }],
    ["withdrawals", { withdrawals: [{ index: 0n, validatorIndex: 0n, address: filled(20, 0), amount: 1n }] }],
    ["blobGasUsed", { blobGasUsed: undefined }],
    ["excessBlobGas", { excessBlobGas: 1n }],
    ["excessBlobGas", { excessBlobGas: undefined }],
    ["feeRecipient", { feeRecipient: filled(20, 9) }],
    ["extraData", { extraData: extraData(250, 5, 0) }],
    ["extraData", { extraData: extraData(50, 6, 0) }],
    ["extraData", { extraData: extraData(250, 6, 1) }],
    ["extraData", { extraData: new Uint8Array(0) }],
  ])("finds another %s", (field, change) => {
    const { config, attributes, parent, envelope } = derived();
    const changed = { ...envelope, executionPayload: { ...envelope.executionPayload, ...change } };
    expect(attributesMismatch(config, attributes, parent, blockOf(config, changed))).toBe(field);
  });

  it("finds a withdrawals root that is missing, or that must not be there", () => {
    for (const [fork, withdrawalsRoot] of [
      ["canyon", undefined],
      ["isthmus", undefined],
      ["bedrock", filled(32, 9)],
    ] as const) {
      const { config, attributes, parent, envelope } = derived(testConfig(fork));
      const block = blockOf(config, envelope);
      expect(attributesMismatch(config, attributes, parent, block)).toBeUndefined();
      const changed = { ...block, header: { ...block.header, withdrawalsRoot } };
      expect(attributesMismatch(config, attributes, parent, changed)).toBe("withdrawalsRoot");
    }
  });

  it("finds another beacon root, and a missing one", () => {
    const { config, attributes, parent, envelope } = derived();
    for (const parentBeaconBlockRoot of [filled(32, 9), undefined]) {
      const block = blockOf(config, { ...envelope, parentBeaconBlockRoot });
      expect(attributesMismatch(config, attributes, parent, block)).toBe("parentBeaconBlockRoot");
    }
  });

  it.each<[string, Partial<PayloadAttributes>, Uint8Array, AttributesMismatch | undefined]>([
    ["given parameters", { eip1559Params: holoceneParams(32, 4) }, extraData(32, 4, 0), undefined],
    ["given parameters, chain's in the block", { eip1559Params: holoceneParams(32, 4) }, extraData(250, 6, 0), "extraData"],
    ["zeros, which stand for the chain's", { eip1559Params: new Uint8Array(8) }, extraData(250, 6, 0), undefined],
    ["a minimum base fee", { minBaseFee: 7n }, extraData(250, 6, 7), undefined],
    ["parameters that no block can have", { eip1559Params: holoceneParams(0, 4) }, extraData(0, 4, 0), "extraData"],
  ])("compares extraData with %s", (_, change, blockExtraData, expected) => {
    const { config, attributes, parent, envelope } = derived();
    const block = blockOf(config, { ...envelope, executionPayload: { ...envelope.executionPayload, extraData: blockExtraData } });
    expect(attributesMismatch(config, { ...attributes, ...change }, parent, block)).toBe(expected);
  });

  it.each(OP_FORKS.slice(0, OP_FORKS.indexOf("holocene")))("finds any extraData before Holocene: %s", (fork) => {
    const { config, attributes, parent, envelope } = derived(testConfig(fork));
    expect(attributesMismatch(config, attributes, parent, blockOf(config, envelope))).toBeUndefined();
    for (const blockExtraData of [Uint8Array.of(0), filled(3, 1), filled(32, 0), Uint8Array.of(0, 0, 0, 0, 250, 0, 0, 0, 6)]) {
      const block = blockOf(config, { ...envelope, executionPayload: { ...envelope.executionPayload, extraData: blockExtraData } });
      expect(attributesMismatch(config, attributes, parent, block)).toBe("extraData");
    }
  });
});

type HeaderField = Exclude<keyof Header, "exact">;

/** Another value for each field; for those that the fork may leave out, also one where there is none, and none where there is one. */
const MUTATIONS: Readonly<Record<HeaderField, readonly ((header: Header) => Partial<Header>)[]>> = {
  parentHash: [() => ({ parentHash: filled(32, 9) })],
  ommersHash: [() => ({ ommersHash: filled(32, 9) })],
  beneficiary: [() => ({ beneficiary: filled(20, 9) })],
  stateRoot: [() => ({ stateRoot: filled(32, 9) })],
  transactionsRoot: [() => ({ transactionsRoot: filled(32, 9) })],
  receiptsRoot: [() => ({ receiptsRoot: filled(32, 9) })],
  logsBloom: [() => ({ logsBloom: filled(256, 9) })],
  difficulty: [() => ({ difficulty: 1n })],
  number: [
    ({ number }) => ({ number: number + 1 }),
    () => ({ number: 0 }),
    ({ timestamp }) => positionFields(2n ** 64n - 1n, BigInt(timestamp)),
  ],
  gasLimit: [({ gasLimit }) => ({ gasLimit: gasLimit + 1n })],
  gasUsed: [({ gasUsed }) => ({ gasUsed: gasUsed + 1n })],
  timestamp: [({ timestamp }) => ({ timestamp: timestamp + 2 }), ({ number }) => positionFields(BigInt(number), 2n ** 64n - 1n)],
  extraData: [
    ({ extraData: now }) => ({ extraData: Uint8Array.of(...now, 0) }),
    ({ extraData: now }) => ({ extraData: now.length === 0 ? Uint8Array.of(1) : new Uint8Array(0) }),
  ],
  mixHash: [() => ({ mixHash: filled(32, 9) })],
  nonce: [() => ({ nonce: filled(8, 9) })],
  baseFeePerGas: [({ baseFeePerGas }) => ({ baseFeePerGas: baseFeePerGas! + 1n })],
  withdrawalsRoot: [() => ({ withdrawalsRoot: filled(32, 9) }), () => ({ withdrawalsRoot: undefined })],
  blobGasUsed: [({ blobGasUsed = 0n }) => ({ blobGasUsed: blobGasUsed + 1n }), () => ({ blobGasUsed: undefined })],
  excessBlobGas: [({ excessBlobGas = 0n }) => ({ excessBlobGas: excessBlobGas + 1n }), () => ({ excessBlobGas: undefined })],
  parentBeaconBlockRoot: [() => ({ parentBeaconBlockRoot: filled(32, 9) }), () => ({ parentBeaconBlockRoot: undefined })],
  requestsHash: [
    () => ({ requestsHash: filled(32, 9) }),
    ({ requestsHash }) => ({ requestsHash: requestsHash ? undefined : EMPTY_REQUESTS_HASH }),
  ],
  blockAccessListHash: [() => ({ blockAccessListHash: filled(32, 9), slotNumber: 0n })],
  slotNumber: [() => ({ blockAccessListHash: filled(32, 0), slotNumber: 9n })],
};

/** Nothing but executing the block tells that these are wrong, and the engine has executed it. */
const isExecuted = (field: HeaderField, { hasMessagePasserRoot, hasDaFootprint }: RollupBlockRules): boolean =>
  ["stateRoot", "receiptsRoot", "logsBloom", "gasUsed", "baseFeePerGas"].includes(field) ||
  (field === "withdrawalsRoot" && hasMessagePasserRoot) ||
  (field === "blobGasUsed" && hasDaFootprint);

describe("another value of a header field", () => {
  const fields = Object.keys(MUTATIONS) as HeaderField[];
  const forks = OP_FORKS.filter((fork) => fork !== "lagoon");

  it.each(forks.flatMap((fork) => fields.map((field) => [field, fork] as const)))("is noticed: %s, %s", (field, fork) => {
    const { config, attributes, parent, envelope } = derived(testConfig(fork));
    const rules = rollupRulesAt(config.forkTimes, attributes.timestamp);
    const { header } = blockOf(config, envelope);
    /** As the engine tells of the block: `fromHeader` refuses transactions and withdrawals that the header does not commit to. */
    const mismatchOf = (changed: Header): string | undefined => {
      const { transactions } = envelope.executionPayload;
      try {
        const encoded = encodeHeader(changed);
        const read = payloadFromHeader("eth_getBlockByNumber", encoded, transactions, header.transactionsRoot, config.forkTimes);
        return attributesMismatch(config, attributes, parent, { header: read.header, envelope: read });
      } catch (error) {
        if (isCodedError(error, "engine/bad-answer")) return "not read";
        if (isCodedError(error, "header/field-gap")) return "no header";
        throw error;
      }
    };
    expect(mismatchOf(header)).toBeUndefined();
    for (const mutate of MUTATIONS[field]) {
      const changed = { ...header, ...mutate(header) };
      const isTheSame = changed[field] === undefined && header[field] === undefined;
      const isLeftOut = changed[field] === undefined || header[field] === undefined;
      if (isTheSame || (isExecuted(field, rules) && !isLeftOut)) expect(mismatchOf(changed)).toBeUndefined();
      else expect({ changed, mismatch: mismatchOf(changed) }).toEqual({ changed, mismatch: expect.any(String) });
    }
  });
});
