import { createReadStream, type ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createGunzip, type Gunzip } from "node:zlib";
import { concatBytes, isCodedError, readRlpSpan } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { type Block, decodeBlock } from "@rnode/protocol";

const CHUNK_BYTES = 4 * 1024 * 1024;
/** More than any gas limit allows. It keeps a damaged length from reading the rest of the file into memory. */
export const MAX_BLOCK_BYTES = 256 * 1024 * 1024;

/**
 * Reads the blocks from a stream of RLP blocks, gzipped or not, without holding the whole file in memory. `fileOffset` is how far the
 * file has been read, `at` and `size` where the block is in the stream.
 *
 * @throws {UserError} at the first item that is not a block, with its position and the number the block should have
 */
export async function* readBlocks(
  file: string,
  maxBlockBytes = MAX_BLOCK_BYTES,
): AsyncGenerator<{ block: Block; fileOffset: number; at: number; size: number }> {
  const isGzip = await isGzipFile(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  const chunks = isGzip ? gunzipped(source) : source;
  const place = new Place(file);
  let rest: Uint8Array = new Uint8Array(0);
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : concatBytes(rest, chunk);
      let at = 0;
      for (let end: number | undefined; (end = blockEnd(rest, at)) !== undefined; at = end) {
        // A copy, because decoded values are views and the block outlives the chunk.
        const block = decodeBlock(rest.slice(at, end));
        const position = place.advance(block, end - at);
        yield { block, fileOffset: source.bytesRead, at: position, size: end - at };
      }
      rest = rest.subarray(at);
      if (rest.length > maxBlockBytes) throw place.error(`is longer than ${maxBlockBytes} bytes`);
    }
  } catch (cause) {
    if (isCodedError(cause)) throw place.error(`is no RLP block: ${cause.message}`, cause);
    if (isGzip && (cause as NodeJS.ErrnoException).code?.startsWith("Z_") === true) {
      throw place.error("cannot be read: broken gzip data", cause);
    }
    throw cause;
  }
  if (rest.length > 0) throw place.error("is cut off");
}

/** Position and number of the file's next block. */
class Place {
  readonly #file: string;
  #position = 0;
  #number: number | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** @returns the position of the block */
  advance(block: Block, size: number): number {
    const position = this.#position;
    this.#position += size;
    this.#number = block.header.number + 1;
    return position;
  }

  error(problem: string, cause?: unknown): UserError {
    const which = this.#number === undefined ? "the first block" : `block ${this.#number}`;
    return new UserError(`${this.#file}: ${which}, at byte ${this.#position}, ${problem}`, { cause });
  }
}

/** Offset of the end of the block at `at`; undefined if `bytes` does not contain all of it. @throws {CodedError} rlp/* */
function blockEnd(bytes: Uint8Array, at: number): number | undefined {
  if (at === bytes.length) return undefined;
  try {
    return readRlpSpan(bytes, at).end;
  } catch (cause) {
    if (isCodedError(cause, "rlp/truncated")) return undefined;
    throw cause;
  }
}

function gunzipped(source: ReadStream): Gunzip {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  source.once("error", (error) => gunzip.destroy(error)); // `pipe` does not forward errors
  return source.pipe(gunzip);
}

export async function isGzipFile(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}
