import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { UserError } from "@rnode/program";
import { isLz4, Lz4Stream, Malformed } from "@rnode/reth-data";
import { fileError, isGzip } from "./read-input.ts";
import { frameHeader, isZstd, tooLarge, unpackZstd } from "./zstd.ts";
import { MAX_WINDOW_BYTES, ZstdStream } from "./zstd-stream.ts";

const CHUNK_BYTES = 1 << 20;

/** The bytes of a file. @throws {UserError} naming it */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw fileError(path, cause);
  }
}

/**
 * Decompresses gzip, Zstandard and LZ4 input.
 *
 * @param source for errors
 * @param maxBytes of what Zstandard data decompresses to
 * @throws {UserError}
 */
export async function* unpacked(
  source: string,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) return;
  const all = { [Symbol.asyncIterator]: () => continued(first.value, iterator) };
  if (isZstd(first.value)) {
    const { dictionaryId, size, windowBytes } = frameHeader(source, first.value);
    if (size !== undefined && size > maxBytes) throw tooLarge(source, size, maxBytes);
    if (dictionaryId === 0 && windowBytes <= MAX_WINDOW_BYTES) yield* unpackedZstd(source, all, maxBytes);
    else yield await unpackZstd(source, all);
    return;
  }
  if (isLz4(first.value)) {
    yield* unpackedLz4(source, all, maxBytes);
    return;
  }
  if (!isGzip(first.value)) {
    yield* all;
    return;
  }
  const packed = Readable.from(all, { objectMode: false });
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let readError: Error | undefined;
  packed.once("error", (error) => {
    readError = error;
    gunzip.destroy(error); // `pipe` does not forward errors
  });
  try {
    yield* packed.pipe(gunzip) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw readError ?? new UserError(`${source}: broken gzip data`, { cause });
  }
}

function unpackedZstd(source: string, chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  return unpackedBy((onBytes) => new ZstdStream(source, onBytes), source, chunks, maxBytes);
}

async function* unpackedLz4(source: string, chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  try {
    yield* unpackedBy((onBytes) => new Lz4Stream(onBytes), source, chunks, maxBytes);
  } catch (cause) {
    if (!(cause instanceof Malformed)) throw cause;
    throw new UserError(`${source}: broken LZ4 data: ${cause.message}`, { cause });
  }
}

async function* unpackedBy(
  open: (onBytes: (bytes: Uint8Array) => void) => { push(bytes: Uint8Array, isLast: boolean): void },
  source: string,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let unpacked: Uint8Array[] = [];
  let size = 0;
  const stream = open((bytes) => {
    size += bytes.length;
    if (size > maxBytes) throw tooLarge(source, undefined, maxBytes);
    unpacked.push(bytes);
  });
  for await (const chunk of chunks) {
    stream.push(chunk, false);
    yield* unpacked;
    unpacked = [];
  }
  stream.push(new Uint8Array(0), true);
  yield* unpacked;
}

async function* continued(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
