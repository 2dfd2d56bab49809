import type { LeafNode, NodeWrite } from "./node.ts";
import { encodeLeaf } from "./node-codec.ts";

/** A copy, made in `spare` if that is as long. */
export function copyOf(bytes: Uint8Array, spare: Uint8Array | undefined): Uint8Array {
  if (spare?.length !== bytes.length) return bytes.slice();
  spare.set(bytes);
  return spare;
}

/** As `encodeLeaf`, in the leaf's spare bytes, where header and path are right, if the value fits. */
export function encodeLeafInPlace(leaf: LeafNode, write: NodeWrite): Uint8Array {
  const { value, row, rowValue, spare, spareValue, isEncoded } = leaf;
  const { length } = value;
  let rlp = spare;
  let rlpValue = spareValue;
  // One byte may stand for itself or not.
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
