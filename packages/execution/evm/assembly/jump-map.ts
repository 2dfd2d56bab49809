/**
 * Map of a code's jump destinations (JUMPDESTs that are not operands of a PUSH), and of their blocks once they are decoded.
 *
 * One group of 16 bytes for every 64 bytes of code: u64 bits (1: a destination), u32 address of the group's table, u32 unused. A
 * table has one u32 per destination of its group, in order: the address of its block's header, 0: not decoded yet. Groups without
 * decoded blocks share an empty table. Tables follow the map in its heap block, and then in chunks like decoded instructions.
 */
import { addChunk } from "./chunks";
import { C_BYTES, C_JUMPS, C_LENGTH, C_TABLES, C_TABLES_END, CHUNK_HEADER } from "./layout";
import { allocate, blockSize } from "./heap";
import { JUMPDEST, PUSH0 } from "./opcodes";

/** Bytes of code in a group. */
@inline const GROUP: u32 = 64;
@inline const GROUP_SHIFT: u32 = 6;
@inline const ENTRY: u32 = 16;
@inline const G_TABLE: u32 = 8;

@inline const PUSH1: u32 = PUSH0 + 1;
/** PUSH1 to PUSH32 are the opcodes with these upper three bits. */
@inline const UPPER_BITS: i8 = <i8>0xe0;
@inline const EVEN: u64 = 0x5555_5555_5555_5555;

/** From this many PUSHes with more than one byte of operands on, reading them one after the other is faster. */
@inline const MANY: u64 = 8;

/** The table of groups without a decoded block. */
const NO_BLOCKS: usize = memory.data(4 * 64, 8);
/** The last bytes of a code, filled up with zeros. */
const REST: usize = memory.data(64, 16);

// of the group that was read last, a bit for each byte
let destinations: u64 = 0;
/** opcodes that have operands, unless they are operands themselves */
let pushes: u64 = 0;
/** PUSH2 to PUSH32, likewise */
let longPushes: u64 = 0;

@inline export function jumpMapSize(length: u32): u32 {
  return ((length + GROUP - 1) >> GROUP_SHIFT) * ENTRY;
}

@inline function readSixteen(from: u32, shift: u64): void {
  const bytes = v128.load(from);
  const ofPushes = v128.eq<i8>(v128.and(bytes, v128.splat<i8>(UPPER_BITS)), v128.splat<i8>(<i8>PUSH1 & UPPER_BITS));
  const ofPush1 = v128.eq<i8>(bytes, v128.splat<i8>(<i8>PUSH1));
  destinations |= (<u64>v128.bitmask<i8>(v128.eq<i8>(bytes, v128.splat<i8>(<i8>JUMPDEST)))) << shift;
  pushes |= (<u64>v128.bitmask<i8>(ofPushes)) << shift;
  longPushes |= (<u64>v128.bitmask<i8>(v128.andnot(ofPushes, ofPush1))) << shift;
}

@inline function readGroup(from: u32): void {
  destinations = 0;
  pushes = 0;
  longPushes = 0;
  readSixteen(from, 0);
  readSixteen(from + 16, 16);
  readSixteen(from + 32, 32);
  readSixteen(from + 48, 48);
}

/** Positions of the operands of the PUSH1s from `start` on, if there is no longer PUSH among them. */
@inline function operandsOfPush1(start: u32): u64 {
  // In a row of PUSH1, every other byte is an operand. Adding the rows' first bits to them carries through the rows that begin at odd places.
  const row = pushes & ~longPushes & (~(<u64>0) << (<u64>start));
  const begunOdd = row & ~(row + (row & ~(row << 1) & ~EVEN));
  const opcodes = (begunOdd & ~EVEN) | (row & ~begunOdd & EVEN);
  followsRow = <u32>(opcodes >> 63);
  return opcodes << 1;
}

/** Number of operands of the group's last PUSH1 that are in the next group. */
let followsRow: u32 = 0;

/** Removes operands from the group's destinations. @returns the number of operand bytes at the start of the next group */
function removeOperands(at: u32, carried: u32): u32 {
  let start = carried;
  destinations &= ~(<u64>0) << (<u64>start);
  let operands = operandsOfPush1(start);
  let long = ((longPushes & ~operands) >> <u64>start) << (<u64>start);
  if (popcnt<u64>(long) > MANY) return walk(at, start);
  while (long != 0) {
    const place = <u32>ctz<u64>(long);
    const next = place + 1 + <u32>load<u8>(at + place) - PUSH0;
    const before = ((<u64>1) << (<u64>place)) - 1;
    destinations &= ~(operands & before);
    if (next >= GROUP) {
      destinations &= before;
      return next - GROUP;
    }
    destinations &= before | (~(<u64>0) << (<u64>next));
    start = next;
    operands = operandsOfPush1(start);
    long = ((longPushes & ~operands) >> <u64>start) << (<u64>start);
  }
  destinations &= ~operands;
  return followsRow;
}

