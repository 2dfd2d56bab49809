import type { AccountRecord, StateChanges } from "@rnode/evm";
import type { ExactInteger, Hex } from "@rnode/primitives";
import type { Block, BlockId, Header, Receipt } from "@rnode/protocol";
import type { TrieNodeChange, TrieNodeReader } from "@rnode/trie";
import type { BlockParts } from "./blocks/block-parts.ts";

/** An account in the flat state: what execution sees, plus the root of its storage trie. */
export interface StoredAccount extends AccountRecord {
  readonly storageRoot: Uint8Array;
}

/** The stored result of a block, without trie nodes. */
export interface BlockContent {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly receipts: readonly Receipt[];
  /** receipts as encoded for the receipts root, if already known */
  readonly encodedReceipts?: readonly Uint8Array[] | undefined;
  /** sender of each transaction, 20 bytes */
  readonly senders: readonly Uint8Array[];
  /** hashes of the transactions, if already known */
  readonly transactionHashes?: readonly Uint8Array[] | undefined;
  /** encoding of the header, if already known */
  readonly encodedHeader?: Uint8Array | undefined;
  /** encodings of the transactions, if already known */
  readonly encodedTransactions?: readonly Uint8Array[] | undefined;
  readonly changes: StateChanges;
  /** new storage roots of the accounts whose storage changed, keyed by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
}

/** Everything a block leaves behind. It is written in one atomic commit. */
export interface BlockCommit extends BlockContent {
  readonly nodes: readonly TrieNodeChange[];
}

export interface TransactionLocation {
  readonly blockNumber: number;
  readonly blockHash: Uint8Array;
  readonly index: number;
}

/**
 * The state after a canonical block. It stays valid while later blocks are committed. Reads are synchronous. After the block
 * leaves the canonical chain, they throw storage/state-gone.
 */
export interface StateView {
  readonly block: BlockId;
  readAccount(address: Uint8Array): StoredAccount | undefined;
  /** 32 bytes; undefined means zero */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  /** whether the account has any storage */
  hasStorage(address: Uint8Array): boolean;
  /** @throws {CodedError} storage/missing-code */
  readCode(codeHash: Uint8Array): Uint8Array;
  /** `undefined`: the root of `block` commits to this state. Otherwise the state to which it commits, before manual edits. */
  readonly proven?: StateView | undefined;
  /** hash of this block or an ancestor */
  readBlockHash(number: ExactInteger): Uint8Array | undefined;
  /**
   * PERF: the same state, for executing the next block again. Accounts and slots that the block changed are read faster, all
   * others more slowly.
   */
  readonly forNextBlock?: (() => StateView) | undefined;
}

/** The available history: each kind is available from a block on. */
export interface RetainedHistory {
  /** the first block of the chain, usually 0 */
  readonly firstBlock: number;
  /** the oldest block with header and body, apart from the first one; above the block after it if the database began with a snapshot */
  readonly oldestBlock: number;
  /** the oldest block after which the state can be read */
  readonly oldestState: number;
  /** the oldest block after which the state can be proven */
  readonly oldestProof: number;
  /** the oldest block with receipts, senders, logs by filter and transactions by hash. The chain's first block always has them. */
  readonly oldestReceipts: number;
}

export interface PruneProgress {
  /** number of rows and index entries that this commit removed */
  readonly removedRows: number;
  /** number of blocks whose history is hidden but still takes space; call again to remove it */
  readonly remainingBlocks: number;
  /** number of blocks that are old enough to be pruned but are not finalized yet */
  readonly heldBack: number;
}

export type ForkchoiceLabel = "safe" | "finalized";

/** Undefined or empty lists match anything. */
export interface LogFilter {
  readonly addresses?: readonly Uint8Array[] | undefined;
  /** by position in the log; matching any topic of a list is enough */
  readonly topics?: readonly (readonly Uint8Array[] | undefined)[] | undefined;
}

export type Labels = Partial<Record<ForkchoiceLabel, BlockId>>;

/**
 * Reads the database. The flat state and the trie nodes are those of `head()`; older states come from change sets and their
 * history index.
 */
export interface ChainStoreReader {
  /** the last canonical block with state; undefined before the genesis is written */
  head(): BlockId | undefined;
  label(label: ForkchoiceLabel): BlockId | undefined;

