/**
 * EVM opcodes, the engine's own instructions, and the table that maps the first to the second under the active rules.
 *
 * The engine's instruction numbers are dense, so that the interpreter's switch becomes a jump table. Opcode-table entry, 8 bytes:
 * u16 static gas, u8 words taken, u8 words given, u8 instruction, u8 flags, 2 unused.
 */
import {
  BERLIN,
  BYZANTIUM,
  CANCUN,
  CONSTANTINOPLE,
  ENV_BASE_FEE,
  ENV_BLOB_BASE_FEE,
  ENV_CHAIN_ID,
  ENV_COINBASE,
  ENV_GAS_LIMIT,
  ENV_GAS_PRICE,
  ENV_NUMBER,
  ENV_ORIGIN,
  ENV_RANDAO,
  ENV_TIMESTAMP,
  HOMESTEAD,
  ISTANBUL,
  LONDON,
  OP_TABLE,
  OSAKA,
  SHANGHAI,
  TANGERINE_WHISTLE,
} from "./layout";

@inline export const STOP: u32 = 0x00;
@inline export const CODESIZE: u32 = 0x38;
@inline export const JUMP: u32 = 0x56;
@inline export const JUMPI: u32 = 0x57;
@inline export const PC: u32 = 0x58;
@inline export const JUMPDEST: u32 = 0x5b;
@inline export const PUSH0: u32 = 0x5f;
@inline export const PUSH32: u32 = 0x7f;
@inline export const DUP1: u32 = 0x80;
@inline export const DUP16: u32 = 0x8f;
@inline export const SWAP1: u32 = 0x90;
@inline export const SWAP16: u32 = 0x9f;

// ---- instructions: those of the interpreter's switch, without gaps
@inline export const I_STOP: u32 = 0;
@inline export const I_ADD: u32 = 1;
@inline export const I_MUL: u32 = 2;
@inline export const I_SUB: u32 = 3;
@inline export const I_DIV: u32 = 4;
@inline export const I_SDIV: u32 = 5;
@inline export const I_MOD: u32 = 6;
@inline export const I_SMOD: u32 = 7;
@inline export const I_ADDMOD: u32 = 8;
@inline export const I_MULMOD: u32 = 9;
@inline export const I_EXP: u32 = 10;
@inline export const I_SIGNEXTEND: u32 = 11;
@inline export const I_LT: u32 = 12;
@inline export const I_GT: u32 = 13;
@inline export const I_SLT: u32 = 14;
@inline export const I_SGT: u32 = 15;
@inline export const I_EQ: u32 = 16;
@inline export const I_ISZERO: u32 = 17;
@inline export const I_AND: u32 = 18;
@inline export const I_OR: u32 = 19;
@inline export const I_XOR: u32 = 20;
@inline export const I_NOT: u32 = 21;
@inline export const I_BYTE: u32 = 22;
@inline export const I_SHL: u32 = 23;
@inline export const I_SHR: u32 = 24;
@inline export const I_SAR: u32 = 25;
@inline export const I_CLZ: u32 = 26;
@inline export const I_KECCAK256: u32 = 27;
@inline export const I_ADDRESS: u32 = 28;
@inline export const I_BALANCE: u32 = 29;
/** pushes the word at the address in its argument */
@inline export const I_PUSH_FROM: u32 = 30;
@inline export const I_CALLER: u32 = 31;
@inline export const I_CALLVALUE: u32 = 32;
@inline export const I_CALLDATALOAD: u32 = 33;
@inline export const I_CALLDATASIZE: u32 = 34;
@inline export const I_CALLDATACOPY: u32 = 35;
@inline export const I_CODECOPY: u32 = 36;
@inline export const I_EXTCODESIZE: u32 = 37;
@inline export const I_EXTCODECOPY: u32 = 38;
@inline export const I_RETURNDATASIZE: u32 = 39;
@inline export const I_RETURNDATACOPY: u32 = 40;
@inline export const I_EXTCODEHASH: u32 = 41;
@inline export const I_BLOCKHASH: u32 = 42;
@inline export const I_SELFBALANCE: u32 = 43;
@inline export const I_BLOBHASH: u32 = 44;
/** argument: bytes to drop */
@inline export const I_POP: u32 = 45;
@inline export const I_MLOAD: u32 = 46;
@inline export const I_MSTORE: u32 = 47;
@inline export const I_MSTORE8: u32 = 48;
@inline export const I_SLOAD: u32 = 49;
@inline export const I_SSTORE: u32 = 50;
@inline export const I_JUMP: u32 = 51;
@inline export const I_JUMPI: u32 = 52;
@inline export const I_MSIZE: u32 = 53;
@inline export const I_GAS: u32 = 54;
@inline export const I_TLOAD: u32 = 55;
@inline export const I_TSTORE: u32 = 56;
@inline export const I_MCOPY: u32 = 57;
/** pushes its u32 argument */
@inline export const I_PUSH: u32 = 58;
/** pushes the word after it */
@inline export const I_PUSH_WORD: u32 = 59;
/** arguments: distance of the word from the top, in bytes */
@inline export const I_DUP: u32 = 60;
@inline export const I_SWAP: u32 = 61;
/** argument: number of topics */
@inline export const I_LOG: u32 = 62;
/** argument: KIND_* */
@inline export const I_CREATE: u32 = 63;
@inline export const I_CALL: u32 = 64;
@inline export const I_RETURN: u32 = 65;
@inline export const I_REVERT: u32 = 66;
@inline export const I_SELFDESTRUCT: u32 = 67;
/** ends the frame; argument: HALT_* */
@inline export const I_INVALID: u32 = 68;
/** start of a basic block: checks gas and stack for the whole block; 16 bytes, see decoder.ts */
@inline export const I_BLOCK: u32 = 69;
/** the same, and reports the block's single instruction to the tracer */
@inline export const I_TRACE: u32 = 70;
/** PUSH of a destination and JUMP, or the transition to another run; argument: address of the block, see decoder.ts */
@inline export const I_JUMP_TO: u32 = 71;