/** The same, opcode by opcode; faster if longer PUSHes follow each other closely. */
function walk(at: u32, start: u32): u32 {
  const end = at + GROUP;
  let from = at + start;
  let bits: u64 = 0;
  while (from < end) {
    const opcode: u32 = load<u8>(from++);
    if (opcode < JUMPDEST) continue;
    if (opcode == JUMPDEST) {
      bits |= (<u64>1) << (<u64>(from - 1 - at));
      continue;
    }
    if (opcode - PUSH1 < 32) from += opcode - PUSH0;
  }
  destinations = bits;
  return from - end;
}

/** Finds the destinations of a code entry. PERF: 64 bytes at once; execution triggers the rest of decoding. */
export function buildJumpMap(code: u32): void {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  const map = allocate(jumpMapSize(length));
  /** number of operands with which the next group begins */
  let carried: u32 = 0;
  let group = map;
  for (let from: u32 = 0; from < length; from += GROUP, group += ENTRY) {
    let at = bytes + from;
    if (length - from < GROUP) {
      memory.fill(REST, 0, GROUP);
      memory.copy(REST, at, length - from);
      at = <u32>REST;
    }
    readGroup(at);
    if ((pushes | destinations) >> <u64>carried == 0) {
      carried = 0;
      destinations = 0;
    } else carried = removeOperands(at, carried);
    store<u64>(group, destinations);
    store<u64>(group, <u64>NO_BLOCKS, G_TABLE);
  }
  store<u32>(code, map, C_JUMPS);
  store<u32>(code, group, C_TABLES);
  store<u32>(code, map + blockSize(jumpMapSize(length)), C_TABLES_END);
}

@inline function groupOf(map: u32, pc: u32): u32 {
  return map + (pc >> GROUP_SHIFT) * ENTRY;
}

/** Whether `pc`, which is below the code's length, is a jump destination. */
@inline export function isDestination(map: u32, pc: u32): bool {
  return ((load<u64>(groupOf(map, pc)) >> <u64>(pc & (GROUP - 1))) & 1) != 0;
}

/** The block of the destination `pc`; 0: not decoded yet. */
@inline export function blockOfDestination(map: u32, pc: u32): u32 {
  const group = groupOf(map, pc);
  const before = load<u64>(group) & (((<u64>1) << (<u64>(pc & (GROUP - 1)))) - 1);
  return load<u32>(load<u32>(group, G_TABLE) + ((<u32>popcnt<u64>(before)) << 2));
}

/** Room for the largest tables of a few groups */
@inline const TABLES: u32 = 4096;

/** Adds a table for the group. @returns the heap bytes of its chunk */
function addTable(code: u32, group: u32): u32 {
  const size = (<u32>popcnt<u64>(load<u64>(group))) << 2;
  let bytes: u32 = 0;
  if (load<u32>(code, C_TABLES) + size > load<u32>(code, C_TABLES_END)) {
    const chunk = addChunk(code, TABLES);
    store<u32>(code, chunk + CHUNK_HEADER, C_TABLES);
    store<u32>(code, chunk + TABLES, C_TABLES_END);
    bytes = TABLES;
  }
  const table = load<u32>(code, C_TABLES);
  memory.fill(table, 0, size);
  store<u32>(code, table + size, C_TABLES);
  store<u32>(group, table, G_TABLE);
  return bytes;
}

/** Stores the block of the destination `pc`. @returns the heap bytes used */
export function setBlockOfDestination(code: u32, pc: u32, block: u32): u32 {
  const group = groupOf(load<u32>(code, C_JUMPS), pc);
  const bytes = load<u32>(group, G_TABLE) == <u32>NO_BLOCKS ? addTable(code, group) : 0;
  const before = load<u64>(group) & (((<u64>1) << (<u64>(pc & (GROUP - 1)))) - 1);
  store<u32>(load<u32>(group, G_TABLE) + ((<u32>popcnt<u64>(before)) << 2), block);
  return bytes;
}

/** Number of adjacent destinations from the destination `pc` on, within its group. */
@inline export function destinationsInARow(map: u32, pc: u32): u32 {
  return <u32>ctz<u64>(~(load<u64>(groupOf(map, pc)) >> <u64>(pc & (GROUP - 1))));
}
