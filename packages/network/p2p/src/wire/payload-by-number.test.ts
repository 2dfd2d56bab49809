import { SnappyError } from "@rnode/peering";
import { bytesToHex, concatBytes, hexToBytes } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { testRollupConfig } from "@rnode/protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLE_MESSAGES, SAMPLE_TIME } from "../testing/samples.ts";
import { encodeEnvelope } from "./envelope.ts";
import {
  decodeRequest,
  encodeRequest,
  encodeResponse,
  MAX_RESPONSE_BYTES,
  payloadByNumberProtocols,
  ResponseDecoder,
} from "./payload-by-number.ts";
import { encodeSnappyFrames } from "./snappy-frames.ts";
import { WireError } from "./wire-error.ts";

/** All samples are block 1000 of the same time; the forks that are active then make the version. */
function configOf(version: 1 | 2 | 3 | 4): RollupConfig {
  const base = testRollupConfig();
  const forks = (["canyon", "ecotone", "isthmus"] as const).slice(0, version - 1);
  return {
    ...base,
    genesis: { ...base.genesis, l2TimeSec: SAMPLE_TIME - 1000 * base.blockTimeSec },
    forkTimes: Object.fromEntries(forks.map((fork) => [fork, 0])),
  };
}

function decode(config: RollupConfig, bytes: Uint8Array, pieceBytes = bytes.length): ExecutionPayloadEnvelope {
  const decoder = new ResponseDecoder(config, 1000);
  for (let at = 0; at < bytes.length; at += pieceBytes) decoder.push(bytes.subarray(at, at + pieceBytes));
  return decoder.finish();
}

describe("payload by number", () => {
  it("has the protocol id in both forms, the one of op-node first", () => {
    expect(payloadByNumberProtocols(10n)).toEqual(["/opstack/req/payload_by_number/10/0", "/opstack/req/payload_by_number/10/0/"]);
  });

  it("a request is the number in eight bytes, little-endian", () => {
    expect(bytesToHex(encodeRequest(0x0102_0304_0506))).toBe("0x0605040302010000");
    expect(decodeRequest(hexToBytes("0x0605040302010000ff"))).toBe(0x0102_0304_0506);
    expect(decodeRequest(hexToBytes("0xffffffffffffffff"))).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
  });

  it.each(SAMPLE_MESSAGES)(
    "an answer has result 0, the version of the fork and SSZ in frames: payload version $version",
    ({ version, envelope }) => {
      const config = configOf(version);
      const answer = encodeResponse(config.forkTimes, envelope);
      expect(bytesToHex(answer.subarray(0, 5))).toBe(version < 3 ? "0x0000000000" : "0x0001000000");
      expect(answer.subarray(5)).toEqual(encodeSnappyFrames(encodeEnvelope(envelope, version)));
      expect(decode(config, answer)).toEqual(envelope);
      expect(decode(config, answer, 1)).toEqual(envelope);
    },
  );

  it.each([1, 2, 3, 255])("result %i is the whole answer, and what follows is not read", (code) => {
    const decoder = new ResponseDecoder(configOf(4), 1000);
    expect(decoder.refusal).toBeUndefined();
    decoder.push(Uint8Array.of(code, 9, 9, 9, 9, 9, 9, 9));
    expect(decoder.refusal).toBe(code);
    expect(() => decoder.finish()).toThrow(expect.objectContaining({ code: "response/truncated" }));
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 0],
    [3, 2],
    [4, 0],
    [4, 2],
    [4, 256],
  ] as const)("a block with a payload of version %i is no answer of version %i", (payload, version) => {
    const config = configOf(payload);
    const answer = encodeResponse(config.forkTimes, SAMPLE_MESSAGES[payload - 1]!.envelope);
    new DataView(answer.buffer).setUint32(1, version, true);
    expect(() => decode(config, answer)).toThrow(expect.objectContaining({ code: "response/unknown-version" }));
  });

  it.each([
    [3, 4, "ssz/truncated"],
    [4, 3, "ssz/bad-offset"],
    [2, 1, "ssz/bad-offset"],
  ] as const)("a payload of version %i is refused where the block's number says version %i", (sent, expected, code) => {
    const answer = encodeResponse(configOf(sent).forkTimes, SAMPLE_MESSAGES[sent - 1]!.envelope);
    expect(() => decode(configOf(expected), answer)).toThrow(expect.objectContaining({ code }));
  });

  it("an answer that ends early is refused", () => {
    const config = configOf(4);
    const answer = encodeResponse(config.forkTimes, SAMPLE_MESSAGES[3]!.envelope);
    expect(() => decode(config, answer.subarray(0, -1))).toThrow(expect.objectContaining({ code: "frames/truncated" }));
    expect(() => decode(config, answer.subarray(0, 4))).toThrow(expect.objectContaining({ code: "response/truncated" }));
  });

  it("throws on damaged bytes nothing but errors of the format", () => {
    const config = configOf(4);
    const answer = encodeResponse(config.forkTimes, SAMPLE_MESSAGES[3]!.envelope);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(answer.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.nat(answer.length),
        fc.integer({ min: 1, max: 700 }),
        (changes, end, pieceBytes) => {
          const damaged = answer.slice();
          for (const [at, value] of changes) damaged[at] = value;
          damaged[0] = 0;
          for (const bytes of [damaged, damaged.subarray(0, end)]) {
            try {
              decode(config, bytes, pieceBytes);
            } catch (error) {
              expect(error instanceof WireError || error instanceof SnappyError).toBe(true);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it("takes 10 MiB and no more, as sent and decompressed", () => {
    const config = configOf(4);
    const preamble = hexToBytes("0x0001000000ff060000734e61507059");
    const padding = (length: number): Uint8Array =>
      concatBytes(Uint8Array.of(0xfe, length & 0xff, (length >> 8) & 0xff, length >> 16), new Uint8Array(length));
    const rest = MAX_RESPONSE_BYTES - preamble.length - 4;
    const decoder = new ResponseDecoder(config, 1000);
    decoder.push(concatBytes(preamble, padding(rest)));
    expect(() => decoder.push(new Uint8Array(1))).toThrow(expect.objectContaining({ code: "frames/too-long" }));
    const bomb = new ResponseDecoder(config, 1000);
    bomb.push(concatBytes(hexToBytes("0x0001000000"), encodeSnappyFrames(new Uint8Array(MAX_RESPONSE_BYTES))));
    expect(() => bomb.push(encodeSnappyFrames(new Uint8Array(1)))).toThrow(expect.objectContaining({ code: "frames/too-long" }));
  });

  it("a block that no peer would take is not sent", () => {
    const { envelope } = SAMPLE_MESSAGES[3]!;
    const huge = {
      ...envelope,
      executionPayload: { ...envelope.executionPayload, transactions: [new Uint8Array(MAX_RESPONSE_BYTES)] },
    };
    expect(() => encodeResponse(configOf(4).forkTimes, huge)).toThrow(expect.objectContaining({ code: "response/too-large" }));
  });
});
