/**
 * Map of a code's jump destinations (JUMPDESTs that are not operands of a PUSH), and of their blocks once they are decoded.
 *
 * One group of 16 bytes for every 64 bytes of code: u64 bits (1: a destination), u32 number of destinations before the group, u32
 * unused. Then one u32 per destination, in order: the address of its block's header, 0: not decoded yet.
 */
import { C_BYTES, C_JUMPS, C_JUMPS_SIZE, C_LENGTH } from "./layout";
import { allocate, blockSize, release } from "./heap";
import { JUMPDEST, PUSH0 } from "./opcodes";

@inline function groupsOf(length: u32): u32 {
  return (length + 63) >> 6;
}

/** Groups of the code that is being mapped; reused. */
let scratch: u32 = 0;
let scratchSize: u32 = 0;

/**
 * Finds the destinations of a code entry. PERF: one pass over all bytes; the rest of decoding happens when execution gets there. Most opcodes take
 * a branch of their own: without it, the position of the next byte waits for each byte that is read.
 */
export function buildJumpMap(code: u32): void {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  const groupBytes = groupsOf(length) << 4;
  if (groupBytes > scratchSize) {
    if (scratch != 0) release(scratch, scratchSize);
    scratchSize = blockSize(groupBytes);
    scratch = allocate(scratchSize);
  }
  const end = bytes + length;
  let count: u32 = 0;
  let at = bytes;
  for (let group = scratch, groupEnd = bytes + 64; group < scratch + groupBytes; group += 16, groupEnd += 64) {
    const stop = min(groupEnd, end);
    let bits: u64 = 0;
    while (at < stop) {
      const opcode: u32 = load<u8>(at++);
      if (opcode < JUMPDEST) continue;
      if (opcode == JUMPDEST) {
        bits |= <u64>1 << <u64>((at - 1 - bytes) & 63);
        continue;
      }
      if (opcode - (PUSH0 + 1) < 32) at += opcode - PUSH0;
    }
    store<u64>(group, bits);
    store<u64>(group, <u64>count, 8);
    count += <u32>popcnt<u64>(bits);
  }
  const size = groupBytes + (count << 2);
  const map = allocate(size);
  memory.copy(map, scratch, groupBytes);
  memory.fill(map + groupBytes, 0, count << 2);
  store<u32>(code, map, C_JUMPS);
  store<u32>(code, size, C_JUMPS_SIZE);
}

/** Address of the destination's entry in a map; 0: `pc` is not a destination. `pc` is below the code's length. */
@inline export function jumpEntry(map: u32, length: u32, pc: u32): u32 {
  const group = map + ((pc >> 6) << 4);
  const bits = load<u64>(group);
  const bit = <u64>1 << <u64>(pc & 63);
  if ((bits & bit) == 0) return 0;
  const index = load<u32>(group, 8) + <u32>popcnt<u64>(bits & (bit - 1));
  return map + (groupsOf(length) << 4) + (index << 2);
}
