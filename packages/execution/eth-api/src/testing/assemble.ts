import { concatBytes, hexToBytes } from "@rnode/primitives";
import { opcodesByName } from "../instructions/opcodes.ts";

/** Assembles mnemonics and numbers (decimal or hex). Numbers are pushed with as few bytes as possible. */
export function assemble(text: string): Uint8Array {
  const opcodes = opcodesByName();
  return concatBytes(
    ...text
      .trim()
      .split(/\s+/)
      .map((word) => {
        const opcode = opcodes.get(word);
        if (opcode !== undefined) return Uint8Array.of(opcode);
        const digits = BigInt(word).toString(16);
        const bytes = hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`);
        return concatBytes(Uint8Array.of(0x5f + bytes.length), bytes);
      }),
  );
}

/** Initialisation code that deploys `code`: PUSH2 length DUP1 PUSH1 10 PUSH0 CODECOPY PUSH0 RETURN. */
export const deployerOf = (code: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(0x61, code.length >> 8, code.length & 0xff, 0x80, 0x60, 10, 0x5f, 0x39, 0x5f, 0xf3), code);
