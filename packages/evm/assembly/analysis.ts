/**
 * Decodes bytecode into instructions, once a code.
 *
 * Instruction: u16 number (opcodes.ts) and operands; the forms are in fusion.ts.
 * Basic block header (I_BLOCK, I_TRACE), 16 bytes: u16 number, u16 opcode (I_TRACE), u32 gas of the whole block, u16 words
 * that must be on the stack, u16 words by which the stack grows at most, u32 position in the code.
 *
 * A block ends before a JUMPDEST and after an opcode with ENDS_BLOCK: jumps, halts, and those that look at the exact gas left
 * (GAS, SSTORE, calls, creations). So whatever can observe gas does it at a block's end, where all of the block and nothing
 * beyond it has been charged; a block that cannot be paid for fails as a whole, which only changes where the same failure is
 * noticed. When tracing, every instruction is a block.
 *
 * Jumps hold offsets from the first instruction, which is a block header at offset 0; a destination's offset is never 0, because
 * the decoder starts with an empty block when the code begins with JUMPDEST.
 */
import { C_ANALYSIS_SIZE, C_BYTES, C_INSTRUCTIONS, C_JUMPS, C_LENGTH, SCRATCH_WORD_A } from "./layout";
import {
  at,
  startBlock,
  startWriting,
  writeBinary,
  writeConstant,
  writeIsZero,
  writeJumpIf,
  writeLoad,
  writeNot,
  writePlain,
  writePop,
  writeStore,
} from "./fusion";
import { allocate, blockSize, release } from "./heap";
import {
  argumentOf,
  CODESIZE,
  DUP1,
  DUP16,
  endsBlock,
  gasOf,
  givenBy,
  I_ADD_C,
  I_BLOCK,
  I_DUP,
  I_ISZERO,
  I_JUMP_IF,
  I_JUMP_LT_C,
  I_JUMP_LT_X,
  I_JUMP_TO,
  I_MLOAD,
  I_MLOAD_C,
  I_MSTORE,
  I_MSTORE_C,
  I_NOT,
  I_POP,
  I_PUSH,
  I_PUSH_WORD,
  I_SWAP,
  I_TRACE,
  instructionOf,
  JUMP,
  JUMPDEST,
  JUMPI,
  PC,
  PUSH0,
  PUSH32,
  SWAP1,
  SWAP16,
  takenBy,
} from "./opcodes";
import { tracing } from "./rules";
import { fits64, zeroWord } from "./word";

@inline export const INSTRUCTION: u32 = 8;
@inline export const HEADER: u32 = 16;
@inline export const B_OPCODE: u32 = 2;
@inline export const B_GAS: u32 = 4;
@inline export const B_NEED: u32 = 8;
@inline export const B_GROW: u32 = 10;
@inline export const B_PC: u32 = 12;

/** More than any stack holds: a need or growth this large always fails. */
@inline const SATURATED: i32 = 2000;
/** Keeps a block's gas far below 2^32. */
@inline const MAX_BLOCK_GAS: u32 = 0x10000000;

/** Where instructions are written before their size is known: reused. */
let buffer: u32 = 0;
let bufferSize: u32 = 0;

// the block being decoded
let header: u32 = 0;
let blockGas: u32 = 0;
let height: i32 = 0;
let need: i32 = 0;
let grow: i32 = 0;

@inline function count(gas: u32, taken: u32, given: u32): void {
  blockGas += gas;
  const missing = <i32>taken - height;
  if (missing > need) need = missing;
  height += <i32>given - <i32>taken;
  if (height > grow) grow = height;
}

@inline function openBlock(pc: u32): void {
  header = at;
  store<u32>(header, I_BLOCK);
  store<u32>(header, pc, B_PC);
  startBlock(HEADER);
  blockGas = 0;
  height = 0;
  need = 0;
  grow = 0;
}

