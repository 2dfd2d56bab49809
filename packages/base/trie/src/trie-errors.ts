import { bytesToHex, CodedError } from "@rnode/primitives";
import type { TrieErrorCode } from "./node-reader.ts";

/** A node that an operation needs is not in the reader. The arguments are those of `TrieNodeReader.readNode`. */
export function missingNode(owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array): CodedError<TrieErrorCode> {
  return new CodedError("trie/missing-node", {
    owner: owner === undefined ? "accounts" : bytesToHex(owner),
    path: bytesToHex(path),
    hash: bytesToHex(hash),
  });
}

export function badNode(reason: string): CodedError<TrieErrorCode> {
  return new CodedError("trie/bad-node", { reason });
}
