import { bytesToHex } from "@rnode/primitives";
import { ByteArena } from "../buffers/growable.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, writeBlockNumber } from "../database/keys.ts";
import { deleteWithPrefix, type RowTable } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { JournalIndex, ownerOf, PARTS, partOf } from "./journal-index.ts";
import { NodeHistoryWriter, nodeVersionsOf } from "./node-history.ts";
import { applyVersions, encodeNodeVersion, standsAlone } from "./node-version.ts";

/*
 * What the last commits changed in the trie nodes of the head, before it is written into their tables. A node's row takes a page of its own in a large
 * state, and so do the rows above it, which every commit changes again; the journal is written at its end only, and each commit merges a few parts of the
 * key space (journal-index.ts), with all that was collected for them.
 *   sequence 6 ‖ node key: chunk of node key → version (node-history.ts), as the commit left the node, given the version before it (node-version.ts)
 *   255:                   sequence of the last run 6 ‖ for each part, the sequence up to which it has been merged 6
 * The journal is also in memory, which is where it is read.
 */

/** Greater than any sequence. */
const STATE_KEY = Uint8Array.of(0xff);
const STATE_SIZE = BLOCK_NUMBER_SIZE * (1 + PARTS);
/** Parts that a commit merges: so a journal has at most 127 runs. */
const PARTS_A_COMMIT = 2;
/** Memory limit. The journal is in memory once in the writer and once in each thread that reads nodes. */
const MAX_BYTES = 48 << 20;
/** PERF: a node is stored whole where more differences than this would have to be applied. */
const MAX_DIFFERENCES = 8;

const NO_PATH = new Uint8Array(0);
const NONE_LEFT_OUT = 0;

/** The tables beneath. */
export interface MergedNodes {
  /** returns a copy */
  read(key: Uint8Array): Uint8Array | undefined;
  write(key: Uint8Array, rlp: Uint8Array): void;
  delete(key: Uint8Array): void;
}

export class NodeJournal {
  readonly #table: RowTable;
  readonly #nodes: MergedNodes;
  readonly #isWriter: boolean;
  readonly #index = new JournalIndex();
  readonly #writer: NodeHistoryWriter;
  /** of a run that is being written or loaded: its versions, and where each is */
  readonly #versions = new ByteArena();
  readonly #recorded: { readonly key: Uint8Array; readonly at: number; readonly size: number }[] = [];
  /** sequence of the last run */
  #last = 0;
  /** for each part, the sequence up to which it has been merged */
  readonly #merged = new Array<number>(PARTS).fill(0);
  /** the index is that of the table as it can be read now */
  #isCurrent = false;

  /**
   * @param isWriter whether this is the only writer of the table; otherwise each synchronous run reads the table's current state,
   * because such a run sees one state of the database
   */
  constructor(table: RowTable, nodes: MergedNodes, isWriter: boolean) {
    this.#isWriter = isWriter;
    this.#table = table;
    this.#nodes = nodes;
    this.#writer = new NodeHistoryWriter(table);
  }

  /** Call it when the table can have changed: after an aborted transaction, and before another state of the database is read. */
  readonly forget = (): void => {
    this.#isCurrent = false;
    this.#forgetRecorded();
  };

  get isEmpty(): boolean {
    this.#follow();
    return this.#index.isEmpty;
  }

  /** Keys of all nodes that it has. */
  keys(): Iterable<Uint8Array> {
    this.#follow();
    return this.#index.keys();
  }

  /** A copy of the current node, from the journal or the tables. */
  read(key: Uint8Array): Uint8Array | undefined {
    this.#follow();
    return this.#node(key);
  }

