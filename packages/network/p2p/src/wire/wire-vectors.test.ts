import { decompressSnappyBlock } from "@rnode/peering";
import { bytesToHex, concatBytes, equalBytes, hexToBytes, recoverAddress, signHash } from "@rnode/primitives";
import type { ExecutionPayload } from "@rnode/protocol";
import { compress } from "snappyjs";
import { describe, expect, it } from "vitest";
import {
  SAMPLE_CHAIN_ID,
  SAMPLE_KEY,
  SAMPLE_MESSAGES,
  SAMPLE_SIGNATURE,
  SAMPLE_SIGNER,
  type SampleMessage,
} from "../testing/samples.ts";
import { decodeEnvelope, encodeEnvelope } from "./envelope.ts";
import {
  bodyHash,
  decodeSignature,
  encodeGossipMessage,
  encodeSignature,
  gossipSigningHash,
  messageId,
  splitGossipMessage,
} from "./gossip-message.ts";
import { blockTopics, publishingTopic } from "./topics.ts";

/** Little-endian hex digits of a number with `size` bytes. */
const le = (value: number | bigint, size: number): string =>
  BigInt(value)
    .toString(16)
    .padStart(2 * size, "0")
    .match(/../g)!
    .reverse()
    .join("");
const raw = (bytes: Uint8Array): string => bytesToHex(bytes).slice(2);

/**
 * The message body by the table of docs/protocol/03-p2p.md#ssz-encodings, written independently from the codec, from first field
 * to last. Valid for blocks without transactions.
 */
function bodyByTheTable({ version, envelope }: SampleMessage): string {
  const p: ExecutionPayload = envelope.executionPayload;
  const fixed = [0, 508, 512, 528, 560][version]!;
  const end = fixed + p.extraData.length;
  const fields: string[] = [
    ...(version >= 3 ? [raw(envelope.parentBeaconBlockRoot!)] : []),
    raw(p.parentHash),
    raw(p.feeRecipient),
    raw(p.stateRoot),
    raw(p.receiptsRoot),
    raw(p.logsBloom),
    raw(p.prevRandao),
    le(p.blockNumber, 8),
    le(p.gasLimit, 8),
    le(p.gasUsed, 8),
    le(p.timestamp, 8),
    le(fixed, 4),
    le(p.baseFeePerGas, 32),
    raw(p.blockHash),
    le(end, 4),
    ...(version >= 2 ? [le(end, 4)] : []),
    ...(version >= 3 ? [le(p.blobGasUsed!, 8), le(p.excessBlobGas!, 8)] : []),
    ...(version >= 4 ? [raw(p.withdrawalsRoot!)] : []),
    raw(p.extraData),
  ];
  return `0x${fields.join("")}`;
}

describe.each(SAMPLE_MESSAGES.map((sample) => [sample.version, sample] as const))("the sample of V%i", (version, sample) => {
  const body = hexToBytes(bodyByTheTable(sample));
  const signed = signHash(hexToBytes(sample.signingHash), SAMPLE_KEY);
  const message = concatBytes(encodeSignature(signed), body);

  it("has the length, payload hash and signing hash of the specification", () => {
    expect(message.length).toBe(sample.length);
    expect(bytesToHex(bodyHash(body))).toBe(sample.payloadHash);
    expect(bytesToHex(gossipSigningHash(body, SAMPLE_CHAIN_ID))).toBe(sample.signingHash);
  });

  it("has its message id, compressed by our library or as one literal", () => {
    const { topic } = blockTopics(SAMPLE_CHAIN_ID)[version - 1]!;
    const literal = concatBytes(hexToBytes(lengthVarint(message.length)), hexToBytes(`f4${le(message.length - 1, 2)}`), message);
    expect(bytesToHex(messageId(topic, message))).toBe(sample.messageId);
    expect(bytesToHex(messageId(topic, decompressSnappyBlock(compress(message), 1000)))).toBe(sample.messageId);
    expect(bytesToHex(messageId(topic, decompressSnappyBlock(literal, 1000)))).toBe(sample.messageId);
  });

  it("is what the encoder writes", () => {
    expect(bytesToHex(encodeEnvelope(sample.envelope, version))).toBe(bytesToHex(body));
    expect(equalBytes(encodeGossipMessage(sample.envelope, version, encodeSignature(signed)), message)).toBe(true);
  });

  it("is what the decoder reads", () => {
    const parts = splitGossipMessage(message);
    expect(decodeEnvelope(parts.body, version)).toEqual(sample.envelope);
    const { r, s, yParity } = decodeSignature(parts.signature);
    expect(bytesToHex(recoverAddress(gossipSigningHash(parts.body, SAMPLE_CHAIN_ID), r, s, yParity))).toBe(
      bytesToHex(SAMPLE_SIGNER),
    );
  });
});

const lengthVarint = (length: number): string => le((length & 0x7f) | 0x80 | ((length >> 7) << 8), 2);

describe("constants of the specification", () => {
  it("signs a message as the samples were signed", () => {
    const { signingHash } = SAMPLE_MESSAGES[3]!;
    expect(bytesToHex(encodeSignature(signHash(hexToBytes(signingHash), SAMPLE_KEY)))).toBe(bytesToHex(SAMPLE_SIGNATURE));
  });

  it("has the signing hash of a body of 32 bytes", () => {
    expect(bytesToHex(gossipSigningHash(new Uint8Array(32).fill(0x99), 10n))).toBe(
      "0x44a0e2b1aba1aae1771eddae1dcd2ad18a8cdac8891517153f03253e49d3f206",
    );
  });

  it("puts the topic into a message's id", () => {
    const id = messageId("/optimism/10/2/blocks", decompressSnappyBlock(hexToBytes("0x05100102030405"), 5));
    expect(bytesToHex(id)).toBe("0x6d1aa2a16f4af124a51de0cd78e15b763f886e94");
  });

  it("names the topics by the decimal chain id", () => {
    expect(blockTopics(8453n).map(({ topic, version }) => [topic, version])).toEqual([
      ["/optimism/8453/0/blocks", 1],
      ["/optimism/8453/1/blocks", 2],
      ["/optimism/8453/2/blocks", 3],
      ["/optimism/8453/3/blocks", 4],
    ]);
  });

  it.each([
    [0, "/optimism/10/0/blocks"],
    [99, "/optimism/10/0/blocks"],
    [100, "/optimism/10/1/blocks"],
    [299, "/optimism/10/1/blocks"],
    [300, "/optimism/10/2/blocks"],
    [699, "/optimism/10/2/blocks"],
    [700, "/optimism/10/3/blocks"],
    [1000, "/optimism/10/3/blocks"],
  ])("publishes a block of time %i on %s", (timestamp, topic) => {
    const forkTimes = {
      regolith: 0,
      canyon: 100,
      delta: 200,
      ecotone: 300,
      fjord: 400,
      granite: 500,
      holocene: 600,
      isthmus: 700,
      jovian: 800,
      karst: 900,
    };
    expect(publishingTopic(10n, forkTimes, timestamp).topic).toBe(topic);
  });

  it("accepts a parity of 0 and 1 only", () => {
    for (const parity of [2, 27, 28, 255]) {
      const bytes = SAMPLE_SIGNATURE.slice();
      bytes[64] = parity;
      expect(() => decodeSignature(bytes)).toThrow(expect.objectContaining({ code: "gossip/bad-signature" }));
    }
    expect(() => decodeSignature(SAMPLE_SIGNATURE.subarray(1))).toThrow(expect.objectContaining({ code: "gossip/bad-signature" }));
  });
});
