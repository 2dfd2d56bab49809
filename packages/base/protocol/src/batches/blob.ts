import { CodedError } from "@rnode/primitives";

export const BLOB_BYTES = 131_072;
/** The maximum number of data bytes of a blob: 1024 rounds of 127 bytes, minus version and length. */
export const MAX_BLOB_DATA_BYTES = 130_044;

export type BlobErrorCode =
  | "blob/wrong-size"
  | "blob/field-element-too-large"
  | "blob/unknown-version"
  | "blob/length-too-large"
  | "blob/data-after-end"
  | "blob/data-too-long";

const ROUNDS = 1024;
const ROUND_BYTES = 127;
const ENCODING_VERSION = 0;
const PREFIX_BYTES = 4;

/**
 * The data that a batcher put into a blob. Spec: docs/protocol/02-derivation.md#blobs
 *
 * A round is four field elements: the 31 low bytes of each are data, and the 6 usable high bits of each make up three more bytes.
 *
 * @throws {CodedError} blob/*: the blob is ignored
 */
export function decodeBlob(blob: Uint8Array): Uint8Array {
  if (blob.length !== BLOB_BYTES) throw new CodedError<BlobErrorCode>("blob/wrong-size", { got: blob.length });
  const version = blob[1]!;
  if (version !== ENCODING_VERSION) throw new CodedError<BlobErrorCode>("blob/unknown-version", { version });
  const length = (blob[2]! << 16) | (blob[3]! << 8) | blob[4]!;
  if (length > MAX_BLOB_DATA_BYTES) throw new CodedError<BlobErrorCode>("blob/length-too-large", { length });
  const end = PREFIX_BYTES + length;
  const usedRounds = Math.ceil(end / ROUND_BYTES);
  const stream = new Uint8Array(usedRounds * ROUND_BYTES);
  for (let round = 0; round < usedRounds; round++) {
    const from = round * 128;
    const to = round * ROUND_BYTES;
    const high = [0, 1, 2, 3].map((k) => highByte(blob, from + 32 * k)) as [number, number, number, number];
    const separators = [
      (high[0] & 0x3f) | ((high[1] & 0x30) << 2),
      (high[1] & 0x0f) | ((high[3] & 0x0f) << 4),
      (high[2] & 0x3f) | ((high[3] & 0x30) << 2),
    ] as const;
    for (let k = 0; k < 4; k++) {
      stream.set(blob.subarray(from + 32 * k + 1, from + 32 * k + 32), to + 32 * k);
      if (k < 3) stream[to + 32 * k + 31] = separators[k]!;
    }
  }
  for (let at = end; at < stream.length; at++) {
    if (stream[at] !== 0) throw new CodedError<BlobErrorCode>("blob/data-after-end", { position: at - PREFIX_BYTES });
  }
  for (let at = usedRounds * 128; at < BLOB_BYTES; at++) {
    if (blob[at] !== 0) throw new CodedError<BlobErrorCode>("blob/data-after-end", { element: at >> 5 });
  }
  return stream.subarray(PREFIX_BYTES, end);
}

/**
 * A field element is below the modulus only if its two top bits are 0. The implementations ignore these bits in the first
 * element.
 */
function highByte(blob: Uint8Array, at: number): number {
  const byte = blob[at]!;
  if (at === 0) return byte & 0x3f;
  if (byte >= 0x40) throw new CodedError<BlobErrorCode>("blob/field-element-too-large", { element: at >> 5 });
  return byte;
}

/** @throws {CodedError} blob/data-too-long */
export function encodeBlob(data: Uint8Array): Uint8Array {
  if (data.length > MAX_BLOB_DATA_BYTES) throw new CodedError<BlobErrorCode>("blob/data-too-long", { length: data.length });
  const rounds = Math.min(ROUNDS, Math.ceil((PREFIX_BYTES + data.length) / ROUND_BYTES));
  const stream = new Uint8Array(rounds * ROUND_BYTES);
  stream[0] = ENCODING_VERSION;
  stream[1] = data.length >> 16;
  stream[2] = (data.length >> 8) & 0xff;
  stream[3] = data.length & 0xff;
  stream.set(data, PREFIX_BYTES);
  const blob = new Uint8Array(BLOB_BYTES);
  for (let round = 0; round < rounds; round++) {
    const from = round * ROUND_BYTES;
    const to = round * 128;
    for (let k = 0; k < 4; k++) blob.set(stream.subarray(from + 32 * k, from + 32 * k + 31), to + 32 * k + 1);
    const x = stream[from + 31]!;
    const y = stream[from + 63]!;
    const z = stream[from + 95]!;
    blob[to] = x & 0x3f;
    blob[to + 32] = (y & 0x0f) | ((x & 0xc0) >> 2);
    blob[to + 64] = z & 0x3f;
    blob[to + 96] = ((z & 0xc0) >> 2) | (y >> 4);
  }
  return blob;
}
