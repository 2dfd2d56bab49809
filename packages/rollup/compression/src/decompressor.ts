import { brotliDecompressSync, constants, inflateRawSync } from "node:zlib";
import type { Decompressor } from "@rnode/derivation";
import { channelDecompressor } from "./channel-decompressor.ts";

const CHUNK_BYTES = 1 << 18;

/** The decompressor of the derivation pipeline, over `node:zlib`. */
export const createDecompressor = (): Decompressor => channelDecompressor({ inflateRaw: tryInflate, brotli: tryBrotli });

function tryInflate(data: Uint8Array, maxBytes: number): Uint8Array | undefined {
  try {
    return view(inflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }));
  } catch {
    return undefined; // node:zlib returns nothing in these cases
  }
}

function tryBrotli(data: Uint8Array, maxBytes: number): Uint8Array | "limit" | "corrupt" {
  try {
    const options = { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES };
    return view(brotliDecompressSync(data, options));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? "limit" : "corrupt";
  }
}

function view(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
