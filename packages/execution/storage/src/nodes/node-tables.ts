import { compareBytes, concatBytes } from "@rnode/primitives";
import type { TrieNodeChange } from "@rnode/trie";
import { blockNumberKey } from "../database/keys.ts";
import { deleteWithPrefix, type RowTable } from "../database/table.ts";
import { CurrentNodes, type CurrentNodeTables } from "./current-nodes.ts";
import { isLeafNode, isSameKey, type LeafReader } from "./leaf-reader.ts";
import { deleteEpoch, EPOCH_BLOCKS, EpochNotes, epochOf, isLastOfEpoch } from "./node-epochs.ts";
import { NodeHistoryWriter, nodeVersionsOf } from "./node-history.ts";
import { nodeKeyOf, placeOf } from "./node-key.ts";
import { ChangedNodes, isSameVersion, NodeKeyBuffer, orderedRuns } from "./node-runs.ts";
import { hashedChildren } from "./node-shape.ts";
import { encodeNodeVersion } from "./node-version.ts";
import { OldNodeReader, versionBefore } from "./old-nodes.ts";
import { RecoverableChildren } from "./recoverable-children.ts";

/*
 * Branches and extensions have rows, leaves have none (leaf-reader.ts).
 *
 * For each block within the proof window, the history has the nodes as they were before the block:
 *   nodeHistory: chunks of node key → old version (node-history.ts, node-version.ts)
 *   nodeEpochs:  which of the 32 blocks of an epoch may have changed a node (node-epochs.ts)
 * Both tables only grow at their end: a block changes several thousand nodes all over the tries, and an index ordered by node would have to
 * write a page for each of them. The rows of an epoch are written with its last block; in an incomplete epoch, each block is asked.
 * Old versions are mostly differences from the version after the block, without the hashes that follow from old versions of children (recoverable-children.ts).
 * One in 64, deeper in a trie one in 128, chosen by path and block, is stored whole, so that a read never has to follow many differences.
 */

const ACCOUNT_TRIE = 0;

const ACCOUNT_PATH_AT = 1;
const STORAGE_PATH_AT = 33;
/** Levels above it have few nodes. */
const FIRST_DEEP_LEVEL = 3;

export interface NodeTableSet extends CurrentNodeTables {
  readonly nodeHistory: RowTable;
  readonly nodeEpochs: RowTable;
}

const NO_PATH = new Uint8Array(0);

/** The changes of a block in the trie nodes. */
export interface BlockNodes {
  readonly number: number;
  readonly nodes: readonly TrieNodeChange[];
  /** storage tries of which nothing remains but `nodes` */
  readonly clearedOwners: readonly Uint8Array[];
  /** the changes of a run of blocks up to this one, whose history is not written */
  readonly isRun?: boolean | undefined;
}

/** Trie nodes of the head by path, and those of earlier blocks within the proof window. */
export class NodeTables {
  readonly #tables: NodeTableSet;
  readonly #head: CurrentNodes;
  readonly #leaves: LeafReader;
  readonly #isJournaled: boolean;
  /** the current epoch, if this process has applied all of its blocks; otherwise they are read when it ends */
  #epoch: { readonly notes: EpochNotes; next: number } | undefined;
  /** nodes whose history is written, but which themselves are not yet */
  readonly #changed = new ChangedNodes();
  readonly #key = new NodeKeyBuffer();
  readonly #history: NodeHistoryWriter;
  readonly #old: OldNodeReader;
  readonly #recoverable = new RecoverableChildren();

  /**
   * @param isJournaled changed nodes of the head are written to the journal, which has no other writer; otherwise their rows are
   * written, and the journal must be empty
   * @param leaves of the same state of the database
   */
  constructor(tables: NodeTableSet, isJournaled: boolean, leaves: LeafReader) {
    this.#tables = tables;
    this.#leaves = leaves;
    this.#isJournaled = isJournaled;
    this.#head = new CurrentNodes(tables, isJournaled);
    this.#history = new NodeHistoryWriter(tables.nodeHistory);
    this.#old = new OldNodeReader({ ...tables, nodes: this.#head }, leaves);
  }

  /** Returns a copy. */
  readNode(owner: Uint8Array | undefined, path: Uint8Array, wanted?: Uint8Array): Uint8Array | undefined {
    return this.#head.read(nodeKeyOf(owner, path)) ?? this.#leaves.read(owner, path, wanted);
  }

