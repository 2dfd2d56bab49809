/** Above the static data (--memoryBase, --lowMemoryLimit). */
const BUFFER: usize = 65536;

export function buffer(): usize {
  return BUFFER;
}

/** Makes room for `bytes` at `buffer()`. */
export function reserve(bytes: usize): bool {
  const missing = <i32>((BUFFER + bytes + 0xffff) >>> 16) - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0;
}
