/**
 * Writes the instructions of a basic block, and joins frequent sequences of opcodes into one instruction. Half of the opcodes in compiled code only
 * copy words to the top of the stack for an operation that removes them again.
 *
 * Forms, after the u16 instruction number:
 *   plain    u16 unused, u32 argument                                            8 bytes
 *   X        u16 a, u16 b, i16 move                                              8 bytes
 *   C        u16 unused, u16 b, i16 move ‖ word a                               40 bytes
 *   jump X   u16 a, u16 b, i16 move ‖ u32 destination, u32 inverted             16 bytes
 *   jump C   u16 unused, u16 b, i16 move ‖ u32 destination, u32 inverted ‖ word a   48 bytes
 *   MLOAD_C, MSTORE_C   u16 unused, u16 b, i16 move ‖ u32 address, u32 unused   16 bytes
 * The first operand (the opcode's top word) is at `sp − a`, the second at `sp − b`; then `sp` moves by `move`, and the result goes there.
 * Distances are in bytes. An inverted jump is taken when the condition is false (ISZERO before JUMPI). I_ISZERO_X, I_MLOAD_X and I_JUMP_IF have no
 * second operand.
 *
 * Nothing is joined across blocks, and nothing while stepping. Gas and stack heights are those of the original opcodes.
 */
import { SCRATCH_WORD_A, SCRATCH_WORD_B, SCRATCH_WORD_C } from "./layout";
import { multiply } from "./multiply";
import {
  COMPARE_C_TO_JUMP,
  COMPARE_TO_JUMP,
  I_ADD,
  I_AND,
  I_DUP,
  I_EQ,
  I_EQ_C,
  I_EQ_X,
  I_ISZERO,
  I_ISZERO_X,
  I_JUMP_IF,
  I_LT,
  I_LT_C,
  I_LT_X,
  I_MLOAD,
  I_MLOAD_C,
  I_MLOAD_X,
  I_MOVE,
  I_MSTORE,
  I_MSTORE_C,
  I_MSTORE_X,
  I_MUL,
  I_NOT,
  I_OR,
  I_POP,
  I_PUSH,
  I_PUSH_WORD,
  I_SHL,
  I_SHR,
  I_SUB,
  I_SWAP,
  I_XOR,
  joinedForm,
  X_TO_C,
} from "./opcodes";
import { stepping } from "./rules";
import { add, copyWord, fits64, setWord, shiftLeft, shiftRight, subtract } from "./word";

/** Where the next instruction is written. */
export let at: u32 = 0;

/** Positions of the block's last instructions, in a ring: u32 each. */
const HISTORY: usize = memory.data(8 * 4, 8);
@inline const HISTORY_LENGTH: u32 = 8;
@inline const LAST_PLACE: u32 = (HISTORY_LENGTH - 1) << 2;
/** Place of the newest one in it. */
let newest: u32 = 0;

@inline const MAX_ADDRESS: u32 = 0x1000000;
let known: u32 = 0;

export function startWriting(position: u32): void {
  at = position;
  known = 0;
}

/** Begins a block: nothing written so far may be joined with what follows. */
export function startBlock(headerBytes: u32): void {
  at += headerBytes;
  known = 0;
}

@inline function remember(size: u32): void {
  newest = (newest + 4) & LAST_PLACE;
  store<u32>(HISTORY + newest, at);
  if (known < HISTORY_LENGTH) known++;
  at += size;
}

/** The newest instruction; 0: none that may be joined. */
@inline function last(): u32 {
  return known == 0 || stepping ? 0 : load<u32>(HISTORY + newest);
}

@inline function numberOf(instruction: u32): u32 {
  return instruction == 0 ? 0xffff : <u32>load<u16>(instruction);
}

/** Removes the newest instruction. */
@inline function drop(): void {
  known--;
  at = load<u32>(HISTORY + newest);
  newest = (newest - 4) & LAST_PLACE;
}

export function writePlain(instruction: u32, argument: u32): void {
  store<u32>(at, instruction);
  store<u32>(at, argument, 4);
  remember(8);
}

function writeX(instruction: u32, a: u32, b: u32, move: i32, size: u32): void {
  store<u16>(at, instruction);
  store<u16>(at, a, 2);
  store<u16>(at, b, 4);
  store<i16>(at, move, 6);
  remember(size);
}

@inline function isConstant(instruction: u32): bool {
  const n = numberOf(instruction);
  return n == I_PUSH || n == I_PUSH_WORD;
}

