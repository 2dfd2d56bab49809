import type { AccountRecord, StateChanges } from "@rnode/evm";
import type { Hex } from "@rnode/primitives";
import type { Block, BlockId, Header, Receipt } from "@rnode/protocol";
import type { TrieNodeChange, TrieNodeReader } from "@rnode/trie";

/** Account of the flat state: what execution sees and the root of its storage trie. */
export interface StoredAccount extends AccountRecord {
  readonly storageRoot: Uint8Array;
}

/** What a block leaves behind, other than trie nodes. */
export interface BlockContent {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly receipts: readonly Receipt[];
  /** as they enter the receipts root, where they are known already */
  readonly encodedReceipts?: readonly Uint8Array[] | undefined;
  /** sender of each transaction, 20 bytes */
  readonly senders: readonly Uint8Array[];
  /** of the transactions, where they are known already */
  readonly transactionHashes?: readonly Uint8Array[] | undefined;
  /** likewise */
  readonly encodedHeader?: Uint8Array | undefined;
  /** likewise */
  readonly encodedTransactions?: readonly Uint8Array[] | undefined;
  readonly changes: StateChanges;
  /** new storage roots of the accounts whose storage changed, by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
}

/** All a block leaves behind; written in one atomic commit. */
export interface BlockCommit extends BlockContent {
  readonly nodes: readonly TrieNodeChange[];
}

export interface TransactionLocation {
  readonly blockNumber: number;
  readonly blockHash: Uint8Array;
  readonly index: number;
}

/**
 * State as of one canonical block; stays right while later blocks are committed. Reads are synchronous.
 * When the block leaves the canonical chain they throw storage/state-gone.
 */
export interface StateView {
  readonly block: BlockId;
  readAccount(address: Uint8Array): StoredAccount | undefined;
  /** 32 bytes; undefined is zero */
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  /** whether the account has any storage */
  hasStorage(address: Uint8Array): boolean;
  /** @throws {CodedError} storage/missing-code */
  readCode(codeHash: Uint8Array): Uint8Array;
  /** of this block or an ancestor */
  readBlockHash(number: number): Uint8Array | undefined;
}

/** What can be asked for: every block has its header and body, the rest from these blocks on. */
export interface RetainedHistory {
  /** of the chain, usually 0 */
  readonly firstBlock: number;
  /** the state after this block can be read */
  readonly oldestState: number;
  /** and proven */
  readonly oldestProof: number;
  /** receipts, senders, logs by filter, transactions by hash; of the first block always */
  readonly oldestReceipts: number;
}

export interface PruneProgress {
  /** rows and index places that this commit removed */
  readonly removedRows: number;
  /** blocks whose history is not shown any more but still takes room: call again */
  readonly remainingBlocks: number;
  /** blocks that are old enough to go but are not final yet */
  readonly heldBack: number;
}

export type ForkchoiceLabel = "safe" | "finalized";

/** Undefined or empty lists match anything. */
export interface LogFilter {
  readonly addresses?: readonly Uint8Array[] | undefined;
  /** by place in the log; one of the list is enough */
  readonly topics?: readonly (readonly Uint8Array[] | undefined)[] | undefined;
}

export type Labels = Partial<Record<ForkchoiceLabel, BlockId>>;

/** What is stored. The flat state and the trie nodes are those of `head()`; older states come from change sets and their history index. */
export interface ChainStoreReader {
  /** last canonical block with state; undefined before the genesis is written */
  head(): BlockId | undefined;
  label(label: ForkchoiceLabel): BlockId | undefined;

  readHeader(hash: Uint8Array): Header | undefined;
  readBlock(hash: Uint8Array): Block | undefined;
  /** undefined also when pruned, as senders and transaction locations */
  readReceipts(hash: Uint8Array): readonly Receipt[] | undefined;
  readSenders(hash: Uint8Array): readonly Uint8Array[] | undefined;
  readCanonicalHash(number: number): Uint8Array | undefined;
  readTransactionLocation(transactionHash: Uint8Array): TransactionLocation | undefined;
  /** undefined for an unknown block, and on a chain without difficulty */
  readTotalDifficulty(hash: Uint8Array): bigint | undefined;

