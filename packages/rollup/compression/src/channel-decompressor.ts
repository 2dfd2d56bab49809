import type { Decompressed, Decompressor } from "@rnode/derivation";
import { inflateWhatDecodes } from "./inflate.ts";

/* Derivation's zlib and brotli, independent of the implementation: that of Node.js, or one for browsers. */

/** Decompressors that return nothing if the data is corrupt or too long. The data may end before the stream does. */
export interface StreamDecoders {
  /** `undefined`: corrupt, or longer than `maxBytes` */
  readonly inflateRaw: (data: Uint8Array, maxBytes: number) => Uint8Array | undefined;
  readonly brotli: (data: Uint8Array, maxBytes: number) => Uint8Array | "limit" | "corrupt";
}

const MAX_WINDOW_BITS = 7; // as in zlib's header: 2^(7 + 8)
const DEFLATE_METHOD = 8;
const HAS_DICTIONARY = 0x20;

/** How much output one more byte of brotli input can add: a metablock is at most 2^24 bytes. */
const MAX_BYTES_OF_ONE_BROTLI_BYTE = 2 ** 25;

/** The decompressor of the derivation pipeline. */
export function channelDecompressor(decoders: StreamDecoders): Decompressor {
  return {
    decompress: (kind, data, maxBytes) =>
      kind === "zlib" ? decompressZlib(decoders, data, maxBytes) : decompressBrotli(decoders, data, maxBytes),
  };
}

/** Without zlib: slower, as it works bit by bit. */
export function inflateAll(data: Uint8Array, maxBytes: number): Uint8Array | undefined {
  const { bytes, end } = inflateWhatDecodes(data, maxBytes);
  return end === "final-block" || end === "input-ended" ? bytes : undefined;
}

/**
 * Decodes the DEFLATE data inside the zlib stream, so the checksum and later bytes do not matter: batchers flush their streams
 * without closing them.
 */
function decompressZlib({ inflateRaw }: StreamDecoders, data: Uint8Array, maxBytes: number): Decompressed {
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
  const whole = inflateRaw(raw, maxBytes);
  if (whole !== undefined) return { bytes: whole, complete: true };
  // Corrupt, or above the limit.
  const { bytes, end } = inflateWhatDecodes(raw, maxBytes);
  return { bytes, complete: end === "final-block" || end === "input-ended" };
}

/**
 * The decoders return nothing if brotli data is corrupt or exceeds the limit. In that case this searches for the longest prefix of
 * the input that decodes within the limit; above the limit, the byte after it yields the rest up to the limit. In corrupt data,
 * output encoded in the same byte as the fault, but before it, is lost.
 */
function decompressBrotli({ brotli }: StreamDecoders, data: Uint8Array, maxBytes: number): Decompressed {
  const whole = brotli(data, maxBytes);
  if (whole instanceof Uint8Array) return { bytes: whole, complete: true };
  let good = 0;
  let bad = data.length;
  let best: Uint8Array = new Uint8Array();
  let failure = whole;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const result = brotli(data.subarray(0, middle), maxBytes);
    if (result instanceof Uint8Array) {
      good = middle;
      best = result;
    } else {
      bad = middle;
      failure = result;
    }
  }
  if (failure === "limit") {
    const over = brotli(data.subarray(0, bad), maxBytes + MAX_BYTES_OF_ONE_BROTLI_BYTE);
    if (over instanceof Uint8Array) best = over.slice(0, maxBytes);
  }
  return { bytes: best, complete: false };
}
