/**
 * The interpreter: one loop over the instructions of the current frame, inside one loop over frames. The hot registers are locals;
 * a frame's copies of them (F_IP, F_SP, F_GAS) are updated before anything that starts or ends a frame. Every case of the switch
 * either ends with `continue` (next instruction), or leaves the switch with `halt` set or with `ip` at the header of the basic
 * block to enter.
 *
 * PERF: the switch is a jump table only because instruction numbers are dense (opcodes.ts). Calling a long function costs more than
 * the body of a short handler, so short handlers are written out.
 */
import {
  F_CALLER,
  F_CODE,
  F_CODE_LENGTH,
  F_GAS,
  F_IP,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_SP,
  F_STACK,
  F_STATIC,
  F_VALUE,
  HALT_INVALID_JUMP,
  HALT_NONE,
  HALT_OUT_OF_GAS,
  HALT_REVERT,
  HALT_STACK_UNDERFLOW,
  HALT_STATIC,
  HALT_STOP,
  KIND_CREATE,
  R_BURNED,
  R_BURNED_SINCE,
  R_FAULT_HEIGHT,
  R_FAULT_OPCODE,
  R_REPORTED,
  STACK_LIMIT,
} from "./layout";
import {
  B_GAS,
  B_GROW,
  B_NEED,
  B_OPCODE,
  B_PC,
  blockAt,
  destinationAt,
  diagnoseBlock,
  gasBeforeFault,
  HEADER,
  INSTRUCTION,
  runToFault,
} from "./decoder";
import { callOpcode, createOpcode, currentFrame, endFrame } from "./calls";
import { divide, divideSigned, remainder } from "./divide";
import { accessEnd, expandMemory } from "./evm-memory";
import { hostSlice, hostTraceStep } from "./host";
import { loadCallData, selfDestruct, setOutput } from "./instructions";
import { multiply } from "./multiply";
import * as op from "./opcodes";
import { rareInstruction, stackAfter } from "./rare-instructions";
import { stepping } from "./rules";
import {
  add,
  and,
  copyWord,
  equal,
  fits64,
  isZero,
  less,
  lessSigned,
  or,
  readRaw,
  setWord,
  shiftLeft,
  shiftRight,
  shiftRightSigned,
  subtract,
  writeRaw,
  xor,
} from "./word";

/** Checks whether the stack fits a block. */
function checkBlock(ip: u32, words: i32): u32 {
  const fits = words >= <i32>load<u16>(ip, B_NEED) && words + <i32>load<u16>(ip, B_GROW) <= <i32>STACK_LIMIT;
  return fits ? HALT_NONE : HALT_STACK_UNDERFLOW;
}

/** Not a halt: execution continues in another frame, or in this one with its registers stored in the frame. */
@inline const HALT_SWITCH: u32 = 0xff;

/** `run` returns after this much gas or this many frame changes: a millisecond of most code, some milliseconds of the slowest. */
@inline const SLICE_GAS: i64 = 500_000;
@inline const SLICE_FRAMES: i32 = 2_000;

/** Runs the first frame and everything that it calls to the end. */
export function runToEnd(): void {
  // PERF: a function that is already running never switches to its optimised code, but one that is called again does.
  while (!run()) hostSlice();
}

/** Adds the gas burned by a slice. */
export function countBurned(gas: i64): void {
  store<i64>(R_BURNED, load<i64>(R_BURNED) + gas);
  store<i64>(R_BURNED_SINCE, 0);
}

/**
 * Runs the current frame and everything that it calls, until the first frame ends.
 *
 * @returns false: the slice has ended; call again to continue
 */
