import type { Chain } from "@rnode/chain";

/** What a sync needs of the chain that it extends. */
export type SyncedChain = Pick<
  Chain,
  "config" | "genesis" | "head" | "headerOf" | "newPayload" | "forkchoiceUpdated" | "extend" | "import"
>;

/** Where a sync stands. Numbers are block numbers. */
export interface SyncStatus {
  /** headers: the way back from the target to our chain is being looked for; blocks: they are fetched and executed */
  readonly stage: "headers" | "blocks";
  /** the head when this sync began */
  readonly startingBlock: number;
  /** the head now */
  readonly currentBlock: number;
  /** the target, as far as it is known */
  readonly highestBlock: number;
  /** blocks up to here have been downloaded */
  readonly downloadedBlock: number;
  /** the lowest header below the target that is verified; undefined: none */
  readonly lowestHeader: number | undefined;
  /** peers that may be asked */
  readonly peers: number;
}
