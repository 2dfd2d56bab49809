import type { RowTable } from "../database/table.ts";
import { MergedNodes, type MergedNodeTables } from "./merged-nodes.ts";
import { NodeJournal } from "./node-journal.ts";

export interface CurrentNodeTables extends MergedNodeTables {
  /** the changes of the last commits in them (node-journal.ts) */
  readonly nodeJournal: RowTable;
}

/** Trie nodes of the head by node key: their tables, and the journal of newer changes. */
export class CurrentNodes {
  readonly #merged: MergedNodes;
  readonly #journal: NodeJournal;

  /** @param isWriter as for `NodeJournal` */
  constructor(tables: CurrentNodeTables, isWriter: boolean) {
    this.#merged = new MergedNodes(tables);
    this.#journal = new NodeJournal(tables.nodeJournal, this.#merged, isWriter);
  }

  /** As `NodeJournal.forget`. */
  forget(): void {
    this.#journal.forget();
  }

  /** Returns a copy. */
  read(key: Uint8Array): Uint8Array | undefined {
    return this.#journal.read(key);
  }

  /** How many nodes there are, of which the tables have `rows`. */
  count(rows: number): number {
    let count = rows;
    for (const key of this.#journal.keys()) {
      if (this.#merged.peek(key) !== undefined) count--;
      if (this.#journal.read(key) !== undefined) count++;
    }
    return count;
  }

  /** Adds a change to the journal; `endRun` ends a commit's changes. Keys ascend within a run. @param before the current node */
  record(key: Uint8Array, before: Uint8Array | undefined, rlp: Uint8Array | undefined): void {
    this.#journal.record(key, before, rlp);
  }

  endRun(): void {
    this.#journal.endRun();
  }

  /** Leaves nothing in the journal. */
  settle(): void {
    this.#journal.settle();
  }

  get isSettled(): boolean {
    return this.#journal.isEmpty;
  }

  /** Writes the row of a node; nothing may be in the journal. @param before the node that it replaces, if that is known */
  write(key: Uint8Array, rlp: Uint8Array | undefined, before?: Uint8Array): void {
    if (rlp === undefined) this.#merged.delete(key, before);
    else this.#merged.write(key, rlp, before);
  }
}