// ---- joined instructions, see fusion.ts

/** Copies the top over the word at the distance in the argument, and drops the top: SWAPn POP. */
@inline export const I_MOVE: u32 = 72;
@inline export const I_ISZERO_X: u32 = 73;
@inline export const I_MLOAD_X: u32 = 74;
@inline export const I_MLOAD_C: u32 = 75;
@inline export const I_MSTORE_X: u32 = 76;
@inline export const I_MSTORE_C: u32 = 77;
/** PUSH of a destination and JUMPI, if a word is not zero or if it is zero */
@inline export const I_JUMP_IF: u32 = 78;
// binary operations with operands at distances from the top …
@inline export const I_ADD_X: u32 = 79;
@inline export const I_MUL_X: u32 = 80;
@inline export const I_SUB_X: u32 = 81;
@inline export const I_AND_X: u32 = 82;
@inline export const I_OR_X: u32 = 83;
@inline export const I_XOR_X: u32 = 84;
@inline export const I_SHL_X: u32 = 85;
@inline export const I_SHR_X: u32 = 86;
@inline export const I_LT_X: u32 = 87;
@inline export const I_GT_X: u32 = 88;
@inline export const I_SLT_X: u32 = 89;
@inline export const I_SGT_X: u32 = 90;
@inline export const I_EQ_X: u32 = 91;
// … and with a constant as the first operand
@inline export const I_ADD_C: u32 = 92;
@inline export const I_MUL_C: u32 = 93;
@inline export const I_SUB_C: u32 = 94;
@inline export const I_AND_C: u32 = 95;
@inline export const I_OR_C: u32 = 96;
@inline export const I_XOR_C: u32 = 97;
@inline export const I_SHL_C: u32 = 98;
@inline export const I_SHR_C: u32 = 99;
@inline export const I_LT_C: u32 = 100;
@inline export const I_GT_C: u32 = 101;
@inline export const I_SLT_C: u32 = 102;
@inline export const I_SGT_C: u32 = 103;
@inline export const I_EQ_C: u32 = 104;
// comparisons with PUSH and JUMPI
@inline export const I_JUMP_LT_X: u32 = 105;
@inline export const I_JUMP_GT_X: u32 = 106;
@inline export const I_JUMP_SLT_X: u32 = 107;
@inline export const I_JUMP_SGT_X: u32 = 108;
@inline export const I_JUMP_EQ_X: u32 = 109;
@inline export const I_JUMP_LT_C: u32 = 110;
@inline export const I_JUMP_GT_C: u32 = 111;
@inline export const I_JUMP_SLT_C: u32 = 112;
@inline export const I_JUMP_SGT_C: u32 = 113;
@inline export const I_JUMP_EQ_C: u32 = 114;

