import type { StateChanges } from "@rnode/evm";
import { bytesToHex, equalBytes, type Hex, hexToBytes, keccak256, ZERO_HASH } from "@rnode/primitives";
import type { Block } from "@rnode/protocol";
import type {
  BlockCommit,
  BlockContent,
  BlockGroup,
  ChainDatabase,
  CommitOptions,
  GenesisRows,
  Labels,
  NodeGroups,
  OlderBlock,
  PageReading,
  PruneProgress,
  SnapshotBase,
  SnapshotRows,
  StateVerification,
  StateWrite,
  StorageStats,
  VerifyOptions,
  VerifyProgress,
} from "./api.ts";
import { BufferedGroup, bufferedGroupOf } from "./block-group.ts";
import { BlockBatch } from "./blocks/block-tables.ts";
import type { Head } from "./blocks/meta-table.ts";
import type { Environment, TransactionOptions } from "./database/environment.ts";
import { storageError } from "./errors.ts";
import { writeGenesisState } from "./genesis/genesis-writer.ts";
import { LmdbChainReader } from "./lmdb-chain-reader.ts";
import { logsOf } from "./logs/log-index.ts";
import { createNodeGroups, writeNodeRows } from "./nodes/node-groups.ts";
import { HistoryPruner } from "./pruning/pruning.ts";
import { FORMAT, openTables, type Tables } from "./schema.ts";
import { anyClearsStorage, clearsStorage } from "./state/state-batch.ts";
import { StateToucher } from "./state-toucher.ts";
import { removeCheckpoints } from "./verification/checkpoint-folder.ts";
import { beginVerifyRun, type VerifyRun } from "./verification/verify-run.ts";
import { verifyTables } from "./verify-state.ts";

export interface ChainStoreOptions {
  /** a reader next to the writing process; sees each commit from the next turn of the event loop on */
  readonly readOnly?: boolean | undefined;
  /** initial address space in bytes; grows with the database */
  readonly mapSize?: number | undefined;
  /** depth to which tries can be read and blocks unwound; default: a week of two-second blocks */
  readonly proofWindowBlocks?: number | undefined;
  /**
   * "each" (default): a commit is on the disk when it returns. "behind": it reaches the disk before the next one begins; a killed process loses
   * nothing, a power cut at most the last two commits, and none that was made with `isFlushed`. "interval": it is on the disk at most
   * `syncIntervalMs` later; a killed process still loses nothing, but a power cut can damage the database, which must then be created again.
   */
  readonly sync?: "each" | "behind" | "interval" | undefined;
  readonly syncIntervalMs?: number | undefined;
  /** the database is opened to be read completely, in file order */
  readonly inOrder?: boolean | undefined;
  /** writes the addresses and slots behind the hashes that commits change; default: false */
  readonly preimages?: boolean | undefined;
  /** default: the machine's memory, or the limit of the process; determines how pages are read (`pageReading`) */
  readonly memoryBytes?: number | undefined;
}

/** A week of two-second blocks. */
export const DEFAULT_PROOF_WINDOW_BLOCKS = 302_400;
/** Reorganisations of this depth must always be possible. */
const MIN_PROOF_WINDOW_BLOCKS = 128;
/** The least history that is always kept, because a chain must be able to reorganise. */
export const MIN_HISTORY_BLOCKS = MIN_PROOF_WINDOW_BLOCKS;
const DEFAULT_SYNC_INTERVAL_MS = 1000;
/** After the window was made smaller, it takes many commits to catch up. */
const MAX_PRUNED_BLOCKS_PER_COMMIT = 4;

/** Nothing that the action leaves in memory matters. */
const REPEATABLE: TransactionOptions = { prepareAgain: () => {} };

/**
 * Opens the chain database in a folder, and creates it if it does not exist.
 *
 * @throws {CodedError} storage/locked (folder, pid), storage/no-database, storage/foreign-database, storage/newer-format,
 * storage/corrupted, storage/disk-full, storage/io
 */
export function openChainStore(path: string, options: ChainStoreOptions = {}): ChainDatabase {
  const { environment, tables } = openTables(path, {
    readOnly: options.readOnly ?? false,
    mapSizeBytes: options.mapSize,
    sync: options.sync ?? "each",
    syncIntervalMs: options.syncIntervalMs ?? DEFAULT_SYNC_INTERVAL_MS,
    inOrder: options.inOrder,
    memoryBytes: options.memoryBytes,
  });
  const window = Math.max(MIN_PROOF_WINDOW_BLOCKS, options.proofWindowBlocks ?? DEFAULT_PROOF_WINDOW_BLOCKS);
  return new LmdbChainStore(environment, tables, window, options.preimages ?? false);
}

