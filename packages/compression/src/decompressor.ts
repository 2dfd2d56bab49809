import { brotliDecompressSync, constants, inflateRawSync } from "node:zlib";
import type { Decompressed, Decompressor } from "@rnode/derivation";
import { inflateWhatDecodes } from "./inflate.ts";

const CHUNK_BYTES = 1 << 18;
const MAX_WINDOW_BITS = 7; // as in zlib's header: 2^(7 + 8)
const DEFLATE_METHOD = 8;
const HAS_DICTIONARY = 0x20;

/** How much output one more byte of brotli input can add: a metablock is at most 2^24 bytes. */
const MAX_BYTES_OF_ONE_BROTLI_BYTE = 2 ** 25;

/** The decompressor of the derivation pipeline, over `node:zlib`. */
export function createDecompressor(): Decompressor {
  return {
    decompress: (kind, data, maxBytes) => (kind === "zlib" ? decompressZlib(data, maxBytes) : decompressBrotli(data, maxBytes)),
  };
}

/**
 * Decodes the DEFLATE data inside the zlib stream, so that neither the checksum nor what follows matters: batchers flush their
 * streams without closing them.
 */
function decompressZlib(data: Uint8Array, maxBytes: number): Decompressed {
  const [method, flags] = data;
  const isHeaderValid =
    method !== undefined &&
    flags !== undefined &&
    (method & 0x0f) === DEFLATE_METHOD &&
    method >> 4 <= MAX_WINDOW_BITS &&
    (method * 256 + flags) % 31 === 0 &&
    (flags & HAS_DICTIONARY) === 0;
  if (!isHeaderValid) return { bytes: new Uint8Array(), complete: false };
  const raw = data.subarray(2);
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES };
    return { bytes: view(inflateRawSync(raw, options)), complete: true };
  } catch {
    // Corrupt, or above the limit: node:zlib returns nothing in these cases.
    const { bytes, end } = inflateWhatDecodes(raw, maxBytes);
    return { bytes, complete: end === "final-block" || end === "input-ended" };
  }
}

/**
 * `node:zlib` returns nothing if brotli data is corrupt or exceeds the limit. In that case this searches for the longest prefix of
 * the input that decodes within the limit; above the limit, the byte after it yields the rest up to the limit. In corrupt data,
 * output encoded in the same byte as the fault, but before it, is lost.
 */
function decompressBrotli(data: Uint8Array, maxBytes: number): Decompressed {
  const whole = tryBrotli(data, maxBytes);
  if (whole instanceof Uint8Array) return { bytes: whole, complete: true };
  let good = 0;
  let bad = data.length;
  let best: Uint8Array = new Uint8Array();
  let failure = whole;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const result = tryBrotli(data.subarray(0, middle), maxBytes);
    if (result instanceof Uint8Array) {
      good = middle;
      best = result;
    } else {
      bad = middle;
      failure = result;
    }
  }
  if (failure === "limit") {
    const over = tryBrotli(data.subarray(0, bad), maxBytes + MAX_BYTES_OF_ONE_BROTLI_BYTE);
    if (over instanceof Uint8Array) best = over.slice(0, maxBytes);
  }
  return { bytes: best, complete: false };
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
