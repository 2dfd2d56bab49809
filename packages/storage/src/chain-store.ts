import type { AccountRecord, StateChanges } from "@rnode/evm";
import type { Hex } from "@rnode/primitives";
import type { Block, BlockId, Header, Receipt } from "@rnode/protocol";
import type { TrieNodeChange, TrieNodeReader } from "@rnode/trie";

/** Account of the flat state: what execution sees and the root of its storage trie. */
export interface StoredAccount extends AccountRecord {
  readonly storageRoot: Uint8Array;
}

/** All a block leaves behind; written in one atomic commit. */
export interface BlockCommit {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly receipts: readonly Receipt[];
  /** sender of each transaction, 20 bytes */
  readonly senders: readonly Uint8Array[];
  readonly changes: StateChanges;
  /** new storage roots of the accounts whose storage changed, by lower-case hex address */
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  readonly nodes: readonly TrieNodeChange[];
}

export interface TransactionLocation {
  readonly blockNumber: number;
  readonly blockHash: Uint8Array;
  readonly index: number;
}

/** State as of one canonical block. Reads are synchronous. */
export interface StateView {
  readonly block: BlockId;
  readAccount(address: Uint8Array): StoredAccount | undefined;
  readStorage(address: Uint8Array, slot: Uint8Array): Uint8Array | undefined;
  readCode(codeHash: Uint8Array): Uint8Array;
  readBlockHash(number: number): Uint8Array | undefined;
}

export type ForkchoiceLabel = "safe" | "finalized";

/**
 * The chain on disk. The flat state and the trie nodes are those of `head()`; older states come from change sets and their
 * history index. Every write method is one atomic commit: a kill at any moment leaves the state before or after it.
 */
export interface ChainStore {
  /** last canonical block with state; undefined before the genesis is written */
  head(): BlockId | undefined;
  label(label: ForkchoiceLabel): BlockId | undefined;

  readHeader(hash: Uint8Array): Header | undefined;
  readBlock(hash: Uint8Array): Block | undefined;
  readReceipts(hash: Uint8Array): readonly Receipt[] | undefined;
  readSenders(hash: Uint8Array): readonly Uint8Array[] | undefined;
  readCanonicalHash(number: number): Uint8Array | undefined;
  readTransactionLocation(transactionHash: Uint8Array): TransactionLocation | undefined;
  readTotalDifficulty(hash: Uint8Array): bigint | undefined;

  /** State at a canonical block, by number; undefined when pruned or not yet there. */
  stateAt(blockNumber: number): StateView | undefined;
  /** Trie nodes at a canonical block (undo of the node change sets in memory); undefined when out of the proof window. */
  trieNodesAt(blockNumber: number): TrieNodeReader | undefined;

  /** Genesis: block, flat state and trie of an empty store. @throws CodedError storage/not-empty */
  writeGenesis(commit: BlockCommit): void;
  /** Commits the child of `head()`. @throws CodedError storage/not-child-of-head */
  commitBlock(commit: BlockCommit, labels?: Partial<Record<ForkchoiceLabel, BlockId>>): void;
  /** Unwinds to the canonical ancestor `toNumber`, then commits `commits` in order; all in one transaction. */
  reorganize(toNumber: number, commits: readonly BlockCommit[], labels?: Partial<Record<ForkchoiceLabel, BlockId>>): void;
  writeLabels(labels: Partial<Record<ForkchoiceLabel, BlockId>>): void;

  /** Small named values of the client itself (chain config, versions). */
  readMeta(key: string): Uint8Array | undefined;
  writeMeta(key: string, value: Uint8Array): void;

  /** Canonical blocks whose logs may match, ascending; the caller filters exactly. */
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
