import type { Chain, RowCounts } from "@rnode/chain";

/** The used part of the chain for a sync. */
export type SyncedChain = Pick<
  Chain,
  "config" | "genesis" | "head" | "headerOf" | "newPayload" | "forkchoiceUpdated" | "extend" | "import"
>;

/** Of a state that is being fetched. */
export interface StateCounts extends RowCounts {
  /** trie nodes that were fetched to heal the rows */
  readonly healedNodes: number;
}

/** Brings the state after a far head in place of all blocks before it. */
export interface StateTaker {
  /**
   * Called with each target. While it is true, no headers and blocks are fetched.
   *
   * @param isChosen a fork choice has named it, so its state may be fetched
   */
  takes(target: { readonly number: number; readonly hash: Uint8Array }, isChosen: boolean): boolean;
  /** rows that are there; `undefined`: no state is being fetched */
  readonly counts: StateCounts | undefined;
}

/** Progress of a sync. Numbers are block numbers. */
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
  /** the lowest verified header below the target; `undefined`: none */
  readonly lowestHeader: number | undefined;
  /** rows of the state that is being fetched in place of blocks */
  readonly state: StateCounts | undefined;
  /** number of usable peers */
  readonly peers: number;
}
