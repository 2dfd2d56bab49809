/* Steps of tests of the whole pipeline, and their expectations. */

import { brotliCompressSync, constants, deflateSync } from "node:zlib";
import { createDecompressor } from "@rnode/compression";
import { encodeBatcherData, type ForkTimes, type Frame } from "@rnode/protocol";
import { expect } from "vitest";
import { join, Sim, type SimOptions } from "./sim.ts";

export const decompressor = createDecompressor();
export const sim = (forkTimes: ForkTimes, over: Partial<SimOptions> = {}) => new Sim({ forkTimes, decompressor, ...over });

export type Compression = "zlib" | "flushed zlib" | "brotli";
export function compress(content: Uint8Array, how: Compression = "zlib"): Uint8Array {
  if (how === "brotli") return join([Uint8Array.of(1), new Uint8Array(brotliCompressSync(content))]);
  if (how === "zlib") return new Uint8Array(deflateSync(content, { level: 9 }));
  // Flushed but never closed, as batchers leave their streams.
  return new Uint8Array(deflateSync(content, { level: 9, finishFlush: constants.Z_SYNC_FLUSH }));
}

/** Posts the sequencer's blocks as one channel in the next L1 block. */
export function post(s: Sim, from: number, to: number, type: "singular" | "span" = "singular", how: Compression = "zlib") {
  return postFrames(s, s.frames(compress(s.batches(type, from, to), how)));
}
export const postFrames = (s: Sim, ...frames: readonly Frame[][]) =>
  s.l1.mine({ transactions: frames.map((list) => s.l1.calldata(encodeBatcherData(list))) });

/** Exactly blocks 1 to `number` of the sequencer have been derived. */
export function expectDerived(s: Sim, number: number) {
  expect(s.verifier.head.number).toBe(number);
  expect(s.agreesTo(number)).toBe(true);
  expect(s.safeHead.number).toBe(number);
}
