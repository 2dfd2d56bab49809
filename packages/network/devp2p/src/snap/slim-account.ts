import { EMPTY_KECCAK, EMPTY_TRIE_ROOT, encodeRlpListOfEncoded, equalBytes } from "@rnode/primitives";
import { encodeAccount, type TrieAccount } from "@rnode/trie";
import { RlpCursor } from "../rlpx/rlp-cursor.ts";

/** RLP of an empty string. */
const NOTHING = Uint8Array.of(0x80);
/** RLP of a hash */
const HASH_BYTES = 33;

/** RLP of an account in which the hash of no code and the root of no storage are empty strings. PERF: of the bytes of the full account. */
export function encodeSlimAccount(account: TrieAccount): Uint8Array {
  const full = encodeAccount(account);
  const codeAt = full.length - HASH_BYTES;
  const rootAt = codeAt - HASH_BYTES;
  return encodeRlpListOfEncoded([
    full.subarray(2, rootAt), // after a list header of two bytes: nonce and balance
    equalBytes(account.storageRoot, EMPTY_TRIE_ROOT) ? NOTHING : full.subarray(rootAt, codeAt),
    equalBytes(account.codeHash, EMPTY_KECCAK) ? NOTHING : full.subarray(codeAt),
  ]);
}

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
