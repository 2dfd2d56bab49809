/**
 * A DEFLATE decoder (RFC 1951) that returns all output up to a corruption of the input or a limit. `node:zlib` returns nothing in
 * these cases. It is slower (it works bit by bit) and only used for such input.
 */

export interface Inflated {
  readonly bytes: Uint8Array;
  readonly end: "final-block" | "input-ended" | "corrupt" | "limit";
}

const MAX_CODE_BITS = 15;
const END_OF_BLOCK = 256;
const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_EXTRA_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12_289,
  16_385, 24_577,
];
/** The order in which a dynamic block lists the lengths of the code-length codes. */
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** A canonical Huffman code: the number of codes of each length, and the symbols in the order of their codes. */
interface HuffmanCode {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

/** Ends the decoding. It is not an error, and never leaves this file. */
class Stop extends Error {
  readonly end: Inflated["end"];
  constructor(end: Inflated["end"]) {
    super(end);
    this.end = end;
  }
}

class Decoder {
  readonly #input: Uint8Array;
  readonly #maxBytes: number;
  #at = 0;
  #bitBuffer = 0;
  #bitCount = 0;
  #output = new Uint8Array(1 << 16);
  #length = 0;

  constructor(input: Uint8Array, maxBytes: number) {
    this.#input = input;
    this.#maxBytes = maxBytes;
  }

  run(): Inflated {
    try {
      for (let isFinal = false; !isFinal; ) {
        isFinal = this.#bits(1) === 1;
        const type = this.#bits(2);
        if (type === 0) this.#storedBlock();
        else if (type === 1) this.#compressedBlock(FIXED_LENGTHS, FIXED_DISTANCES);
        else if (type === 2) this.#dynamicBlock();
        else throw new Stop("corrupt");
      }
      return { bytes: this.#bytes(), end: "final-block" };
    } catch (error) {
      if (error instanceof Stop) return { bytes: this.#bytes(), end: error.end };
      throw error;
    }
  }

  #bytes(): Uint8Array {
    return this.#output.slice(0, this.#length);
  }

  #bits(count: number): number {
    while (this.#bitCount < count) {
      const byte = this.#input[this.#at];
      if (byte === undefined) throw new Stop("input-ended");
      this.#at++;
      this.#bitBuffer |= byte << this.#bitCount;
      this.#bitCount += 8;
    }
    const value = this.#bitBuffer & ((1 << count) - 1);
    this.#bitBuffer >>>= count;
    this.#bitCount -= count;
    return value;
  }

  #symbol(code: HuffmanCode): number {
    let value = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= MAX_CODE_BITS; length++) {
      value |= this.#bits(1);
      const count = code.counts[length]!;
      if (value - first < count) return code.symbols[index + value - first]!;
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Stop("corrupt");
  }

  #put(byte: number): void {
    if (this.#length >= this.#maxBytes) throw new Stop("limit");
    if (this.#length === this.#output.length) {
      const larger = new Uint8Array(this.#output.length * 2);
      larger.set(this.#output);
      this.#output = larger;
    }
    this.#output[this.#length++] = byte;
  }

  #storedBlock(): void {
    this.#bitBuffer = 0;
    this.#bitCount = 0;
    const length = this.#bits(16);
    const complement = this.#bits(16);
    if (length !== (complement ^ 0xffff)) throw new Stop("corrupt");
    for (let i = 0; i < length; i++) {
      const byte = this.#input[this.#at];
      if (byte === undefined) throw new Stop("input-ended");
      this.#at++;
      this.#put(byte);
    }
  }

  #dynamicBlock(): void {
    const lengthCount = this.#bits(5) + 257;
    const distanceCount = this.#bits(5) + 1;
    const codeLengthCount = this.#bits(4) + 4;
    if (lengthCount > 286 || distanceCount > 30) throw new Stop("corrupt");
    const codeLengths = new Uint8Array(19);
    for (let i = 0; i < codeLengthCount; i++) codeLengths[CODE_LENGTH_ORDER[i]!] = this.#bits(3);
    const codeLengthCode = huffmanCode(codeLengths, false);
    const lengths = new Uint8Array(lengthCount + distanceCount);
    for (let i = 0; i < lengths.length; ) {
      const symbol = this.#symbol(codeLengthCode);
      if (symbol < 16) {
        lengths[i++] = symbol;
        continue;
      }
      if (symbol === 16 && i === 0) throw new Stop("corrupt");
      const repeated = symbol === 16 ? lengths[i - 1]! : 0;
      const times = symbol === 16 ? 3 + this.#bits(2) : symbol === 17 ? 3 + this.#bits(3) : 11 + this.#bits(7);
      if (i + times > lengths.length) throw new Stop("corrupt");
      lengths.fill(repeated, i, i + times);
      i += times;
    }
    if (lengths[END_OF_BLOCK] === 0) throw new Stop("corrupt");
    this.#compressedBlock(huffmanCode(lengths.subarray(0, lengthCount), true), huffmanCode(lengths.subarray(lengthCount), true));
  }

  #compressedBlock(lengthCode: HuffmanCode, distanceCode: HuffmanCode): void {
    for (;;) {
      const symbol = this.#symbol(lengthCode);
      if (symbol === END_OF_BLOCK) return;
      if (symbol < END_OF_BLOCK) {
        this.#put(symbol);
        continue;
      }
      const lengthIndex = symbol - 257;
      const lengthBase = LENGTH_BASE[lengthIndex];
      if (lengthBase === undefined) throw new Stop("corrupt");
      const length = lengthBase + this.#bits(LENGTH_EXTRA_BITS[lengthIndex]!);
      const distanceIndex = this.#symbol(distanceCode);
      const distanceBase = DISTANCE_BASE[distanceIndex];
      if (distanceBase === undefined) throw new Stop("corrupt");
      const distance = distanceBase + this.#bits(distanceIndex < 2 ? 0 : (distanceIndex >> 1) - 1);
      if (distance > this.#length) throw new Stop("corrupt");
      for (let i = 0; i < length; i++) this.#put(this.#output[this.#length - distance]!);
    }
  }
}

/** @param mayBeSingle whether a code with a single one-bit symbol, or none, is allowed */
function huffmanCode(lengths: Uint8Array, mayBeSingle: boolean): HuffmanCode {
  const counts = new Uint16Array(MAX_CODE_BITS + 1);
  for (const length of lengths) counts[length]!++;
  const used = lengths.length - counts[0]!;
  let left = 1;
  for (let length = 1; length <= MAX_CODE_BITS; length++) {
    left = left * 2 - counts[length]!;
    if (left < 0) throw new Stop("corrupt");
  }
  const isSingle = mayBeSingle && (used === 0 || (used === 1 && counts[1] === 1));
  if (left > 0 && !isSingle) throw new Stop("corrupt");
  counts[0] = 0;
  const offsets = new Uint16Array(MAX_CODE_BITS + 2);
  for (let length = 1; length <= MAX_CODE_BITS; length++) offsets[length + 1] = offsets[length]! + counts[length]!;
  const symbols = new Uint16Array(used);
  for (const [symbol, length] of lengths.entries()) if (length !== 0) symbols[offsets[length]!++] = symbol;
  return { counts, symbols };
}

const FIXED_LENGTHS = huffmanCode(
  Uint8Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8)),
  false,
);
const FIXED_DISTANCES = huffmanCode(new Uint8Array(32).fill(5), false);

/** Decodes raw DEFLATE data (without zlib's header); anything after the final block is ignored. */
export function inflateWhatDecodes(input: Uint8Array, maxBytes: number): Inflated {
  return new Decoder(input, maxBytes).run();
}
