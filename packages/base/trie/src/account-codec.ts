import { decodeRlp, expectRlpList, expectRlpString, expectRlpUint } from "@rnode/primitives";

/** The value of a leaf of the account trie. */
export interface TrieAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** 32 bytes */
  readonly storageRoot: Uint8Array;
  /** 32 bytes */
  readonly codeHash: Uint8Array;
}

/** Buffers for the bytes of nonce and balance, right-aligned in 8 and 32 bytes. */
const numbers = new Uint8Array(8 + 32);
const view = new DataView(numbers.buffer);
const MASK_64 = (1n << 64n) - 1n;
/** A balance below this is one word. */
const TWO_64 = 1n << 64n;

/** The maximum size of an account's RLP. */
export const MAX_ACCOUNT_RLP_BYTES = 2 + 9 + 33 + 66;

/** RLP of [nonce, balance, storageRoot, codeHash]. */
export function encodeAccount(account: TrieAccount): Uint8Array {
  return encoded.slice(0, writeAccount(encoded, 0, account));
}

const encoded = new Uint8Array(MAX_ACCOUNT_RLP_BYTES);

/** Writes the result of `encodeAccount` at `at`. PERF: called several times per transaction. @returns the position after it */
export function writeAccount(out: Uint8Array, at: number, { nonce, balance, storageRoot, codeHash }: TrieAccount): number {
  setNumbers(nonce, balance);
  return writeNumbersAndHashes(out, at, storageRoot, codeHash, 0);
}

/** Like `writeAccount`, but reads nonce 8 ‖ balance 32 ‖ code hash 32 at `from` of `fields`. */
export function writeAccountFields(out: Uint8Array, at: number, fields: Uint8Array, from: number, storageRoot: Uint8Array): number {
  for (let i = 0; i < 40; i++) numbers[i] = fields[from + i]!;
  return writeNumbersAndHashes(out, at, storageRoot, fields, from + 40);
}

function setNumbers(nonce: bigint, balance: bigint): void {
  view.setBigUint64(0, nonce);
  if (balance < TWO_64) {
    for (let i = 8; i < 32; i++) numbers[i] = 0;
    view.setBigUint64(32, balance);
  } else {
    view.setBigUint64(8, balance >> 192n);
    view.setBigUint64(16, (balance >> 128n) & MASK_64);
    view.setBigUint64(24, (balance >> 64n) & MASK_64);
    view.setBigUint64(32, balance & MASK_64);
  }
}

/** Writes the account with the nonce and balance in `numbers`. @param codeHashFrom position of its code hash in `codeHash` */
function writeNumbersAndHashes(
  out: Uint8Array,
  at: number,
  storageRoot: Uint8Array,
  codeHash: Uint8Array,
  codeHashFrom: number,
): number {
  const nonceAt = firstNotZero(0, 8);
  const balanceAt = firstNotZero(8, 40);
  // Two hashes with their headers make the list longer than 55 bytes and shorter than 256.
  out[at] = 0xf8;
  out[at + 1] = numberSize(nonceAt, 8) + numberSize(balanceAt, 40) + 66;
  const next = writeNumber(out, writeNumber(out, at + 2, nonceAt, 8), balanceAt, 40);
  out[next] = 0xa0;
  for (let i = 0; i < 32; i++) out[next + 1 + i] = storageRoot[i]!;
  out[next + 33] = 0xa0;
  for (let i = 0; i < 32; i++) out[next + 34 + i] = codeHash[codeHashFrom + i]!;
  return next + 66;
}

function firstNotZero(from: number, to: number): number {
  let at = from;
  while (at < to && numbers[at] === 0) at++;
  return at;
}

const numberSize = (from: number, to: number): number => (to - from === 1 && numbers[from]! < 0x80 ? 1 : 1 + to - from);

function writeNumber(rlp: Uint8Array, at: number, from: number, to: number): number {
  let next = at;
  if (numberSize(from, to) > 1 || from === to) rlp[next++] = 0x80 + to - from;
  for (let i = from; i < to; i++) rlp[next++] = numbers[i]!;
  return next;
}

/** The hashes are views into `rlp`. @throws {CodedError} rlp/* */
export function decodeAccount(rlp: Uint8Array): TrieAccount {
  const [nonce, balance, storageRoot, codeHash] = expectRlpList(decodeRlp(rlp), 4, 4);
  return {
    nonce: expectRlpUint(nonce, 8),
    balance: expectRlpUint(balance, 32),
    storageRoot: expectRlpString(storageRoot, 32),
    codeHash: expectRlpString(codeHash, 32),
  };
}

/** The RLP of an account ends with its storage root and its code hash, 33 bytes each. */
const STORAGE_ROOT_FROM_END = 65;

/** Overwrites the storage root in the RLP of an account. */
export function setStorageRoot(account: Uint8Array, storageRoot: Uint8Array): void {
  account.set(storageRoot, account.length - STORAGE_ROOT_FROM_END);
}

/** Copies the storage root of the account `present` into the account `value`. PERF: in place. */
export function adoptStorageRoot(value: Uint8Array, present: Uint8Array): Uint8Array {
  const from = present.length - STORAGE_ROOT_FROM_END;
  const to = value.length - STORAGE_ROOT_FROM_END;
  for (let i = 0; i < 32; i++) value[to + i] = present[from + i]!;
  return value;
}
