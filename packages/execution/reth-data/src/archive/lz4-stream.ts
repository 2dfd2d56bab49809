import { Malformed } from "../errors.ts";
import { decompressLz4 } from "../static-files/lz4.ts";
import { Xxh32, type Xxh32Progress } from "./xxh32.ts";

const MAGIC = 0x184d2204;
/** The lowest four bits may be anything. */
const SKIPPABLE_MAGIC = 0x184d2a50;
/** Of a frame's header, magic included: the longest one. */
const MAX_HEADER_BYTES = 19;
const UNCOMPRESSED = 0x8000_0000;
/** A match reaches that far back. */
const HISTORY_BYTES = 1 << 16;

interface Frame {
  readonly maxBlockBytes: number;
  /** a block may repeat bytes of those before it */
  readonly isLinked: boolean;
  readonly hasBlockChecksums: boolean;
  readonly hasChecksum: boolean;
}

/** State of an `Lz4Stream`, as plain data. */
export interface Lz4Progress {
  readonly pending: Uint8Array;
  readonly skipBytes: number;
  readonly frame: Frame | undefined;
  readonly history: Uint8Array;
  readonly hash: Xxh32Progress;
}

export const isLz4 = (bytes: Uint8Array): boolean => bytes.length >= 4 && viewOf(bytes).getUint32(0, true) === MAGIC;

/**
 * Decompresses LZ4 frames as their bytes come (lz4_Frame_format.md): magic u32 ‖ flags 1 ‖ block size 1 ‖ [content size u64] ‖ [dictionary u32]
 * ‖ header checksum 1; blocks of size u32, top bit: not compressed ‖ bytes ‖ [checksum u32]; size 0 ‖ [checksum u32 of the content]. All numbers are
 * little-endian.
 */
export class Lz4Stream {
  readonly #onBytes: (bytes: Uint8Array) => void;
  /** not used yet */
  #pending: Uint8Array = new Uint8Array(0);
  #skipBytes = 0;
  #frame: Frame | undefined;
  #history: Uint8Array = new Uint8Array(0);
  #hash = new Xxh32();

  /** @param state of an earlier one */
  constructor(onBytes: (bytes: Uint8Array) => void, state?: Lz4Progress) {
    this.#onBytes = onBytes;
    if (state === undefined) return;
    ({ pending: this.#pending, skipBytes: this.#skipBytes, frame: this.#frame, history: this.#history } = state);
    this.#hash = new Xxh32(state.hash);
  }

  get state(): Lz4Progress {
    const hash = this.#hash.progress;
    return { pending: this.#pending, skipBytes: this.#skipBytes, frame: this.#frame, history: this.#history, hash };
  }

  /** @throws {Malformed}, and what `onBytes` throws */
  push(bytes: Uint8Array, isLast: boolean): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    for (;;) {
      const used = this.#step(isLast);
      if (used === 0) break;
      this.#pending = this.#pending.subarray(used);
    }
    this.#pending = this.#pending.slice();
    if (isLast && (this.#pending.length > 0 || this.#frame !== undefined || this.#skipBytes > 0))
      throw new Malformed("LZ4 data ends early");
  }

  /** Takes a header, a block or an end from what is pending. @returns the number of bytes that it has; 0: it is not complete */
  #step(isLast: boolean): number {
    const pending = this.#pending;
    if (this.#skipBytes > 0) {
      const skipped = Math.min(this.#skipBytes, pending.length);
      this.#skipBytes -= skipped;
      return skipped;
    }
    if (this.#frame !== undefined) return this.#block(this.#frame);
    if (pending.length < MAX_HEADER_BYTES && !(isLast && pending.length > 0)) return 0;
    return this.#header();
  }

  #header(): number {
    const pending = this.#pending;
    const view = viewOf(pending);
    if (pending.length < 8) throw new Malformed("LZ4 data ends early");
    const magic = view.getUint32(0, true);
    if ((magic & 0xfffffff0) === SKIPPABLE_MAGIC) {
      this.#skipBytes = view.getUint32(4, true);
      return 8;
    }
    if (magic !== MAGIC) throw new Malformed("something else follows an LZ4 frame");
    const flags = pending[4]!;
    const sizeBits = (pending[5]! >> 4) & 7;
    if (flags >> 6 !== 1 || (flags & 0x02) !== 0 || (pending[5]! & 0x8f) !== 0 || sizeBits < 4)
      throw new Malformed("an LZ4 frame of an unknown version");
    if ((flags & 0x01) !== 0) throw new Malformed("an LZ4 frame that needs a dictionary");
    const end = 6 + ((flags & 0x08) === 0 ? 0 : 8);
    if (pending.length <= end || pending[end] !== ((Xxh32.of(pending.subarray(4, end)) >> 8) & 0xff))
      throw new Malformed("the header of an LZ4 frame has another checksum");
    this.#frame = {
      maxBlockBytes: 1 << (8 + 2 * sizeBits),
      isLinked: (flags & 0x20) === 0,
      hasBlockChecksums: (flags & 0x10) !== 0,
      hasChecksum: (flags & 0x04) !== 0,
    };
    this.#history = new Uint8Array(0);
    this.#hash = new Xxh32();
    return end + 1;
  }

  #block({ maxBlockBytes, isLinked, hasBlockChecksums, hasChecksum }: Frame): number {
    const pending = this.#pending;
    if (pending.length < 4) return 0;
    const view = viewOf(pending);
    const word = view.getUint32(0, true);
    const size = word % UNCOMPRESSED;
    const isEnd = word === 0;
    const end = 4 + size;
    const hasSum = isEnd ? hasChecksum : hasBlockChecksums;
    if (size > maxBlockBytes) throw new Malformed(`an LZ4 block of ${size} bytes, at most ${maxBlockBytes}`);
    if (pending.length < end + (hasSum ? 4 : 0)) return 0;
    const block = pending.subarray(4, end);
    const sum = isEnd ? () => this.#hash.digest() : () => Xxh32.of(block);
    if (hasSum && view.getUint32(end, true) !== sum()) throw new Malformed("LZ4 data has another checksum");
    if (isEnd) this.#frame = undefined;
    else this.#give(word >= UNCOMPRESSED ? block : decompressLz4(block, maxBlockBytes, this.#history), isLinked, hasChecksum);
    return end + (hasSum ? 4 : 0);
  }

  #give(bytes: Uint8Array, isLinked: boolean, hasChecksum: boolean): void {
    if (hasChecksum) this.#hash.push(bytes);
    if (isLinked)
      this.#history = Buffer.concat([this.#history.subarray(bytes.length - HISTORY_BYTES), bytes]).subarray(-HISTORY_BYTES);
    this.#onBytes(bytes);
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
