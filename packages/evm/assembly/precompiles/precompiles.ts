/**
 * The module of the precompiles that need big-number arithmetic, with a memory of its own. Inputs are written at `buffer()`, and
 * outputs are read from there.
 */
export { bn254Add, bn254Multiply } from "./bn254-g1";
export { pairingCheck as bn254Pairing } from "./bn254-pairing";
export { modexp } from "./modexp";
export { p256Verify } from "./p256";

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
