import { Malformed } from "../errors.ts";

export const TAR_BLOCK_BYTES = 512;
/** POSIX: a field of the header by its offset and size. */
const NAME = [0, 100] as const;
const SIZE = [124, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE_AT = 156;
const MAGIC = [257, 6] as const;
const PREFIX = [345, 155] as const;
/** GNU: sparse segments in the header and in the blocks after it, 24 bytes each, then whether another block follows. */
const SPARSE_AT = 386;
const HEADER_SEGMENTS = 4;
const IS_EXTENDED_AT = 482;
const REAL_SIZE = [483, 12] as const;
const BLOCK_SEGMENTS = 21;
const BLOCK_IS_EXTENDED_AT = 504;
const SEGMENT_BYTES = 24;

/** A part of a sparse file. */
export interface Segment {
  readonly offset: number;
  readonly size: number;
}

export interface TarHeader {
  readonly name: string;
  /** "0" a file, "5" a folder, "L" a long name, "x" and "g" extended headers, "S" a sparse file of GNU */
  readonly type: string;
  /** of what follows in the archive, without padding */
  readonly size: number;
  /** of a sparse file of GNU */
  readonly sparse: { readonly segments: readonly Segment[]; readonly realSize: number; readonly isExtended: boolean } | undefined;
}

/** Reads a header; `undefined` for the zeros at the end of an archive. @throws {Malformed} */
export function readTarHeader(block: Uint8Array): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const stored = numberAt(block, CHECKSUM);
  const sum = block.reduce((total, byte, at) => total + (at >= CHECKSUM[0] && at < CHECKSUM[0] + CHECKSUM[1] ? 0x20 : byte), 0);
  if (sum !== stored) throw new Malformed(`a header with checksum ${stored} has the sum ${sum}`);
  const type = block[TYPE_AT] === 0 ? "0" : String.fromCharCode(block[TYPE_AT]!);
  const isPosix = textAt(block, MAGIC) === "ustar";
  const prefix = isPosix ? textAt(block, PREFIX) : "";
  const name = textAt(block, NAME);
  const sparse =
    type === "S"
      ? {
          segments: segmentsAt(block, SPARSE_AT, HEADER_SEGMENTS),
          realSize: numberAt(block, REAL_SIZE),
          isExtended: block[IS_EXTENDED_AT] !== 0,
        }
      : undefined;
  return { name: prefix === "" ? name : `${prefix}/${name}`, type, size: numberAt(block, SIZE), sparse };
}

/** Reads a block of more segments, as GNU has it after the header of a sparse file. @throws {Malformed} */
export const readSparseBlock = (block: Uint8Array): { readonly segments: readonly Segment[]; readonly isExtended: boolean } => ({
  segments: segmentsAt(block, 0, BLOCK_SEGMENTS),
  isExtended: block[BLOCK_IS_EXTENDED_AT] !== 0,
});

/** The records of an extended header: "size key=value\n". @throws {Malformed} */
export function readExtendedHeader(bytes: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const space = bytes.indexOf(0x20, at);
    const size = Number(Buffer.from(bytes.subarray(at, Math.max(at, space))).toString("latin1"));
    if (space < 0 || !Number.isSafeInteger(size) || size <= space - at || at + size > bytes.length) {
      throw new Malformed("an extended header with a record of no size");
    }
    const record = Buffer.from(bytes.subarray(space + 1, at + size - 1)).toString("utf8");
    const equals = record.indexOf("=");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += size;
  }
  return records;
}

function segmentsAt(block: Uint8Array, at: number, count: number): Segment[] {
  const segments: Segment[] = [];
  for (let index = 0; index < count; index++) {
    const from = at + index * SEGMENT_BYTES;
    if (block[from] === 0) break;
    segments.push({ offset: numberAt(block, [from, 12]), size: numberAt(block, [from + 12, 12]) });
  }
  return segments;
}

function textAt(block: Uint8Array, [at, size]: readonly [number, number]): string {
  const field = block.subarray(at, at + size);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString("utf8");
}

/** Octal digits, or a big-endian number whose highest bit is set. @throws {Malformed} */
function numberAt(block: Uint8Array, place: readonly [number, number]): number {
  const [at, size] = place;
  if ((block[at]! & 0x80) !== 0) {
    const value = block.subarray(at + 1, at + size).reduce((total, byte) => total * 256 + byte, block[at]! & 0x7f);
    if (Number.isSafeInteger(value)) return value;
    throw new Malformed(`a number of ${value}`);
  }
  const text = textAt(block, place).trim();
  if (!/^[0-7]*$/.test(text)) throw new Malformed(`a number written as ${JSON.stringify(text)}`);
  return text === "" ? 0 : Number.parseInt(text, 8);
}
