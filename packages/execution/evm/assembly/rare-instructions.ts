/**
 * Instructions that cost much more than their dispatch: state access, hashes, copies and 512-bit divisions. They are outside of
 * the interpreter's loop, so that its hot variables stay in registers.
 */
import {
  A_ADDRESS,
  A_BALANCE,
  F_INPUT_LENGTH,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_SELF,
  F_STATIC,
  HALT_OUT_OF_GAS,
  HALT_RETURN_DATA,
  HALT_STATIC,
  ISTANBUL,
} from "./layout";
import { addModulo, multiplyModulo, remainderSigned } from "./divide";
import { accessEnd, expandMemory } from "./evm-memory";
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
  logInstruction,
  returnDataHolds,
} from "./instructions";
import { power } from "./multiply";
import * as op from "./opcodes";
import { returnDataLength } from "./output";
import { fork } from "./rules";
import { loadStorage, loadTransient, storeStorage, storeTransient } from "./storage";
import { byteAt, copyWord, leadingZeros, setWord, signExtend } from "./word";

/** The stack pointer after `rareInstruction`. */
export let stackAfter: u32 = 0;

@inline const OUT_OF_GAS: i64 = -(<i64>HALT_OUT_OF_GAS);

/** The gas left after an instruction, or its failure for lack of gas. */
@inline function paid(gasLeft: i64): i64 {
  return gasLeft < 0 ? OUT_OF_GAS : gasLeft;
}

/**
 * Executes the instruction at `ip`.
 *
 * @returns the gas left; negative: −HALT_*
 */
export function rareInstruction(f: u32, ip: u32, sp: u32, gas: i64): i64 {
  switch (<u32>load<u16>(ip)) {
    case op.I_KECCAK256: {
      stackAfter = sp - 32;
      return paid(keccakInstruction(f, sp, gas));
    }
    case op.I_SLOAD: {
      stackAfter = sp;
      return paid(loadStorage(load<u32>(f, F_SELF), sp, sp, gas));
    }
    case op.I_SSTORE: {
      stackAfter = sp - 64;
      if (load<u32>(f, F_STATIC) != 0) return -(<i64>HALT_STATIC);
      // EIP-2200: the stipend of a call never pays for a change of state
      if (fork >= ISTANBUL && gas <= 2300) return OUT_OF_GAS;
      return paid(gas - storeStorage(load<u32>(f, F_SELF), sp, sp - 32));
    }
    case op.I_TLOAD: {
      stackAfter = sp;
      loadTransient(load<u32>(f, F_SELF), sp, sp);
      return gas;
    }
    case op.I_TSTORE: {
      stackAfter = sp - 64;
      if (load<u32>(f, F_STATIC) != 0) return -(<i64>HALT_STATIC);
      storeTransient(load<u32>(f, F_SELF), sp, sp - 32);
      return gas;
    }
    case op.I_SMOD: {
      stackAfter = sp - 32;
      remainderSigned(sp, sp - 32, sp - 32);
      return gas;
    }
    case op.I_ADDMOD: {
      stackAfter = sp - 64;
      addModulo(sp, sp - 32, sp - 64, sp - 64);
      return gas;
    }
    case op.I_MULMOD: {
      stackAfter = sp - 64;
      multiplyModulo(sp, sp - 32, sp - 64, sp - 64);
      return gas;
    }
    case op.I_EXP: {
      stackAfter = sp - 32;
      const left = gas - expGas(sp - 32);
      if (left < 0) return OUT_OF_GAS;
      power(sp, sp - 32, sp - 32);
      return left;
    }
    case op.I_SIGNEXTEND: {
      stackAfter = sp - 32;
      signExtend(sp, sp - 32, sp - 32);
      return gas;
    }
    case op.I_BYTE: {
      stackAfter = sp - 32;
      byteAt(sp, sp - 32, sp - 32);
      return gas;
    }
    case op.I_CLZ: {
      stackAfter = sp;
      setWord(sp, leadingZeros(sp));
      return gas;
    }
    case op.I_ADDRESS: {
      stackAfter = sp + 32;
      copyWord(sp + 32, load<u32>(f, F_SELF) + A_ADDRESS);
      return gas;
    }
    case op.I_SELFBALANCE: {
      stackAfter = sp + 32;
      copyWord(sp + 32, load<u32>(f, F_SELF) + A_BALANCE);
      return gas;
    }
    case op.I_BALANCE: {
      stackAfter = sp;
      return paid(balanceInstruction(sp, gas));
    }
    case op.I_EXTCODESIZE: {
      stackAfter = sp;
      return paid(codeSizeInstruction(sp, gas));
    }
    case op.I_EXTCODEHASH: {
      stackAfter = sp;
      return paid(codeHashInstruction(sp, gas));
    }
    case op.I_EXTCODECOPY: {
      stackAfter = sp - 128;
      return paid(copyAccountCode(f, sp, gas));
    }
    case op.I_CALLDATASIZE: {
      stackAfter = sp + 32;
      setWord(sp + 32, load<u32>(f, F_INPUT_LENGTH));
      return gas;
    }
    case op.I_CALLDATACOPY: {
      stackAfter = sp - 96;
      return paid(copyCallData(f, sp, gas));
    }
    case op.I_CODECOPY: {
      stackAfter = sp - 96;
      return paid(copyCode(f, sp, gas));
    }
    case op.I_RETURNDATASIZE: {
      stackAfter = sp + 32;
      setWord(sp + 32, returnDataLength());
      return gas;
    }
    case op.I_RETURNDATACOPY: {
      stackAfter = sp - 96;
      if (!returnDataHolds(sp - 32, sp - 64)) return -(<i64>HALT_RETURN_DATA);
      return paid(copyReturnData(f, sp, gas));
    }
    case op.I_MCOPY: {
      stackAfter = sp - 96;
      return paid(copyMemory(f, sp, gas));
    }
    case op.I_MSTORE8: {
      stackAfter = sp - 64;
      const end = accessEnd(sp, 1);
      let left = gas;
      if (end > <u64>load<u32>(f, F_MEMORY_SIZE)) {
        left = expandMemory(f, end, gas);
        if (left < 0) return OUT_OF_GAS;
      }
      store<u8>(load<u32>(f, F_MEMORY) + <u32>load<u64>(sp), load<u8>(sp - 32));
      return left;
    }
    case op.I_MSIZE: {
      stackAfter = sp + 32;
      setWord(sp + 32, load<u32>(f, F_MEMORY_SIZE));
      return gas;
    }
    case op.I_BLOCKHASH: {
      stackAfter = sp;
      blockHashInstruction(sp);
      return gas;
    }
    case op.I_BLOBHASH: {
      stackAfter = sp;
      blobHashInstruction(sp);
      return gas;
    }
    case op.I_LOG: {
      const topics = load<u32>(ip, 4);
      stackAfter = sp - 64 - (topics << 5);
      if (load<u32>(f, F_STATIC) != 0) return -(<i64>HALT_STATIC);
      return paid(logInstruction(f, sp, topics, gas));
    }
    default: {
      unreachable();
      return 0;
    }
  }
}
