import { bytesToHex, concatBytes, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBatcherData, encodeBatcherData, encodeFrame, type Frame, MAX_FRAME_DATA_BYTES } from "./frame.ts";

const channelId = new Uint8Array(16).fill(0x77);
const VECTOR = hexToBytes(`00${"77".repeat(16)}000000000004deadbeef01`);

const frames = fc.array(
  fc.record<Frame>({
    channelId: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    number: fc.integer({ min: 0, max: 0xffff }),
    data: fc.uint8Array({ maxLength: 300 }),
    isLast: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

describe("batcher data", () => {
  // docs/protocol/06-testing.md#batch-vectors
  it("is the published frame transaction", () => {
    const frame = { channelId, number: 0, data: hexToBytes("deadbeef"), isLast: true };
    expect(decodeBatcherData(VECTOR)).toEqual([frame]);
    expect(bytesToHex(encodeBatcherData([frame]))).toBe(bytesToHex(VECTOR));
  });

  it("round-trips", () => {
    fc.assert(
      fc.property(frames, (list) => {
        expect(decodeBatcherData(encodeBatcherData(list))).toEqual(list);
      }),
    );
  });

  const patched = (at: number, ...bytes: number[]) => {
    const data = VECTOR.slice();
    data.set(bytes, at);
    return data;
  };
  const tooLong = concatBytes(
    hexToBytes(`00${"77".repeat(16)}0000000f4241`),
    new Uint8Array(MAX_FRAME_DATA_BYTES + 1),
    Uint8Array.of(1),
  );
  it.each<[string, Uint8Array, string]>([
    ["no bytes", new Uint8Array(), "frame/empty"],
    ["version 1 (alt-DA)", patched(0, 1), "frame/unknown-version"],
    ["version 2", patched(0, 2), "frame/unknown-version"],
    ["only the version", Uint8Array.of(0), "frame/no-frames"],
    ["is_last 2", patched(VECTOR.length - 1, 2), "frame/bad-is-last"],
    ["is_last 255", patched(VECTOR.length - 1, 255), "frame/bad-is-last"],
    ["a length beyond the end", patched(22, 9), "frame/truncated"],
    ["no is_last", VECTOR.subarray(0, VECTOR.length - 1), "frame/truncated"],
    ["a trailing byte", concatBytes(VECTOR, Uint8Array.of(0)), "frame/truncated"],
    ["1,000,001 bytes", tooLong, "frame/too-long"],
  ])("refuses %s", (_, data, code) => {
    expect(() => decodeBatcherData(data)).toThrow(expect.objectContaining({ code }));
  });

  it("takes a frame of 1,000,000 bytes", () => {
    const data = new Uint8Array(MAX_FRAME_DATA_BYTES).fill(3);
    const [frame] = decodeBatcherData(encodeBatcherData([{ channelId, number: 65_535, data, isLast: false }]));
    expect(frame!.data.length).toBe(MAX_FRAME_DATA_BYTES);
  });

  it("does not encode what cannot be decoded", () => {
    expect(() => encodeFrame({ channelId, number: 65_536, data: new Uint8Array(), isLast: false })).toThrow(
      expect.objectContaining({ code: "frame/bad-number" }),
    );
    const data = new Uint8Array(MAX_FRAME_DATA_BYTES + 1);
    expect(() => encodeFrame({ channelId, number: 0, data, isLast: false })).toThrow(
      expect.objectContaining({ code: "frame/too-long" }),
    );
  });
});
