import type { Hex } from "@rnode/primitives";
import type {
  Block,
  BlockId,
  ChainConfig,
  Header,
  PayloadAttributes,
  PayloadStatusV1,
  Receipt,
  SignedTransaction,
} from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import type { TrieNodeReader } from "@rnode/trie";
import type { PreparedBlock } from "./prepared-block.ts";

export type { StateView } from "@rnode/storage";

/** A block that can be asked for by tag, number or hash. */
export type BlockSelector =
  | { readonly kind: "tag"; readonly tag: "latest" | "pending" | "safe" | "finalized" | "earliest" }
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "hash"; readonly hash: Uint8Array; readonly requireCanonical: boolean };

/** A block with all that JSON-RPC shows of it. */
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

/** To be read before the listener returns: blocks that have left meanwhile are not in it. */
export interface HeadChange {
  readonly head: StoredBlock;
  /** blocks that left the canonical chain, newest first; empty when the chain only grew */
  readonly removed: readonly StoredBlock[];
  /** blocks that joined, oldest first */
  readonly added: readonly StoredBlock[];
}

export interface ForkchoiceState {
  readonly headBlockHash: Uint8Array;
  /** zero hash: not set */
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

/** A transaction that may go into a block being built. */
export interface PendingTransaction {
  readonly transaction: SignedTransaction;
  readonly sender: Uint8Array;
  /** complete EIP-2718 encoding */
  readonly encoded: Uint8Array;
  readonly hash: Uint8Array;
}

/** Transactions by descending tip; nonces of one sender ascend. */
export interface BestTransactions {
  next(): PendingTransaction | undefined;
  /** Leaves out what remains of the sender of the last transaction: it cannot follow. */
  skipSender(): void;
}

/** What block building asks of the transaction pool. */
export interface PendingSource {
  /** @param block the block that is being built */
  best(baseFeeWei: bigint, block: { readonly number: number; readonly timestampSec: number }): BestTransactions;
}

/**
 * Rules a block can break. The name goes into `validationError`.
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
  | "request-invalid"
  | "transactions-root-mismatch"
  | "transaction-type-not-allowed"
  | "transaction-signature-invalid"
  | "transaction-rejected"
  | "da-footprint-above-gas-limit"
  | "block-too-large"
  | "gas-used-mismatch"
  | "logs-bloom-mismatch"
  | "receipts-root-mismatch"
  | "state-root-mismatch";

/** A broken rule and small plain data that says where. */
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

/** What Ethereum's attributes leave to the builder. */
export interface BuildChoices {
  /** default: the parent's */
  readonly desiredGasLimit?: bigint | undefined;
  readonly extraData?: Uint8Array | undefined;
}

/** What is told of an item whose block is stored. PERF: the block's transactions are not kept in memory until then. */
export type StoredItem<T extends { readonly block: Block }> = Omit<T, "block"> & {
  readonly header: Header;
  readonly transactionCount: number;
};

export interface ImportOptions<S> {
  /** written in one durable commit */
  readonly groupBlocks: number;
  /** for every block that is stored, or already was */
  readonly onStored?: ((item: S) => void) | undefined;
  /** default: `IMPORT_LIMITS` */
  readonly limits?: ImportLimits | undefined;
}

/** Bytes of blocks that wait in memory; the last block of each may be beyond them, however large it is. */
export interface ImportLimits {
  /** of a group's headers, bodies, receipts and senders; up to three groups are in memory */
  readonly groupBytes: number;
  /** of what is prepared before its turn */
  readonly aheadBytes: number;
}

/** A block that was not imported, and everything after it. */
export interface ImportRefusal {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** undefined: its parent is not in the database */
  readonly validationError: string | undefined;
}

/** The canonical chain of one node: the only writer of the store. All methods are synchronous unless they say otherwise. */
export interface Chain {
  readonly config: ChainConfig;
  readonly genesis: StoredBlock;
  head(): BlockId;
  /** undefined also when the history of the block was pruned */
  resolve(selector: BlockSelector): StoredBlock | undefined;
  /** also of blocks whose history was pruned */
  bodyOf(selector: BlockSelector): { readonly block: Block; readonly hash: Uint8Array } | undefined;
  headerOf(selector: BlockSelector): { readonly header: Header; readonly hash: Uint8Array } | undefined;
  /** State after the block, canonical or executed and in memory; undefined when not retained. */
  stateAt(block: BlockId): StateView | undefined;
  /** Trie nodes of the state after the block; undefined when out of the proof window. */
  trieNodesAt(block: BlockId): TrieNodeReader | undefined;
  /** Executes and checks a block; VALID blocks are kept in memory until fork choice makes them canonical. */
  newPayload(block: PreparedBlock): PayloadStatusV1;
  /**
   * Executes blocks that follow each other and commits them in groups; each group's last block becomes the head, and listeners are told. Blocks
   * that are canonical already are passed over. What was executed before an invalid block, or before `blocks` throws, is stored.
   *
   * Until it has ended, only the import moves the head: `forkchoiceUpdated` answers SYNCING and changes nothing, `newPayload` answers SYNCING
   * for a block that it would have to execute. `close` ends it after the block that it is at.
   *
   * @returns undefined when all blocks were imported
   * @throws {CodedError} chain/importing: one at a time; chain/closed
   */
  import<T extends { readonly block: Block }>(
    blocks: AsyncIterable<T> | Iterable<T>,
    options: ImportOptions<StoredItem<T>>,
  ): Promise<ImportRefusal | undefined>;
  /** A block that was built or executed here, chosen or not, as long as it is in memory. */
  executedBlock(hash: Uint8Array): PreparedBlock | undefined;
  /** Moves the labels, reorganising or rewinding where needed, and starts a build when attributes are given. */
  forkchoiceUpdated(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult;
  /** The best version so far; ends the job. */
  getPayload(id: Hex): BuiltPayload | undefined;
  /**
   * A block on any executed parent, built at once and kept nowhere: the forced transactions, and those of the pool unless the attributes say
   * otherwise. For tests of other clients: the rollup node builds with `forkchoiceUpdated`.
   */
  buildBlock(parentHash: Uint8Array, attributes: PayloadAttributes, choices?: BuildChoices): BuildResult;
  /** `miner_setMaxDASize`: limits on pool transactions by estimated compressed size in bytes; 0 is off. */
  setMaxDaSize(maxTransactionBytes: bigint, maxBlockBytes: bigint): void;
  /** Where pool transactions come from; without one, blocks hold forced transactions only. */
  setPendingSource(source: PendingSource): void;
  /** The last blocks that were executed and found invalid, newest first. */
  badBlocks(): readonly BadBlock[];
  onHeadChange(listener: (change: HeadChange) => void): () => void;
  close(): Promise<void>;
}
