import { concatBytes, hexToBytes } from "@rnode/primitives";

const OPCODES: Readonly<Record<string, number>> = {
  ...{
    STOP: 0x00,
    ADD: 0x01,
    MUL: 0x02,
    SUB: 0x03,
    DIV: 0x04,
    SDIV: 0x05,
    MOD: 0x06,
    SMOD: 0x07,
    ADDMOD: 0x08,
    MULMOD: 0x09,
    EXP: 0x0a,
  },
  ...{
    SIGNEXTEND: 0x0b,
    LT: 0x10,
    GT: 0x11,
    SLT: 0x12,
    SGT: 0x13,
    EQ: 0x14,
    ISZERO: 0x15,
    AND: 0x16,
    OR: 0x17,
    XOR: 0x18,
    NOT: 0x19,
  },
  ...{ BYTE: 0x1a, SHL: 0x1b, SHR: 0x1c, SAR: 0x1d, CLZ: 0x1e, KECCAK256: 0x20, ADDRESS: 0x30, BALANCE: 0x31, ORIGIN: 0x32 },
  ...{ CALLER: 0x33, CALLVALUE: 0x34, CALLDATALOAD: 0x35, CALLDATASIZE: 0x36, CALLDATACOPY: 0x37, CODESIZE: 0x38, CODECOPY: 0x39 },
  ...{ GASPRICE: 0x3a, EXTCODESIZE: 0x3b, EXTCODECOPY: 0x3c, RETURNDATASIZE: 0x3d, RETURNDATACOPY: 0x3e, EXTCODEHASH: 0x3f },
  ...{ BLOCKHASH: 0x40, COINBASE: 0x41, TIMESTAMP: 0x42, NUMBER: 0x43, PREVRANDAO: 0x44, GASLIMIT: 0x45, CHAINID: 0x46 },
  ...{ SELFBALANCE: 0x47, BASEFEE: 0x48, BLOBHASH: 0x49, BLOBBASEFEE: 0x4a, POP: 0x50, MLOAD: 0x51, MSTORE: 0x52, MSTORE8: 0x53 },
  ...{
    SLOAD: 0x54,
    SSTORE: 0x55,
    JUMP: 0x56,
    JUMPI: 0x57,
    PC: 0x58,
    MSIZE: 0x59,
    GAS: 0x5a,
    JUMPDEST: 0x5b,
    TLOAD: 0x5c,
    TSTORE: 0x5d,
  },
  ...{
    MCOPY: 0x5e,
    PUSH0: 0x5f,
    LOG0: 0xa0,
    LOG1: 0xa1,
    LOG2: 0xa2,
    LOG3: 0xa3,
    LOG4: 0xa4,
    CREATE: 0xf0,
    CALL: 0xf1,
    CALLCODE: 0xf2,
  },
  ...{ RETURN: 0xf3, DELEGATECALL: 0xf4, CREATE2: 0xf5, STATICCALL: 0xfa, REVERT: 0xfd, INVALID: 0xfe, SELFDESTRUCT: 0xff },
  ...Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`DUP${i + 1}`, 0x80 + i])),
  ...Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`SWAP${i + 1}`, 0x90 + i])),
};

/**
 * Assembles words separated by white space: mnemonics, numbers (pushed with as few bytes as they need), `:name` (a JUMPDEST with a label) and
 * `@name` (pushes the position of a label, two bytes).
 */
export function asm(text: string): Uint8Array {
  const parts: (Uint8Array | { readonly label: string })[] = [];
  const labels = new Map<string, number>();
  let at = 0;
  for (const word of text.trim().split(/\s+/)) {
    let part: Uint8Array | { readonly label: string };
    if (word.startsWith(":")) {
      labels.set(word.slice(1), at);
      part = Uint8Array.of(0x5b);
    } else if (word.startsWith("@")) {
      part = { label: word.slice(1) };
    } else if (/^\d|^0x/.test(word)) {
      const digits = BigInt(word).toString(16);
      const bytes = hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`);
      part = concatBytes(Uint8Array.of(0x5f + bytes.length), bytes);
    } else {
      const opcode = OPCODES[word];
      if (opcode === undefined) throw new Error(`unknown mnemonic ${word}`);
      part = Uint8Array.of(opcode);
    }
    parts.push(part);
    at += "label" in part ? 3 : part.length;
  }
  return concatBytes(
    ...parts.map((part) => {
      if (!("label" in part)) return part;
      const target = labels.get(part.label);
      if (target === undefined) throw new Error(`unknown label ${part.label}`);
      return Uint8Array.of(0x61, target >> 8, target & 0xff);
    }),
  );
}

/** Initialisation code that deploys `code`. */
export function deployer(code: Uint8Array): Uint8Array {
  // PUSH2 length DUP1 PUSH1 10 PUSH0 CODECOPY PUSH0 RETURN
  const prefix = Uint8Array.of(0x61, code.length >> 8, code.length & 0xff, 0x80, 0x60, 10, 0x5f, 0x39, 0x5f, 0xf3);
  return concatBytes(prefix, code);
}