@inline function closeBlock(): void {
  store<u32>(header, blockGas, B_GAS);
  store<u16>(header, min(need, SATURATED), B_NEED);
  store<u16>(header, min(grow, SATURATED), B_GROW);
}

/** Decodes the code of an entry and fills C_INSTRUCTIONS, C_JUMPS, C_ANALYSIS_SIZE. */
export function analyse(code: u32): void {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  // at worst every byte is a block of one instruction
  const bound = (length + 4) * (INSTRUCTION + HEADER);
  if (bound > bufferSize) {
    if (buffer != 0) release(buffer, bufferSize);
    bufferSize = blockSize(bound);
    buffer = allocate(bufferSize);
  }
  const jumpBytes = ((length + 1) << 2) + 63 & ~63;
  const jumps = allocate(jumpBytes);
  memory.fill(jumps, 0, jumpBytes);

  const start = buffer;
  startWriting(start);
  openBlock(0);
  let open = true;
  let pc: u32 = 0;
  while (pc <= length) {
    // one STOP beyond the end
    const opcode: u32 = pc < length ? load<u8>(bytes + pc) : 0;
    const isDestination = opcode == JUMPDEST && pc < length;
    if (isDestination || !open || tracing || blockGas > MAX_BLOCK_GAS) {
      closeBlock();
      if (isDestination) store<u32>(jumps + (pc << 2), at - start);
      openBlock(pc);
      if (tracing) {
        store<u16>(header, I_TRACE);
        store<u16>(header, opcode, B_OPCODE);
      }
      open = true;
      if (isDestination) {
        count(1, 0, 0);
        pc++;
        continue;
      }
    }
    const instruction = instructionOf(opcode);
    count(gasOf(opcode), takenBy(opcode), givenBy(opcode));
    if (opcode >= PUSH0 && opcode <= PUSH32 && instruction == I_PUSH) {
      const next = pc + 1 + opcode - PUSH0;
      const isSmall = readConstant(bytes, length, pc);
      const follower: u32 = next < length ? load<u8>(bytes + next) : 0;
      if (isSmall && !tracing && (follower == JUMP || follower == JUMPI)) {
        count(gasOf(follower), takenBy(follower), 0);
        // a position in the code until all destinations are known
        const destination = load<u32>(SCRATCH_WORD_A);
        if (follower == JUMP) writePlain(I_JUMP_TO, destination);
        else writeJumpIf(destination);
        open = false;
        pc = next + 1;
        continue;
      }
      writeConstant(SCRATCH_WORD_A);
      pc = min(next, length); // the STOP follows a PUSH that the end cuts off, too
      continue;
    }
    if (opcode >= DUP1 && opcode <= DUP16) writePlain(I_DUP, (opcode - DUP1) << 5);
    else if (opcode >= SWAP1 && opcode <= SWAP16) writePlain(I_SWAP, (opcode - SWAP1 + 1) << 5);
    else if (opcode == PC) writePlain(I_PUSH, pc);
    else if (opcode == CODESIZE) writePlain(I_PUSH, length);
    else if (instruction == I_POP) writePop();
    else if (instruction == I_ISZERO) writeIsZero();
    else if (instruction == I_NOT) writeNot();
    else if (instruction == I_MLOAD) writeLoad();
    else if (instruction == I_MSTORE) writeStore();
    else if (takenBy(opcode) == 2 && givenBy(opcode) == 1) writeBinary(instruction);
    else writePlain(instruction, argumentOf(opcode));
    if (endsBlock(opcode)) open = false;
    pc++;
  }
  closeBlock();
  const end = at;
  resolveJumps(start, end, jumps, length);

  const size = end - start;
  const instructions = allocate(size);
  memory.copy(instructions, start, size);
  store<u32>(code, instructions, C_INSTRUCTIONS);
  store<u32>(code, jumps, C_JUMPS);
  store<u32>(code, size, C_ANALYSIS_SIZE);
}

