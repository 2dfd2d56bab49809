import {
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  concatBytes,
  EMPTY_REQUESTS_HASH,
  hexToBytes,
  padBytesLeft,
  privateKeyToAddress,
  SECP256K1_N,
  signHash,
  ZERO_ADDRESS,
} from "@rnode/primitives";
import {
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  type ForkTimes,
  forksUpTo,
  hashHeader,
  payloadToHeader,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { compress } from "snappyjs";
import { describe, expect, it } from "vitest";
import { SAMPLE_CHAIN_ID, SAMPLE_KEY, SAMPLE_MESSAGES, SAMPLE_SIGNATURE, SAMPLE_SIGNER, SAMPLE_TIME } from "../testing/samples.ts";
import { encodeEnvelope } from "../wire/envelope.ts";
import { encodeSignature, gossipSigningHash } from "../wire/gossip-message.ts";
import type { PayloadVersion } from "../wire/payload-ssz.ts";
import { BlockSigners, SIGNER_GRACE_MS } from "./block-signers.ts";
import { BlockValidator, type BlockVerdict, contentFault, openGossipMessage } from "./block-validator.ts";

const THRESHOLD_MS = 60_000;
let agedMs = 0;
function signedBy(...addresses: readonly Uint8Array[]): BlockSigners {
  const signers = new BlockSigners({ monotonicMs: () => agedMs });
  for (const address of addresses) signers.rotate(address);
  return signers;
}
const NOW = { nowMs: SAMPLE_TIME * 1000, signers: signedBy(SAMPLE_SIGNER), isClockTrusted: true };
const ALL_FORKS = forksUpTo("jovian");
const validatorOf = (version: PayloadVersion, forkTimes: ForkTimes = ALL_FORKS): BlockValidator =>
  new BlockValidator({ config: { l2ChainId: SAMPLE_CHAIN_ID, forkTimes }, version, timestampThresholdMs: THRESHOLD_MS });

const sample = (version: PayloadVersion): ExecutionPayloadEnvelope => SAMPLE_MESSAGES[version - 1]!.envelope;

/** The message of a body. */
const signed = (body: Uint8Array, chainId = SAMPLE_CHAIN_ID, key = SAMPLE_KEY): Uint8Array =>
  concatBytes(encodeSignature(signHash(gossipSigningHash(body, chainId), key)), body);

/** A block like the sample, with other fields and the hash that they give it. */
function blockOf(version: PayloadVersion, fields: Partial<ExecutionPayload> = {}): ExecutionPayloadEnvelope {
  const { executionPayload, parentBeaconBlockRoot } = sample(version);
  const envelope = { executionPayload: { ...executionPayload, ...fields }, parentBeaconBlockRoot };
  const blockHash = hashHeader(payloadToHeader(envelope, version === 4 ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot));
  return { executionPayload: { ...envelope.executionPayload, blockHash }, parentBeaconBlockRoot };
}
const messageOf = (version: PayloadVersion, fields: Partial<ExecutionPayload> = {}): Uint8Array =>
  signed(encodeEnvelope(blockOf(version, fields), version));

const outcome = (verdict: BlockVerdict): string => (verdict.kind === "accept" ? "accept" : `${verdict.kind} ${verdict.fault}`);
const judge = (message: Uint8Array, context: Partial<typeof NOW> = {}, version: PayloadVersion = 4): string =>
  outcome(validatorOf(version).validate(message, { ...NOW, ...context }));
const open = (compressed: Uint8Array): string => {
  const opened = openGossipMessage(compressed);
  return opened instanceof Uint8Array ? `${opened.length} bytes` : outcome(opened);
};

describe.each([1, 2, 3, 4] as const)("a block on the topic of V%i", (version) => {
  it("is accepted, and handed on as it was decoded", () => {
    const verdict = validatorOf(version).validate(signed(encodeEnvelope(sample(version), version)), NOW);
    expect(verdict).toEqual({ kind: "accept", envelope: sample(version) });
  });

  it("is refused on the topics of all other versions", () => {
    const message = messageOf(version);
    for (const other of [1, 2, 3, 4] as const) {
      if (other !== version) expect(outcome(validatorOf(other).validate(message, NOW))).toMatch(/^reject /);
    }
  });
});

describe("rule 1: the length", () => {
  it.each([
    ["cannot be read", "ffffffffff", "reject bad-length"],
    ["is missing", "", "reject bad-length"],
    ["is 10 MiB and a byte", "8180800500", "reject bad-length"],
    ["is 65", "4100", "reject bad-length"],
  ])("rejects one that %s", (_, data, expected) => {
    expect(open(hexToBytes(data))).toBe(expected);
  });

  it("takes 66 bytes to 10 MiB", () => {
    expect(open(compress(new Uint8Array(66)))).toBe("66 bytes");
    expect(open(compress(new Uint8Array(10 * 1024 * 1024)))).toBe("10485760 bytes");
    expect(open(compress(new Uint8Array(10 * 1024 * 1024 + 1)))).toBe("reject bad-length");
  });
});

describe("rule 2: decompression", () => {
  it("rejects data that end early, or that contain more than they say", () => {
    const compressed = compress(messageOf(4));
    expect(open(compressed.subarray(0, -1))).toBe("reject bad-snappy");
    expect(open(concatBytes(compressed, hexToBytes("0000")))).toBe("reject bad-snappy");
  });

  it("rejects lengths that so few bytes cannot fill", () => {
    expect(open(hexToBytes("ffffff040000"))).toBe("reject bad-snappy");
  });
});

describe("rule 3: the signature can be recovered", () => {
  const body = encodeEnvelope(sample(4), 4);
  it.each<[string, Uint8Array]>([
    ["zeros", new Uint8Array(65)],
    ["r beyond the order", concatBytes(new Uint8Array(32).fill(0xff), SAMPLE_SIGNATURE.subarray(32))],
    ["a parity of 27", concatBytes(SAMPLE_SIGNATURE.subarray(0, 64), Uint8Array.of(27))],
    ["a parity of 2", concatBytes(SAMPLE_SIGNATURE.subarray(0, 64), Uint8Array.of(2))],
  ])("rejects %s", (_, signature) => {
    expect(judge(concatBytes(signature, body))).toBe("reject bad-signature");
  });

  it("takes s in the upper half of the order, as the Go library does", () => {
    const s = padBytesLeft(bigintToBytes(SECP256K1_N - bytesToBigint(SAMPLE_SIGNATURE.subarray(32, 64))), 32);
    const high = concatBytes(SAMPLE_SIGNATURE.subarray(0, 32), s, Uint8Array.of(SAMPLE_SIGNATURE[64]! ^ 1));
    expect(judge(concatBytes(high, body))).toBe("accept");
  });
});

describe("rules 4 and 5: the signer", () => {
  it("ignores everything while the signer is unknown", () => {
    expect(judge(messageOf(4), { signers: signedBy(ZERO_ADDRESS) })).toBe("ignore unknown-signer");
  });
  it("rejects what somebody else signed", () => {
    expect(judge(signed(encodeEnvelope(sample(4), 4), SAMPLE_CHAIN_ID, new Uint8Array(32).fill(0x22)))).toBe("reject wrong-signer");
  });
  describe("after L1 has named another signer", () => {
    const NEW_KEY = new Uint8Array(32).fill(0x22);
    const NEW_SIGNER = privateKeyToAddress(NEW_KEY);
    const ofNew = (): Uint8Array => signed(encodeEnvelope(blockOf(4, { blockNumber: 77 }), 4), SAMPLE_CHAIN_ID, NEW_KEY);
    /** Verdicts on blocks of these signers, one after the other, `ageMs` after the change. */
    const verdicts = (signers: BlockSigners, ageMs: number, ...messages: readonly Uint8Array[]): string[] => {
      agedMs = ageMs;
      try {
        return messages.map((message) => outcome(validatorOf(4).validate(message, { ...NOW, signers })));
      } finally {
        agedMs = 0;
      }
    };

    it("accepts blocks of the former one for three hours", () => {
      const signers = signedBy(SAMPLE_SIGNER, NEW_SIGNER);
      expect(verdicts(signers, SIGNER_GRACE_MS - 1, messageOf(4), messageOf(4))).toEqual(["accept", "accept"]);
      expect(verdicts(signers, SIGNER_GRACE_MS, messageOf(4))).toEqual(["reject wrong-signer"]);
    });
    it("accepts them until the first block of the new one", () => {
      const signers = signedBy(SAMPLE_SIGNER, NEW_SIGNER);
      expect(verdicts(signers, 0, messageOf(4), ofNew(), messageOf(4))).toEqual(["accept", "accept", "reject wrong-signer"]);
    });
    it.each([
      ["only of the one before", [SAMPLE_SIGNER, new Uint8Array(20).fill(5), NEW_SIGNER], "reject wrong-signer"],
      ["although L1 is read again with the same", [SAMPLE_SIGNER, NEW_SIGNER, NEW_SIGNER], "accept"],
      ["after a change back to it", [SAMPLE_SIGNER, NEW_SIGNER, SAMPLE_SIGNER], "accept"],
      ["not if nobody signs any more", [SAMPLE_SIGNER, ZERO_ADDRESS], "ignore unknown-signer"],
      ["not without a former one", [ZERO_ADDRESS, NEW_SIGNER], "reject wrong-signer"],
    ] as const)("accepts them %s", (_, addresses, expected) => {
      expect(verdicts(signedBy(...addresses), 0, messageOf(4))).toEqual([expected]);
    });
  });
  it("rejects what was signed for another chain", () => {
    expect(judge(signed(encodeEnvelope(sample(4), 4), 11n))).toBe("reject wrong-signer");
  });
  it("rejects a message with another body than was signed", () => {
    const message = messageOf(4);
    message[100]! ^= 1;
    expect(judge(message)).toBe("reject wrong-signer");
  });
});

describe("rule 6: SSZ", () => {
  it("rejects a body that ends early", () => {
    expect(judge(signed(encodeEnvelope(sample(4), 4).subarray(0, 500)))).toBe("reject bad-ssz");
  });
  it("rejects a single byte", () => {
    expect(judge(signed(Uint8Array.of(1)))).toBe("reject bad-ssz");
  });
});

describe("rules 7 and 8: the time", () => {
  const HOUR = 3_600;
  it.each([
    [-61 - HOUR, "reject too-old"],
    [-60 - HOUR, "ignore too-old"],
    [-61, "ignore too-old"],
    [-60, "accept"],
    [0, "accept"],
    [5, "accept"],
    [6, "ignore from-the-future"],
    [5 + HOUR, "ignore from-the-future"],
    [6 + HOUR, "reject from-the-future"],
  ])("a block whose time is now %i s: %s", (seconds, expected) => {
    const message = messageOf(4, { timestamp: SAMPLE_TIME + seconds });
    expect(judge(message)).toBe(expected);
    expect(judge(message, { nowMs: SAMPLE_TIME * 1000 + 999 })).toBe(expected);
    expect(judge(message, { isClockTrusted: false })).toBe(expected.replace("reject", "ignore"));
  });

  it("blames the relay for no block that it accepted, however old the block is when it arrives within an hour", () => {
    for (let age = 0; age <= 60; age += 5) {
      const message = messageOf(4, { timestamp: SAMPLE_TIME - age });
      expect(judge(message)).toBe("accept");
      for (const laterSec of [1, 2, 15, 75, 90, 600, HOUR]) {
        const verdict = judge(message, { nowMs: (SAMPLE_TIME + laterSec) * 1000 });
        expect(verdict).toBe(age + laterSec <= 60 ? "accept" : "ignore too-old");
      }
    }
  });

  it("follows the threshold", () => {
    const options = {
      config: { l2ChainId: SAMPLE_CHAIN_ID, forkTimes: ALL_FORKS },
      version: 4,
      timestampThresholdMs: 2000,
    } as const;
    const at = (seconds: number) =>
      outcome(new BlockValidator(options).validate(messageOf(4, { timestamp: SAMPLE_TIME + seconds }), NOW));
    expect([at(-2), at(-3)]).toEqual(["accept", "ignore too-old"]);
  });
});

describe("rule 9: the hash", () => {
  it.each<[string, Partial<ExecutionPayload>]>([
    ["another block hash", { blockHash: new Uint8Array(32) }],
    ["another field", { gasUsed: 1n }],
    ["another transaction", { transactions: [Uint8Array.of(1)] }],
    ["another withdrawals root", { withdrawalsRoot: new Uint8Array(32) }],
  ])("rejects %s", (_, fields) => {
    const { executionPayload, parentBeaconBlockRoot } = sample(4);
    const altered = { executionPayload: { ...executionPayload, ...fields }, parentBeaconBlockRoot };
    expect(judge(signed(encodeEnvelope(altered, 4)))).toBe("reject wrong-hash");
  });
  it("rejects another beacon root", () => {
    const altered = { ...sample(4), parentBeaconBlockRoot: new Uint8Array(32) };
    expect(judge(signed(encodeEnvelope(altered, 4)))).toBe("reject wrong-hash");
  });
});

describe("rules 10 to 14: the content", () => {
  const withdrawal = { index: 0n, validatorIndex: 0n, address: new Uint8Array(20), amount: 1n };
  const root = new Uint8Array(32);

  it("rejects withdrawals in blocks that arrive", () => {
    for (const version of [2, 3, 4] as const) {
      expect(judge(messageOf(version, { withdrawals: [withdrawal] }), {}, version)).toBe("reject wrong-withdrawals");
    }
  });
  it("rejects excess blob gas", () => {
    for (const version of [3, 4] as const) {
      expect(judge(messageOf(version, { excessBlobGas: 1n }), {}, version)).toBe("reject wrong-blob-gas");
    }
  });
  it("takes blob gas only where it is the DA footprint", () => {
    const withFootprint = messageOf(4, { blobGasUsed: 40_000n });
    const accepts = (forkTimes: ForkTimes) => outcome(validatorOf(4, forkTimes).validate(withFootprint, NOW));
    expect(accepts(forksUpTo("jovian"))).toBe("accept");
    expect(accepts({ ...forksUpTo("isthmus"), jovian: SAMPLE_TIME })).toBe("accept");
    expect(accepts({ ...forksUpTo("isthmus"), jovian: SAMPLE_TIME + 1 })).toBe("reject wrong-blob-gas");
    expect(accepts(forksUpTo("isthmus"))).toBe("reject wrong-blob-gas");
  });

  it.each<[PayloadVersion, string, Partial<ExecutionPayload>, string]>([
    [1, "withdrawals", { withdrawals: [] }, "wrong-withdrawals"],
    [2, "no withdrawals", { withdrawals: undefined }, "wrong-withdrawals"],
    [2, "blob gas", { blobGasUsed: 0n }, "unexpected-blob-gas"],
    [1, "excess blob gas", { excessBlobGas: 0n }, "unexpected-blob-gas"],
    [3, "no blob gas", { blobGasUsed: undefined }, "wrong-blob-gas"],
    [4, "no excess blob gas", { excessBlobGas: undefined }, "wrong-blob-gas"],
    [3, "a withdrawals root", { withdrawalsRoot: root }, "wrong-withdrawals-root"],
    [1, "a withdrawals root", { withdrawalsRoot: root }, "wrong-withdrawals-root"],
    [4, "no withdrawals root", { withdrawalsRoot: undefined }, "wrong-withdrawals-root"],
  ])("V%i cannot have %s", (version, _, fields, fault) => {
    const { executionPayload, parentBeaconBlockRoot } = sample(version);
    const altered = { executionPayload: { ...executionPayload, ...fields }, parentBeaconBlockRoot };
    expect(contentFault(altered, version, { forkTimes: ALL_FORKS })).toBe(fault);
    expect(contentFault(sample(version), version, { forkTimes: ALL_FORKS })).toBeUndefined();
  });
  it("V3 and V4 cannot be without a beacon root", () => {
    for (const version of [3, 4] as const) {
      const { executionPayload } = sample(version);
      expect(contentFault({ executionPayload }, version, { forkTimes: ALL_FORKS })).toBe("no-beacon-root");
    }
  });
});

describe("rules 15 to 17: blocks of one height", () => {
  const nth = (n: number, blockNumber = 1000) => messageOf(4, { blockNumber, gasUsed: BigInt(n) });

  it("accepts a block once", () => {
    const validator = validatorOf(4);
    expect([1, 1, 2, 1].map((n) => outcome(validator.validate(nth(n), NOW)))).toEqual([
      "accept",
      "ignore seen",
      "accept",
      "ignore seen",
    ]);
  });

  it("accepts six blocks of a height, and then ignores all others, which cost nobody score", () => {
    const validator = validatorOf(4);
    for (let n = 1; n <= 6; n++) expect(outcome(validator.validate(nth(n), NOW))).toBe("accept");
    expect(outcome(validator.validate(nth(7), NOW))).toBe("ignore too-many-of-height");
    expect(outcome(validator.validate(nth(1), NOW))).toBe("ignore seen");
    expect(outcome(validator.validate(nth(1, 1001), NOW))).toBe("accept");
  });

  it("does not count blocks that were rejected", () => {
    const validator = validatorOf(4);
    for (let n = 1; n <= 10; n++) validator.validate(messageOf(4, { gasUsed: BigInt(n), excessBlobGas: 1n }), NOW);
    expect(outcome(validator.validate(nth(1), NOW))).toBe("accept");
  });

  it("remembers a thousand heights, those least recently asked for go first", () => {
    const validator = validatorOf(4);
    for (let height = 0; height < 1000; height++) validator.validate(nth(1, height), NOW);
    expect(outcome(validator.validate(nth(1, 0), NOW))).toBe("ignore seen");
    expect(outcome(validator.validate(nth(1, 1000), NOW))).toBe("accept");
    expect(outcome(validator.validate(nth(1, 1), NOW))).toBe("accept");
    expect(outcome(validator.validate(nth(1, 0), NOW))).toBe("ignore seen");
  });
});

describe("what a verdict says", () => {
  it("names the values that decided", () => {
    const late = validatorOf(4).validate(messageOf(4, { timestamp: SAMPLE_TIME - 100 }), NOW);
    expect(late).toMatchObject({ detail: `time ${SAMPLE_TIME - 100}, now ${SAMPLE_TIME}` });
    const other = validatorOf(4).validate(messageOf(4), { ...NOW, signers: signedBy(new Uint8Array(20).fill(7)) });
    expect(other).toMatchObject({ detail: `${bytesToHex(SAMPLE_SIGNER)}, expected 0x${"07".repeat(20)}` });
  });
});
