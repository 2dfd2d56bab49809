/**
 * Decodes bytecode into instructions, block by block, when execution first reaches them, because a call runs only a small part of
 * most contracts.
 *
 * Instruction: u16 number (opcodes.ts) and operands; the forms are in fusion.ts. Basic block header (I_BLOCK, I_QUIET, I_TRACE),
 * 16 bytes: u16 number, u16 opcode (I_TRACE), u32 gas of the whole block, u16 words that must be on the stack, u16 words by which
 * the stack grows at most, u32 position in the code.
 *
 * A block ends before a JUMPDEST and after an opcode with ENDS_BLOCK: jumps, halts, opcodes that read the exact gas left (GAS,
 * SSTORE, calls, creations), and opcodes that a tracer reports or that can fail for their own reasons (logs, TSTORE,
 * RETURNDATACOPY). So gas can be observed only at the end of a block, where exactly the gas of the block has been charged. A
 * block fails as a whole if its gas does not suffice: the failure is the same, but is detected earlier. If every instruction is
 * reported, each is a block. If only instructions that touch the state are reported, each of those is a block. Jumps check the
 * target block without executing its header, so no reported instruction begins a run or follows a joined jump: an empty block
 * precedes it.
 *
 * Consecutive blocks are decoded together as a run, which ends at an opcode after which execution never continues with the next
 * one. Instructions never move, because jumps hold the addresses of block headers. A jump to a destination that is not decoded
 * yet holds the position in the code, with the top bit set, and is resolved when it is taken. A jump to an invalid destination
 * leads to NOWHERE. Runs are stored in chunks of the heap; each code has a list of chunks: u32 next chunk, u32 size.
 */
import {
  C_BYTES,
  C_CHUNKS,
  C_ENTRY,
  C_FREE,
  C_FREE_END,
  C_JUMPS,
  C_LENGTH,
  CHUNK_HEADER,
  F_CODE,
  F_JUMPS,
  HALT_INVALID_JUMP,
  HALT_INVALID_OPCODE,
  HALT_OUT_OF_GAS,
  HALT_STACK_OVERFLOW,
  HALT_STACK_UNDERFLOW,
  R_FAULT_HEIGHT,
  R_FAULT_OPCODE,
  SCRATCH_WORD_A,
  STACK_LIMIT,
} from "./layout";
import { addChunk } from "./chunks";
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
import { blockSize, release } from "./heap";
import {
  blockOfDestination,
  buildJumpMap,
  destinationsInARow,
  isDestination,
  jumpMapSize,
  setBlockOfDestination,
} from "./jump-map";
import {
  argumentOf,
  CODESIZE,
  DUP1,
  DUP16,
  endsBlock,
  endsRun,
  gasOf,
  givenBy,
  I_BLOCK,
  I_DUP,
  I_INVALID,
  I_ISZERO,
  I_JUMP_TO,
  I_MLOAD,
  I_MSTORE,
  I_NOT,
  I_POP,
  I_PUSH,
  I_QUIET,
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
  touchesState,
} from "./opcodes";
import { stepping, touching } from "./rules";
import { fits64, zeroWord } from "./word";

@inline export const INSTRUCTION: u32 = 8;
@inline export const HEADER: u32 = 16;
@inline export const B_OPCODE: u32 = 2;
@inline export const B_GAS: u32 = 4;
@inline export const B_NEED: u32 = 8;
@inline export const B_GROW: u32 = 10;
@inline export const B_PC: u32 = 12;

/** More than any stack can hold: needing or growing by this much always fails. */
@inline const SATURATED: i32 = 2000;
/** Keeps a block's gas far below 2^32. */
@inline const MAX_BLOCK_GAS: u32 = 0x10000000;

/** In the worst case every byte of code is a block of one instruction. */
@inline const WORST_BYTES: u32 = INSTRUCTION + HEADER;
/** The maximum length of a run; longer ones continue in another run. */
@inline const MAX_RUN: u32 = 4096;
/** Bytes that one opcode and the end of a run after it may take. */
@inline const MARGIN: u32 = 128;
@inline const CHUNK: u32 = 16384;
/** Marks a jump destination that is still a position in the code. */
@inline const UNRESOLVED: u32 = 0x80000000;