/** Reads the word that a constant instruction pushes. */
function constantOf(instruction: u32, to: u32): void {
  if (numberOf(instruction) == I_PUSH) setWord(to, load<u32>(instruction, 4));
  else copyWord(to, instruction + 8);
}

/** Writes an instruction that pushes the word. */
export function writeConstant(word: u32): void {
  if (fits64(word) && load<u64>(word) >> 32 == 0) {
    writePlain(I_PUSH, load<u32>(word));
    return;
  }
  store<u32>(at, I_PUSH_WORD);
  store<u32>(at, 0, 4);
  copyWord(at + 8, word);
  remember(40);
}

/** Computes an instruction whose operands `a` and `b` are constants; false: it is not computed here */
function fold(instruction: u32, a: u32, b: u32): bool {
  switch (instruction) {
    case I_ADD:
      add(a, b, a);
      return true;
    case I_SUB:
      subtract(a, b, a);
      return true;
    case I_MUL:
      multiply(a, b, a);
      return true;
    case I_SHL:
      shiftLeft(a, b, a);
      return true;
    case I_SHR:
      shiftRight(a, b, a);
      return true;
    default:
      return false;
  }
}

@inline function isCommutative(instruction: u32): bool {
  return (
    instruction == I_ADD ||
    instruction == I_MUL ||
    instruction == I_AND ||
    instruction == I_OR ||
    instruction == I_XOR ||
    instruction == I_EQ
  );
}

/** Writes a binary instruction, joined with the instructions that pushed its operands. */
export function writeBinary(instruction: u32): void {
  const joined = joinedForm(instruction);
  const first = last();
  if (joined == 0 || first == 0) {
    writePlain(instruction, 0);
    return;
  }
  if (isConstant(first)) {
    constantOf(first, SCRATCH_WORD_A);
    drop();
    const second = last();
    if (isConstant(second)) {
      constantOf(second, SCRATCH_WORD_B);
      if (fold(instruction, SCRATCH_WORD_A, SCRATCH_WORD_B)) {
        drop();
        writeConstant(SCRATCH_WORD_A);
        return;
      }
    }
    let b: u32 = 0;
    let move: i32 = 0;
    if (numberOf(second) == I_DUP) {
      b = load<u32>(second, 4);
      move = 32;
      drop();
    }
    copyWord(at + 8, SCRATCH_WORD_A);
    writeX(joined + X_TO_C, 0, b, move, 40);
    return;
  }
  if (numberOf(first) == I_DUP) {
    const a = load<u32>(first, 4);
    drop();
    const second = last();
    if (numberOf(second) == I_DUP) {
      const b = load<u32>(second, 4);
      drop();
      writeX(joined, a == 0 ? b : a - 32, b, 32, 8);
    } else writeX(joined, a, 0, 0, 8);
    return;
  }
  if (numberOf(first) == I_SWAP && load<u32>(first, 4) == 32) {
    drop();
    if (isCommutative(instruction)) writeBinary(instruction);
    else writeX(joined, 32, 0, -32, 8);
    return;
  }
  writePlain(instruction, 0);
}

export function writeIsZero(): void {
  const first = last();
  if (numberOf(first) == I_DUP) {
    const a = load<u32>(first, 4);
    drop();
    writeX(I_ISZERO_X, a, 0, 32, 8);
  } else writePlain(I_ISZERO, 0);
}

export function writeNot(): void {
  const first = last();
  if (isConstant(first)) {
    constantOf(first, SCRATCH_WORD_A);
    drop();
    setWord(SCRATCH_WORD_B, 0);
    setWord(SCRATCH_WORD_C, 1);
    subtract(SCRATCH_WORD_B, SCRATCH_WORD_C, SCRATCH_WORD_B); // all ones
    subtract(SCRATCH_WORD_B, SCRATCH_WORD_A, SCRATCH_WORD_A);
    writeConstant(SCRATCH_WORD_A);
  } else writePlain(I_NOT, 0);
}

/** POP: the argument is the number of bytes. */
export function writePop(): void {
  const first = last();
  const n = numberOf(first);
  if (n == I_POP) store<u32>(first, load<u32>(first, 4) + 32, 4);
  else if (n == I_SWAP) {
    const distance = load<u32>(first, 4);
    drop();
    writePlain(I_MOVE, distance);
  } else writePlain(I_POP, 32);
}

