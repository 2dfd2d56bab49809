import { Malformed } from "../errors.ts";

const MIN_MATCH = 4;

/**
 * Decompresses an LZ4 block without a size in front of it (lz4_Block_format.md): sequences of
 * token 1 (literals 4 bits, match 4 bits; 15: more bytes follow, up to one below 255) ‖ literals ‖ offset u16 little-endian; the last has
 * literals only.
 *
 * @param maxBytes of the result
 * @param history bytes before it, which it may repeat
 * @throws {Malformed}
 */
export function decompressLz4(block: Uint8Array, maxBytes: number, history: Uint8Array = new Uint8Array(0)): Uint8Array {
  const limit = history.length + maxBytes;
  let output = new Uint8Array(Math.min(limit, history.length + Math.max(1024, 4 * block.length)));
  output.set(history);
  let size = history.length;
  let at = 0;
  const next = (): number => {
    if (at === block.length) throw new Malformed("LZ4 data ends early");
    return block[at++]!;
  };
  const lengthOf = (bits: number): number => {
    let length = bits;
    for (let more = bits === 15; more; ) {
      const byte = next();
      length += byte;
      more = byte === 255;
    }
    return length;
  };
  const reserve = (length: number): void => {
    if (size + length > limit) throw new Malformed(`LZ4 data of more than ${maxBytes} bytes`);
    if (size + length <= output.length) return;
    const larger = new Uint8Array(Math.min(limit, 2 * (size + length)));
    larger.set(output.subarray(0, size));
    output = larger;
  };
  for (;;) {
    const token = next();
    const literals = lengthOf(token >> 4);
    if (at + literals > block.length) throw new Malformed("LZ4 data ends early");
    reserve(literals);
    output.set(block.subarray(at, at + literals), size);
    size += literals;
    at += literals;
    if (at === block.length) return output.subarray(history.length, size);
    const offset = next() | (next() << 8);
    if (offset === 0 || offset > size) throw new Malformed(`LZ4 data repeats bytes at distance ${offset} of ${size}`);
    const end = size + lengthOf(token & 15) + MIN_MATCH;
    reserve(end - size);
    // byte by byte: a match may overlap what it writes
    for (; size < end; size++) output[size] = output[size - offset]!;
  }
}