class LmdbChainStore extends LmdbChainReader implements ChainDatabase {
  readonly #tables: Tables;
  readonly #pruner: HistoryPruner;
  readonly #writesPreimages: boolean;
  #toucher: StateToucher | undefined;
  /** the group in which commits of blocks are built */
  readonly #group = new BufferedGroup();
  #hasRemovedCheckpoints = false;

  constructor(environment: Environment, tables: Tables, proofWindowBlocks: number, writesPreimages: boolean) {
    super(environment, tables, proofWindowBlocks, writesPreimages);
    this.#writesPreimages = writesPreimages;
    this.#tables = tables;
    this.#pruner = new HistoryPruner(tables, this.meta, this.blocks, this.state, this.nodes);
  }

  get folder(): string {
    return this.environment.folder;
  }

  get droppedLastCommit(): boolean {
    return this.environment.droppedLastCommit;
  }

  get pageReading(): PageReading {
    return this.environment.pageReading;
  }

  writeGenesis(commit: BlockCommit): void {
    this.#write(undefined, () => {
      if (this.writtenHead !== undefined) throw storageError("storage/not-empty", { head: this.writtenHead.number });
      const { number } = commit.block.header;
      this.meta.writeFirstBlock(number);
      this.floor = number;
      this.#writeFirstBlock(commit);
      this.state.writeCodes(commit.changes.codes);
      this.state.writeGenesis(commit.changes.accounts, commit.storageRoots);
      this.nodes.writeGenesis(commit.nodes);
      return { number, hash: commit.hash, hashHex: bytesToHex(commit.hash), reorganisations: 0 };
    });
  }

  writeLargeGenesis(block: Block, hash: Uint8Array, write: StateWrite<GenesisRows>): boolean {
    if (this.writtenHead !== undefined) throw storageError("storage/not-empty", { head: this.writtenHead.number });
    const { number } = block.header;
    const head = { number, hash, hashHex: bytesToHex(hash), reorganisations: 0 };
    const atomically = <T>(action: () => T): T => this.environment.atomically(action);
    const writeBlock = (content: Parameters<SnapshotRows["block"]>[0]): number => this.#writeSnapshotBlock(content);
    const commits = writeGenesisState(this.#tables, this.#writesPreimages, atomically, write, writeBlock, () => {
      this.meta.writeFirstBlock(number);
      this.#writeFirstBlock({ block, hash, receipts: [], senders: [], changes: NO_CHANGES });
      this.meta.writeHead(head);
    });
    const startsAnew = toEnd(commits);
    this.floor = number;
    this.writtenHead = head;
    return startsAnew;
  }

  writeSnapshot(base: SnapshotBase, write: StateWrite<SnapshotRows>): boolean {
    return toEnd(this.snapshotCommits(base, write));
  }

  *snapshotCommits(
    { genesis, head, oldestBlock, hasReceipts = true }: SnapshotBase,
    write: StateWrite<SnapshotRows>,
  ): Generator<void, boolean> {
    if (this.writtenHead !== undefined) throw storageError("storage/not-empty", { head: this.writtenHead.number });
    const atomically = <T>(action: () => T): T => this.environment.atomically(action);
    const writtenHead = { number: head.number, hash: hexToBytes(head.hash), hashHex: head.hash, reorganisations: 0 };
    const snapshot = { number: head.number, oldestBlock };
    const floor = hasReceipts ? oldestBlock - 1 : head.number;
    const writeBlock = (content: Parameters<SnapshotRows["block"]>[0]): number => this.#writeSnapshotBlock(content);
    const startsAnew = yield* writeGenesisState(this.#tables, this.#writesPreimages, atomically, write, writeBlock, () => {
      if (!equalBytes(this.blocks.canonicalHash(head.number) ?? ZERO_HASH, writtenHead.hash)) {
        throw storageError("storage/incomplete-snapshot", { number: head.number, hash: head.hash });
      }
      this.meta.writeFirstBlock(genesis.block.header.number);
      this.#writeFirstBlock({ ...genesis, receipts: [], senders: [], changes: NO_CHANGES });
      this.meta.writePrunedHistory({ floor, removed: floor, cursor: 0 });
      this.meta.writePrunedNodes(head.number);
      this.meta.writeSnapshot(snapshot);
      this.#writeLabels({ safe: head, finalized: head });
      this.meta.writeHead(writtenHead);
    });
    this.floor = floor;
    this.snapshot = snapshot;
    this.writtenHead = writtenHead;
    return startsAnew;
  }

  writeOlderBlocks(blocks: readonly OlderBlock[]): void {
    const oldest = this.snapshot?.oldestBlock ?? this.meta.readFirstBlock() ?? 0;
    const last = blocks.at(-1)?.block.header.number;
    const parentHash = this.blocks.header(oldest)?.parentHash;
    if (last !== oldest - 1 || parentHash === undefined || !equalBytes(parentHash, blocks.at(-1)!.hash))
      throw storageError("storage/not-older", { number: last ?? -1, oldest });
    const first = blocks[0]!.block.header.number;
    const snapshot = { ...this.snapshot!, oldestBlock: first };
    const before = this.meta.readPrunedHistory();
    const hasHistory = before.floor === oldest - 1;
    this.#group.clear();
    const hidden = hasHistory ? {} : { receipts: [], senders: [] };
    for (const content of blocks) this.#group.add({ ...content, ...hidden, changes: NO_CHANGES });
    this.environment.atomically(() => {
      this.blocks.write(this.#group.blocks);
      if (hasHistory) {
        this.logs.prepend(this.#group.logs);
        this.meta.writePrunedHistory({ floor: first - 1, removed: first - 1, cursor: 0 });
      }
      this.meta.writeSnapshot(snapshot);
    }, REPEATABLE);
    if (hasHistory) this.floor = first - 1;
    this.snapshot = snapshot;
  }

  /** @returns the size of the block's rows */
  #writeSnapshotBlock(content: Parameters<SnapshotRows["block"]>[0]): number {
    this.#group.clear();
    this.#group.add({ ...content, changes: NO_CHANGES });
    this.blocks.write(this.#group.blocks);
    this.logs.append(this.#group.logs);
    return this.#group.rowBytes;
  }

  #writeFirstBlock(content: Omit<BlockContent, "storageRoots">): void {
    const batch = new BlockBatch();
    batch.add(content);
    this.blocks.write(batch);
  }

  commitBlock(commit: BlockCommit, labels?: Labels, options?: CommitOptions): void {
    this.#write(
      labels,
      () => {
        const head = this.#append(this.currentHead(), [commit]);
        this.#pruneNodes(head.number);
        return head;
      },
      options,
    );
  }

  newGroup(): BlockGroup {
    return new BufferedGroup();
  }

  beginGroups(): void {
    if (this.nodes.isSettled) return;
    this.#orForget(() => this.environment.atomically(() => this.nodes.settle(), this.#again));
  }

  commitGroup(group: BlockGroup, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[], nodeRows: Uint8Array, isRun = false): void {
    if (!this.nodes.isSettled) throw new Error("blocks were committed otherwise since beginGroups");
    this.#write(undefined, () => {
      const buffered = bufferedGroupOf(group);
      const before = this.currentHead();
      const head = headAfter(before, buffered);
      this.#writeGroup(buffered, storageRoots, isRun);
      writeNodeRows(this.#tables, nodeRows);
      this.nodes.forget(); // the thread that made the rows has the notes of their epoch
      if (isRun) this.#markRun(before.number, head.number);
      else this.#pruneNodes(head.number, storageRoots.length);
      return head;
    });
  }

  /** A run follows `before`. Without older nodes that are still to be removed, there is nothing to remove. */
  #markRun(before: number, last: number): void {
    this.meta.writeRuns(last);
    if (this.meta.readPrunedNodes() === before) this.meta.writePrunedNodes(last);
    else this.#pruneNodes(last, MAX_PRUNED_BLOCKS_PER_COMMIT);
  }

  nodeGroups(): NodeGroups {
    return createNodeGroups(this.#tables, this.leaves, this.currentHead().number, () => this.refresh());
  }

  reorganize(toNumber: number, commits: readonly BlockCommit[], labels?: Labels, options?: CommitOptions): void {
    const write = (): Head => {
      const before = this.currentHead();
      const target = this.blocks.canonicalHash(toNumber);
      if (target === undefined || toNumber > before.number) {
        throw storageError("storage/unknown-ancestor", { number: toNumber, head: before.number });
      }
      const oldest = this.oldestProvableBlock();
      if (oldest !== undefined && toNumber < oldest) throw storageError("storage/unwind-too-deep", { number: toNumber, oldest });
      for (let number = before.number; number > toNumber; number--) this.#unwind(number);
      const reorganisations = before.reorganisations + (toNumber < before.number ? 1 : 0);
      const base: Head = { number: toNumber, hash: target, hashHex: bytesToHex(target), reorganisations };
      const head = this.#append(base, commits);
      if (toNumber < before.number) this.#dropLabelsOfUnwound();
      this.#pruneNodes(head.number);
      return head;
    };
    this.#write(labels, write, options);
  }

  writeLabels(labels: Labels): void {
    const isKnown = (["safe", "finalized"] as const).every(
      (label) => labels[label] === undefined || labels[label].hash === this.meta.readLabel(label)?.hash,
    );
    if (!isKnown) this.environment.atomically(() => this.#writeLabels(labels), REPEATABLE);
  }

  writeMeta(key: string, value: Uint8Array): void {
    this.environment.atomically(() => this.meta.writeClientValue(key, value), REPEATABLE);
  }

  /** Runs one transaction. The head in memory moves only once it is committed. */
  #write(labels: Labels | undefined, action: () => Head, { isFlushed }: CommitOptions = {}): void {
    const write = (): Head => {
      const head = action();
      this.meta.writeHead(head);
      if (labels !== undefined) this.#writeLabels(labels);
      return head;
    };
    const options = { ...this.#again, ...(isFlushed === undefined ? {} : { isFlushed }) };
    this.#orForget(() => {
      this.writtenHead = this.environment.atomically(write, options);
    });
  }

  readonly #again = { prepareAgain: () => this.nodes.forget() };

  /** After a failed transaction, the trie nodes in memory can differ from the database. */
  #orForget(commit: () => void): void {
    try {
      commit();
    } catch (error) {
      this.nodes.forget();
      throw error;
    }
    if (!this.#hasRemovedCheckpoints) removeCheckpoints(this.folder);
    this.#hasRemovedCheckpoints = true;
  }

  #writeLabels(labels: Labels): void {
    if (labels.safe !== undefined) this.meta.writeLabel("safe", labels.safe);
    if (labels.finalized !== undefined) this.meta.writeLabel("finalized", labels.finalized);
  }

  #append(base: Head, commits: readonly BlockCommit[]): Head {
    let head = base;
    for (let from = 0; from < commits.length; ) {
      // Storage that a block clears must already be in the database.
      let to = from + 1;
      if (!anyClearsStorage(commits[from]!.changes)) {
        while (to < commits.length && !anyClearsStorage(commits[to]!.changes)) to++;
      }
      const group = commits.slice(from, to);
      this.#group.clear();
      for (const commit of group) this.#group.add(commit);
      head = headAfter(head, this.#group);
      // Before the flat state, from which the leaves of storage that a block clears are made.
      this.nodes.apply(
        group.map(({ block, changes, nodes }) => ({
          number: block.header.number,
          nodes,
          clearedOwners: clearedAddresses(changes).map((address) => keccak256(address)),
        })),
      );
      this.#writeGroup(
        this.#group,
        group.map(({ storageRoots }) => storageRoots),
      );
      from = to;
    }
    return head;
  }

  /** Writes all rows except trie nodes. PERF: a row that several of the blocks change is written once. */
  #writeGroup(group: BufferedGroup, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[], isRun = false): void {
    this.blocks.write(group.blocks);
    this.state.writeCodes(group.codes.values());
    this.state.apply(group.state, storageRoots, isRun);
    this.logs.append(group.logs);
  }

  #unwind(number: number): void {
    this.logs.remove(number, logsOf(this.blocks.receipts(number) ?? []));
    this.nodes.unwind(number);
    this.state.unwind(number);
    this.blocks.remove(number);
  }

  #dropLabelsOfUnwound(): void {
    for (const label of ["safe", "finalized"] as const) {
      const block = this.meta.readLabel(label);
      if (block === undefined) continue;
      if (!equalBytes(this.blocks.canonicalHash(block.number) ?? ZERO_HASH, hexToBytes(block.hash)))
        this.meta.writeLabel(label, undefined);
    }
  }

  #pruneNodes(headNumber: number, blocks = 1): void {
    const pruned = this.meta.readPrunedNodes() ?? 0;
    // Blocks that are not final may still be unwound, which takes the nodes that they replaced.
    const oldest = Math.min(headNumber - this.proofWindowBlocks, this.settledNumber(headNumber));
    const last = Math.min(oldest, pruned + MAX_PRUNED_BLOCKS_PER_COMMIT * blocks);
    for (let number = pruned + 1; number <= last; number++) this.nodes.prune(number);
    if (last > pruned) this.meta.writePrunedNodes(last);
  }

  pruneHistory(keepBlocks: number, maxRows: number): PruneProgress {
    if (keepBlocks < MIN_HISTORY_BLOCKS)
      throw storageError("storage/history-too-short", { blocks: keepBlocks, minimum: MIN_HISTORY_BLOCKS });
    const head = this.currentHead().number;
    // Blocks that are not final may still be left, so neither they nor the state before them is pruned.
    const settled = this.settledNumber(head);
    const wanted = Math.min(head - keepBlocks, settled);
    try {
      const result = this.environment.atomically(() => this.#pruner.prune(wanted, maxRows), REPEATABLE);
      return { ...result, heldBack: Math.max(0, head - keepBlocks - Math.max(settled, this.meta.readPrunedHistory().floor)) };
    } finally {
      this.floor = this.meta.readPrunedHistory().floor;
    }
  }

  touchState(keys: Uint8Array): void {
    (this.#toucher ??= new StateToucher(this.#tables)).touch(keys);
  }

  forgetDeadReaders(): void {
    this.environment.forgetDeadReaders();
  }

  storageStats(): StorageStats {
    const { fileBytes, freeBytes, tables } = this.environment.stats();
    return {
      folder: this.environment.folder,
      format: FORMAT,
      head: this.head(),
      firstBlock: this.meta.readFirstBlock(),
      oldestProvableBlock: this.oldestProvableBlock(),
      retained: this.retainedHistory(),
      prunedRowsUpTo: this.meta.readPrunedHistory().removed,
      fileBytes,
      freeBytes,
      tables,
    };
  }

  verifyState({ onProgress = () => {}, checkpoints }: VerifyOptions = {}): StateVerification {
    const head = this.currentHead();
    const run = beginVerifyRun(this.folder, head, checkpoints);
    try {
      if (run.from?.part !== "state") this.#verifyPages(run, onProgress);
      const header = this.blocks.header(head.number);
      if (header === undefined) throw storageError("storage/corrupted", { row: `header ${head.number}`, reason: "missing" });
      const verified = verifyTables(this.#tables, head.number, run, onProgress);
      run.finish();
      const problems = [...verified.problems];
      if (!equalBytes(verified.stateRoot, header.stateRoot)) {
        problems.unshift(
          `state root of block ${head.number} is ${bytesToHex(header.stateRoot)}, recomputed ${bytesToHex(verified.stateRoot)}`,
        );
      }
      const block = { number: head.number, hash: head.hashHex };
      return { ...verified, block, expectedStateRoot: header.stateRoot, problems };
    } finally {
      run.close();
    }
  }

  #verifyPages(run: VerifyRun, onProgress: (progress: VerifyProgress) => void): void {
    this.environment.checkPages(
      Number.POSITIVE_INFINITY,
      (done, total, positionOf) => {
        const progress = { part: "pages", done, total } as const;
        run.offer(() => {
          const position = positionOf();
          return position && { part: "pages", position };
        }, progress);
        onProgress(progress);
      },
      run.from?.part === "pages" ? run.from.position : undefined,
    );
  }

  close(): Promise<void> {
    return this.environment.close();
  }
}

const NO_CHANGES: StateChanges = { accounts: [], codes: [] };

/** PERF: there are rarely any; only then are all changes turned into objects. */
const clearedAddresses = (changes: StateChanges): Uint8Array[] =>
  anyClearsStorage(changes) ? changes.accounts.filter(clearsStorage).map(({ address }) => address) : [];

/** @throws {CodedError} storage/not-child-of-head */
function headAfter(base: Head, group: BufferedGroup): Head {
  let head = base;
  for (const { number, parentHash, hash } of group.blocks.blocks) {
    if (number !== head.number + 1 || !equalBytes(parentHash, head.hash)) {
      throw storageError("storage/not-child-of-head", {
        number,
        parentHash: bytesToHex(parentHash),
        head: `${head.number} ${head.hashHex}`,
      });
    }
    head = { number, hash, hashHex: bytesToHex(hash), reorganisations: head.reorganisations };
  }
  return head;
}

/** Makes all commits in one run. @returns the result */
function toEnd<T>(commits: Generator<void, T>): T {
  for (;;) {
    const step = commits.next();
    if (step.done === true) return step.value;
  }
}
