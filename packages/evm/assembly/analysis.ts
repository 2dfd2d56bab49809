/**
 * Decodes bytecode into instructions, once a code.
 *
 * Instruction, 8 bytes: u16 number (opcodes.ts), u16 unused, u32 argument. I_PUSH_WORD is followed by its word (40 bytes in all).
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
import { C_ANALYSIS_SIZE, C_BYTES, C_INSTRUCTIONS, C_JUMPS, C_LENGTH } from "./layout";
import { allocate, blockSize, release } from "./heap";
import {
  argumentOf,
  DUP1,
  DUP16,
  endsBlock,
  gasOf,
  givenBy,
  I_BLOCK,
  I_DUP,
  I_INVALID,
  I_JUMP_TO,
  I_JUMPI_TO,
  I_PUSH,
  I_PUSH_WORD,
  I_STOP,
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
import { zeroWord } from "./word";

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

@inline function openBlock(at: u32, pc: u32): void {
  store<u32>(at, I_BLOCK);
  store<u32>(at, pc, B_PC);
  header = at;
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
  let at = start;
  openBlock(at, 0);
  at += HEADER;
  let open = true;
  let pc: u32 = 0;
  while (pc <= length) {
    // one STOP beyond the end
    const opcode: u32 = pc < length ? load<u8>(bytes + pc) : 0;
    const isDestination = opcode == JUMPDEST && pc < length;
    if (isDestination || !open || tracing || blockGas > MAX_BLOCK_GAS) {
      closeBlock();
      if (isDestination) store<u32>(jumps + (pc << 2), at - start);
      openBlock(at, pc);
      if (tracing) {
        store<u16>(at, I_TRACE);
        store<u16>(at, opcode, B_OPCODE);
      }
      at += HEADER;
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
      const n = opcode - PUSH0;
      // bytes beyond the end of the code are zero
      let skip: u32 = 0;
      while (skip < n && (pc + 1 + skip >= length || load<u8>(bytes + pc + 1 + skip) == 0)) skip++;
      if (n - skip <= 4) {
        let value: u32 = 0;
        for (let i = skip; i < n; i++) {
          const from = pc + 1 + i;
          value = (value << 8) | (from < length ? <u32>load<u8>(bytes + from) : 0);
        }
        const next = pc + 1 + n;
        const follower: u32 = next < length ? load<u8>(bytes + next) : 0;
        if (!tracing && (follower == JUMP || follower == JUMPI)) {
          count(gasOf(follower), takenBy(follower), 0);
          store<u32>(at, follower == JUMP ? I_JUMP_TO : I_JUMPI_TO);
          store<u32>(at, value, 4); // a position in the code until all destinations are known
          at += INSTRUCTION;
          open = false;
          pc = next + 1;
          continue;
        }
        store<u32>(at, I_PUSH);
        store<u32>(at, value, 4);
        at += INSTRUCTION;
      } else {
        store<u32>(at, I_PUSH_WORD);
        store<u32>(at, 0, 4);
        const word = at + INSTRUCTION;
        zeroWord(word);
        for (let i = skip; i < n; i++) {
          const from = pc + 1 + i;
          if (from < length) store<u8>(word + (n - 1 - i), load<u8>(bytes + from));
        }
        at = word + 32;
      }
      pc = min(pc + 1 + n, length); // the STOP follows a PUSH that the end cuts off, too
      continue;
    }
    let argument: u32;
    if (opcode >= DUP1 && opcode <= DUP16) argument = (opcode - DUP1) << 5;
    else if (opcode >= SWAP1 && opcode <= SWAP16) argument = (opcode - SWAP1 + 1) << 5;
    else if (opcode == PC) argument = pc;
    else if (opcode == 0x38) argument = length; // CODESIZE
    else argument = argumentOf(opcode);
    store<u32>(at, instruction);
    store<u32>(at, argument, 4);
    at += INSTRUCTION;
    if (endsBlock(opcode)) open = false;
    pc++;
  }
  closeBlock();

  // destinations of direct jumps
  const end = at;
  at = start;
  while (at < end) {
    const instruction = load<u16>(at);
    if (instruction == I_BLOCK || instruction == I_TRACE) {
      at += HEADER;
      continue;
    }
    if (instruction == I_PUSH_WORD) {
      at += INSTRUCTION + 32;
      continue;
    }
    if (instruction == I_JUMP_TO || instruction == I_JUMPI_TO) {
      const target = load<u32>(at, 4);
      store<u32>(at, target < length ? load<u32>(jumps + (target << 2)) : 0, 4);
    }
    at += INSTRUCTION;
  }

  const size = end - start;
  const instructions = allocate(size);
  memory.copy(instructions, start, size);
  store<u32>(code, instructions, C_INSTRUCTIONS);
  store<u32>(code, jumps, C_JUMPS);
  store<u32>(code, size, C_ANALYSIS_SIZE);
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
