import { decodeRlp, expectRlpList, expectRlpString, expectRlpUint } from "@rnode/primitives";

/** Value of a leaf of the account trie. */
export interface TrieAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** 32 bytes */
  readonly storageRoot: Uint8Array;
  /** 32 bytes */
  readonly codeHash: Uint8Array;
}

/** Bytes of the two numbers, right-aligned in 8 and 32 bytes. */
const numbers = new Uint8Array(8 + 32);
const view = new DataView(numbers.buffer);
const MASK_64 = (1n << 64n) - 1n;
/** Below it a balance is one word. */
const TWO_64 = 1n << 64n;

/** RLP of [nonce, balance, storageRoot, codeHash]. PERF: written in one go, several for every transaction. */
export function encodeAccount({ nonce, balance, storageRoot, codeHash }: TrieAccount): Uint8Array {
  view.setBigUint64(0, nonce);
  if (balance < TWO_64) {
    numbers.fill(0, 8, 32);
    view.setBigUint64(32, balance);
  } else {
    view.setBigUint64(8, balance >> 192n);
    view.setBigUint64(16, (balance >> 128n) & MASK_64);
    view.setBigUint64(24, (balance >> 64n) & MASK_64);
    view.setBigUint64(32, balance & MASK_64);
  }
  const nonceAt = firstNotZero(0, 8);
  const balanceAt = firstNotZero(8, 40);
  // Two hashes with their headers: the list is longer than 55 bytes and shorter than 256.
  const payload = numberSize(nonceAt, 8) + numberSize(balanceAt, 40) + 66;
  const rlp = new Uint8Array(2 + payload);
  rlp[0] = 0xf8;
  rlp[1] = payload;
  let at = writeNumber(rlp, 2, nonceAt, 8);
  at = writeNumber(rlp, at, balanceAt, 40);
  rlp[at] = 0xa0;
  rlp.set(storageRoot, at + 1);
  rlp[at + 33] = 0xa0;
  rlp.set(codeHash, at + 34);
  return rlp;
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
