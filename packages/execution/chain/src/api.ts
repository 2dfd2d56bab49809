import type { Hex } from "@rnode/primitives";
import type {
  Block,
  BlockId,
  ChainConfig,
  DaBytes,
  Header,
  PayloadAttributes,
  PayloadStatusV1,
  Receipt,
  SignedTransaction,
  Transaction,
} from "@rnode/protocol";
import type { BlockParts, StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { PreparedBlock } from "./prepared-block.ts";

export type { StateView } from "@rnode/storage";

/** Selects a block by tag, number or hash. */
export type BlockSelector =
  | { readonly kind: "tag"; readonly tag: "latest" | "pending" | "safe" | "finalized" | "earliest" }
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "hash"; readonly hash: Uint8Array; readonly requireCanonical: boolean };

/** A block with everything that JSON-RPC shows of it, read from the database or from executed blocks in memory. */
export interface StoredBlock {
  readonly hash: Uint8Array;
  readonly block: Block;
  readonly receipts: readonly Receipt[];
  readonly senders: readonly Uint8Array[];
}

export interface BuiltPayload {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** sum of tips in wei */
  readonly value: bigint;
  /** EIP-7685 requests, type byte first; always empty on an OP Stack chain */
  readonly requests: readonly Uint8Array[];
}

/** Sums over blocks. */
export interface BlockSums {
  readonly gasUsed: number;
  readonly transactions: number;
}

/** Must be read before the listener returns: it does not contain blocks that have left the chain since. */
export interface HeadChange {
  readonly head: StoredBlock;
  /** blocks that left the canonical chain, newest first; empty if the chain only grew */
  readonly removed: readonly StoredBlock[];
  /** blocks that joined, oldest first */
  readonly added: readonly StoredBlock[];
  /** PERF: `added` may have to be decoded; its hashes and sums are known */
  readonly addedHashes: readonly Uint8Array[];
  readonly addedSums: BlockSums;
  /** how long executing or building and committing took since the change before; undefined: not measured in this process */
  readonly elapsedMs?: number | undefined;
}

export interface ForkchoiceState {
  readonly headBlockHash: Uint8Array;
  /** the zero hash means that it is not set */
  readonly safeBlockHash: Uint8Array;
  readonly finalizedBlockHash: Uint8Array;
}

/** Why a fork choice was refused before anything changed. */
export type ForkchoiceFault =
  | "reorganisation-too-deep"
  | "safe-not-available"
  | "safe-not-canonical"
  | "finalized-not-available"
  | "finalized-not-canonical";

/**
 * Why payload attributes were refused. The fork choice itself has been applied.
 * Spec: docs/protocol/01-execution.md#payload-attributes-and-payload-id, docs/protocol/01-execution.md#block-building
 */
export type AttributesFault =
  | "timestamp-not-after-head"
  | "missing-withdrawals"
  | "unexpected-withdrawals"
  | "withdrawals-not-empty"
  | "missing-beacon-root"
  | "unexpected-beacon-root"
  | "missing-gas-limit"
  | "gas-limit-too-large"
  | "missing-eip1559-params"
  | "unexpected-eip1559-params"
  | "eip1559-params-length"
  | "eip1559-denominator-zero"
  | "eip1559-elasticity-zero"
  | "missing-min-base-fee"
  | "unexpected-min-base-fee"
  | "transaction-undecodable"
  | "missing-l1-attributes"
  | "transaction-invalid";

export type ForkchoiceResult =
  | { readonly kind: "updated"; readonly status: PayloadStatusV1; readonly payloadId: Hex | undefined }
  /** −38002 */
  | { readonly kind: "invalid-state"; readonly reason: ForkchoiceFault }
  /** −38003, or −32602 for some faults of the R profile; `reason` is one line with the details */
  | { readonly kind: "invalid-attributes"; readonly fault: AttributesFault; readonly reason: string };

export type BuildResult =
  | { readonly kind: "built"; readonly payload: BuiltPayload }
  | { readonly kind: "unknown-parent" }
  | { readonly kind: "invalid-attributes"; readonly fault: AttributesFault; readonly reason: string };

/** A block to build without transactions from the pool. */
export interface ForcedBlock {
  readonly attributes: PayloadAttributes;
  /** those of the attributes, decoded; default: they are decoded when their turn comes, and if they cannot be, they are refused */
  readonly transactions?: readonly Transaction[] | undefined;
}

export type ExtendResult =
  | {
      readonly kind: "extended";
      /** of the fork choice; unless VALID, nothing was built */
      readonly status: PayloadStatusV1;
      /** one after the other, on the chosen head; all are canonical now */
      readonly blocks: readonly PreparedBlock[];
      /** why the next block was not built; undefined: all blocks were built, or the time limit was reached */
      readonly refusal: { readonly fault: AttributesFault; readonly reason: string } | undefined;
    }
  | Extract<ForkchoiceResult, { kind: "invalid-state" }>;