/** Whether a constant is small enough to be the address of MLOAD_C and MSTORE_C. */
@inline function isAddress(instruction: u32): bool {
  return numberOf(instruction) == I_PUSH && load<u32>(instruction, 4) < MAX_ADDRESS;
}

export function writeLoad(): void {
  const first = last();
  if (numberOf(first) == I_DUP) {
    const a = load<u32>(first, 4);
    drop();
    writeX(I_MLOAD_X, a, 0, 32, 8);
  } else if (isAddress(first)) {
    const address = load<u32>(first, 4);
    drop();
    store<u64>(at, address, 8);
    writeX(I_MLOAD_C, 0, 0, 32, 16);
  } else writePlain(I_MLOAD, 0);
}

/** MSTORE: the address is the first operand, the value the second. */
export function writeStore(): void {
  const first = last();
  const n = numberOf(first);
  if (isAddress(first)) {
    const address = load<u32>(first, 4);
    drop();
    const second = last();
    let b: u32 = 0;
    let move: i32 = -32;
    if (numberOf(second) == I_DUP) {
      b = load<u32>(second, 4);
      move = 0;
      drop();
    }
    store<u64>(at, address, 8);
    writeX(I_MSTORE_C, 0, b, move, 16);
  } else if (n == I_DUP) {
    const a = load<u32>(first, 4);
    drop();
    const second = last();
    if (numberOf(second) == I_DUP) {
      const b = load<u32>(second, 4);
      drop();
      writeX(I_MSTORE_X, a == 0 ? b : a - 32, b, 0, 8);
    } else writeX(I_MSTORE_X, a, 0, -32, 8);
  } else if (n == I_SWAP && load<u32>(first, 4) == 32) {
    drop();
    writeSwappedStore();
  } else writePlain(I_MSTORE, 0);
}

/** SWAP1 MSTORE: the value is on top, the address below it. */
function writeSwappedStore(): void {
  const value = last();
  if (numberOf(value) != I_DUP || load<u32>(value, 4) == 0) {
    writeX(I_MSTORE_X, 32, 0, -64, 8);
    return;
  }
  // the address was on top before the value was copied there
  const b = load<u32>(value, 4);
  drop();
  const address = last();
  if (isAddress(address)) {
    const place = load<u32>(address, 4);
    drop();
    store<u64>(at, place, 8);
    writeX(I_MSTORE_C, 0, b - 32, 0, 16);
  } else writeX(I_MSTORE_X, 0, b, -32, 8);
}

/** Writes a JUMPI to a known destination, joined with the comparison that produces its condition. */
export function writeJumpIf(destination: u32): void {
  let inverted: u32 = 0;
  while (numberOf(last()) == I_ISZERO) {
    inverted ^= 1;
    drop();
  }
  const condition = last();
  const n = numberOf(condition);
  if (n >= I_LT && n <= I_EQ && n != I_ISZERO) {
    drop();
    writeJump(joinedForm(n) + COMPARE_TO_JUMP, 0, 32, -64, destination, inverted);
  } else if (n >= I_LT_X && n <= I_EQ_X) {
    const a = load<u16>(condition, 2);
    const b = load<u16>(condition, 4);
    const move = load<i16>(condition, 6);
    drop();
    writeJump(n + COMPARE_TO_JUMP, a, b, move - 32, destination, inverted);
  } else if (n >= I_LT_C && n <= I_EQ_C) {
    const b = load<u16>(condition, 4);
    const move = load<i16>(condition, 6);
    copyWord(SCRATCH_WORD_A, condition + 8);
    drop();
    copyWord(at + 16, SCRATCH_WORD_A);
    writeJump(n + COMPARE_C_TO_JUMP, 0, b, move - 32, destination, inverted);
    at += 32;
  } else if (n == I_ISZERO_X) {
    const a = load<u16>(condition, 2);
    drop();
    writeJump(I_JUMP_IF, a, 0, 0, destination, inverted ^ 1);
  } else if (n == I_DUP) {
    const a = load<u32>(condition, 4);
    drop();
    writeJump(I_JUMP_IF, a, 0, 0, destination, inverted);
  } else writeJump(I_JUMP_IF, 0, 0, -32, destination, inverted);
}

function writeJump(instruction: u32, a: u32, b: u32, move: i32, destination: u32, inverted: u32): void {
  store<u32>(at, destination, 8);
  store<u32>(at, inverted, 12);
  writeX(instruction, a, b, move, 16);
}