/** I_BLOCK while some instructions are reported: the last one was not */
@inline export const I_QUIET: u32 = 115;

/** Distance from a joined form to the form with a constant, and from a comparison to its jump. */
@inline export const X_TO_C: u32 = I_ADD_C - I_ADD_X;
@inline export const COMPARE_TO_JUMP: u32 = I_JUMP_LT_X - I_LT_X;
@inline export const COMPARE_C_TO_JUMP: u32 = I_JUMP_LT_C - I_LT_C;

/** The X form of a binary instruction; 0: it has none. */
export function joinedForm(instruction: u32): u32 {
  switch (instruction) {
    case I_ADD:
      return I_ADD_X;
    case I_MUL:
      return I_MUL_X;
    case I_SUB:
      return I_SUB_X;
    case I_AND:
      return I_AND_X;
    case I_OR:
      return I_OR_X;
    case I_XOR:
      return I_XOR_X;
    case I_SHL:
      return I_SHL_X;
    case I_SHR:
      return I_SHR_X;
    case I_LT:
      return I_LT_X;
    case I_GT:
      return I_GT_X;
    case I_SLT:
      return I_SLT_X;
    case I_SGT:
      return I_SGT_X;
    case I_EQ:
      return I_EQ_X;
    default:
      return 0;
  }
}

/** Flag: the basic block ends after this opcode. */
@inline export const ENDS_BLOCK: u32 = 1;
/** Flag: the run ends too, as execution never continues with the next opcode. */
@inline export const ENDS_RUN: u32 = 3;

@inline function entryOf(opcode: u32): u32 {
  return OP_TABLE + (opcode << 3);
}
@inline export function gasOf(opcode: u32): u32 {
  return load<u16>(entryOf(opcode));
}
@inline export function takenBy(opcode: u32): u32 {
  return load<u8>(entryOf(opcode), 2);
}
@inline export function givenBy(opcode: u32): u32 {
  return load<u8>(entryOf(opcode), 3);
}
@inline export function instructionOf(opcode: u32): u32 {
  return load<u8>(entryOf(opcode), 4);
}
@inline export function endsBlock(opcode: u32): bool {
  return (load<u8>(entryOf(opcode), 5) & ENDS_BLOCK) != 0;
}
@inline export function endsRun(opcode: u32): bool {
  return load<u8>(entryOf(opcode), 5) == ENDS_RUN;
}

function define(opcode: u32, gas: u32, taken: u32, given: u32, instruction: u32, flags: u32 = 0): void {
  const entry = entryOf(opcode);
  store<u16>(entry, gas);
  store<u8>(entry, taken, 2);
  store<u8>(entry, given, 3);
  store<u8>(entry, instruction, 4);
  store<u8>(entry, flags, 5);
}

/** Whether the opcode names an account or a slot. */
export function touchesState(opcode: u32): bool {
  switch (opcode) {
    case 0x31: // BALANCE
    case 0x3b: // EXTCODESIZE
    case 0x3c: // EXTCODECOPY
    case 0x3f: // EXTCODEHASH
    case 0x54: // SLOAD
    case 0x55: // SSTORE
    case 0xf0: // CREATE
    case 0xf1: // CALL
    case 0xf2: // CALLCODE
    case 0xf4: // DELEGATECALL
    case 0xf5: // CREATE2
    case 0xfa: // STATICCALL
    case 0xff: // SELFDESTRUCT
      return true;
    default:
      return false;
  }
}

