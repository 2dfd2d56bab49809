import type { AccountRecord, StateChanges } from "@rnode/evm";
import type { Hex } from "@rnode/primitives";
import type { Block, BlockId, Header, Receipt } from "@rnode/protocol";
import type { TrieNodeChange, TrieNodeReader } from "@rnode/trie";
import type { BlockGroup } from "./block-group.ts";
import type { PageReading } from "./database/page-reading.ts";
import type { GenesisRows } from "./genesis/genesis-writer.ts";
import type { NodeGroups } from "./nodes/node-groups.ts";

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

/**
 * The chain on disk. The flat state and the trie nodes are those of `head()`; older states come from change sets and their
 * history index. Every write method is one atomic commit: a kill at any moment leaves the state before or after it.
 * Only canonical blocks are kept: a reorganisation removes the blocks it unwinds.
 *
 * All methods throw storage/corrupted, storage/io, and those that write storage/read-only, storage/disk-full.
 */
export interface ChainStore {
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

  /** Genesis: block, flat state and trie of an empty store. @throws CodedError storage/not-empty */
  writeGenesis(commit: BlockCommit): void;
  /**
   * As `writeGenesis`, for a state of any size: `write` hands its rows over, a few between two steps. They are written in as many commits as it
   * takes and count with the last one; what an attempt before left behind is removed first.
   *
   * @returns whether there was something left behind
   * @throws CodedError storage/not-empty
   */
  writeLargeGenesis(block: Block, hash: Uint8Array, write: (rows: GenesisRows) => Iterable<unknown>): boolean;
  /** Commits the child of `head()`. @throws CodedError storage/not-child-of-head */
  commitBlock(commit: BlockCommit, labels?: Partial<Record<ForkchoiceLabel, BlockId>>): void;
  /**
   * Unwinds to the canonical ancestor `toNumber`, then commits `commits` in order; all in one transaction. A label on a block that is
   * unwound is removed, unless `labels` sets it.
   *
   * @throws {CodedError} storage/unknown-ancestor, storage/unwind-too-deep, storage/not-child-of-head
   */
  reorganize(toNumber: number, commits: readonly BlockCommit[], labels?: Partial<Record<ForkchoiceLabel, BlockId>>): void;
  /**
   * Commits children of `head()`, one after the other, whose trie nodes were made ready by `NodeGroups`.
   *
   * @param storageRoots of each block, as in `BlockContent`
   * @throws {CodedError} storage/not-child-of-head
   */
  commitGroup(group: BlockGroup, storageRoots: readonly ReadonlyMap<Hex, Uint8Array>[], nodeRows: Uint8Array): void;
  /** To make trie nodes of groups ready; in another thread on a store of its own, open for reading. */
  nodeGroups(): NodeGroups;
  writeLabels(labels: Partial<Record<ForkchoiceLabel, BlockId>>): void;

  /** Small named values of the client itself (chain config, versions). */
  readMeta(key: string): Uint8Array | undefined;
  writeMeta(key: string, value: Uint8Array): void;

  /**
   * Canonical blocks whose logs may match, ascending; the caller filters exactly. Undefined or empty lists match anything. Takes time in
   * proportion to the blocks of the rarest condition.
   */
  blocksWithLogs(
    filter: {
      readonly addresses?: readonly Uint8Array[] | undefined;
      readonly topics?: readonly (readonly Uint8Array[] | undefined)[] | undefined;
    },
    fromBlock: number,
    toBlock: number,
  ): Iterable<number>;

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

/** A `ChainStore` with what its operator needs. */
export interface ChainDatabase extends ChainStore {
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
