import { createReadStream, type ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createGunzip, type Gunzip } from "node:zlib";
import { concatBytes, isCodedError, readRlpSpan } from "@rnode/primitives";
import { type Block, decodeBlock } from "@rnode/protocol";
import { CommandError } from "./command-error.ts";

const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * The blocks of a stream of RLP blocks, gzipped or not, without holding the file in memory. `fileOffset` is how far the file
 * has been read.
 *
 * @throws {CommandError} at the first thing that is no block, with its position
 */
export async function* readBlocks(file: string): AsyncGenerator<{ block: Block; fileOffset: number }> {
  const isGzip = await isGzipFile(file);
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  const chunks = isGzip ? gunzipped(source) : source;
  let rest: Uint8Array = new Uint8Array(0);
  let position = 0;
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : concatBytes(rest, chunk);
    let at = 0;
    for (let end: number | undefined; (end = blockEnd(file, rest, at, position)) !== undefined; at = end) {
      // A copy: what is decoded are views, and the block outlives the chunk.
      yield { block: decodeAt(file, rest.slice(at, end), position + at), fileOffset: source.bytesRead };
    }
    position += at;
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw new CommandError(`${file}: the block at byte ${position} is cut off`);
}

/** Where the block at `at` ends; undefined when the chunk does not hold all of it. */
function blockEnd(file: string, bytes: Uint8Array, at: number, position: number): number | undefined {
  if (at >= bytes.length) return undefined;
  try {
    return readRlpSpan(bytes, at).end;
  } catch (cause) {
    if (isCodedError(cause, "rlp/truncated")) return undefined;
    throw notABlock(file, position + at, cause);
  }
}

function decodeAt(file: string, encoded: Uint8Array, position: number): Block {
  try {
    return decodeBlock(encoded);
  } catch (cause) {
    throw notABlock(file, position, cause);
  }
}

function notABlock(file: string, position: number, cause: unknown): unknown {
  return isCodedError(cause) ? new CommandError(`${file}: no RLP block at byte ${position}: ${cause.message}`, { cause }) : cause;
}

function gunzipped(source: ReadStream): Gunzip {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  source.once("error", (error) => gunzip.destroy(error)); // `pipe` does not hand errors on
  return source.pipe(gunzip);
}

async function isGzipFile(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}
