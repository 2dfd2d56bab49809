import type { RowTable } from "../database/table.ts";
import { CHILDREN, HASH_SIZE } from "./node-shape.ts";

/*
 * Trie nodes of the head without the journal's changes, by node key (node-tables.ts). In key order, a node comes before all nodes
 * below it, so the upper nodes of a large trie are far apart, each in its own page. Therefore branches with all sixteen children
 * from the second level on are in another table, seven per page. Small tries, whose nodes share pages, have none.
 */

const ACCOUNT_TRIE = 0;
const ACCOUNT_PATH_AT = 1;
const STORAGE_PATH_AT = 33;
const FIRST_LEVEL_APART = 2;
/** Of the encoding of a branch that has sixteen hashes and no value: 3 bytes of the list's header, the hashes, and the empty value. No other node has it. */
const FULL_BRANCH_SIZE = 3 + CHILDREN * (1 + HASH_SIZE) + 1;

export interface MergedNodeTables {
  readonly nodes: RowTable;
  /** full branches from the second level below the root on */
  readonly upperNodes: RowTable;
}

const mayBeApart = (key: Uint8Array): boolean =>
  key.length >= (key[0] === ACCOUNT_TRIE ? ACCOUNT_PATH_AT : STORAGE_PATH_AT) + FIRST_LEVEL_APART;

/** Whether a node's row is in the table of upper nodes. */
export const isApart = (key: Uint8Array, size: number): boolean => size === FULL_BRANCH_SIZE && mayBeApart(key);

/** Both tables as one. */
export class MergedNodes {
  readonly #nodes: RowTable;
  readonly #upper: RowTable;

  constructor({ nodes, upperNodes }: MergedNodeTables) {
    this.#nodes = nodes;
    this.#upper = upperNodes;
  }

  /** Returns a copy. */
  read(key: Uint8Array): Uint8Array | undefined {
    return (mayBeApart(key) ? this.#upper.read(key) : undefined) ?? this.#nodes.read(key);
  }

  /** As `Table.peek`. */
  peek(key: Uint8Array): Uint8Array | undefined {
    return (mayBeApart(key) ? this.#upper.peek(key) : undefined) ?? this.#nodes.peek(key);
  }

  /** @param before the replaced node, if known. PERF: saves a deletion without an effect */
  write(key: Uint8Array, rlp: Uint8Array, before?: Uint8Array): void {
    if (isApart(key, rlp.length)) {
      const wasBelow = before === undefined ? this.#upper.peek(key) === undefined : !isApart(key, before.length);
      if (wasBelow) this.#nodes.delete(key);
      this.#upper.write(key, rlp);
    } else {
      this.#deleteApart(key, before);
      this.#nodes.write(key, rlp);
    }
  }

  /** @param before as for `write` */
  delete(key: Uint8Array, before?: Uint8Array): void {
    this.#deleteApart(key, before);
    this.#nodes.delete(key);
  }

  #deleteApart(key: Uint8Array, before: Uint8Array | undefined): void {
    if (before === undefined ? mayBeApart(key) : isApart(key, before.length)) this.#upper.delete(key);
  }
}
