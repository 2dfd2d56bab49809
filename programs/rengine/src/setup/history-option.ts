import { bool, integerBetween, type OptionsOf, optionGroup } from "@rnode/program";
import { DEFAULT_PROOF_WINDOW_BLOCKS, MIN_HISTORY_BLOCKS } from "@rnode/storage";

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

export const proofs = optionGroup("proofs", {
  window: {
    parse: integerBetween(MIN_HISTORY_BLOCKS, 1_000_000_000),
    default: DEFAULT_PROOF_WINDOW_BLOCKS,
    unit: "blocks",
    help: "How far back accounts and slots can be proven (eth_getProof) and blocks be unwound, at least to the finalized block; the default is a week of two-second blocks. Older trie nodes are about half of what a changed account or slot leaves behind.",
  },
});

export const state = optionGroup("", {
  preimages: {
    parse: bool,
    default: false,
    help: "Keep the address or slot behind each hash that keys the state, of all that is written meanwhile; debug_preimage and state dumps show them. Always on with --dev.",
  },
});

/** Number of blocks whose history is kept; undefined: all. */
export const historyBlocksOf = ({ full, blocks }: OptionsOf<typeof history>): number | undefined =>
  blocks ?? (full ? FULL_HISTORY_BLOCKS : undefined);
