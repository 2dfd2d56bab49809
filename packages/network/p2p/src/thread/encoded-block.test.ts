import { type ExecutionPayloadEnvelope, HashedPayload } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { expect, it } from "vitest";
import { SAMPLE_MESSAGES } from "../testing/samples.ts";
import { decodeReceivedBlock, encodeReceivedBlock } from "./encoded-block.ts";

const hashed = (envelope: ExecutionPayloadEnvelope, version: number): HashedPayload => {
  const payload = HashedPayload.hash(envelope, version >= 4, orderedTrieRoot);
  if (!(payload instanceof HashedPayload)) throw new Error("the sample has another hash");
  return payload;
};

it.each(SAMPLE_MESSAGES.map(({ envelope }, index) => [index + 1, envelope] as const))(
  "a block of version %d has the same content and header in the other thread",
  (version, envelope) => {
    const payload = hashed(envelope, version);
    const encoded = encodeReceivedBlock(payload);
    const received = decodeReceivedBlock(structuredClone(encoded, { transfer: [encoded.bytes.buffer] }));
    expect(received.executionPayload).toEqual(payload.executionPayload);
    expect(received.parentBeaconBlockRoot).toEqual(payload.parentBeaconBlockRoot);
    expect(received.header).toEqual(payload.header);
    // hashed again from its content, it is the same block
    const { executionPayload, parentBeaconBlockRoot } = received;
    expect(hashed({ executionPayload, parentBeaconBlockRoot }, version).header).toEqual(payload.header);
  },
);