/** The block where jumps without a valid destination lead. */
const NOWHERE: usize = memory.data<u32>([I_BLOCK, 0, 0, 0, I_INVALID, HALT_INVALID_JUMP]);

/** Heap used by all decoded code. */
export let decodedBytes: u64 = 0;

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

/** Whether the opcode is alone in a block, which reports it. */
@inline function isReported(opcode: u32): bool {
  return stepping || (touching && touchesState(opcode));
}

@inline function openBlock(pc: u32, opcode: u32): void {
  header = at;
  store<u16>(header, isReported(opcode) ? I_TRACE : touching ? I_QUIET : I_BLOCK);
  store<u16>(header, opcode, B_OPCODE);
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

/** Makes room for a run that starts at `pc`; returns its end. */
function reserveRun(code: u32, pc: u32): u32 {
  const wanted = min((load<u32>(code, C_LENGTH) - pc + 1) * WORST_BYTES + 2 * MARGIN, MAX_RUN);
  if (load<u32>(code, C_FREE) + wanted > load<u32>(code, C_FREE_END)) {
    // the first chunk is as small as the code allows
    const size = load<u32>(code, C_CHUNKS) == 0 ? blockSize(wanted + CHUNK_HEADER) : CHUNK;
    const chunk = addChunk(code, size);
    store<u32>(code, chunk + CHUNK_HEADER, C_FREE);
    store<u32>(code, chunk + size, C_FREE_END);
    decodedBytes += size;
  }
  return load<u32>(code, C_FREE) + wanted;
}

/** The operand of a jump to a position in the code. */
@inline function destinationOf(map: u32, length: u32, pc: u32): u32 {
  if (pc >= length) return <u32>NOWHERE;
  if (!isDestination(map, pc)) return <u32>NOWHERE;
  const block = blockOfDestination(map, pc);
  return block != 0 ? block : UNRESOLVED | pc;
}

/**
 * Before a jump target, or the continuation of a joined jump: if the opcode there is reported, inserts an empty block that is
 * not.
 */
@inline function keepApart(bytes: u32, length: u32, pc: u32): void {
  if (!touching || pc >= length || !touchesState(load<u8>(bytes + pc))) return;
  openBlock(pc, 0);
  closeBlock();
}

/** Writes the transition to another run. After a JUMPI, which continues at a header, it needs a separate block. */
@inline function goOn(isOpen: bool, pc: u32, destination: u32): void {
  const hasBlock = isOpen || !stepping;
  if (!isOpen && hasBlock) openBlock(pc, 0);
  writePlain(I_JUMP_TO, destination);
  if (hasBlock) closeBlock();
}

/**
 * Decodes a run from `start` on: 0, a destination that is not decoded yet, or where another run was broken off. Returns its first
 * block.
 */
function decodeRun(code: u32, start: u32): u32 {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  const map = load<u32>(code, C_JUMPS);
  const end = reserveRun(code, start);
  const first = load<u32>(code, C_FREE);
  startWriting(first);
  let pc = start;
  let open = false;
  keepApart(bytes, length, pc);
  while (true) {
    if (pc >= length) {
      // the STOP beyond the end of the code
      if (!open || stepping) {
        if (open) closeBlock();
        openBlock(pc, 0);
        open = true;
      }
      writePlain(I_STOP, 0);
      break;
    }
    const opcode: u32 = load<u8>(bytes + pc);
    if (at + MARGIN > end) {
      // the run was broken off
      goOn(open, pc, UNRESOLVED | pc);
      open = false;
      break;
    }
    if (opcode == JUMPDEST) {
      const decoded = blockOfDestination(map, pc);
      if (decoded != 0) {
        goOn(open, pc, decoded);
        open = false;
        break;
      }
      if (open) closeBlock();
      decodedBytes += setBlockOfDestination(code, pc, at);
      openBlock(pc, opcode);
      open = true;
      // If several follow each other, all but the last are one block, so a jump between them decodes only up to the last.
      const inRow = stepping ? 1 : destinationsInARow(map, pc);
      const joined = max(inRow - 1, 1);
      count(joined, 0, 0);
      pc += joined;
      continue;
    }
    const reported = isReported(opcode);
    if (!open || reported || blockGas > MAX_BLOCK_GAS) {
      if (open) closeBlock();
      openBlock(pc, opcode);
      open = true;
    }
    const instruction = instructionOf(opcode);
    count(gasOf(opcode), takenBy(opcode), givenBy(opcode));
    if (opcode >= PUSH0 && opcode <= PUSH32 && instruction == I_PUSH) {
      const next = pc + 1 + opcode - PUSH0;
      const isSmall = readConstant(bytes, length, pc);
      const follower: u32 = next < length ? load<u8>(bytes + next) : 0;
      if (isSmall && !stepping && (follower == JUMP || follower == JUMPI)) {
        count(gasOf(follower), takenBy(follower), 0);
        const destination = destinationOf(map, length, load<u32>(SCRATCH_WORD_A));
        if (follower == JUMP) {
          writePlain(I_JUMP_TO, destination);
          break;
        }
        writeJumpIf(destination);
        closeBlock();
        open = false;
        pc = next + 1;
        keepApart(bytes, length, pc);
        continue;
      }
      writeConstant(SCRATCH_WORD_A);
      pc = min(next, length); // the STOP also follows a PUSH that is truncated by the end
      continue;
    }
    writeOpcode(pc, length, opcode, instruction);
    pc++;
    if (endsRun(opcode)) break;
    if ((reported && !stepping) || endsBlock(opcode)) {
      closeBlock();
      open = false;
    }
  }
  if (open) closeBlock();
  store<u32>(code, (at + 7) & ~7, C_FREE);
  return first;
}

/** Writes the instruction of an opcode that is no PUSH. */
@inline function writeOpcode(pc: u32, length: u32, opcode: u32, instruction: u32): void {
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
  else if (instruction == I_INVALID) writePlain(instruction, HALT_INVALID_OPCODE | (opcode << 8));
  else writePlain(instruction, argumentOf(opcode));
}

/**
 * Reads the operand of the PUSH at `pc` into SCRATCH_WORD_A, with zeros beyond the end of the code; returns whether it fits 32
 * bits.
 */
function readConstant(bytes: u32, length: u32, pc: u32): bool {
  const n = <u32>load<u8>(bytes + pc) - PUSH0;
  zeroWord(SCRATCH_WORD_A);
  // PERF: four out of five constants are short
  if (n <= 4 && pc + 5 <= length) {
    store<u32>(SCRATCH_WORD_A, n == 0 ? 0 : bswap<u32>(load<u32>(bytes + pc, 1)) >> (32 - (n << 3)));
    return true;
  }
  for (let i: u32 = 0; i < n; i++) {
    const from = pc + 1 + i;
    if (from < length) store<u8>(SCRATCH_WORD_A + n - 1 - i, load<u8>(bytes + from));
  }
  return fits64(SCRATCH_WORD_A) && load<u64>(SCRATCH_WORD_A) >> 32 == 0;
}

/** The first block of a code entry. */
export function entryOf(code: u32): u32 {
  const entry = load<u32>(code, C_ENTRY);
  if (entry != 0) return entry;
  buildJumpMap(code);
  decodedBytes += blockSize(jumpMapSize(load<u32>(code, C_LENGTH)));
  const first = decodeRun(code, 0);
  store<u32>(code, first, C_ENTRY);
  return first;
}

/** The block that the jump with its operand at `place` leads to. */
@inline export function destinationAt(f: u32, place: u32): u32 {
  const operand = load<u32>(place);
  return <i32>operand > 0 ? operand : completeJump(f, place, operand & ~UNRESOLVED);
}

function completeJump(f: u32, place: u32, pc: u32): u32 {
  const code = load<u32>(f, F_CODE);
  const length = load<u32>(code, C_LENGTH);
  // not a destination: the place where a run was broken off
  const map = load<u32>(code, C_JUMPS);
  let target = pc < length && isDestination(map, pc) ? blockOfDestination(map, pc) : 0;
  if (target == 0) target = decodeRun(code, pc);
  store<u32>(place, target);
  return target;
}

/** The block at a computed position; 0: not a destination. */
@inline export function blockAt(f: u32, pc: u32): u32 {
  const map = load<u32>(f, F_JUMPS);
  if (!isDestination(map, pc)) return 0;
  const block = blockOfDestination(map, pc);
  return block != 0 ? block : decodeRun(load<u32>(f, F_CODE), pc);
}

/** Frees what decoding allocated. */
export function releaseDecoded(code: u32): void {
  if (load<u32>(code, C_ENTRY) == 0) return;
  const mapSize = jumpMapSize(load<u32>(code, C_LENGTH));
  release(load<u32>(code, C_JUMPS), mapSize);
  decodedBytes -= blockSize(mapSize);
  let chunk = load<u32>(code, C_CHUNKS);
  while (chunk != 0) {
    const next = load<u32>(chunk);
    decodedBytes -= load<u32>(chunk, 4);
    release(chunk, load<u32>(chunk, 4));
    chunk = next;
  }
  store<u32>(code, 0, C_ENTRY);
}

/**
 * Position of the stack error in the last diagnosed block, and the gas of the opcodes before it, without gas that depends on
 * operands.
 */
let faultPc: u32 = 0;
export let gasBeforeFault: i64 = 0;

/**
 * If several checks of a block fail, selects the failure that execution instruction by instruction meets first, unless gas that
 * depends on operands runs out before (`runToFault`). A stack failure is described in R_FAULT_….
 */
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
    faultPc = pc;
    gasBeforeFault = gasBefore - gas;
    store<u32>(R_FAULT_OPCODE, opcode);
    store<u32>(R_FAULT_HEIGHT, words);
    if (words < <i32>takenBy(opcode)) return HALT_STACK_UNDERFLOW;
    words += <i32>givenBy(opcode) - <i32>takenBy(opcode);
    if (words > <i32>STACK_LIMIT) return HALT_STACK_OVERFLOW;
    gas -= <i64>gasOf(opcode);
    if (gas < 0) return HALT_OUT_OF_GAS;
    if (endsBlock(opcode)) break;
    pc += opcode > PUSH0 && opcode <= PUSH32 ? opcode - PUSH0 + 1 : 1;
  }
  return HALT_OUT_OF_GAS;
}