/** A transaction that may be included in a block under construction. */
export interface PendingTransaction {
  readonly transaction: SignedTransaction;
  readonly sender: Uint8Array;
  /** complete EIP-2718 encoding */
  readonly encoded: Uint8Array;
  readonly hash: Uint8Array;
}

/** Transactions by descending tip, with ascending nonces for each sender. */
export interface BestTransactions {
  next(): PendingTransaction | undefined;
  /** Skips the remaining transactions of the last transaction's sender, which cannot follow if that one is left out. */
  skipSender(): void;
}

/** What block building needs from the transaction pool. */
export interface PendingSource {
  /** @param block the block that is being built */
  best(baseFeeWei: bigint, block: { readonly number: number; readonly timestampSec: number }): BestTransactions;
}

/**
 * Rules that a block can break. The name of the broken rule appears in `validationError`.
 * Spec: docs/protocol/01-execution.md#header-and-body-validity, yellow paper, EIPs of each fork
 */
export type BlockRule =
  | "parent-invalid"
  | "number-not-consecutive"
  | "timestamp-not-after-parent"
  | "gas-limit-out-of-bounds"
  | "gas-used-above-limit"
  | "base-fee-mismatch"
  | "base-fee-presence"
  | "extra-data-too-long"
  | "extra-data-form"
  | "dao-extra-data"
  | "difficulty-mismatch"
  | "terminal-difficulty-reached"
  | "terminal-difficulty-not-reached"
  | "nonce-not-zero"
  | "ommers-not-empty"
  | "ommers-hash-mismatch"
  | "ommer-invalid"
  | "withdrawals-presence"
  | "withdrawals-not-empty"
  | "withdrawals-root-presence"
  | "withdrawals-root-mismatch"
  | "blob-gas-presence"
  | "blob-gas-used-mismatch"
  | "blob-gas-above-maximum"
  | "excess-blob-gas-mismatch"
  | "parent-beacon-root-presence"
  | "requests-hash-presence"
  | "requests-hash-mismatch"
  | "block-access-list-presence"
  | "request-invalid"
  | "transactions-root-mismatch"
  | "transaction-type-not-allowed"
  /** a fork forbids users' transactions in its first block */
  | "user-transaction-in-first-block"
  | "post-exec-not-last"
  /** a post-exec transaction names another block */
  | "post-exec-block-number"
  | "gas-refund-zero"
  | "gas-refund-duplicate"
  /** a gas refund is not for a signed transaction of the block */
  | "gas-refund-target"
  | "transaction-signature-invalid"
  | "transaction-rejected"
  | "da-footprint-above-gas-limit"
  | "block-too-large"
  | "gas-used-mismatch"
  | "logs-bloom-mismatch"
  | "receipts-root-mismatch"
  | "state-root-mismatch";

/** A broken rule, with a few plain values that show where. */
export interface BlockFault {
  readonly rule: BlockRule;
  readonly data: Readonly<Record<string, string | number | bigint>>;
}

/** A block that was executed and found invalid. */
export interface BadBlock {
  readonly block: Block;
  readonly hash: Uint8Array;
  readonly fault: BlockFault;
}

/** What Ethereum's payload attributes leave to the builder. */
export interface BuildChoices {
  /** default: the parent's */
  readonly desiredGasLimit?: bigint | undefined;
  readonly extraData?: Uint8Array | undefined;
}

/** A block to import. */
export interface ImportItem {
  readonly block: Block;
  /** must be the root of exactly the block's transactions; default: it is computed */
  readonly transactionsRoot?: Uint8Array | undefined;
}

/** An imported item, reported once its block is stored. PERF: the block's transactions are not kept in memory until then. */
export type StoredItem<T extends ImportItem> = Omit<T, keyof ImportItem> & {
  readonly header: Header;
  readonly transactionCount: number;
};

export interface ImportOptions<S> {
  /** the number of blocks in one durable commit */
  readonly groupBlocks: number;
  /**
   * The number of a trusted block, whose ancestors the blocks are. Those that lie deeper below it than tries can be read are executed in
   * runs of up to 2,048, in one durable commit each: only the state root after a run is computed and compared. Default: no runs
   */
  readonly trustedHead?: number | undefined;
  /** called for every block that is stored, or already was */
  readonly onStored?: ((item: S) => void) | undefined;
  /** default: `IMPORT_LIMITS` */
  readonly limits?: ImportLimits | undefined;
}