  #node(key: Uint8Array): Uint8Array | undefined {
    const versions: Uint8Array[] = [];
    for (const version of this.#index.versions(key)) {
      versions.push(version);
      if (standsAlone(version)) return applyVersions(versions.reverse(), undefined);
    }
    const base = this.#nodes.read(key);
    if (versions.length === 0) return base;
    if (base === undefined) throw damaged(`trie node ${bytesToHex(key)}`);
    return applyVersions(versions.reverse(), base);
  }

  /** Adds a node to the run that `endRun` writes. Keys ascend within a run. @param before the current node */
  record(key: Uint8Array, before: Uint8Array | undefined, rlp: Uint8Array | undefined): void {
    if (this.#recorded.length === 0) {
      this.#follow();
      this.#writer.begin(this.#last + 1);
    }
    const isWhole = before === undefined || this.#differences(key) >= MAX_DIFFERENCES;
    // The reverse of the history: the later of the two versions is encoded.
    const change = { owner: ownerOf(key), path: NO_PATH, before: rlp, rlp: before };
    const version = encodeNodeVersion(change, isWhole, NONE_LEFT_OUT);
    this.#writer.add(key, version);
    this.#recorded.push({ key: key.slice(), at: this.#versions.append(version), size: version.length });
  }

  #differences(key: Uint8Array): number {
    let count = 0;
    for (const version of this.#index.versions(key)) {
      if (standsAlone(version)) break;
      count++;
    }
    return count;
  }

  /** Writes the nodes that were recorded, and merges the parts whose turn it is. */
  endRun(): void {
    if (this.#recorded.length === 0) return;
    this.#isCurrent = false; // until it has succeeded
    this.#writer.finish();
    const sequence = ++this.#last;
    this.#addRun(sequence);
    this.#merge(() => this.#index.bytes > MAX_BYTES);
  }

  /** Merges everything. */
  settle(): void {
    if (this.isEmpty) return;
    this.#isCurrent = false;
    this.#merge(() => true);
  }

  /** Merges the next parts in turn, and more while `wantsMore` returns true. */
  #merge(wantsMore: () => boolean): void {
    const oldest = Math.min(...this.#merged);
    // The parts are merged in turn, so the next one is the first among the parts that waited longest.
    const first = this.#merged.indexOf(oldest);
    for (let turn = 0; turn < PARTS && (turn < PARTS_A_COMMIT || wantsMore()); turn++) this.#mergePart((first + turn) % PARTS);
    const complete = Math.min(...this.#merged);
    for (const sequence of this.#index.dropRuns(complete)) {
      deleteWithPrefix(this.#table, blockNumberKey(sequence), Number.POSITIVE_INFINITY);
    }
    const state = new Uint8Array(STATE_SIZE);
    writeBlockNumber(state, 0, this.#last);
    for (const [part, sequence] of this.#merged.entries()) writeBlockNumber(state, BLOCK_NUMBER_SIZE * (1 + part), sequence);
    this.#table.write(STATE_KEY, state);
    this.#isCurrent = true;
  }

  #mergePart(part: number): void {
    for (const key of this.#index.keysOf(part)) {
      const node = this.#node(key);
      if (node === undefined) this.#nodes.delete(key);
      else this.#nodes.write(key, node);
    }
    this.#index.clearPart(part);
    this.#merged[part] = this.#last;
  }

  #forgetRecorded(): void {
    this.#recorded.length = 0;
    this.#versions.clear();
  }

  /** Updates the index from the table. PERF: usually only the last runs are new. @throws {CodedError} storage/corrupted */
  #follow(): void {
    if (this.#isCurrent) return;
    const state = this.#table.read(STATE_KEY) ?? new Uint8Array(STATE_SIZE);
    if (state.length !== STATE_SIZE) throw damaged("state of the journal of trie nodes");
    const last = readBlockNumber(state, 0);
    const merged = this.#merged.map((_, part) => readBlockNumber(state, BLOCK_NUMBER_SIZE * (1 + part)));
    // Otherwise there is more here than was committed.
    const isLater = last >= this.#last && merged.every((sequence, part) => sequence >= this.#merged[part]!);
    if (!isLater) {
      this.#index.clear();
      this.#last = 0;
    }
    // Parts are merged with the run that is written then, so nothing that was known here is later than that.
    for (const [part, sequence] of merged.entries()) if (sequence > this.#merged[part]!) this.#index.clearPart(part);
    const complete = Math.min(...merged);
    for (let sequence = Math.max(this.#last, complete) + 1; sequence <= last; sequence++) this.#load(sequence, merged);
    this.#index.dropRuns(complete);
    this.#last = last;
    for (const [part, sequence] of merged.entries()) this.#merged[part] = sequence;
    this.#isCurrent = true;
    if (!this.#isWriter) queueMicrotask(this.forget);
  }

  #load(sequence: number, merged: readonly number[]): void {
    let isEmpty = true;
    for (const { key, version } of nodeVersionsOf(this.#table, sequence)) {
      isEmpty = false;
      if (sequence <= merged[partOf(key)]!) continue;
      this.#recorded.push({ key, at: this.#versions.append(version), size: version.length });
    }
    if (isEmpty) throw damaged(`run ${sequence} of the journal of trie nodes`);
    this.#addRun(sequence);
  }

  /** Adds the recorded changes to the index. */
  #addRun(sequence: number): void {
    this.#index.addRun(sequence, this.#versions.bytes.slice(0, this.#versions.size));
    for (const { key, at, size } of this.#recorded) this.#index.add(key, sequence, at, size);
    this.#forgetRecorded();
  }
}

const damaged = (row: string): Error => storageError("storage/corrupted", { row, reason: "missing" });
