import { decodeRlp, encodeRlp, expectRlpList, expectRlpString, expectRlpUint, rlpUint } from "@rnode/primitives";

/** Value of a leaf of the account trie. */
export interface TrieAccount {
  readonly nonce: bigint;
  readonly balance: bigint;
  /** 32 bytes */
  readonly storageRoot: Uint8Array;
  /** 32 bytes */
  readonly codeHash: Uint8Array;
}

/** RLP of [nonce, balance, storageRoot, codeHash]. */
export function encodeAccount(account: TrieAccount): Uint8Array {
  return encodeRlp([rlpUint(account.nonce), rlpUint(account.balance), account.storageRoot, account.codeHash]);
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
