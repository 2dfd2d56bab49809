import { EMPTY_KECCAK, EMPTY_TRIE_ROOT, encodeRlp, equalBytes, rlpUint } from "@rnode/primitives";
import type { TrieAccount } from "@rnode/trie";
import { RlpCursor } from "../rlpx/rlp-cursor.ts";

const NOTHING = new Uint8Array(0);

/** RLP of an account in which the hash of no code and the root of no storage are empty strings. */
export const encodeSlimAccount = ({ nonce, balance, storageRoot, codeHash }: TrieAccount): Uint8Array =>
  encodeRlp([
    rlpUint(nonce),
    rlpUint(balance),
    equalBytes(storageRoot, EMPTY_TRIE_ROOT) ? NOTHING : storageRoot,
    equalBytes(codeHash, EMPTY_KECCAK) ? NOTHING : codeHash,
  ]);

/** @throws {CodedError} rlp/* */
export function decodeSlimAccount(rlp: Uint8Array): TrieAccount {
  const fields = RlpCursor.ofMessage(rlp);
  const nonce = fields.uint();
  const balance = fields.uint(32);
  const storageRoot = hashOr(fields, EMPTY_TRIE_ROOT);
  const account = { nonce, balance, storageRoot, codeHash: hashOr(fields, EMPTY_KECCAK) };
  if (!fields.isAtEnd) RlpCursor.expectCount(5, 4);
  return account;
}

function hashOr(fields: RlpCursor, empty: Uint8Array): Uint8Array {
  if (fields.isHashNext) return fields.string(32).slice();
  fields.string(0);
  return empty;
}
