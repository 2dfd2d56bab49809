import { bytesToBigint, EMPTY_KECCAK } from "@rnode/primitives";
import { Malformed } from "../errors.ts";

export interface AccountFields {
  readonly nonce: bigint;
  /** wei */
  readonly balance: bigint;
  /** keccak256 of no bytes if the account has no code */
  readonly codeHash: Uint8Array;
}

const MAX_NONCE_BYTES = 8;
const MAX_BALANCE_BYTES = 32;

/**
 * Decodes an account of Reth's Compact encoding.
 *
 * Layout: flags 2, little-endian (from the lowest bit: size of the nonce 4, size of the balance 6, has code 1) ‖ nonce ‖ balance ‖ code
 * hash 32 if it has code. Numbers are big-endian without leading zeros.
 *
 * @param at position of the first byte; the account takes the rest
 * @throws {Malformed}
 */
export function decodeAccount(bytes: Uint8Array, at = 0): AccountFields {
  if (bytes.length < at + 2) throw new Malformed("an account without flags");
  const flags = bytes[at]! | (bytes[at + 1]! << 8);
  const nonceBytes = flags & 0xf;
  const balanceBytes = (flags >> 4) & 0x3f;
  const hasCode = flags >> 10;
  if (nonceBytes > MAX_NONCE_BYTES || balanceBytes > MAX_BALANCE_BYTES || hasCode > 1) {
    throw new Malformed(`an account with flags ${flags}`);
  }
  const balanceAt = at + 2 + nonceBytes;
  const end = balanceAt + balanceBytes;
  if (bytes.length !== end + 32 * hasCode) throw new Malformed(`an account of ${bytes.length - at} bytes with flags ${flags}`);
  if ((nonceBytes > 0 && bytes[at + 2] === 0) || (balanceBytes > 0 && bytes[balanceAt] === 0)) {
    throw new Malformed("an account with a number that has leading zeros");
  }
  return {
    nonce: bytesToBigint(bytes.subarray(at + 2, balanceAt)),
    balance: bytesToBigint(bytes.subarray(balanceAt, end)),
    codeHash: hasCode ? bytes.subarray(end) : EMPTY_KECCAK,
  };
}
