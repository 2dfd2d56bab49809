import { bytesToBigint, bytesToHex } from "@rnode/primitives";

const ERROR_SELECTOR = "0x08c379a0"; // Error(string)
const PANIC_SELECTOR = "0x4e487b71"; // Panic(uint256)

/** Solidity's panic codes. Spec: docs.soliditylang.org, control structures § Panic */
const PANICS: Readonly<Record<number, string>> = {
  0: "generic panic",
  1: "assert(false)",
  17: "arithmetic underflow or overflow",
  18: "division or modulo by zero",
  33: "enum overflow",
  34: "invalid encoded storage byte array accessed",
  49: "out-of-bounds array access; popping on an empty array",
  50: "out-of-bounds access of an array or bytesN",
  65: "out of memory",
  81: "uninitialized function",
};

/** The text in the revert data of `Error(string)` or `Panic(uint256)`; undefined if it is neither, or malformed. */
export function revertReason(data: Uint8Array): string | undefined {
  if (data.length < 4 + 32) return undefined;
  const selector = bytesToHex(data.subarray(0, 4));
  const body = data.subarray(4);
  if (selector === PANIC_SELECTOR) {
    const code = bytesToBigint(body.subarray(0, 32));
    return PANICS[Number(code)] ?? `unknown panic code: 0x${code.toString(16)}`;
  }
  if (selector !== ERROR_SELECTOR || body.length < 64) return undefined;
  const offset = Number(bytesToBigint(body.subarray(0, 32)));
  if (!Number.isSafeInteger(offset) || offset + 32 > body.length) return undefined;
  const length = Number(bytesToBigint(body.subarray(offset, offset + 32)));
  if (!Number.isSafeInteger(length) || offset + 32 + length > body.length) return undefined;
  return new TextDecoder().decode(body.subarray(offset + 32, offset + 32 + length));
}
