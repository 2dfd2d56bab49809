/** Channel timeout in L1 blocks before Granite; since then 50. */
export const CHANNEL_TIMEOUT_L1_BLOCKS = 300;

/**
 * Number of blocks up to block `number` that a rollup node reads when it starts from there: down to the last block whose L1
 * origin is a channel timeout older, at which it begins to read L1. Spec: docs/protocol/02-derivation.md#reset-and-sync-start
 *
 * @param oldest the first existing block
 * @param l1OriginOf number of the L1 origin; `undefined`: the block has none
 */
export function rollupReach(number: number, oldest: number, l1OriginOf: (number: number) => number | undefined): number {
  const newest = l1OriginOf(number);
  if (newest === undefined) return 1;
  const isOldEnough = (block: number): boolean => {
    const origin = l1OriginOf(block);
    return origin === undefined || origin + CHANNEL_TIMEOUT_L1_BLOCKS <= newest;
  };
  if (!isOldEnough(oldest)) return number - oldest + 1;
  let good = oldest;
  let bad = number;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (isOldEnough(middle)) good = middle;
    else bad = middle;
  }
  return number - good + 1;
}
