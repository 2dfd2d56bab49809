/*
 * Steps through RLP that is known to be well-formed, because it was checked before it was stored. PERF: no objects, no checks.
 */

/** Where the payload of the item at `at` starts. */
export function rlpDataStart(bytes: Uint8Array, at: number): number {
  const prefix = bytes[at]!;
  if (prefix < 0x80) return at;
  if (prefix < 0xb8) return at + 1;
  if (prefix < 0xc0) return at + 1 + prefix - 0xb7;
  return prefix < 0xf8 ? at + 1 : at + 1 + prefix - 0xf7;
}

/** Where the item at `at` ends. */
export function rlpEnd(bytes: Uint8Array, at: number): number {
  const prefix = bytes[at]!;
  if (prefix < 0x80) return at + 1;
  if (prefix < 0xb8) return at + 1 + prefix - 0x80;
  if (prefix >= 0xc0 && prefix < 0xf8) return at + 1 + prefix - 0xc0;
  const lengthSize = prefix < 0xc0 ? prefix - 0xb7 : prefix - 0xf7;
  let length = 0;
  for (let i = 1; i <= lengthSize; i++) length = length * 256 + bytes[at + i]!;
  return at + 1 + lengthSize + length;
}

/** Where the EIP-2718 encoding at `at` ends. */
export const transactionEnd = (bytes: Uint8Array, at: number): number => rlpEnd(bytes, bytes[at]! >= 0xc0 ? at : at + 1);