  /** The node after block `number`. The history must be complete up to block `head`. */
  readNodeAt(number: number, head: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    return this.#old.read(number, head, owner, path);
  }

  /** Writes nodes without recording the replaced ones. */
  writeGenesis(nodes: Iterable<TrieNodeChange>): void {
    const rows = [...nodes].map(({ owner, path, rlp }) => ({ key: nodeKeyOf(owner, path), rlp: rowOf(rlp) }));
    rows.sort((a, b) => compareBytes(a.key, b.key));
    for (const { key, rlp } of rows) if (rlp !== undefined) this.#head.write(key, rlp);
  }

  /** Applies the node changes of blocks in order, and records the replaced nodes. */
  apply(blocks: readonly BlockNodes[]): void {
    this.#changed.clear();
    for (const block of blocks) this.add(block);
    this.flush();
  }

  /**
   * Records the nodes that the next block replaces; `flush` writes the new ones. PERF: a node that several blocks change is
   * written once.
   *
   * @param block if `clearedOwners` is not empty, those tries are read: their rows must be in the tables or in blocks added before,
   * and the flat state must be that before the block
   */
  add(block: BlockNodes): void {
    const isClearing = block.clearedOwners.length > 0;
    if (isClearing) this.flush();
    this.#remember(block);
    if (isClearing) this.flush();
  }

