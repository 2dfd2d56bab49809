import { type FileHandle, open } from "node:fs/promises";
import { isCodedError } from "@rnode/primitives";
import { decodeBlock } from "@rnode/protocol";
import { rlpEnd } from "@rnode/storage";
import { isGzipFile, MAX_BLOCK_BYTES } from "./read-blocks.ts";

const BUFFER_BYTES = 64 << 10;
/** The longest header of an RLP item. */
const HEADER_BYTES = 9;

/**
 * The number of the last block of a stream of RLP blocks, found by their lengths. `undefined`: the file is gzipped, damaged or empty;
 * `readBlocks` says how.
 */
export async function lastBlockOf(file: string): Promise<number | undefined> {
  if (await isGzipFile(file)) return undefined;
  const handle = await open(file);
  try {
    return await lastOf(handle);
  } catch (error) {
    if (isCodedError(error)) return undefined;
    throw error;
  } finally {
    await handle.close();
  }
}

async function lastOf(handle: FileHandle): Promise<number | undefined> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  const { size } = await handle.stat();
  let bufferAt = 0;
  let buffered = 0;
  let last = 0;
  for (let at = 0; at < size; ) {
    if (at + HEADER_BYTES > bufferAt + buffered) {
      bufferAt = at;
      ({ bytesRead: buffered } = await handle.read(buffer, 0, BUFFER_BYTES, at));
    }
    last = at;
    at = bufferAt + rlpEnd(buffer, at - bufferAt);
    if (at > size) return undefined;
  }
  if (size === 0 || size - last > MAX_BLOCK_BYTES) return undefined;
  const block = new Uint8Array(size - last);
  await handle.read(block, 0, block.length, last);
  return decodeBlock(block).header.number;
}
