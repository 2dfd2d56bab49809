import { toQuantity } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import type { Profile } from "../profile/profile.ts";

/** Where a node stands that brings its chain to a head with blocks of peers. Numbers of blocks. */
export interface SyncState {
  /** the head when it began */
  readonly startingBlock: number;
  /** the head now */
  readonly currentBlock: number;
  readonly highestBlock: number;
  /** the highest block up to which headers connect to our chain */
  readonly headers: number;
  /** the highest block up to which bodies are there */
  readonly bodies: number;
  /** rows of the state that is being fetched; `undefined`: blocks are executed instead */
  readonly state?: { readonly accounts: number; readonly slots: number; readonly healedNodes: number } | undefined;
}

/** Whether and how far the node is syncing, as methods and subscriptions see it. */
export class SyncFeed {
  #state: SyncState | undefined;
  readonly #listeners = new Set<(state: SyncState | undefined) => void>();

  /** undefined: not syncing */
  get state(): SyncState | undefined {
    return this.#state;
  }

  set(state: SyncState | undefined): void {
    const before = this.#state;
    this.#state = state;
    if ((before === undefined) !== (state === undefined)) for (const listener of [...this.#listeners]) listener(state);
  }

  /** @param listener called when a sync begins and when it ends. @returns ends it */
  onChange(listener: (state: SyncState | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** In the order in which a staged sync runs them. Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees */
const SYNC_STAGES = [
  "Era",
  "Headers",
  "Bodies",
  "SenderRecovery",
  "Execution",
  "PruneSenderRecovery",
  "MerkleUnwind",
  "AccountHashing",
  "StorageHashing",
  "MerkleExecute",
  "TransactionLookup",
  "IndexStorageHistory",
  "IndexAccountHistory",
  "Prune",
  "Finish",
];
/** Counters of snap sync. Those of bytes and codes are not kept. */
const SNAP_COUNTS = [
  ...["syncedAccounts", "syncedAccountBytes", "syncedBytecodes", "syncedBytecodeBytes", "syncedStorage", "syncedStorageBytes"],
  ...["healedTrienodes", "healedTrienodeBytes", "healedBytecodes", "healedBytecodeBytes", "healingTrienodes", "healingBytecode"],
  ...["txIndexFinishedBlocks", "txIndexRemainingBlocks"],
];

/** The answer of `eth_syncing`. @param head number of the head @param startingBlock of the head when the program started */
export function syncStatusToJson(
  { hasSyncStages }: Pick<Profile, "hasSyncStages">,
  state: SyncState | undefined,
  head: number,
  startingBlock: number,
): JsonObject | false {
  if (state === undefined && !hasSyncStages) return false;
  const progress = {
    startingBlock: toQuantity(state?.startingBlock ?? startingBlock),
    currentBlock: toQuantity(head),
    highestBlock: toQuantity(Math.max(head, state?.highestBlock ?? head)),
  };
  if (!hasSyncStages) {
    const { accounts = 0, slots = 0, healedNodes = 0 } = state?.state ?? {};
    const zero = Object.fromEntries(SNAP_COUNTS.map((name) => [name, "0x0"]));
    const counted = { syncedAccounts: accounts, syncedStorage: slots, healedTrienodes: healedNodes };
    return {
      ...progress,
      ...zero,
      ...Object.fromEntries(Object.entries(counted).map(([name, count]) => [name, toQuantity(count)])),
    };
  }
  const blockOf = (stage: string): number => {
    if (stage === "Headers") return Math.max(head, state?.headers ?? head);
    return stage === "Bodies" ? Math.max(head, state?.bodies ?? head) : head;
  };
  return { ...progress, stages: SYNC_STAGES.map((name) => ({ name, block: toQuantity(blockOf(name)) })) };
}

/** The message for `syncing` subscribers. Geth uses the names of its Go structure; Reth uses plain numbers. */
export function syncNotice({ hasSyncStages }: Pick<Profile, "hasSyncStages">, state: SyncState | undefined): JsonObject | false {
  if (state === undefined) return false;
  const { startingBlock, currentBlock, highestBlock } = state;
  if (hasSyncStages) return { syncing: true, startingBlock, currentBlock, highestBlock };
  return {
    syncing: true,
    status: { StartingBlock: startingBlock, CurrentBlock: currentBlock, HighestBlock: highestBlock },
  };
}