/** Room for the longest run and the instructions after it. */
const FAULT_RUN: usize = memory.data(4352, 8);

/**
 * The instructions of a block up to the opcode at which its stack fails with `halt`, followed by that failure. Their gas is
 * charged as usual and can run out. Other effects cannot be observed, because the frame fails in any case.
 *
 * @returns the first instruction, which is not a block's header; valid until the next call
 */
export function runToFault(block: u32, code: u32, halt: u32): u32 {
  const length = load<u32>(code, C_LENGTH);
  const bytes = load<u32>(code, C_BYTES);
  startWriting(<u32>FAULT_RUN);
  let pc = load<u32>(block, B_PC);
  while (pc < faultPc) {
    const opcode: u32 = load<u8>(bytes + pc);
    const instruction = instructionOf(opcode);
    if (opcode >= PUSH0 && opcode <= PUSH32 && instruction == I_PUSH) {
      readConstant(bytes, length, pc);
      writeConstant(SCRATCH_WORD_A);
      pc += 1 + opcode - PUSH0;
      continue;
    }
    if (opcode != JUMPDEST) writeOpcode(pc, length, opcode, instruction);
    pc++;
  }
  writePlain(I_INVALID, halt | ((<u32>load<u8>(bytes + faultPc)) << 8));
  return <u32>FAULT_RUN;
}
