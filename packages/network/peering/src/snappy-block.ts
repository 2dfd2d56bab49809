import { CodedError } from "@rnode/primitives";
import { compress } from "snappyjs";

type SnappyErrorCode =
  /** the length in front cannot be read, or exceeds 32 bits */
  | "snappy/bad-length"
  /** longer than the caller allows; nothing was allocated */
  | "snappy/too-long"
  | "snappy/corrupt";

/** Bytes that are not of the format, or would be too many. */
export class SnappyError extends CodedError<SnappyErrorCode> {}

const MAX_LENGTH = 0xffff_ffff;

/**
 * Snappy's block format: the length as a varint, then literals and copies. Not the framed format.
 *
 * Any node can compress a signed message again, in any form that the format allows. The decoder accepts exactly the forms that
 * the Go library accepts, so that no peer is penalised for forwarding a message that others accept: a varint may be over-long,
 * the end must be exactly at the length. Spec: docs/protocol/03-p2p.md#message-body
 *
 * @param maxBytes of the decompressed data; checked before any allocation
 * @throws {SnappyError} snappy/bad-length, snappy/too-long, snappy/corrupt
 */
export function decompressSnappyBlock(input: Uint8Array, maxBytes: number): Uint8Array {
  const { length, end } = readLength(input);
  if (length > maxBytes) throw new SnappyError("snappy/too-long", { length, maxBytes });
  // a copy of 3 bytes yields at most 64: a length that the input cannot fill is not allocated
  if (length > (input.length - end) * 22) throw new SnappyError("snappy/corrupt", { length, compressed: input.length });
  const output = new Uint8Array(length);
  decode(input, end, output);
  return output;
}

/** The stated length of the decompressed data. @throws {SnappyError} snappy/bad-length */
export const snappyBlockLength = (input: Uint8Array): number => readLength(input).length;

export const compressSnappyBlock = (data: Uint8Array): Uint8Array => compress(data);

function readLength(input: Uint8Array): { readonly length: number; readonly end: number } {
  let length = 0;
  let scale = 1;
  // 64 bits need ten groups of seven bits
  for (let at = 0; at < Math.min(input.length, 10); at++) {
    const byte = input[at]!;
    length += (byte & 0x7f) * scale;
    if (length > MAX_LENGTH) break;
    if (byte < 0x80) return { length, end: at + 1 };
    scale *= 128;
  }
  throw new SnappyError("snappy/bad-length");
}

/** Fills `output` exactly. */
function decode(input: Uint8Array, start: number, output: Uint8Array): void {
  const inputLength = input.length;
  const outputLength = output.length;
  let from = start;
  let to = 0;
  while (from < inputLength) {
    const tag = input[from]!;
    let length: number;
    let offset: number;
    switch (tag & 3) {
      case 0: {
        const short = tag >> 2;
        from++;
        if (short < 60) length = short + 1;
        else {
          const size = short - 59;
          if (size > inputLength - from) throw corrupt(from);
          length = readUint(input, from, size) + 1;
          from += size;
        }
        if (length > outputLength - to || length > inputLength - from) throw corrupt(from);
        // PERF: a call costs as much as some 16 bytes, one at a time
        if (length > 16) output.set(input.subarray(from, from + length), to);
        else for (let i = 0; i < length; i++) output[to + i] = input[from + i]!;
        from += length;
        to += length;
        continue;
      }
      case 1:
        if (2 > inputLength - from) throw corrupt(from);
        length = 4 + ((tag >> 2) & 7);
        offset = ((tag & 0xe0) << 3) | input[from + 1]!;
        from += 2;
        break;
      case 2:
        if (3 > inputLength - from) throw corrupt(from);
        length = 1 + (tag >> 2);
        offset = input[from + 1]! | (input[from + 2]! << 8);
        from += 3;
        break;
      default:
        if (5 > inputLength - from) throw corrupt(from);
        length = 1 + (tag >> 2);
        offset = readUint(input, from + 1, 4);
        from += 5;
    }
    if (offset === 0 || offset > to || length > outputLength - to) throw corrupt(from);
    // a copy may overlap its output: a run repeats
    for (let source = to - offset, end = to + length; to < end; ) output[to++] = output[source++]!;
  }
  if (to !== outputLength) throw corrupt(from);
}

/** Little-endian, up to four bytes. */
function readUint(bytes: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!;
  return value;
}

const corrupt = (position: number) => new SnappyError("snappy/corrupt", { position });
