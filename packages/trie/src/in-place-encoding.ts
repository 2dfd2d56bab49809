import type { LeafNode, NodeWrite } from "./node.ts";
import { encodeLeaf } from "./node-codec.ts";

/** A copy of `bytes`, written into `spare` if that has the same length. */
export function copyOf(bytes: Uint8Array, spare: Uint8Array | undefined): Uint8Array {
  if (spare?.length !== bytes.length) return bytes.slice();
  spare.set(bytes);
  return spare;
}

/** Like `encodeLeaf`, but reuses the leaf's spare bytes, whose header and path are already right, if the value fits. */
export function encodeLeafInPlace(leaf: LeafNode, write: NodeWrite): Uint8Array {
  const { value, row, rowValue, spare, spareValue, isEncoded } = leaf;
  const { length } = value;
  let rlp = spare;
  let rlpValue = spareValue;
  // A value of one byte may or may not have a header.
  if (rlp !== undefined && rlpValue?.length === length && length > 1) {
    for (let i = 0; i < length; i++) rlpValue[i] = value[i]!;
  } else {
    rlp = encodeLeaf(leaf.bytes, leaf.from, leaf.to, value);
    rlpValue = rlp.subarray(rlp.length - length);
  }
  if (rowValue !== undefined && row?.length === rlp.length) write.differsFrom = rlp.length - length;
  if (isEncoded && rowValue !== undefined) {
    leaf.spare = row;
    leaf.spareValue = rowValue;
  }
  leaf.value = rlpValue;
  leaf.rowValue = rlpValue;
  return rlp;
}