/** The argument of an instruction that is determined by the opcode alone. */
export function argumentOf(opcode: u32): u32 {
  switch (opcode) {
    case 0x32:
      return ENV_ORIGIN;
    case 0x3a:
      return ENV_GAS_PRICE;
    case 0x41:
      return ENV_COINBASE;
    case 0x42:
      return ENV_TIMESTAMP;
    case 0x43:
      return ENV_NUMBER;
    case 0x44:
      return ENV_RANDAO;
    case 0x45:
      return ENV_GAS_LIMIT;
    case 0x46:
      return ENV_CHAIN_ID;
    case 0x48:
      return ENV_BASE_FEE;
    case 0x4a:
      return ENV_BLOB_BASE_FEE;
    case 0xa1:
      return 1;
    case 0xa2:
      return 2;
    case 0xa3:
      return 3;
    case 0xa4:
      return 4;
    // KIND_*
    case 0xf0:
      return 4;
    case 0xf5:
      return 5;
    case 0xf2:
      return 1;
    case 0xf4:
      return 2;
    case 0xfa:
      return 3;
    default:
      return 0;
  }
}

/**
 * Builds the opcode table. From Berlin on, the static gas of an opcode that accesses an account or a slot is the warm price
 * (EIP-2929); all of SSTORE's gas is dynamic.
 */
