import type { BlockTables } from "../blocks/block-tables.ts";
import type { MetaTable } from "../blocks/meta-table.ts";
import { BlockListIndex } from "../database/block-list-index.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey } from "../database/keys.ts";
import { deleteWithPrefix } from "../database/table.ts";
import { logKeys, logsOf } from "../logs/log-index.ts";
import type { NodeTables } from "../nodes/node-tables.ts";
import type { Tables } from "../schema.ts";
import { decodeChangeRow } from "../state/change-row.ts";
import type { StateTables } from "../state/state-tables.ts";

/*
 * When a block falls out of the history, these are removed: what its transactions changed (change sets, lists of blocks by key, old trie nodes), its
 * receipts and their entries in the log index, the locations of its transactions, and its senders. Header, body, hash and total difficulty
 * stay.
 *
 * The floor moves first. From that commit on, nothing below it is shown, so a reader never sees a history that is half removed. Then the rows
 * are removed block by block, from the lowest upwards, a bounded number per commit, in two passes for each block:
 *   1. entries in indices, counted by `cursor`; they are found through the block's own rows, which are still complete
 *   2. the rows themselves, which need no cursor
 * A kill between two commits preserves the floor and the progress of the removal, and the next commit continues from there.
 */

export interface PruneResult {
  /** number of rows and index entries that this commit removed */
  readonly removedRows: number;
  /** number of blocks below the floor that still have rows */
  readonly remainingBlocks: number;
}

/** The value of the cursor when all index entries of block `removed + 1` are removed. */
const INDEXED = 0xffff_ffff;

/** Removes history from the tables. The caller must run every method inside a transaction. */
export class HistoryPruner {
  readonly #tables: Tables;
  readonly #meta: MetaTable;
  readonly #blocks: BlockTables;
  readonly #nodes: NodeTables;
  readonly #state: StateTables;
  readonly #logs: BlockListIndex;

  constructor(tables: Tables, meta: MetaTable, blocks: BlockTables, state: StateTables, nodes: NodeTables) {
    this.#tables = tables;
    this.#meta = meta;
    this.#blocks = blocks;
    this.#state = state;
    this.#nodes = nodes;
    this.#logs = new BlockListIndex(tables.logs);
  }

  /** Moves the floor up to `floor`, but never down, and removes about `maxRows` rows below it at most. */
  prune(floor: number, maxRows: number): PruneResult {
    const before = this.#meta.readPrunedHistory();
    let { removed, cursor } = before;
    const floorNow = Math.max(before.floor, floor);
    let left = maxRows;
    while (removed < floorNow && left > 0) {
      const block = removed + 1;
      if (cursor !== INDEXED) {
        const done = this.#removePlaces(block, cursor, left);
        left -= done.count;
        cursor = done.isAll ? INDEXED : cursor + done.count;
        continue;
      }
      const rows = this.#removeRows(block, left);
      left -= rows.count;
      if (!rows.isAll) break;
      removed = block;
      cursor = 0;
    }
    const hasMoved = floorNow !== before.floor || removed !== before.removed || cursor !== before.cursor;
    if (hasMoved) this.#meta.writePrunedHistory({ floor: floorNow, removed, cursor });
    if (removed > (this.#meta.readPrunedNodes() ?? 0)) this.#meta.writePrunedNodes(removed);
    return { removedRows: maxRows - left, remainingBlocks: floorNow - removed };
  }

  /** Removes the block from the indices, starting with entry `from`. */
  #removePlaces(number: number, from: number, limit: number): { count: number; isAll: boolean } {
    let place = 0;
    for (const remove of this.#places(number)) {
      if (place++ < from) continue;
      if (place > from + limit) return { count: limit, isAll: false };
      remove();
    }
    return { count: Math.max(0, place - from), isAll: true };
  }

  /** The removals of a block's entries, always in the same order. */
  *#places(number: number): Generator<() => void> {
    const { changes } = this.#tables;
    for (const { key, value } of [...changes.withPrefix(blockNumberKey(number))]) {
      const account = key.subarray(BLOCK_NUMBER_SIZE);
      yield () => this.#state.forgetChange(number, account, undefined);
      for (const { slot } of decodeChangeRow(value).slots) yield () => this.#state.forgetChange(number, account, slot);
    }
    for (const key of logKeys(logsOf(this.#blocks.receipts(number) ?? []))) yield () => this.#logs.dropChunkEndingAt(key, number);
    for (const [index, key] of (this.#blocks.transactionHashes(number) ?? []).entries()) {
      yield () => this.#blocks.removeTransactionLocation(key, number, index);
    }
  }

  #removeRows(number: number, limit: number): { count: number; isAll: boolean } {
    const key = blockNumberKey(number);
    const { changes, receipts, senders } = this.#tables;
    let left = limit - deleteWithPrefix(changes, key, limit);
    if (left > 0) left -= this.#nodes.pruneRows(number, left);
    if (left <= 0) return { count: limit, isAll: false };
    receipts.delete(key);
    senders.delete(key);
    return { count: limit - left + 1, isAll: true };
  }
}
