/** Heap that belongs to a code: its decoded instructions (decoder.ts) and tables of jumps (jump-map.ts). Each chunk begins with u32 next one, u32 size. */
import { C_CHUNKS } from "./layout";
import { allocate } from "./heap";

/** Adds a chunk of the heap to a code's list, and returns it. */
export function addChunk(code: u32, size: u32): u32 {
  const chunk = allocate(size);
  store<u32>(chunk, load<u32>(code, C_CHUNKS));
  store<u32>(chunk, size, 4);
  store<u32>(code, chunk, C_CHUNKS);
  return chunk;
}
