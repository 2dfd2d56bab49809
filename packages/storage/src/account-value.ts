import { bigintToBytes, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes } from "@rnode/primitives";
import type { StoredAccount } from "./chain-store.ts";

/*
 * Row of a flat account:
 *   flags 1 (low nibble: bytes of the nonce; 0x10 has code; 0x20 has storage) ‖ bytes of the balance 1 ‖ nonce ‖ balance
 *   ‖ code hash 32, if any ‖ storage root 32, if any
 */

const HAS_CODE = 0x10;
const HAS_STORAGE = 0x20;

export function encodeAccountValue(account: StoredAccount): Uint8Array {
  const nonce = bigintToBytes(account.nonce);
  const balance = bigintToBytes(account.balance);
  const hasCode = !equalBytes(account.codeHash, EMPTY_KECCAK);
  const hasStorage = !equalBytes(account.storageRoot, EMPTY_TRIE_ROOT);
  const value = new Uint8Array(2 + nonce.length + balance.length + (hasCode ? 32 : 0) + (hasStorage ? 32 : 0));
  value[0] = nonce.length | (hasCode ? HAS_CODE : 0) | (hasStorage ? HAS_STORAGE : 0);
  value[1] = balance.length;
  value.set(nonce, 2);
  let at = 2 + nonce.length;
  value.set(balance, at);
  at += balance.length;
  if (hasCode) {
    value.set(account.codeHash, at);
    at += 32;
  }
  if (hasStorage) value.set(account.storageRoot, at);
  return value;
}

/** Reads the account at `at`; nothing in the result refers to `bytes`. */
export function decodeAccountValue(bytes: Uint8Array, at = 0): StoredAccount {
  const flags = bytes[at]!;
  const nonceSize = flags & 0x0f;
  const balanceSize = bytes[at + 1]!;
  let next = at + 2;
  const nonce = readUint(bytes, next, nonceSize);
  next += nonceSize;
  const balance = readUint(bytes, next, balanceSize);
  next += balanceSize;
  let codeHash = EMPTY_KECCAK;
  if ((flags & HAS_CODE) !== 0) {
    codeHash = copyHash(bytes, next);
    next += 32;
  }
  const storageRoot = (flags & HAS_STORAGE) !== 0 ? copyHash(bytes, next) : EMPTY_TRIE_ROOT;
  return { nonce, balance, codeHash, storageRoot };
}

function readUint(bytes: Uint8Array, at: number, size: number): bigint {
  let value = 0n;
  let i = 0;
  while (i < size) {
    // PERF: six bytes at a time fit a number; a bigint operation costs more than all of them.
    const step = Math.min(6, size - i);
    let part = 0;
    for (let j = 0; j < step; j++) part = part * 256 + bytes[at + i + j]!;
    value = i === 0 ? BigInt(part) : (value << BigInt(step * 8)) | BigInt(part);
    i += step;
  }
  return value;
}

function copyHash(bytes: Uint8Array, at: number): Uint8Array {
  const hash = new Uint8Array(32);
  for (let i = 0; i < 32; i++) hash[i] = bytes[at + i]!;
  return hash;
}
