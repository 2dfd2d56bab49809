import { concatBytes, hexToBytes } from "@rnode/primitives";

/** The first opcode of a row, and the names from there on. */
const ROWS: readonly (readonly [number, string])[] = [
  [0x00, "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND"],
  [0x10, "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ"],
  [0x20, "KECCAK256"],
  [
    0x30,
    "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE",
  ],
  [0x50, "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0"],
  [0xa0, "LOG0 LOG1 LOG2 LOG3 LOG4"],
  [0xf0, "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2"],
  [0xfa, "STATICCALL"],
  [0xfd, "REVERT INVALID SELFDESTRUCT"],
];

const OPCODES: Readonly<Record<string, number>> = Object.fromEntries([
  ...ROWS.flatMap(([first, names]) => names.split(" ").map((name, i) => [name, first + i] as const)),
  ...Array.from({ length: 16 }, (_, i) => [`DUP${i + 1}`, 0x80 + i] as const),
  ...Array.from({ length: 16 }, (_, i) => [`SWAP${i + 1}`, 0x90 + i] as const),
]);

/**
 * Assembles words separated by white space: mnemonics, numbers (pushed with the fewest bytes), `:name` (a JUMPDEST with a label)
 * and `@name` (pushes the position of a label, two bytes).
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
