/* Node key: 0 ‖ path for the account trie, 1 ‖ owner 32 ‖ path for a storage trie; a path has one byte per nibble. */

const ACCOUNT_TRIE = 0;
const STORAGE_TRIE = 1;

export function nodeKeyOf(owner: Uint8Array | undefined, path: Uint8Array): Uint8Array {
  if (owner === undefined) {
    const key = new Uint8Array(1 + path.length);
    key[0] = ACCOUNT_TRIE;
    key.set(path, 1);
    return key;
  }
  const key = new Uint8Array(33 + path.length);
  key[0] = STORAGE_TRIE;
  key.set(owner, 1);
  key.set(path, 33);
  return key;
}

/** What a node key is of. Views of it. */
export function placeOf(key: Uint8Array): { readonly owner: Uint8Array | undefined; readonly path: Uint8Array } {
  if (key[0] === ACCOUNT_TRIE) return { owner: undefined, path: key.subarray(1) };
  return { owner: key.subarray(1, 33), path: key.subarray(33) };
}
