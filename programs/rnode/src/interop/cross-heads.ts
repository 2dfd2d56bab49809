import type { L2BlockRef } from "@rnode/protocol";
import type { Heads } from "../common/heads.ts";

/**
 * The labels with the cross-unsafe head: the block up to which the supervisor has checked all messages. Blocks from before messages could be
 * executed need no check. What derivation replaces is unchecked again, down to the safe head.
 *
 * @param isSupervised whether a block's messages have to be checked
 */
export function withCrossUnsafe(heads: Heads, isSupervised: (block: L2BlockRef) => boolean): Heads {
  const { unsafe, safe } = heads;
  const checked = heads.crossUnsafe ?? safe;
  let crossUnsafe = checked;
  if (!isSupervised(unsafe)) crossUnsafe = unsafe;
  else if (checked.number < safe.number) crossUnsafe = safe;
  else if (checked.number >= unsafe.number && checked.hash !== unsafe.hash) crossUnsafe = safe;
  return crossUnsafe === heads.crossUnsafe ? heads : { ...heads, crossUnsafe };
}