  /** undefined before the genesis is written */
  retainedHistory(): RetainedHistory | undefined;
  /** State at a canonical block, by number; undefined when pruned or not yet there. */
  stateAt(blockNumber: number): StateView | undefined;
  /** Trie nodes at a canonical block; undefined when out of the proof window or not yet there. */
  trieNodesAt(blockNumber: number): TrieNodeReader | undefined;

  /** Small named values of the client itself (chain config, versions). */
  readMeta(key: string): Uint8Array | undefined;

  /**
   * Canonical blocks whose logs may match, ascending; the caller filters exactly. Takes time in proportion to the blocks of the rarest
   * condition.
   */
  blocksWithLogs(filter: LogFilter, fromBlock: number, toBlock: number): Iterable<number>;
}

/** Blocks as they come. Only canonical ones are kept: a reorganisation removes the blocks it unwinds. */
export interface ChainStoreWriter {
  /** Genesis: block, flat state and trie of an empty store. @throws CodedError storage/not-empty */
  writeGenesis(commit: BlockCommit): void;
  /** Commits the child of `head()`. @throws CodedError storage/not-child-of-head */
  commitBlock(commit: BlockCommit, labels?: Labels): void;
  /**
   * Unwinds to the canonical ancestor `toNumber`, then commits `commits` in order; all in one transaction. A label on a block that is
   * unwound is removed, unless `labels` sets it.
   *
   * @throws {CodedError} storage/unknown-ancestor, storage/unwind-too-deep, storage/not-child-of-head
   */
  reorganize(toNumber: number, commits: readonly BlockCommit[], labels?: Labels): void;
  writeLabels(labels: Labels): void;
  writeMeta(key: string, value: Uint8Array): void;
}

/** Takes the state of a genesis. Fastest when the rows of each table come in the order of their keys, and tries from left to right. */
export interface GenesisRows {
  code(codeHash: Uint8Array, code: Uint8Array): void;
  account(address: Uint8Array, account: StoredAccount): void;
  /** @param value without leading zeros, not empty */
  slot(address: Uint8Array, slot: Uint8Array, value: Uint8Array): void;
  /** @param owner keccak256 of the address, of a storage trie */
  node(owner: Uint8Array | undefined, path: Uint8Array, rlp: Uint8Array): void;
}

/**
 * Blocks that follow each other, ready to be written as one commit: rows and keys as bytes, nothing else of the blocks is kept. Tells the
 * state after them, as far as they changed it. To be used again after `clear`.
 */
export interface BlockGroup {
  /** of headers, bodies, receipts and senders */
  readonly rowBytes: number;
  /** The `index`-th one, read from its bytes. */
  blockAt(index: number): Block;
  /** The next block. One of which `clearsStorage` is true for an account must be alone in its group. */
  add(content: Omit<BlockContent, "storageRoots">): void;
  /** undefined: no block has changed it */
  account(address: Uint8Array): AccountRecord | undefined;
  /** 32 bytes that are right until the next `add`; undefined: no block has changed it */
  slot(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  code(codeHash: Uint8Array): Uint8Array | undefined;
  clear(): void;
}

/** Trie nodes of groups of blocks, each on the state after the one before. */
export interface NodeGroups {
  /** nodes that no block since the last `committed` has changed, and those of the last committed block */
  readonly reader: TrieNodeReader;
  /** The next block of the group. None may clear a storage trie that was there before, unless it is alone in its group. */
  add(number: number, nodes: readonly TrieNodeChange[], clearedOwners: readonly Uint8Array[]): void;
  /** Ends the group. @returns its rows, for `commitGroup` */
  seal(): Uint8Array<ArrayBuffer>;
  /** Tells that rows were committed by the writer. */
  committed(): void;
}

/** A state or many blocks at once. */
export interface ChainStoreBulk {
  /**
   * As `writeGenesis`, for a state of any size: `write` hands its rows over, a few between two steps. They are written in as many commits as it
   * takes and count with the last one; what an attempt before left behind is removed first.
   *
   * @returns whether there was something left behind
   * @throws CodedError storage/not-empty
   */
  writeLargeGenesis(block: Block, hash: Uint8Array, write: (rows: GenesisRows) => Iterable<unknown>): boolean;
  newGroup(): BlockGroup;
  /**
   * Commits children of `head()`, one after the other, whose trie nodes were made ready by `NodeGroups`.
   *
   * @param group of `newGroup`
   * @param storageRoots of each block, as in `BlockContent`
   * @throws {CodedError} storage/not-child-of-head
   */
  commitGroup(group: BlockGroup, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[], nodeRows: Uint8Array): void;
  /** To make trie nodes of groups ready; in another thread on a store of its own, open for reading. */
  nodeGroups(): NodeGroups;
}

/**
 * The chain on disk. Every write method is one atomic commit: a kill at any moment leaves the state before or after it.
 *
 * All methods throw storage/corrupted, storage/io, and those that write storage/read-only, storage/disk-full.
 */
export interface ChainStore extends ChainStoreReader, ChainStoreWriter, ChainStoreBulk {
  close(): Promise<void>;
}

/** Rows and bytes of one table. */
export interface TableStats {
  readonly entries: number;
  readonly sizeBytes: number;
}

export interface StorageStats {
  readonly folder: string;
  readonly format: number;
  readonly head: BlockId | undefined;
  /** first block of the chain, usually 0 */
  readonly firstBlock: number | undefined;
  /** lowest block whose trie nodes can be read */
  readonly oldestProvableBlock: number | undefined;
  readonly retained: RetainedHistory | undefined;
  /** history of the blocks up to this one takes no room any more; the first block: nothing was removed */
  readonly prunedRowsUpTo: number;
  readonly fileBytes: number;
  /** inside the file, used again by later commits */
  readonly freeBytes: number;
  readonly tables: Readonly<Record<string, TableStats>>;
}

/** Result of recomputing everything that the head's state root commits to. */
export interface StateVerification {
  readonly block: BlockId;
  readonly expectedStateRoot: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly accounts: number;
  readonly slots: number;
  readonly codes: number;
  readonly nodes: number;
  /** what is wrong, in words, at most a hundred; empty: all is right */
  readonly problems: readonly string[];
}

/**
 * How the system reads pages of the data file that are not in memory. Reading ahead, it brings in what lies around a page, megabytes on some
 * disks. That fills the memory quickly with a file that fits in, and helps whoever goes through the file in its order; with a
 * file that does not fit, it drives out pages that are needed for pages that nobody asked for.
 */
export interface PageReading {
  readonly readsAhead: boolean;
  readonly because: "file is small" | "file fits into memory" | "file is large for the memory" | "file is read in its order";
  /** of the file, when it was opened */
  readonly fileBytes: number;
  /** what there is for everything: the machine's memory or what the process is limited to */
  readonly memoryBytes: number;
}

/** A `ChainStore` with what its operator needs. */
export interface ChainDatabase extends ChainStore {
  readonly folder: string;
  /** decided when the file is opened */
  readonly pageReading: PageReading;
  /** Of a reader: what is read next sees every commit that came before; otherwise it may be those of a millisecond ago. */
  refresh(): void;
  /** Lets go of what processes that were killed while they read still hold back. */
  forgetDeadReaders(): void;
  storageStats(): StorageStats;
  /**
   * Stops showing the history of all but the last `keepBlocks` blocks, and removes about `maxRows` rows of it, in one commit. Blocks that
   * are not finalized keep theirs (not safe, where there is no finalized block). History once removed does not come back.
   *
   * @throws {CodedError} storage/history-too-short, storage/empty
   */
  pruneHistory(keepBlocks: number, maxRows: number): PruneProgress;
  /**
   * Recomputes all storage roots and the state root from the flat state and compares them, every trie node and every code with what is
   * stored. Reads everything, once for each `maxEntriesInMemory` accounts.
   *
   * @throws {CodedError} storage/empty
   */
  verifyState(options?: { readonly maxEntriesInMemory?: number | undefined }): StateVerification;
}