function run(): bool {
  let framesLeft = SLICE_FRAMES;
  /** of all frames together */
  let sliceLeft = SLICE_GAS;
  while (true) {
    if (--framesLeft < 0 || sliceLeft <= 0) {
      countBurned(SLICE_GAS - sliceLeft);
      return false;
    }
    const f = currentFrame;
    const stack = load<u32>(f, F_STACK);
    let ip = load<u32>(f, F_IP);
    let sp = load<u32>(f, F_SP);
    let gas = load<i64>(f, F_GAS);
    /** below this, either the slice or the gas has ended */
    const limit = max<i64>(0, gas - sliceLeft);
    const startGas = gas;
    let memoryAt = load<u32>(f, F_MEMORY);
    let halt: u32 = HALT_NONE;
    while (true) {
      switch (<u32>load<u16>(ip)) {
        case op.I_STOP: {
          halt = HALT_STOP;
          break;
        }
        case op.I_ADD: {
          add(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MUL: {
          multiply(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SUB: {
          subtract(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_DIV: {
          divide(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SDIV: {
          divideSigned(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MOD: {
          remainder(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_LT: {
          const result = less(sp, sp - 32);
          sp -= 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_GT: {
          const result = less(sp - 32, sp);
          sp -= 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SLT: {
          const result = lessSigned(sp, sp - 32);
          sp -= 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SGT: {
          const result = lessSigned(sp - 32, sp);
          sp -= 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EQ: {
          const result = equal(sp, sp - 32);
          sp -= 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_ISZERO: {
          setWord(sp, u64(isZero(sp)));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_AND: {
          and(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_OR: {
          or(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_XOR: {
          xor(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_NOT: {
          store<u64>(sp, ~load<u64>(sp));
          store<u64>(sp, ~load<u64>(sp, 8), 8);
          store<u64>(sp, ~load<u64>(sp, 16), 16);
          store<u64>(sp, ~load<u64>(sp, 24), 24);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SHL: {
          shiftLeft(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SHR: {
          shiftRight(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SAR: {
          shiftRightSigned(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_PUSH_FROM: {
          sp += 32;
          copyWord(sp, load<u32>(ip, 4));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CALLER: {
          sp += 32;
          copyWord(sp, f + F_CALLER);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CALLVALUE: {
          sp += 32;
          copyWord(sp, f + F_VALUE);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CALLDATALOAD: {
          loadCallData(f, sp);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_POP: {
          sp -= load<u32>(ip, 4);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MLOAD: {
          const end = accessEnd(sp, 32);
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          readRaw(sp, memoryAt + <u32>load<u64>(sp));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MSTORE: {
          const end = accessEnd(sp, 32);
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          writeRaw(memoryAt + <u32>load<u64>(sp), sp - 32);
          sp -= 64;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_JUMP: {
          const destination = load<u64>(sp);
          if (!fits64(sp) || destination >= <u64>load<u32>(f, F_CODE_LENGTH)) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          const target = blockAt(f, <u32>destination);
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          sp -= 32;
          ip = target;
          if (stepping) continue;
          break;
        }
        case op.I_JUMPI: {
          if (isZero(sp - 32)) {
            sp -= 64;
            ip += INSTRUCTION;
            continue;
          }
          const destination = load<u64>(sp);
          if (!fits64(sp) || destination >= <u64>load<u32>(f, F_CODE_LENGTH)) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          const target = blockAt(f, <u32>destination);
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          sp -= 64;
          ip = target;
          if (stepping) continue;
          break;
        }
        case op.I_GAS: {
          sp += 32;
          setWord(sp, gas);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_PUSH: {
          sp += 32;
          setWord(sp, load<u32>(ip, 4));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_PUSH_WORD: {
          sp += 32;
          copyWord(sp, ip + INSTRUCTION);
          ip += INSTRUCTION + 32;
          continue;
        }
        case op.I_DUP: {
          sp += 32;
          copyWord(sp, sp - 32 - load<u32>(ip, 4));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SWAP: {
          const other = sp - load<u32>(ip, 4);
          const a0 = load<u64>(sp);
          const a1 = load<u64>(sp, 8);
          const a2 = load<u64>(sp, 16);
          const a3 = load<u64>(sp, 24);
          copyWord(sp, other);
          store<u64>(other, a0);
          store<u64>(other, a1, 8);
          store<u64>(other, a2, 16);
          store<u64>(other, a3, 24);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CREATE:
        case op.I_CALL: {
          store<u32>(f, ip + INSTRUCTION, F_IP);
          store<u32>(f, sp, F_SP);
          store<i64>(f, gas, F_GAS);
          const kind = load<u32>(ip, 4);
          halt = kind >= KIND_CREATE ? createOpcode(f, kind) : callOpcode(f, kind);
          if (halt == HALT_NONE) halt = HALT_SWITCH;
          break;
        }
        case op.I_RETURN: {
          gas = setOutput(f, sp, gas);
          halt = gas < 0 ? HALT_OUT_OF_GAS : HALT_STOP;
          break;
        }
        case op.I_REVERT: {
          gas = setOutput(f, sp, gas);
          halt = gas < 0 ? HALT_OUT_OF_GAS : HALT_REVERT;
          break;
        }
        case op.I_SELFDESTRUCT: {
          if (load<u32>(f, F_STATIC) != 0) {
            halt = HALT_STATIC;
            break;
          }
          gas = selfDestruct(f, sp, gas);
          halt = gas < 0 ? HALT_OUT_OF_GAS : HALT_STOP;
          break;
        }
        case op.I_INVALID: {
          const reason = load<u32>(ip, 4); // a halt, and above it the opcode
          halt = reason & 0xff;
          store<u32>(R_FAULT_OPCODE, reason >> 8);
          store<u32>(R_FAULT_HEIGHT, (sp + 32 - stack) >> 5);
          break;
        }
        case op.I_TRACE: {
          store<u32>(f, ip, F_IP);
          store<u32>(f, sp, F_SP);
          store<i64>(f, gas, F_GAS);
          store<u32>(R_REPORTED, 1);
          store<i64>(R_BURNED_SINCE, SLICE_GAS - sliceLeft + startGas - gas);
          hostTraceStep(f, load<u32>(ip, B_PC), <u32>load<u16>(ip, B_OPCODE));
          const words = <i32>(sp + 32 - stack) >> 5;
          const left = gas - <i64>load<u32>(ip, B_GAS);
          if (left < 0 || words < <i32>load<u16>(ip, B_NEED) || words + <i32>load<u16>(ip, B_GROW) > <i32>STACK_LIMIT) {
            halt = diagnoseBlock(ip, load<u32>(f, F_CODE), gas, words);
            break;
          }
          gas = left;
          ip += HEADER;
          continue;
        }
        case op.I_QUIET: {
          store<u32>(R_REPORTED, 0);
          break;
        }
        case op.I_BLOCK: {
          break;
        }
        case op.I_JUMP_TO: {
          ip = destinationAt(f, ip + 4);
          if (stepping) continue;
          break;
        }
        case op.I_MOVE: {
          copyWord(sp - load<u32>(ip, 4), sp);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_ISZERO_X: {
          const result = isZero(sp - <u32>load<u16>(ip, 2));
          sp += 32;
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MLOAD_X: {
          const address = sp - <u32>load<u16>(ip, 2);
          const end = accessEnd(address, 32);
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          sp += 32;
          readRaw(sp, memoryAt + <u32>load<u64>(address));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MLOAD_C: {
          const address = load<u32>(ip, 8);
          const end: u64 = address + 32;
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          sp += 32;
          readRaw(sp, memoryAt + address);
          ip += 16;
          continue;
        }
        case op.I_MSTORE_X: {
          const address = sp - <u32>load<u16>(ip, 2);
          const end = accessEnd(address, 32);
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          writeRaw(memoryAt + <u32>load<u64>(address), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MSTORE_C: {
          const address = load<u32>(ip, 8);
          const end: u64 = address + 32;
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          writeRaw(memoryAt + address, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          ip += 16;
          continue;
        }
        case op.I_JUMP_IF: {
          const condition = !isZero(sp - <u32>load<u16>(ip, 2));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_ADD_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          add(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MUL_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          multiply(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SUB_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          subtract(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_AND_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          and(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_OR_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          or(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_XOR_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          xor(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SHL_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          shiftLeft(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SHR_X: {
          const to = sp + <i32>load<i16>(ip, 6);
          shiftRight(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_LT_X: {
          const result = less(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_GT_X: {
          const result = less(sp - <u32>load<u16>(ip, 4), sp - <u32>load<u16>(ip, 2));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SLT_X: {
          const result = lessSigned(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SGT_X: {
          const result = lessSigned(sp - <u32>load<u16>(ip, 4), sp - <u32>load<u16>(ip, 2));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EQ_X: {
          const result = equal(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_ADD_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          add(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_MUL_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          multiply(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_SUB_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          subtract(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_AND_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          and(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_OR_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          or(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_XOR_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          xor(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_SHL_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          shiftLeft(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_SHR_C: {
          const to = sp + <i32>load<i16>(ip, 6);
          shiftRight(ip + 8, sp - <u32>load<u16>(ip, 4), to);
          sp = to;
          ip += 40;
          continue;
        }
        case op.I_LT_C: {
          const result = less(ip + 8, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += 40;
          continue;
        }
        case op.I_GT_C: {
          const result = less(sp - <u32>load<u16>(ip, 4), ip + 8);
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += 40;
          continue;
        }
        case op.I_SLT_C: {
          const result = lessSigned(ip + 8, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += 40;
          continue;
        }
        case op.I_SGT_C: {
          const result = lessSigned(sp - <u32>load<u16>(ip, 4), ip + 8);
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += 40;
          continue;
        }
        case op.I_EQ_C: {
          const result = equal(ip + 8, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          setWord(sp, u64(result));
          ip += 40;
          continue;
        }
        case op.I_JUMP_LT_X: {
          const condition = less(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_GT_X: {
          const condition = less(sp - <u32>load<u16>(ip, 4), sp - <u32>load<u16>(ip, 2));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_SLT_X: {
          const condition = lessSigned(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_SGT_X: {
          const condition = lessSigned(sp - <u32>load<u16>(ip, 4), sp - <u32>load<u16>(ip, 2));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_EQ_X: {
          const condition = equal(sp - <u32>load<u16>(ip, 2), sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 16;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_LT_C: {
          const condition = less(ip + 16, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 48;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_GT_C: {
          const condition = less(sp - <u32>load<u16>(ip, 4), ip + 16);
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 48;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_SLT_C: {
          const condition = lessSigned(ip + 16, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 48;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_SGT_C: {
          const condition = lessSigned(sp - <u32>load<u16>(ip, 4), ip + 16);
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 48;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        case op.I_JUMP_EQ_C: {
          const condition = equal(ip + 16, sp - <u32>load<u16>(ip, 4));
          sp += <i32>load<i16>(ip, 6);
          if (u32(condition) == load<u32>(ip, 12)) {
            ip += 48;
            break;
          }
          ip = destinationAt(f, ip + 8);
          break;
        }
        default: {
          gas = rareInstruction(f, ip, sp, gas);
          if (gas < 0) {
            halt = <u32>-gas;
            break;
          }
          sp = stackAfter;
          memoryAt = load<u32>(f, F_MEMORY);
          ip += INSTRUCTION;
          continue;
        }
      }
      if (halt != HALT_NONE) break;
      // Here `ip` is at the header of a basic block: a jump led there, or the previous instruction was not a jump.
      const words = <i32>(sp + 32 - stack) >> 5;
      const left = gas - <i64>load<u32>(ip, B_GAS);
      if (left < limit || words < <i32>load<u16>(ip, B_NEED) || words + <i32>load<u16>(ip, B_GROW) > <i32>STACK_LIMIT) {
        halt = left < 0 ? HALT_OUT_OF_GAS : checkBlock(ip, words);
        if (halt != HALT_NONE) {
          const code = load<u32>(f, F_CODE);
          halt = diagnoseBlock(ip, code, gas, words);
          if (halt == HALT_OUT_OF_GAS) break;
          ip = runToFault(ip, code, halt);
          gas -= gasBeforeFault;
          halt = HALT_NONE;
          continue;
        }
        // A block that costs more than a slice runs as one slice.
        if (gas < startGas || sliceLeft < SLICE_GAS) {
          store<u32>(f, ip, F_IP);
          store<u32>(f, sp, F_SP);
          store<i64>(f, gas, F_GAS);
          countBurned(SLICE_GAS - sliceLeft + startGas - gas);
          return false;
        }
      }
      gas = left;
      ip += HEADER;
    }
    if (halt != HALT_SWITCH) {
      store<i64>(f, gas, F_GAS);
      const goesOn = endFrame(halt);
      sliceLeft -= startGas - max<i64>(0, load<i64>(f, F_GAS)); // with the deposit of created code
      if (!goesOn) {
        countBurned(SLICE_GAS - sliceLeft);
        return true;
      }
    } else {
      // Gas passed to another frame is not spent yet.
      const entered = currentFrame;
      sliceLeft -= startGas - load<i64>(f, F_GAS) - (entered != f ? load<i64>(entered, F_GAS) : 0);
    }
  }
}