  readHeader(hash: Uint8Array): Header | undefined;
  readBlock(hash: Uint8Array): Block | undefined;
  /** also undefined if pruned, as are senders and transaction locations */
  readReceipts(hash: Uint8Array): readonly Receipt[] | undefined;
  readSenders(hash: Uint8Array): readonly Uint8Array[] | undefined;
  /**
   * The same, transaction by transaction, as bytes. @returns always the same object, which shows this block until the next call, and only until
   * the synchronous run ends
   */
  readParts(hash: Uint8Array): BlockParts | undefined;
  readCanonicalHash(number: number): Uint8Array | undefined;
  readTransactionLocation(transactionHash: Uint8Array): TransactionLocation | undefined;
  /** undefined for an unknown block, and on a chain without difficulty */
  readTotalDifficulty(hash: Uint8Array): bigint | undefined;

  /** undefined before the genesis is written */
  retainedHistory(): RetainedHistory | undefined;
  /** The state after a canonical block, by number; undefined if it was pruned or does not exist yet. */
  stateAt(blockNumber: number): StateView | undefined;
  /** The trie nodes at a canonical block; undefined if it is outside the proof window or does not exist yet. */
  trieNodesAt(blockNumber: number): TrieNodeReader | undefined;

  /** The address or slot with this keccak256; undefined if it is unknown. Only a store that is opened with `preimages` learns them. */
  readPreimage(hash: Uint8Array): Uint8Array | undefined;

  /** Small named values of the client itself (chain configuration, versions). */
  readMeta(key: string): Uint8Array | undefined;