  /** Writes the nodes of the blocks that were added. */
  flush(): void {
    const key = this.#key;
    this.#changed.drain((owner, paths, at, length, before, rlp) => {
      key.setOwner(owner);
      const bytes = key.withPath(paths, at, length);
      if (this.#isJournaled) this.#head.record(bytes, before, rlp);
      else this.#head.write(bytes, rlp, before);
    });
    this.#head.endRun();
  }

  /** Merges the journal into the tables, so that groups (node-groups.ts) can be made. */
  settle(): void {
    this.#head.settle();
  }

  get isSettled(): boolean {
    return this.#head.isSettled;
  }

  /** Notes the nodes that really change, and writes the history of a block. */
  #remember({ number, nodes, clearedOwners, isRun = false }: BlockNodes): void {
    const all: TrieNodeChange[] = [];
    for (const owner of clearedOwners) {
      for (const { path, rlp } of this.#trieOf(owner)) all.push({ owner, path, rlp: undefined, before: rlp });
    }
    this.#old.forget();
    const history = isRun ? undefined : this.#history;
    history?.begin(number);
    const notes = isRun ? undefined : this.#openEpoch(number);
    const key = this.#key;
    for (const run of orderedRuns(all.length === 0 ? nodes : [...all, ...nodes])) {
      const { owner } = run.nodes[run.from]!;
      key.setOwner(owner);
      this.#changed.begin(owner);
      if (history !== undefined) this.#recoverable.look(run);
      for (let i = run.from; i < run.to; i++) {
        const node = run.nodes[i]!;
        if (isSameVersion(node)) continue;
        const { path, before, rlp } = node;
        const wasLeaf = before !== undefined && isLeafNode(before);
        const isLeaf = rlp !== undefined && isLeafNode(rlp);
        if (wasLeaf && isLeaf && isSameKey(before, rlp)) continue; // its history is that of the flat state
        const bytes = key.withPath(path, 0, path.length);
        const change = isLeaf ? { ...node, rlp: undefined } : node;
        history?.add(bytes, encodeNodeVersion(change, isWholeTurn(number, bytes), this.#recoverable.of(i)));
        notes?.add(number, bytes);
        this.#changed.add(path, wasLeaf ? undefined : before, change.rlp);
      }
    }
    history?.finish();
    if (isRun) this.#epoch = { notes: new EpochNotes(epochOf(number + 1)), next: number + 1 };
    else if (isLastOfEpoch(number)) this.#writeEpoch(epochOf(number));
  }

  /** Reads the data to continue after block `head`, whose epoch this object has not followed. */
  resume(head: number): void {
    const first = epochOf(head + 1);
    this.#epoch = { notes: this.#readEpoch(first), next: head + 1 };
  }

  /**
   * Call it after an aborted transaction and after other writers' commits, when the data in memory can differ from the database.
   */
  forget(): void {
    this.#epoch = undefined;
    this.#old.forget();
    this.#head.forget();
  }

  #openEpoch(number: number): EpochNotes | undefined {
    const first = epochOf(number);
    if (number === first) this.#epoch = { notes: new EpochNotes(first), next: number };
    if (this.#epoch?.notes.first !== first || this.#epoch.next !== number) this.#epoch = undefined;
    else this.#epoch.next++;
    return this.#epoch?.notes;
  }

  #writeEpoch(first: number): void {
    (this.#epoch?.notes ?? this.#readEpoch(first)).write(this.#tables.nodeEpochs);
    this.#epoch = undefined;
  }

  #readEpoch(first: number): EpochNotes {
    const notes = new EpochNotes(first);
    for (let number = first; number < first + EPOCH_BLOCKS; number++) {
      for (const { key } of nodeVersionsOf(this.#tables.nodeHistory, number)) notes.add(number, key);
    }
    return notes;
  }

  /** Undoes block `number`, which must be the head. The flat state must still be that after the block. */
  unwind(number: number): void {
    const { nodeHistory, nodeEpochs } = this.#tables;
    this.#epoch = undefined;
    this.#old.forget();
    this.settle();
    if (isLastOfEpoch(number)) deleteEpoch(nodeEpochs, epochOf(number));
    const childBefore = (key: Uint8Array): Uint8Array | undefined => {
      const { owner, path } = placeOf(key);
      return this.#head.read(key) ?? this.#leaves.readAt(number - 1, owner, path, undefined);
    };
    // Children first, because a version omits hashes that follow from the children's old versions.
    for (const { key, version } of [...nodeVersionsOf(nodeHistory, number)].reverse()) {
      this.#head.write(key, rowOf(versionBefore(key, version, this.#head, childBefore)));
    }
    deleteAll(nodeHistory, blockNumberKey(number));
  }

  /** Removes the history of block `number`, the oldest that is kept. */
  prune(number: number): void {
    this.#old.forget();
    deleteAll(this.#tables.nodeHistory, blockNumberKey(number));
    if (isLastOfEpoch(number)) deleteEpoch(this.#tables.nodeEpochs, epochOf(number));
  }

  /**
   * Removes a part of it, for a block below everything that can still be read.
   *
   * @returns the number of rows removed; less than `limit`: none are left
   */
  pruneRows(number: number, limit: number): number {
    this.#old.forget();
    const count = deleteWithPrefix(this.#tables.nodeHistory, blockNumberKey(number), limit);
    if (count === limit || !isLastOfEpoch(number)) return count;
    return count + deleteEpoch(this.#tables.nodeEpochs, epochOf(number), limit - count);
  }

  /** All nodes of a storage trie of the head from a path on that it has. */
  *#trieOf(owner: Uint8Array, path: Uint8Array = NO_PATH): Generator<{ path: Uint8Array; rlp: Uint8Array }> {
    const rlp = this.readNode(owner, path);
    if (rlp === undefined) return; // the trie is empty
    yield { path, rlp };
    for (const child of hashedChildren(rlp)) yield* this.#trieOf(owner, concatBytes(path, child));
  }
}

/** The row of a node. */
const rowOf = (rlp: Uint8Array | undefined): Uint8Array | undefined => (rlp === undefined || isLeafNode(rlp) ? undefined : rlp);

function deleteAll(table: RowTable, prefix: Uint8Array): void {
  deleteWithPrefix(table, prefix, Number.POSITIVE_INFINITY);
}

/**
 * One in 64 of the upper nodes, which nearly every block changes, and one in 128 of the others. PERF: a whole version takes 530
 * bytes, a difference a few. With one in sixteen and 64, whole versions were a quarter of the history. A reader usually needs
 * none: it stops when all children are known.
 */
function isWholeTurn(number: number, key: Uint8Array): boolean {
  let mix = number;
  for (let i = Math.max(0, key.length - 8); i < key.length; i++) mix = (mix * 31 + key[i]!) | 0;
  const depth = key.length - (key[0] === ACCOUNT_TRIE ? ACCOUNT_PATH_AT : STORAGE_PATH_AT);
  return Math.imul(mix, 0x9e3779b1) >>> (depth < FIRST_DEEP_LEVEL ? 26 : 25) === 0;
}
