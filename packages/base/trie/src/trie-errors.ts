import { bytesToHex, CodedError } from "@rnode/primitives";
import type { TrieErrorCode } from "./node-reader.ts";

/** The error for a needed node that the reader does not have. The arguments are those of `TrieNodeReader.readNode`. */
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
