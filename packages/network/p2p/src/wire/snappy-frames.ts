import { compressSnappyBlock, decompressSnappyBlock, snappyBlockLength } from "@rnode/peering";
import { concatBytes } from "@rnode/primitives";
import { crc32c } from "./crc32c.ts";
import { WireError } from "./wire-error.ts";

/**
 * Snappy's framed format: chunks of type u8 ‖ length u24 LE ‖ body. The stream begins with its identifier. The body of a chunk of
 * data is a masked CRC-32C of the data, u32 LE, and the data, as a Snappy block or uncompressed. Spec:
 * docs/protocol/03-p2p.md#request-response-payload-by-number
 */
const COMPRESSED = 0x00;
const UNCOMPRESSED = 0x01;
const FIRST_SKIPPABLE = 0x80;
const IDENTIFIER = 0xff;
const IDENTIFIER_BODY = new TextEncoder().encode("sNaPpY");
const HEADER_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** of data in a chunk */
const MAX_CHUNK_BYTES = 65_536;
/** of a Snappy block with MAX_CHUNK_BYTES: more than any encoder's output */
const MAX_BLOCK_BYTES = 32 + MAX_CHUNK_BYTES + Math.floor(MAX_CHUNK_BYTES / 6);

export interface FrameLimits {
  /** of all that arrives */
  readonly maxCompressedBytes: number;
  /** of the data */
  readonly maxBytes: number;
}

/** @param prefixBytes free bytes in front, for the caller to fill */
export function encodeSnappyFrames(data: Uint8Array, prefixBytes = 0): Uint8Array {
  const parts = [new Uint8Array(prefixBytes), chunkHeader(IDENTIFIER, IDENTIFIER_BODY.length), IDENTIFIER_BODY];
  for (let at = 0; at < data.length; at += MAX_CHUNK_BYTES) {
    const piece = data.subarray(at, at + MAX_CHUNK_BYTES);
    const block = compressSnappyBlock(piece);
    // data is sent uncompressed unless compression saves an eighth, as in the Go library
    const isWorth = block.length < piece.length - Math.floor(piece.length / 8);
    const body = isWorth ? block : piece;
    parts.push(chunkHeader(isWorth ? COMPRESSED : UNCOMPRESSED, CHECKSUM_BYTES + body.length), checksum(piece), body);
  }
  return concatBytes(...parts);
}

/**
 * Decodes the format in pieces of any length. Its memory is bounded by the limits, which are checked before decompression; of an
 * incomplete chunk, it holds at most the format's maximum.
 */
export class SnappyFrameDecoder {
  private readonly limits: FrameLimits;
  private readonly header = new Uint8Array(HEADER_BYTES);
  private headerFilled = 0;
  /** of the chunk whose header was read */
  private body: Uint8Array | undefined;
  private bodyFilled = 0;
  private toSkip = 0;
  private hasIdentifier = false;
  private compressedBytes = 0;
  private bytes = 0;
  /** grows: a stream may consist of a million chunks of one byte */
  private output = new Uint8Array(0);

  constructor(limits: FrameLimits) {
    this.limits = limits;
  }

  /** memory of the decompressed part */
  get heldBytes(): number {
    return this.output.length;
  }

  /** @throws {WireError} frames/*, snappy/*: the rest cannot be read either */
  push(input: Uint8Array): void {
    this.compressedBytes += input.length;
    const { maxCompressedBytes } = this.limits;
    if (this.compressedBytes > maxCompressedBytes) throw new WireError("frames/too-long", { maxCompressedBytes });
    let at = 0;
    while (at < input.length) {
      if (this.toSkip > 0) {
        const skipped = Math.min(this.toSkip, input.length - at);
        this.toSkip -= skipped;
        at += skipped;
      } else if (this.body === undefined) {
        this.header[this.headerFilled++] = input[at++]!;
        if (this.headerFilled === HEADER_BYTES) this.beginChunk();
      } else {
        const taken = input.subarray(at, at + this.body.length - this.bodyFilled);
        this.body.set(taken, this.bodyFilled);
        this.bodyFilled += taken.length;
        at += taken.length;
        if (this.bodyFilled === this.body.length) this.endChunk(this.body);
      }
    }
  }

  /** The data, once everything has arrived. @throws {WireError} frames/truncated */
  finish(): Uint8Array {
    const isWithinChunk = this.headerFilled > 0 || this.body !== undefined || this.toSkip > 0;
    if (isWithinChunk || !this.hasIdentifier) throw new WireError("frames/truncated", { length: this.compressedBytes });
    return this.output.slice(0, this.bytes);
  }

  private beginChunk(): void {
    const type = this.header[0]!;
    const length = this.header[1]! | (this.header[2]! << 8) | (this.header[3]! << 16);
    this.headerFilled = 0;
    if (!this.hasIdentifier && type !== IDENTIFIER) throw new WireError("frames/no-identifier", { type });
    if (type >= FIRST_SKIPPABLE && type !== IDENTIFIER) {
      this.toSkip = length;
      return;
    }
    assertLength(type, length);
    this.body = new Uint8Array(length);
    this.bodyFilled = 0;
  }

  private endChunk(body: Uint8Array): void {
    const type = this.header[0]!;
    this.body = undefined;
    if (type === IDENTIFIER) {
      if (body.some((byte, i) => byte !== IDENTIFIER_BODY[i])) throw new WireError("frames/no-identifier", { type });
      this.hasIdentifier = true;
      return;
    }
    const content = body.subarray(CHECKSUM_BYTES);
    const length = type === COMPRESSED ? snappyBlockLength(content) : content.length;
    const maxBytes = Math.min(MAX_CHUNK_BYTES, this.limits.maxBytes - this.bytes);
    if (length > maxBytes) throw new WireError("frames/too-long", { length, maxBytes });
    const piece = type === COMPRESSED ? decompressSnappyBlock(content, maxBytes) : content;
    if (checksum(piece).some((byte, i) => byte !== body[i])) throw new WireError("frames/bad-checksum", { offset: this.bytes });
    this.append(piece);
  }

  private append(piece: Uint8Array): void {
    const end = this.bytes + piece.length;
    if (end > this.output.length) {
      const grown = new Uint8Array(Math.min(Math.max(end, 2 * this.output.length), this.limits.maxBytes));
      grown.set(this.output.subarray(0, this.bytes));
      this.output = grown;
    }
    this.output.set(piece, this.bytes);
    this.bytes = end;
  }
}

/** Before anything is allocated for it. */
function assertLength(type: number, length: number): void {
  switch (type) {
    case IDENTIFIER:
      if (length !== IDENTIFIER_BODY.length) throw new WireError("frames/bad-length", { type, length });
      return;
    case COMPRESSED:
    case UNCOMPRESSED: {
      const max = CHECKSUM_BYTES + (type === COMPRESSED ? MAX_BLOCK_BYTES : MAX_CHUNK_BYTES);
      if (length < CHECKSUM_BYTES || length > max) throw new WireError("frames/bad-length", { type, length, max });
      return;
    }
    default:
      throw new WireError("frames/reserved-chunk", { type });
  }
}

const chunkHeader = (type: number, length: number): Uint8Array =>
  Uint8Array.of(type, length & 0xff, (length >> 8) & 0xff, length >> 16);

/** Masked as the format requires, because a checksum of data that contains checksums would be weak. */
function checksum(data: Uint8Array): Uint8Array {
  const crc = crc32c(data);
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0;
  return Uint8Array.of(masked & 0xff, (masked >>> 8) & 0xff, (masked >>> 16) & 0xff, masked >>> 24);
}
