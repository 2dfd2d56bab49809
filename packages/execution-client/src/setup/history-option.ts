import { bool, integerBetween, type OptionsOf, optionGroup } from "@rnode/options";
import { MIN_HISTORY_BLOCKS } from "@rnode/storage";

/** The number of blocks that Reth keeps with its option of this name. */
const FULL_HISTORY_BLOCKS = 10_064;

export const history = optionGroup("history", {
  full: {
    parse: bool,
    flag: "full",
    default: false,
    help: `Keep history (old states, receipts, logs) of the last ${FULL_HISTORY_BLOCKS} blocks only; headers and bodies stay.`,
  },
  blocks: {
    parse: integerBetween(MIN_HISTORY_BLOCKS, 1_000_000_000),
    unit: "blocks",
    help: "Keep history of so many blocks; older history of final blocks is removed. Default: all.",
  },
});

/** The number of blocks whose history is kept; undefined: all. */
export const historyBlocksOf = ({ full, blocks }: OptionsOf<typeof history>): number | undefined =>
  blocks ?? (full ? FULL_HISTORY_BLOCKS : undefined);