/** Limits for the bytes of blocks that wait in memory. The last block counted by each limit may exceed it, however large it is. */
export interface ImportLimits {
  /** for the headers, bodies, receipts and senders of one group; up to three groups are in memory */
  readonly groupBytes: number;
  /** for blocks that are prepared ahead */
  readonly aheadBytes: number;
}

/** The block at which an import stopped. */
export interface ImportRefusal {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** undefined: its parent is not in the database */
  readonly validationError: string | undefined;
}

/** The canonical chain of one node, and the only writer of the store. All methods are synchronous unless they say otherwise. */
export interface Chain {
  readonly config: ChainConfig;
  readonly genesis: StoredBlock;
  head(): BlockId;
  /** also undefined if the history of the block was pruned */
  resolve(selector: BlockSelector): StoredBlock | undefined;
  /**
   * The block, with only the requested parts read, even if its history was pruned. It is valid until the next call, and at most
   * until the synchronous run ends.
   */
  partsOf(selector: BlockSelector): BlockParts | undefined;
  /** also for blocks whose history was pruned */
  bodyOf(selector: BlockSelector): { readonly block: Block; readonly hash: Uint8Array } | undefined;
  headerOf(selector: BlockSelector): { readonly header: Header; readonly hash: Uint8Array } | undefined;
  /** The state after a block, which may be canonical, or executed and in memory; undefined if it is not retained. */
  stateAt(block: BlockId): StateView | undefined;
  /** The trie nodes of the state after a block; undefined if it is outside the proof window. */
  trieNodesAt(block: BlockId): TrieNodeReader | undefined;
  /** Executes and checks a block. VALID blocks are kept in memory until fork choice makes them canonical. */
  newPayload(block: PreparedBlock): PayloadStatusV1;
  /**
   * Executes consecutive blocks and commits them in groups. The last block of each group becomes the head, and listeners are
   * notified. Canonical blocks are skipped. Blocks executed before an invalid block, or before `blocks` throws, are stored.
   * Until the import ends, only it moves the head: `forkchoiceUpdated` answers SYNCING and changes nothing, and `newPayload`
   * answers SYNCING for any block that it would have to execute. `close` ends the import after the current block.
   *
   * @returns undefined if all blocks were imported
   * @throws {CodedError} chain/importing: only one import at a time; chain/closed
   */
  import<T extends ImportItem>(
    blocks: AsyncIterable<T> | Iterable<T>,
    options: ImportOptions<StoredItem<T>>,
  ): Promise<ImportRefusal | undefined>;
  /**
   * Starts to read the state that these transactions are likely to touch, if the database is larger than the memory for it.
   *
   * @param senders once they are known; the reads that need only the transactions are then done already
   */
  readAhead(transactions: readonly Transaction[], senders: readonly Uint8Array[] | undefined): void;
  /** A block that was built or executed here, whether or not fork choice chose it, as long as it is in memory. */
  preparedBlockOf(hash: Uint8Array): PreparedBlock | undefined;
  /** Moves the labels, with a reorganisation or rewind if necessary, and starts a build if attributes are given. */
  forkchoiceUpdated(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult;
  /**
   * Moves the labels like `forkchoiceUpdated`, then builds consecutive blocks on the new head and makes them canonical, many in
   * one commit. Stops at the first block that cannot be built, or after about `limitMs`; blocks built until then stay.
   */
  extend(state: ForkchoiceState, wanted: readonly ForcedBlock[], limitMs: number): ExtendResult;
  /** Returns the best version so far, and ends the job. */
  getPayload(id: Hex): BuiltPayload | undefined;
  /**
   * Builds a block on any executed parent at once, and keeps it nowhere. It contains the forced transactions and, unless the attributes
   * say otherwise, transactions from the pool. Meant for tests of other clients: the rollup node builds with `forkchoiceUpdated`.
   */
  buildBlock(parentHash: Uint8Array, attributes: PayloadAttributes, choices?: BuildChoices): BuildResult;
  /** `miner_setMaxDASize`: limits on pool transactions by estimated compressed size; 0 turns a limit off. */
  setMaxDaSize(maxTransactionBytes: DaBytes, maxBlockBytes: DaBytes): void;
  /**
   * `miner_setGasLimit`: gas limit for pool transactions, if the block's gas limit is higher. The gas limit of Ethereum blocks
   * moves towards it. 0 turns it off.
   */
  setGasLimit(gasLimit: bigint): void;
  /** Sets the source of pool transactions. Without one, blocks contain forced transactions only. */
  setPendingSource(source: PendingSource): void;
  /** The most recent blocks that were executed and found invalid, newest first. */
  badBlocks(): readonly BadBlock[];
  onHeadChange(listener: (change: HeadChange) => void): () => void;
  close(): Promise<void>;
}
