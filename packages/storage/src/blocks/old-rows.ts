import { concatBytes, keccak256 } from "@rnode/primitives";
import { storageError } from "../errors.ts";
import type { BlockPacker } from "./packed-block.ts";
import { rlpDataStart, rlpEnd } from "./rlp-walk.ts";

/*
 * The rows of format 2, which databases have until they are migrated:
 *   body: RLP [EIP-2718 encodings as strings, ommers, withdrawals?]
 *   receipts: RLP list of what a group of receipts has (packed-block.ts)
 */

/** Both begin with the prefix of an RLP list. */
export const isOldRow = (row: Uint8Array): boolean => row[0]! >= 0xc0;

export interface OldRows {
  readonly body: Uint8Array;
  /** undefined: pruned, as are the senders */
  readonly receipts: Uint8Array | undefined;
  readonly senders: Uint8Array | undefined;
}

/** The encodings of the transactions in an old body, as views. */
export function oldEncodings(body: Uint8Array): Uint8Array[] {
  const list = rlpDataStart(body, 0);
  const end = rlpEnd(body, list);
  if (rlpEnd(body, 0) !== body.length || !(end < body.length))
    throw storageError("storage/corrupted", { reason: "a body of an earlier format" });
  const encoded: Uint8Array[] = [];
  for (let at = rlpDataStart(body, list); at < end; at = rlpEnd(body, at))
    encoded.push(body.subarray(rlpDataStart(body, at), rlpEnd(body, at)));
  return encoded;
}

/** The same rows in today's layout. @returns views that the next call with the packer overwrites */
export function packOldRows(packer: BlockPacker, { body, receipts, senders }: OldRows): ReturnType<BlockPacker["pack"]> {
  const encodedTransactions = oldEncodings(body);
  const restAt = rlpEnd(body, rlpDataStart(body, 0));
  const restItems = body.subarray(restAt, rlpEnd(body, 0));
  return packer.pack({
    encodedTransactions,
    transactionHashes: encodedTransactions.map((encoded) => keccak256(encoded)),
    rest: concatBytes(listPrefix(restItems.length), restItems),
    receipts: senders === undefined ? undefined : receipts,
    senders: senders === undefined ? [] : encodedTransactions.map((_, index) => senders.subarray(index * 20, index * 20 + 20)),
  });
}

function listPrefix(length: number): Uint8Array {
  if (length < 56) return Uint8Array.of(0xc0 + length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Uint8Array.of(0xf7 + bytes.length, ...bytes);
}
