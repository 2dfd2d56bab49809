import { nativeModules } from "@rnode/native";
import { describe, expect, it } from "vitest";
import { bytesToHex } from "../bytes.ts";
import { keccak256 } from "./keccak.ts";
import { addKeccak256, flushKeccak256, keccakLanes } from "./keccak-batch.ts";

/** Hashes messages of these lengths in one batch. All messages use one buffer, which the next message overwrites. */
function compare(lengths: readonly number[]): void {
  const digests = new Uint8Array(32 * lengths.length + 1);
  const data = new Uint8Array(Math.max(...lengths, 0));
  const expected = lengths.map((length, index) => {
    for (let i = 0; i < length; i++) data[i] = (index * 31 + i * 7 + (i >> 3)) & 0xff;
    addKeccak256(data.subarray(0, length), digests, 1 + 32 * index);
    return bytesToHex(keccak256(data.subarray(0, length)));
  });
  flushKeccak256();
  expect(lengths.map((_, index) => bytesToHex(digests.subarray(1 + 32 * index, 33 + 32 * index)))).toEqual(expected);
}

describe("keccak256 of many", () => {
  it.each([0, 1, 3, 7, 8, 9, 16, 17, 255, 256, 257, 700])("%i messages of one block", (count) => {
    compare(Array.from({ length: count }, (_, i) => (i * 5) % 136));
  });

  it("lengths around borders of blocks", () => {
    for (const base of [0, 136, 272, 408])
      compare([0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 134, 135, 136, 137].map((by) => base + by));
  });

  it("long and short ones together, and more than there is room for", () => {
    compare([5000, 1, 2, 3, 136, 272, 20_000, 0, 31, 32, 33, 545, 700, 700, 700, 700, 90, 1000]);
    compare([200_000, 100_000, 300_000, 5, 260_000, 1]);
  });

  it("is nothing to flush twice", () => {
    compare([32, 33]);
    flushKeccak256();
    compare([34]);
  });

  it.runIf(keccakLanes !== undefined)("leaves alone what waits to be hashed", () => {
    const messages = Uint8Array.from({ length: 700 }, (_, i) => (i * 7) & 0xff);
    const waiting = new Uint8Array(32);
    addKeccak256(messages.subarray(3, 5), waiting, 0);
    const ends = Uint32Array.of(0, 20, 170, 700);
    const digests = new Uint8Array(32 * 4 + 1).fill(0xee);
    keccakLanes!.hashAll(messages, ends, digests.subarray(0, 128));
    flushKeccak256();
    const expected = [...ends].map((end, i) => keccak256(messages.subarray(ends[i - 1] ?? 0, end)));
    expect(digests).toEqual(Uint8Array.from([...expected.flatMap((digest) => [...digest]), 0xee]));
    expect(waiting).toEqual(keccak256(messages.subarray(3, 5)));
    expect(() => keccakLanes!.hashAll(messages, new Uint32Array(257), new Uint8Array(32 * 257))).toThrow(RangeError);
  });

  const native = nativeModules?.keccak;
  const laneCounts = [4, 8].filter((lanes) => lanes <= (native?.laneCount() ?? 0));

  it.each(laneCounts)("in %i lanes as one by one", (lanes) => {
    const { memory } = native!;
    const at = native!.buffer();
    const lengths = Array.from(
      { length: 120 },
      (_, i) => [0, 1, 31, 32, 135, 136, 137, 271, 272, 700, 1500, 90 + i][(i * 7) % 12]!,
    );
    const data = new Uint8Array(memory.buffer, at, 1 << 17);
    for (let i = 0; i < data.length; i++) data[i] = (i * 31 + (i >> 8) * 7) & 0xff;
    const ends = new Uint32Array(memory.buffer, at + data.length, lengths.length);
    let end = 0;
    for (const [index, length] of lengths.entries()) ends[index] = end += length;
    const digests = new Uint8Array(memory.buffer, at + data.length + 4 * lengths.length, 32 * lengths.length);
    expect(native!.hashAll(at, ends.byteOffset, lengths.length, digests.byteOffset, lanes)).toBe(1);
    for (const [index, length] of lengths.entries()) {
      const message = data.subarray(ends[index]! - length, ends[index]);
      expect(bytesToHex(digests.subarray(32 * index, 32 * index + 32)), `${index}: ${length}`).toBe(bytesToHex(keccak256(message)));
    }
    expect(native!.hashAll(at, ends.byteOffset, lengths.length, digests.byteOffset, 16)).toBe(0);
  });
});
