/**
 * The interpreter: one loop over the instructions of the current frame, inside one loop over frames. The hot registers are locals;
 * a frame's copies (F_IP, F_SP, F_GAS) are brought up to date before anything that starts or ends a frame. Every case of the switch
 * ends with `continue` (next instruction) or sets `halt` and leaves the switch.
 *
 * PERF: the switch is a jump table only because instruction numbers are dense (opcodes.ts); a handler that calls a long function
 * costs more than its body, so short ones are written out.
 */
import {
  A_ADDRESS,
  A_BALANCE,
  F_CALLER,
  F_CODE,
  F_CODE_LENGTH,
  F_GAS,
  F_INPUT_LENGTH,
  F_INSTRUCTIONS,
  F_IP,
  F_JUMPS,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_SELF,
  F_SP,
  F_STACK,
  F_STATIC,
  F_VALUE,
  HALT_INVALID_JUMP,
  HALT_INVALID_OPCODE,
  HALT_NONE,
  HALT_OUT_OF_GAS,
  HALT_RETURN_DATA,
  HALT_REVERT,
  HALT_STACK_UNDERFLOW,
  HALT_STATIC,
  HALT_STOP,
  ISTANBUL,
  KIND_CREATE,
  STACK_LIMIT,
} from "./layout";
import { B_GAS, B_GROW, B_NEED, B_OPCODE, B_PC, diagnoseBlock, HEADER, INSTRUCTION } from "./analysis";
import { callOpcode, createOpcode, currentFrame, endFrame } from "./calls";
import { addModulo, divide, divideSigned, multiplyModulo, remainder, remainderSigned } from "./divide";
import { expandMemory, UNREACHABLE } from "./evm-memory";
import { hostSlice, hostTraceStep } from "./host";
import {
  balanceInstruction,
  blobHashInstruction,
  blockHashInstruction,
  codeHashInstruction,
  codeSizeInstruction,
  copyAccountCode,
  copyCallData,
  copyCode,
  copyMemory,
  copyReturnData,
  expGas,
  keccakInstruction,
  loadCallData,
  logInstruction,
  returnDataHolds,
  selfDestruct,
  setOutput,
} from "./instructions";
import { multiply, power } from "./multiply";
import * as op from "./opcodes";
import { returnDataLength } from "./output";
import { fork } from "./rules";
import { loadStorage, loadTransient, storeStorage, storeTransient } from "./storage";
import {
  add,
  byteAt,
  copyWord,
  equal,
  fits64,
  isZero,
  leadingZeros,
  less,
  lessSigned,
  readRaw,
  setWord,
  shiftLeft,
  shiftRight,
  shiftRightSigned,
  signExtend,
  subtract,
  writeRaw,
} from "./word";

/** End of the access of `bytes` bytes at the offset at `sp`; beyond every payable size when the offset is. */
@inline function accessEnd(sp: u32, bytes: u64): u64 {
  const offset = load<u64>(sp);
  return fits64(sp) && offset <= UNREACHABLE ? offset + bytes : ~(<u64>0);
}

/** Whether the stack fits a block. */
function checkBlock(ip: u32, words: i32): u32 {
  const fits = words >= <i32>load<u16>(ip, B_NEED) && words + <i32>load<u16>(ip, B_GROW) <= <i32>STACK_LIMIT;
  return fits ? HALT_NONE : HALT_STACK_UNDERFLOW;
}

/** Gas and frame changes after which `run` comes back. */
@inline const SLICE_GAS: i64 = 5_000_000;
@inline const SLICE_FRAMES: i32 = 10_000;

/** Runs the first frame and all that it calls, to the end. */
export function runToEnd(): void {
  // PERF: a function that is already running never changes over to its optimised code; one that is called again does.
  while (!run()) hostSlice();
}

/**
 * Runs the current frame and all that it calls, until the first one ends.
 *
 * @returns false: a slice is over, go on by calling it again
 */
