/** What traces need to know about an instruction. */
export interface Instruction {
  readonly name: string;
  /** words removed from the stack */
  readonly pops: number;
  readonly pushes: number;
  /** the part of its gas cost that never changes, as Geth divides it (Berlin and later) */
  readonly constantGas: number;
}

/** `opcode name pops pushes gas`; PUSH, DUP and SWAP are generated below. Names are Geth's. */
const TABLE = `
00 STOP 0 0 0, 01 ADD 2 1 3, 02 MUL 2 1 5, 03 SUB 2 1 3, 04 DIV 2 1 5, 05 SDIV 2 1 5, 06 MOD 2 1 5, 07 SMOD 2 1 5, 08 ADDMOD 3 1 8,
09 MULMOD 3 1 8, 0a EXP 2 1 0, 0b SIGNEXTEND 2 1 5, 10 LT 2 1 3, 11 GT 2 1 3, 12 SLT 2 1 3, 13 SGT 2 1 3, 14 EQ 2 1 3, 15 ISZERO 1 1 3,
16 AND 2 1 3, 17 OR 2 1 3, 18 XOR 2 1 3, 19 NOT 1 1 3, 1a BYTE 2 1 3, 1b SHL 2 1 3, 1c SHR 2 1 3, 1d SAR 2 1 3, 1e CLZ 1 1 5,
20 KECCAK256 2 1 30, 30 ADDRESS 0 1 2, 31 BALANCE 1 1 100, 32 ORIGIN 0 1 2, 33 CALLER 0 1 2, 34 CALLVALUE 0 1 2, 35 CALLDATALOAD 1 1 3,
36 CALLDATASIZE 0 1 2, 37 CALLDATACOPY 3 0 3, 38 CODESIZE 0 1 2, 39 CODECOPY 3 0 3, 3a GASPRICE 0 1 2, 3b EXTCODESIZE 1 1 100,
3c EXTCODECOPY 4 0 100, 3d RETURNDATASIZE 0 1 2, 3e RETURNDATACOPY 3 0 3, 3f EXTCODEHASH 1 1 100, 40 BLOCKHASH 1 1 20, 41 COINBASE 0 1 2,
42 TIMESTAMP 0 1 2, 43 NUMBER 0 1 2, 44 DIFFICULTY 0 1 2, 45 GASLIMIT 0 1 2, 46 CHAINID 0 1 2, 47 SELFBALANCE 0 1 5, 48 BASEFEE 0 1 2,
49 BLOBHASH 1 1 3, 4a BLOBBASEFEE 0 1 2, 50 POP 1 0 2, 51 MLOAD 1 1 3, 52 MSTORE 2 0 3, 53 MSTORE8 2 0 3, 54 SLOAD 1 1 0, 55 SSTORE 2 0 0,
56 JUMP 1 0 8, 57 JUMPI 2 0 10, 58 PC 0 1 2, 59 MSIZE 0 1 2, 5a GAS 0 1 2, 5b JUMPDEST 0 0 1, 5c TLOAD 1 1 100, 5d TSTORE 2 0 100,
5e MCOPY 3 0 3, 5f PUSH0 0 1 2, a0 LOG0 2 0 0, a1 LOG1 3 0 0, a2 LOG2 4 0 0, a3 LOG3 5 0 0, a4 LOG4 6 0 0, f0 CREATE 3 1 32000,
f1 CALL 7 1 100, f2 CALLCODE 7 1 100, f3 RETURN 2 0 0, f4 DELEGATECALL 6 1 100, f5 CREATE2 4 1 32000, fa STATICCALL 6 1 100, fd REVERT 2 0 0,
fe INVALID 0 0 0, ff SELFDESTRUCT 1 0 5000`;

function build(): readonly Instruction[] {
  const all = Array.from(
    { length: 256 },
    (_, opcode): Instruction => ({
      name: `opcode 0x${opcode.toString(16)} not defined`,
      pops: 0,
      pushes: 0,
      constantGas: 0,
    }),
  );
  for (const row of TABLE.split(",")) {
    const [opcode, name, pops, pushes, gas] = row.trim().split(" ");
    all[Number.parseInt(opcode!, 16)] = { name: name!, pops: Number(pops), pushes: Number(pushes), constantGas: Number(gas) };
  }
  for (let i = 1; i <= 32; i++) all[0x5f + i] = { name: `PUSH${i}`, pops: 0, pushes: 1, constantGas: 3 };
  for (let i = 1; i <= 16; i++) {
    all[0x7f + i] = { name: `DUP${i}`, pops: i, pushes: i + 1, constantGas: 3 };
    all[0x8f + i] = { name: `SWAP${i}`, pops: i + 1, pushes: i + 1, constantGas: 3 };
  }
  return all;
}

const INSTRUCTIONS = build();

/** @param opcode 0 … 255 */
export const instructionOf = (opcode: number): Instruction => INSTRUCTIONS[opcode]!;

/** Opcodes by name, for the assembler. */
export const opcodesByName = (): ReadonlyMap<string, number> => new Map(INSTRUCTIONS.map(({ name }, opcode) => [name, opcode]));

export const OP = {
  keccak256: 0x20,
  balance: 0x31,
  calldataCopy: 0x37,
  codeCopy: 0x39,
  extCodeSize: 0x3b,
  extCodeCopy: 0x3c,
  returnDataCopy: 0x3e,
  extCodeHash: 0x3f,
  mload: 0x51,
  mstore: 0x52,
  mstore8: 0x53,
  sload: 0x54,
  sstore: 0x55,
  mcopy: 0x5e,
  log0: 0xa0,
  log4: 0xa4,
  create: 0xf0,
  call: 0xf1,
  callcode: 0xf2,
  return: 0xf3,
  delegatecall: 0xf4,
  create2: 0xf5,
  staticcall: 0xfa,
  revert: 0xfd,
  invalid: 0xfe,
  selfdestruct: 0xff,
} as const;