  /**
   * Canonical blocks that can have matching logs, in ascending order; the caller has to filter the logs. The time is proportional
   * to the number of blocks that match the rarest condition.
   */
  blocksWithLogs(filter: LogFilter, fromBlock: number, toBlock: number): Iterable<number>;
}

export interface CommitOptions {
  /** the commit is on the disk when it returns, also where the store's commits are flushed behind; default: as the store was opened */
  readonly isFlushed?: boolean | undefined;
}

/** Writes blocks as they arrive. Only canonical blocks are stored: a reorganisation removes the blocks that it unwinds. */
export interface ChainStoreWriter {
  /** Writes the genesis (block, flat state and trie) into an empty store. @throws CodedError storage/not-empty */
  writeGenesis(commit: BlockCommit): void;
  /** Commits the child of `head()`. @throws CodedError storage/not-child-of-head */
  commitBlock(commit: BlockCommit, labels?: Labels, options?: CommitOptions): void;
  /**
   * Unwinds to the canonical ancestor `toNumber`, then commits `commits` in order, all in one transaction. A label on an unwound block
   * is removed unless `labels` sets it.
   *
   * @throws {CodedError} storage/unknown-ancestor, storage/unwind-too-deep, storage/not-child-of-head
   */
  reorganize(toNumber: number, commits: readonly BlockCommit[], labels?: Labels, options?: CommitOptions): void;
  writeLabels(labels: Labels): void;
  writeMeta(key: string, value: Uint8Array): void;
}

/**
 * Receives the state of a genesis. It is fastest if the rows of each table come in key order, and the nodes of tries from left to
 * right.
 */
export interface GenesisRows {
  code(codeHash: Uint8Array, code: Uint8Array): void;
  /** @param hash keccak256 of the address */
  account(hash: Uint8Array, account: StoredAccount): void;
  /**
   * @param owner hash of the account
   * @param hash keccak256 of the slot
   * @param value not empty, without leading zeros
   */
  slot(owner: Uint8Array, hash: Uint8Array, value: Uint8Array): void;
  /** @param owner keccak256 of the address, for a node of a storage trie */
  node(owner: Uint8Array | undefined, path: Uint8Array, rlp: Uint8Array): void;
  /** Ignored by a store that keeps no preimages. @param key the address or slot with that hash */
  preimage(hash: Uint8Array, key: Uint8Array): void;
}

export interface AccountRow {
  readonly kind: "account";
  /** keccak256 of the address */
  readonly hash: Uint8Array;
  readonly account: StoredAccount;
}

export interface SlotRow {
  readonly kind: "slot";
  /** hash of the account */
  readonly owner: Uint8Array;
  readonly hash: Uint8Array;
  /** not empty, without leading zeros */
  readonly value: Uint8Array;
}

/** A row of the flat state: accounts by ascending hash of their address, each followed by its slots, by ascending hash. */
export type StateRow = AccountRow | SlotRow;

/** The place of a row in that order, by hashes; without a slot: that of the account. */
export interface StatePlace {
  readonly account: Uint8Array;
  readonly slot?: Uint8Array | undefined;
}

/** The start of a database without the genesis state: the chain up to a block, with its state and the last blocks. */
export interface SnapshotBase {
  /** the first block of the chain; only header and body are written */
  readonly genesis: { readonly block: Block; readonly hash: Uint8Array };
  /** the block whose state it is; it becomes head, safe and finalized */
  readonly head: BlockId;
  /** number of the oldest block in the snapshot after the genesis */
  readonly oldestBlock: number;
  /** false: the blocks come without receipts, as if their history were pruned. Default: true */
  readonly hasReceipts?: boolean | undefined;
}

/** Rows of a state that are written in a run that a later one can continue: a kill costs no more than a commit. */
export interface StateRun<Rows extends GenesisRows> {
  /** of the state, 32 bytes: rows of another one are removed first */
  readonly id: Uint8Array;
  /** Provides rows, a few per step. @param progress what `progress` was at the last commit of an earlier run */
  steps(rows: Rows, progress: Uint8Array | undefined): Iterable<unknown>;
  /** After the last step; `undefined`: nothing can be continued yet. */
  progress(): Uint8Array | undefined;
}

/** Provides rows, a few per step. */
export type StateWrite<Rows extends GenesisRows> = ((rows: Rows) => Iterable<unknown>) | StateRun<Rows>;

/** `receipts` and `senders` are empty if they are not known. */
export type OlderBlock = Pick<BlockContent, "block" | "hash" | "receipts" | "senders">;

/** Receives the state after a block, and the last blocks up to it. */
export interface SnapshotRows extends GenesisRows {
  /** Blocks come in ascending order, without gaps. */
  block(content: OlderBlock): void;
}

/**
 * Consecutive blocks, ready to be written in one commit. Only rows and keys are kept of them, as bytes. The group can also tell the
 * state after its blocks, as far as they changed it. It can be reused after `clear`.
 */
export interface BlockGroup {
  /** size of the headers, bodies, receipts and senders */
  readonly rowBytes: number;
  /** The block at `index`, decoded from its bytes. */
  blockAt(index: number): Block;
  /** Adds the next block. A block for which `clearsStorage` is true for any account must be alone in its group. */
  add(content: Omit<BlockContent, "storageRoots">): void;
  /** @returns undefined if no block of the group has changed it */
  account(address: Uint8Array): AccountRecord | undefined;
  /** @returns 32 bytes, valid until the next `add`; undefined if no block of the group has changed it */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  code(codeHash: Uint8Array): Uint8Array | undefined;
  /** The accounts and slots that the group has changed, as they are after its last block, as `LinearStateTrie` takes them. */
  packedChanges(): Uint8Array<ArrayBuffer>;
  clear(): void;
}

/** Trie nodes of groups of blocks. Each group builds on the state after the previous one. */
export interface NodeGroups {
  /** reads the nodes as they were after the last committed block, which is right for every node that no later block has changed */
  readonly reader: TrieNodeReader;
  /**
   * Adds the next block of the group. A block that clears a storage trie that existed before must be alone in its group.
   *
   * @param isRun the changes are those of all blocks up to this one, which get no history of nodes
   */
  add(number: number, nodes: readonly TrieNodeChange[], clearedOwners: readonly Uint8Array[], isRun: boolean): void;
  /** Ends the group. @returns its rows, for `commitGroup` */
  seal(): Uint8Array<ArrayBuffer>;
  /** Call it when the writer has committed a group's rows. */
  committed(): void;
}

/** Writes a whole state, or many blocks at once. */
export interface ChainStoreBulk {
  /** depth to which tries can be read, and blocks unwound */
  readonly proofWindowBlocks: number;
  /**
   * Like `writeGenesis`, for a state of any size, which is written in as many commits as necessary; the last one makes the genesis
   * valid. Rows of an earlier attempt are removed first, unless a `StateRun` continues it.
   *
   * @returns whether rows of an earlier attempt were removed
   * @throws CodedError storage/not-empty
   */
  writeLargeGenesis(block: Block, hash: Uint8Array, write: StateWrite<GenesisRows>): boolean;
  /**
   * Like `writeLargeGenesis`, for a snapshot. Blocks between the genesis and `oldestBlock`, and states before the head, cannot be
   * read.
   *
   * @throws CodedError storage/not-empty; storage/incomplete-snapshot: the last block of the snapshot is not the head
   */
  writeSnapshot(base: SnapshotBase, write: StateWrite<SnapshotRows>): boolean;
  /** The same, which yields between two commits, for a process that does other work meanwhile. */
  snapshotCommits(base: SnapshotBase, write: StateWrite<SnapshotRows>): Generator<void, boolean>;
  /**
   * Writes blocks below the oldest one of a database that began with a snapshot, in ascending order; the last one is the parent of the oldest.
   * If the oldest block has no receipts, the older ones get none.
   *
   * @throws {CodedError} storage/not-older: the blocks do not end there
   */
  writeOlderBlocks(blocks: readonly OlderBlock[]): void;
  newGroup(): BlockGroup;
  /**
   * Commits consecutive children of `head()` whose trie nodes were prepared by `NodeGroups`.
   *
   * @param group made by `newGroup`
   * @param storageRoots for each block, as in `BlockContent`; of a run, those after its last block only
   * @param isRun the group is a run: no trie of its blocks but that of the last one can be read afterwards, and none of earlier blocks
   * @throws {CodedError} storage/not-child-of-head
   */
  commitGroup(
    group: BlockGroup,
    storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[],
    nodeRows: Uint8Array,
    isRun?: boolean,
  ): void;
  /**
   * Call it before `nodeGroups`, and again after any other commit of a block: merges the journal's nodes, because groups expect
   * them in the tables.
   */
  beginGroups(): void;
  /** Prepares the trie nodes of groups. It is meant for another thread, which opens the store for reading. */
  nodeGroups(): NodeGroups;
}

/**
 * The chain on disk. Every writing method is one atomic commit: after a kill at any moment, the state is the one before it or
 * after it.
 *
 * All methods throw storage/corrupted and storage/io; writing methods also throw storage/read-only and storage/disk-full.
 */
export interface ChainStore extends ChainStoreReader, ChainStoreWriter, ChainStoreBulk {
  close(): Promise<void>;
}

/** Number of rows and bytes of one table. */
export interface TableStats {
  readonly entries: number;
  readonly sizeBytes: number;
}

export interface StorageStats {
  readonly folder: string;
  readonly format: number;
  readonly head: BlockId | undefined;
  /** the first block of the chain, usually 0 */
  readonly firstBlock: number | undefined;
  /** the lowest block whose trie nodes can be read */
  readonly oldestProvableBlock: number | undefined;
  readonly retained: RetainedHistory | undefined;
  /** the history of blocks up to this one has been removed completely; the first block means that nothing was removed */
  readonly prunedRowsUpTo: number;
  readonly fileBytes: number;
  /** free space inside the file, which later commits reuse */
  readonly freeBytes: number;
  readonly tables: Readonly<Record<string, TableStats>>;
}

/** The result of recomputing everything that the head's state root commits to. */
export interface StateVerification {
  readonly block: BlockId;
  readonly expectedStateRoot: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  /** at most a hundred descriptions of errors; empty if there are none */
  readonly problems: readonly string[];
}

/** Progress of a verification: pages of the file first, then rows of the state. */
export interface VerifyProgress {
  readonly part: "pages" | "state";
  readonly done: number;
  /** of the pages: the number known so far */
  readonly total: number;
}

export interface VerifyOptions {
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
  /** by default nothing is stored, and every verification starts from the beginning */
  readonly checkpoints?: VerifyCheckpoints | undefined;
}

/**
 * A verification that stores its position in the database's folder `verify` every few seconds. After any interruption, the next
 * one resumes there, if neither the head nor the data file has changed. It does not read earlier pages again, so it does not find
 * later damage there. The folder is removed at the end.
 */
export interface VerifyCheckpoints {
  /** starts from the beginning and ignores an earlier checkpoint */
  readonly restart?: boolean | undefined;
  /** the work between two checkpoints, more if the disk takes longer than a tenth of it for one; default: 5 s */
  readonly intervalMs?: number | undefined;
  readonly onNotice?: ((notice: VerifyNotice) => void) | undefined;
  /** default: a clock that only goes forward */
  readonly nowMs?: (() => number) | undefined;
}

/** Why a checkpoint that was there is of no use. "file": the data file was written or replaced since. */
export type VerifyRestartReason = "wanted" | "damaged" | "version" | "head" | "file";

export type VerifyNotice =
  /** resumes an interrupted verification */
  | ({ readonly kind: "resumed" } & VerifyProgress)
  | { readonly kind: "restarted"; readonly because: VerifyRestartReason }
  /** no checkpoint could be written; an earlier one, if there is one, still counts */
  | { readonly kind: "no-checkpoint"; readonly reason: string };

/**
 * How the system reads pages of the data file from disk. With read-ahead it also reads adjacent pages, megabytes on some disks.
 * That fills the memory quickly if the file fits into it, and speeds up sequential reads. If the file does not fit, unneeded
 * pages displace needed ones.
 */
export interface PageReading {
  readonly readsAhead: boolean;
  readonly because: "file is small" | "file fits into memory" | "file is large for the memory" | "file is read in its order";
  /** size of the file when it was opened */
  readonly fileBytes: number;
  /** total memory available: that of the machine, or the limit of the process */
  readonly memoryBytes: number;
}

/** A `ChainStore` with the operations that the operator of a node needs. */
export interface ChainDatabase extends ChainStore {
  readonly folder: string;
  /** decided when the file is opened */
  readonly pageReading: PageReading;
  /** the machine had stopped before the last commit was on the disk, so the database is that of the commit before */
  readonly droppedLastCommit: boolean;
  /**
   * The state after a canonical block, from the row after `after` on (default: all). Read it within one synchronous run; a later
   * run may resume after the last row, even if blocks were committed in between. So no transaction stays open, which would keep
   * replaced pages from being reused. PERF: if the block is not the head, the history index is read in addition to the head's
   * tables.
   *
   * @throws {CodedError} storage/state-gone: the block was unwound, or its state was pruned
   */
  stateRows(block: BlockId, after?: StatePlace): Iterable<StateRow>;
  /** As `stateRows`: the accounts alone, from the hash `from` on. */
  accountRows(block: BlockId, from: Uint8Array): Iterable<AccountRow>;
  /** As `stateRows`: the slots of one account, from the hash `from` on. @param owner hash of the account */
  slotRows(block: BlockId, owner: Uint8Array, from: Uint8Array): Iterable<SlotRow>;
  /** `undefined` if no account had this code */
  findCode(codeHash: Uint8Array): Uint8Array | undefined;
  /** Loads the accounts and slots of a later block into memory; returns nothing. @param keys made by `TouchedKeys` */
  touchState(keys: Uint8Array): void;
  /** For a reader: makes subsequent reads see every commit made so far; without it, they may see the database as of a millisecond ago. */
  refresh(): void;
  /** Releases reader slots of killed processes. */
  forgetDeadReaders(): void;
  storageStats(): StorageStats;
  /**
   * Hides the history of all but the last `keepBlocks` blocks, and removes about `maxRows` rows of it, in one commit. Blocks that are
   * not finalized keep their history (blocks that are not safe, if there is no finalized block). Removed history does not come back.
   *
   * @throws {CodedError} storage/history-too-short, storage/empty
   */
  pruneHistory(keepBlocks: number, maxRows: number): PruneProgress;
  /**
   * Recomputes all storage roots and the state root from the flat state, and compares them, every trie node and every code with
   * the stored ones. Reads everything once, after all pages of the file. With `checkpoints`, an interrupted verification can be
   * resumed.
   *
   * @throws {CodedError} storage/empty, storage/corrupted: a damaged page
   */
  verifyState(options?: VerifyOptions): StateVerification;
}