function run(): bool {
  let framesLeft = SLICE_FRAMES;
  while (true) {
    if (--framesLeft < 0) return false;
    const f = currentFrame;
    const stack = load<u32>(f, F_STACK);
    let ip = load<u32>(f, F_IP);
    let sp = load<u32>(f, F_SP);
    let gas = load<i64>(f, F_GAS);
    /** below it the slice is over, or the gas is */
    const limit = max<i64>(0, gas - SLICE_GAS);
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
        case op.I_SMOD: {
          remainderSigned(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_ADDMOD: {
          addModulo(sp, sp - 32, sp - 64, sp - 64);
          sp -= 64;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MULMOD: {
          multiplyModulo(sp, sp - 32, sp - 64, sp - 64);
          sp -= 64;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EXP: {
          gas -= expGas(sp - 32);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          power(sp, sp - 32, sp - 32);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SIGNEXTEND: {
          signExtend(sp, sp - 32, sp - 32);
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
          const to = sp - 32;
          store<u64>(to, load<u64>(sp) & load<u64>(to));
          store<u64>(to, load<u64>(sp, 8) & load<u64>(to, 8), 8);
          store<u64>(to, load<u64>(sp, 16) & load<u64>(to, 16), 16);
          store<u64>(to, load<u64>(sp, 24) & load<u64>(to, 24), 24);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_OR: {
          const to = sp - 32;
          store<u64>(to, load<u64>(sp) | load<u64>(to));
          store<u64>(to, load<u64>(sp, 8) | load<u64>(to, 8), 8);
          store<u64>(to, load<u64>(sp, 16) | load<u64>(to, 16), 16);
          store<u64>(to, load<u64>(sp, 24) | load<u64>(to, 24), 24);
          sp = to;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_XOR: {
          const to = sp - 32;
          store<u64>(to, load<u64>(sp) ^ load<u64>(to));
          store<u64>(to, load<u64>(sp, 8) ^ load<u64>(to, 8), 8);
          store<u64>(to, load<u64>(sp, 16) ^ load<u64>(to, 16), 16);
          store<u64>(to, load<u64>(sp, 24) ^ load<u64>(to, 24), 24);
          sp = to;
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
        case op.I_BYTE: {
          byteAt(sp, sp - 32, sp - 32);
          sp -= 32;
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
        case op.I_CLZ: {
          setWord(sp, leadingZeros(sp));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_KECCAK256: {
          gas = keccakInstruction(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 32;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_ADDRESS: {
          sp += 32;
          copyWord(sp, load<u32>(f, F_SELF) + A_ADDRESS);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_BALANCE: {
          gas = balanceInstruction(sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
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
        case op.I_CALLDATASIZE: {
          sp += 32;
          setWord(sp, load<u32>(f, F_INPUT_LENGTH));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CALLDATACOPY: {
          gas = copyCallData(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 96;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_CODECOPY: {
          gas = copyCode(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 96;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EXTCODESIZE: {
          gas = codeSizeInstruction(sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EXTCODECOPY: {
          gas = copyAccountCode(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 128;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_RETURNDATASIZE: {
          sp += 32;
          setWord(sp, returnDataLength());
          ip += INSTRUCTION;
          continue;
        }
        case op.I_RETURNDATACOPY: {
          if (!returnDataHolds(sp - 32, sp - 64)) {
            halt = HALT_RETURN_DATA;
            break;
          }
          gas = copyReturnData(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 96;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_EXTCODEHASH: {
          gas = codeHashInstruction(sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          ip += INSTRUCTION;
          continue;
        }
        case op.I_BLOCKHASH: {
          blockHashInstruction(sp);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SELFBALANCE: {
          sp += 32;
          copyWord(sp, load<u32>(f, F_SELF) + A_BALANCE);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_BLOBHASH: {
          blobHashInstruction(sp);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_POP: {
          sp -= 32;
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
        case op.I_MSTORE8: {
          const end = accessEnd(sp, 1);
          if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
            gas = expandMemory(f, end, gas);
            if (gas < 0) {
              halt = HALT_OUT_OF_GAS;
              break;
            }
            memoryAt = load<u32>(f, F_MEMORY);
          }
          store<u8>(memoryAt + <u32>load<u64>(sp), load<u8>(sp - 32));
          sp -= 64;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SLOAD: {
          gas = loadStorage(load<u32>(f, F_SELF), sp, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          ip += INSTRUCTION;
          continue;
        }
        case op.I_SSTORE: {
          if (load<u32>(f, F_STATIC) != 0) {
            halt = HALT_STATIC;
            break;
          }
          // EIP-2200: the stipend of a call never pays for a change of state
          if (fork >= ISTANBUL && gas <= 2300) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          gas -= storeStorage(load<u32>(f, F_SELF), sp, sp - 32);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
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
          const target = load<u32>(load<u32>(f, F_JUMPS) + (<u32>destination << 2));
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          sp -= 32;
          ip = load<u32>(f, F_INSTRUCTIONS) + target;
          continue;
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
          const target = load<u32>(load<u32>(f, F_JUMPS) + (<u32>destination << 2));
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          sp -= 64;
          ip = load<u32>(f, F_INSTRUCTIONS) + target;
          continue;
        }
        case op.I_MSIZE: {
          sp += 32;
          setWord(sp, load<u32>(f, F_MEMORY_SIZE));
          ip += INSTRUCTION;
          continue;
        }
        case op.I_GAS: {
          sp += 32;
          setWord(sp, gas);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_TLOAD: {
          loadTransient(load<u32>(f, F_SELF), sp, sp);
          ip += INSTRUCTION;
          continue;
        }
        case op.I_TSTORE: {
          if (load<u32>(f, F_STATIC) != 0) {
            halt = HALT_STATIC;
            break;
          }
          storeTransient(load<u32>(f, F_SELF), sp, sp - 32);
          sp -= 64;
          ip += INSTRUCTION;
          continue;
        }
        case op.I_MCOPY: {
          gas = copyMemory(f, sp, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 96;
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
        case op.I_LOG: {
          if (load<u32>(f, F_STATIC) != 0) {
            halt = HALT_STATIC;
            break;
          }
          const topics = load<u32>(ip, 4);
          gas = logInstruction(f, sp, topics, gas);
          if (gas < 0) {
            halt = HALT_OUT_OF_GAS;
            break;
          }
          memoryAt = load<u32>(f, F_MEMORY);
          sp -= 64 + (topics << 5);
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
          halt = HALT_INVALID_OPCODE;
          break;
        }
        case op.I_TRACE: {
          store<u32>(f, ip, F_IP);
          store<u32>(f, sp, F_SP);
          store<i64>(f, gas, F_GAS);
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
        case op.I_BLOCK: {
          const words = <i32>(sp + 32 - stack) >> 5;
          const left = gas - <i64>load<u32>(ip, B_GAS);
          if (left < limit || words < <i32>load<u16>(ip, B_NEED) || words + <i32>load<u16>(ip, B_GROW) > <i32>STACK_LIMIT) {
            halt = left < 0 ? HALT_OUT_OF_GAS : checkBlock(ip, words);
            if (halt != HALT_NONE) {
              halt = diagnoseBlock(ip, load<u32>(f, F_CODE), gas, words);
              break;
            }
            store<u32>(f, ip, F_IP);
            store<u32>(f, sp, F_SP);
            store<i64>(f, gas, F_GAS);
            return false;
          }
          gas = left;
          ip += HEADER;
          continue;
        }
        case op.I_JUMP_TO: {
          const target = load<u32>(ip, 4);
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          ip = load<u32>(f, F_INSTRUCTIONS) + target;
          continue;
        }
        case op.I_JUMPI_TO: {
          const condition = !isZero(sp);
          sp -= 32;
          if (!condition) {
            ip += INSTRUCTION;
            continue;
          }
          const target = load<u32>(ip, 4);
          if (target == 0) {
            halt = HALT_INVALID_JUMP;
            break;
          }
          ip = load<u32>(f, F_INSTRUCTIONS) + target;
          continue;
        }
        default: {
          unreachable();
        }
      }
      break;
    }
    if (halt != HALT_NONE) {
      store<i64>(f, gas, F_GAS);
      if (!endFrame(halt)) return true;
    }
  }
}
