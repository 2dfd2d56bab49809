import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createDCtx, decompressUsingDict, freeDCtx, init } from "@bokuweb/zstd-wasm";
import { UserError } from "@rnode/program";
import { download, isUrl } from "./read-input.ts";

const MAX_PACKED_BYTES = 256 << 20;
/** What a genesis may have when it is decompressed. */
export const MAX_GENESIS_BYTES = 512 << 20;
/** Tried one after the other where the data does not say how large it gets. */
const SIZES = [64 << 20, MAX_GENESIS_BYTES];
const TOO_SMALL = /code -70$/;

/** The library may be initialized only once. */
let ready: Promise<void> | undefined;
export const zstdReady = (): Promise<void> => (ready ??= init());

export const isZstd = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;

/**
 * Decompresses a file of the superchain registry (`superchain/extra/genesis/…/….json.zst`), or any other Zstandard file of one frame
 * (RFC 8878). The registry's dictionary is found beside the file or where the registry has it.
 *
 * @param source file or URL, for errors and to find the dictionary
 * @throws {UserError}
 */
export async function unpackZstd(source: string, chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const packed = await collect(source, chunks);
  const { dictionaryId, size } = frameHeader(source, packed);
  if (size !== undefined && size > MAX_GENESIS_BYTES) throw tooLarge(source, size, MAX_GENESIS_BYTES);
  const dictionary = dictionaryId === 0 ? new Uint8Array() : await readDictionary(source, dictionaryId);
  await zstdReady();
  const context = createDCtx();
  try {
    return decompress(source, context, packed, dictionary);
  } finally {
    freeDCtx(context);
  }
}

function decompress(source: string, context: number, packed: Uint8Array, dictionary: Uint8Array): Uint8Array {
  for (const defaultHeapSize of SIZES) {
    try {
      return decompressUsingDict(context, packed, dictionary, { defaultHeapSize });
    } catch (cause) {
      if (!(cause instanceof Error && TOO_SMALL.test(cause.message)))
        throw new UserError(`${source}: broken Zstandard data`, { cause });
    }
  }
  throw tooLarge(source, undefined, MAX_GENESIS_BYTES);
}

/** @param size `undefined`: the data does not say */
export const tooLarge = (source: string, size: number | undefined, maxBytes: number): UserError =>
  new UserError(
    size === undefined
      ? `${source}: more than ${maxBytes} bytes when decompressed`
      : `${source}: ${size} bytes when decompressed, at most ${maxBytes}`,
  );

async function collect(source: string, chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > MAX_PACKED_BYTES) throw new UserError(`${source}: larger than ${MAX_PACKED_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

interface FrameHeader {
  /** 0: none */
  readonly dictionaryId: number;
  /** `undefined`: the data does not say */
  readonly size: number | undefined;
  /** memory that decompressing takes */
  readonly windowBytes: number;
}

/** RFC 8878, section 3.1.1.1. @throws {UserError} */
export function frameHeader(source: string, packed: Uint8Array): FrameHeader {
  const flags = packed[4] ?? 0;
  const isSingleSegment = (flags & 0x20) !== 0;
  const idBytes = [0, 1, 2, 4][flags & 3]!;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >> 6]!;
  const idAt = isSingleSegment ? 5 : 6;
  if (packed.length < idAt + idBytes + sizeBytes) throw new UserError(`${source}: broken Zstandard data`);
  const read = (at: number, bytes: number): number =>
    packed.subarray(at, at + bytes).reduce((value, byte, i) => value + byte * 256 ** i, 0);
  const size = read(idAt + idBytes, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const window = packed[5]!;
  const windowBytes = isSingleSegment ? size : 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8);
  return { dictionaryId: read(idAt, idBytes), size: sizeBytes === 0 ? undefined : size, windowBytes };
}

const DICTIONARY_MAGIC = 0xec30a437;

export function isDictionary(bytes: Uint8Array, id: number): boolean {
  if (bytes.length < 8) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return view.getUint32(0, true) === DICTIONARY_MAGIC && view.getUint32(4, true) === id;
}

async function readDictionary(source: string, id: number): Promise<Uint8Array> {
  const candidates = isUrl(source)
    ? [new URL("dictionary", source).href, new URL("../../dictionary", source).href]
    : [join(dirname(source), "dictionary"), join(dirname(source), "..", "..", "dictionary")];
  for (const candidate of candidates) {
    const bytes = await (isUrl(candidate) ? download(candidate) : readFile(candidate)).catch(() => undefined);
    if (bytes !== undefined && isDictionary(bytes, id)) return bytes;
  }
  throw new UserError(
    `${source}: is compressed with dictionary ${id}, which is neither ${candidates.join(" nor ")}; ` +
      "the superchain registry has it as superchain/extra/dictionary: put it beside the file",
  );
}