/** Reads the operand of the PUSH at `pc` to SCRATCH_WORD_A, zeros beyond the end of the code; returns whether it fits 32 bits. */
function readConstant(bytes: u32, length: u32, pc: u32): bool {
  const n = <u32>load<u8>(bytes + pc) - PUSH0;
  zeroWord(SCRATCH_WORD_A);
  for (let i: u32 = 0; i < n; i++) {
    const from = pc + 1 + i;
    if (from < length) store<u8>(SCRATCH_WORD_A + n - 1 - i, load<u8>(bytes + from));
  }
  return fits64(SCRATCH_WORD_A) && load<u64>(SCRATCH_WORD_A) >> 32 == 0;
}

/** Turns the destinations of jumps from positions in the code into offsets. */
function resolveJumps(start: u32, end: u32, jumps: u32, length: u32): void {
  let p = start;
  while (p < end) {
    const instruction: u32 = load<u16>(p);
    if (instruction == I_JUMP_TO) resolve(p + 4, jumps, length);
    else if (instruction == I_JUMP_IF || instruction >= I_JUMP_LT_X) resolve(p + 8, jumps, length);
    p += sizeOf(instruction);
  }
}

@inline function resolve(place: u32, jumps: u32, length: u32): void {
  const target = load<u32>(place);
  store<u32>(place, target < length ? load<u32>(jumps + (target << 2)) : 0);
}

/** Bytes of an instruction. */
function sizeOf(instruction: u32): u32 {
  if (instruction == I_PUSH_WORD) return 40;
  if (instruction == I_BLOCK || instruction == I_TRACE) return HEADER;
  if (instruction == I_MLOAD_C || instruction == I_MSTORE_C || instruction == I_JUMP_IF) return 16;
  if (instruction >= I_JUMP_LT_C) return 48;
  if (instruction >= I_JUMP_LT_X) return 16;
  if (instruction >= I_ADD_C) return 40;
  return INSTRUCTION;
}

/** Frees what `analyse` allocated; returns the number of bytes. */
export function releaseAnalysis(code: u32): void {
  const instructions = load<u32>(code, C_INSTRUCTIONS);
  if (instructions == 0) return;
  release(instructions, load<u32>(code, C_ANALYSIS_SIZE));
  release(load<u32>(code, C_JUMPS), jumpTableSize(code));
  store<u32>(code, 0, C_INSTRUCTIONS);
}

@inline function jumpTableSize(code: u32): u32 {
  return ((load<u32>(code, C_LENGTH) + 1) << 2) + 63 & ~63;
}

/** Bytes of the heap that the analysis of the entry takes. */
export function analysisBytes(code: u32): u32 {
  if (load<u32>(code, C_INSTRUCTIONS) == 0) return 0;
  return blockSize(load<u32>(code, C_ANALYSIS_SIZE)) + blockSize(jumpTableSize(code));
}

/** Which of several failures of a block's check it is: the first that executing it one by one would meet. */
export function diagnoseBlock(at: u32, code: u32, gasBefore: i64, heightBefore: i32): u32 {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  let pc = load<u32>(at, B_PC);
  let gas = gasBefore;
  let words = heightBefore;
  let isFirst = true;
  while (pc < length) {
    const opcode: u32 = load<u8>(bytes + pc);
    if (opcode == JUMPDEST && !isFirst) break;
    isFirst = false;
    if (words < <i32>takenBy(opcode)) return 4; // HALT_STACK_UNDERFLOW
    words += <i32>givenBy(opcode) - <i32>takenBy(opcode);
    if (words > 1024) return 5; // HALT_STACK_OVERFLOW
    gas -= <i64>gasOf(opcode);
    if (gas < 0) return 3; // HALT_OUT_OF_GAS
    if (endsBlock(opcode)) break;
    pc += opcode > PUSH0 && opcode <= PUSH32 ? opcode - PUSH0 + 1 : 1;
  }
  return 3;
}
