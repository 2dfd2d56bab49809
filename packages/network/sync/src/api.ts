import type { Chain } from "@rnode/chain";

/** The used part of the chain for a sync. */
export type SyncedChain = Pick<
  Chain,
  "config" | "genesis" | "head" | "headerOf" | "newPayload" | "forkchoiceUpdated" | "extend" | "import"
>;

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
  /** number of usable peers */
  readonly peers: number;
}