export function buildOpcodeTable(fork: u32): void {
  for (let opcode: u32 = 0; opcode < 256; opcode++) define(opcode, 0, 0, 0, I_INVALID, ENDS_RUN);

  define(STOP, 0, 0, 0, I_STOP, ENDS_RUN);
  define(0x01, 3, 2, 1, I_ADD);
  define(0x02, 5, 2, 1, I_MUL);
  define(0x03, 3, 2, 1, I_SUB);
  define(0x04, 5, 2, 1, I_DIV);
  define(0x05, 5, 2, 1, I_SDIV);
  define(0x06, 5, 2, 1, I_MOD);
  define(0x07, 5, 2, 1, I_SMOD);
  define(0x08, 8, 3, 1, I_ADDMOD);
  define(0x09, 8, 3, 1, I_MULMOD);
  define(0x0a, 10, 2, 1, I_EXP);
  define(0x0b, 5, 2, 1, I_SIGNEXTEND);
  define(0x10, 3, 2, 1, I_LT);
  define(0x11, 3, 2, 1, I_GT);
  define(0x12, 3, 2, 1, I_SLT);
  define(0x13, 3, 2, 1, I_SGT);
  define(0x14, 3, 2, 1, I_EQ);
  define(0x15, 3, 1, 1, I_ISZERO);
  define(0x16, 3, 2, 1, I_AND);
  define(0x17, 3, 2, 1, I_OR);
  define(0x18, 3, 2, 1, I_XOR);
  define(0x19, 3, 1, 1, I_NOT);
  define(0x1a, 3, 2, 1, I_BYTE);
  if (fork >= CONSTANTINOPLE) {
    // EIP-145
    define(0x1b, 3, 2, 1, I_SHL);
    define(0x1c, 3, 2, 1, I_SHR);
    define(0x1d, 3, 2, 1, I_SAR);
  }
  if (fork >= OSAKA) define(0x1e, 5, 1, 1, I_CLZ); // EIP-7939
  define(0x20, 30, 2, 1, I_KECCAK256);

  // EIP-150, EIP-1884, EIP-2929
  const account: u32 = fork >= BERLIN ? 100 : fork >= ISTANBUL ? 700 : fork >= TANGERINE_WHISTLE ? 400 : 20;
  const code: u32 = fork >= BERLIN ? 100 : fork >= TANGERINE_WHISTLE ? 700 : 20;
  const call: u32 = fork >= BERLIN ? 100 : fork >= TANGERINE_WHISTLE ? 700 : 40;
  const sload: u32 = fork >= BERLIN ? 100 : fork >= ISTANBUL ? 800 : fork >= TANGERINE_WHISTLE ? 200 : 50;
  define(0x30, 2, 0, 1, I_ADDRESS);
  define(0x31, account, 1, 1, I_BALANCE);
  define(0x32, 2, 0, 1, I_PUSH_FROM);
  define(0x33, 2, 0, 1, I_CALLER);
  define(0x34, 2, 0, 1, I_CALLVALUE);
  define(0x35, 3, 1, 1, I_CALLDATALOAD);
  define(0x36, 2, 0, 1, I_CALLDATASIZE);
  define(0x37, 3, 3, 0, I_CALLDATACOPY);
  define(0x38, 2, 0, 1, I_PUSH); // CODESIZE: a constant
  define(0x39, 3, 3, 0, I_CODECOPY);
  define(0x3a, 2, 0, 1, I_PUSH_FROM);
  define(0x3b, code, 1, 1, I_EXTCODESIZE);
  define(0x3c, code, 4, 0, I_EXTCODECOPY);
  if (fork >= BYZANTIUM) {
    // EIP-211
    define(0x3d, 2, 0, 1, I_RETURNDATASIZE);
    define(0x3e, 3, 3, 0, I_RETURNDATACOPY, ENDS_BLOCK);
  }
  if (fork >= CONSTANTINOPLE) define(0x3f, account, 1, 1, I_EXTCODEHASH); // EIP-1052
  define(0x40, 20, 1, 1, I_BLOCKHASH);
  for (let opcode: u32 = 0x41; opcode <= 0x45; opcode++) define(opcode, 2, 0, 1, I_PUSH_FROM);
  if (fork >= ISTANBUL) {
    define(0x46, 2, 0, 1, I_PUSH_FROM); // CHAINID, EIP-1344
    define(0x47, 5, 0, 1, I_SELFBALANCE); // EIP-1884
  }
  if (fork >= LONDON) define(0x48, 2, 0, 1, I_PUSH_FROM); // BASEFEE, EIP-3198
  if (fork >= CANCUN) {
    define(0x49, 3, 1, 1, I_BLOBHASH); // EIP-4844
    define(0x4a, 2, 0, 1, I_PUSH_FROM); // BLOBBASEFEE, EIP-7516
  }
  define(0x50, 2, 1, 0, I_POP);
  define(0x51, 3, 1, 1, I_MLOAD);
  define(0x52, 3, 2, 0, I_MSTORE);
  define(0x53, 3, 2, 0, I_MSTORE8);
  define(0x54, sload, 1, 1, I_SLOAD);
  define(0x55, 0, 2, 0, I_SSTORE, ENDS_BLOCK);
  define(JUMP, 8, 1, 0, I_JUMP, ENDS_RUN);
  define(JUMPI, 10, 2, 0, I_JUMPI, ENDS_BLOCK);
  define(PC, 2, 0, 1, I_PUSH);
  define(0x59, 2, 0, 1, I_MSIZE);
  define(0x5a, 2, 0, 1, I_GAS, ENDS_BLOCK);
  define(JUMPDEST, 1, 0, 0, I_BLOCK);
  if (fork >= CANCUN) {
    define(0x5c, 100, 1, 1, I_TLOAD); // EIP-1153
    define(0x5d, 100, 2, 0, I_TSTORE, ENDS_BLOCK);
    define(0x5e, 3, 3, 0, I_MCOPY); // EIP-5656
  }
  if (fork >= SHANGHAI) define(PUSH0, 2, 0, 1, I_PUSH); // EIP-3855
  for (let opcode = PUSH0 + 1; opcode <= PUSH32; opcode++) define(opcode, 3, 0, 1, I_PUSH);
  for (let n: u32 = 0; n < 16; n++) {
    define(DUP1 + n, 3, n + 1, n + 2, I_DUP);
    define(SWAP1 + n, 3, n + 2, n + 2, I_SWAP);
  }
  for (let topics: u32 = 0; topics <= 4; topics++) define(0xa0 + topics, 375 + 375 * topics, 2 + topics, 0, I_LOG, ENDS_BLOCK);
  define(0xf0, 32000, 3, 1, I_CREATE, ENDS_BLOCK);
  define(0xf1, call, 7, 1, I_CALL, ENDS_BLOCK);
  define(0xf2, call, 7, 1, I_CALL, ENDS_BLOCK);
  define(0xf3, 0, 2, 0, I_RETURN, ENDS_RUN);
  if (fork >= HOMESTEAD) define(0xf4, call, 6, 1, I_CALL, ENDS_BLOCK); // EIP-7
  if (fork >= CONSTANTINOPLE) define(0xf5, 32000, 4, 1, I_CREATE, ENDS_BLOCK); // EIP-1014
  if (fork >= BYZANTIUM) {
    define(0xfa, call, 6, 1, I_CALL, ENDS_BLOCK); // EIP-214
    define(0xfd, 0, 2, 0, I_REVERT, ENDS_RUN); // EIP-140
  }
  define(0xff, fork >= TANGERINE_WHISTLE ? 5000 : 0, 1, 0, I_SELFDESTRUCT, ENDS_RUN);
}
