import { bytesToHex, isCodedError } from "@rnode/primitives";
import type { Block, BlockId, Header, Receipt } from "@rnode/protocol";
import type { TrieNodeReader } from "@rnode/trie";
import type {
  AccountRow,
  ChainStoreReader,
  ForkchoiceLabel,
  LogFilter,
  RetainedHistory,
  SlotRow,
  StatePlace,
  StateRow,
  StateView,
  TransactionLocation,
} from "./api.ts";
import type { BlockParts } from "./blocks/block-parts.ts";
import { BlockTables } from "./blocks/block-tables.ts";
import { type Head, MetaTable, type SnapshotStart } from "./blocks/meta-table.ts";
import type { Environment } from "./database/environment.ts";
import { storageError } from "./errors.ts";
import { LogIndex } from "./logs/log-index.ts";
import { NodeTables } from "./nodes/node-tables.ts";
import type { Tables } from "./schema.ts";
import { StateTables } from "./state/state-tables.ts";
import { StoredNodeView, StoredStateView, type ViewSource } from "./state/state-view.ts";
import { TrieLeaves } from "./state/trie-leaves.ts";

/** Reading, for the process that writes as for one next to it. */
export class LmdbChainReader implements ChainStoreReader, ViewSource {
  protected readonly environment: Environment;
  protected readonly meta: MetaTable;
  protected readonly logs: LogIndex;
  readonly blocks: BlockTables;
  readonly state: StateTables;
  readonly nodes: NodeTables;
  protected readonly leaves: TrieLeaves;
  readonly proofWindowBlocks: number;
  /** used only by the writer, which moves the floor; a reader reads the database */
  protected floor: number;
  /** written once, before there is a head */
  protected snapshot: SnapshotStart | undefined;
  /** used only by the writer, which moves the head; a reader reads the database */
  protected writtenHead: Head | undefined;
  /** used by a reader only: valid for the synchronous run in which they were read, in which all reads see one state of the database */
  #headOfRun: Head | undefined;
  #floorOfRun: number | undefined;

  constructor(environment: Environment, tables: Tables, proofWindowBlocks: number, writesPreimages: boolean) {
    this.environment = environment;
    this.proofWindowBlocks = proofWindowBlocks;
    this.meta = new MetaTable(tables.meta);
    this.logs = new LogIndex(tables.logs);
    this.blocks = new BlockTables(tables, environment.folder);
    this.state = new StateTables(tables, writesPreimages);
    this.leaves = new TrieLeaves(this.state);
    this.nodes = new NodeTables(tables, !environment.readOnly, this.leaves);
    this.floor = this.meta.readPrunedHistory().floor;
    this.snapshot = this.meta.readSnapshot();
    this.writtenHead = this.meta.readHead();
  }

  /** The last block whose own history was removed. */
  #historyFloor(): number {
    return this.environment.readOnly ? this.#readerFloor() : this.floor;
  }

  // PERF: called for every read of an old state.
  #readerFloor(): number {
    if (this.#floorOfRun === undefined) {
      this.#floorOfRun = this.meta.readPrunedHistory().floor;
      queueMicrotask(this.#onRunEnd);
    }
    return this.#floorOfRun;
  }

  oldestState(): number {
    return Math.max(this.#historyFloor(), this.snapshot?.number ?? 0);
  }

  /** Whether the receipts and senders of a block are stored. They always are for the first block, whose rows are nearly empty. */
  #hasHistory(number: number): boolean {
    return number > this.#historyFloor() || number === this.meta.readFirstBlock();
  }

  #currentHead(): Head | undefined {
    return this.environment.readOnly ? this.#readerHead() : this.writtenHead;
  }

  // PERF: called for every read of a state, hundreds of times in a batch of requests.
  #readerHead(): Head | undefined {
    if (this.#headOfRun === undefined) {
      this.#headOfRun = this.meta.readHead();
      queueMicrotask(this.#onRunEnd);
    }
    return this.#headOfRun;
  }

  readonly #onRunEnd = (): void => {
    this.#headOfRun = undefined;
    this.#floorOfRun = undefined;
  };

  currentHead(): Head {
    const head = this.#currentHead();
    if (head === undefined) throw storageError("storage/empty", { folder: this.environment.folder });
    return head;
  }

  head(): BlockId | undefined {
    const head = this.#currentHead();
    return head === undefined ? undefined : { number: head.number, hash: head.hashHex };
  }

  label(label: ForkchoiceLabel): BlockId | undefined {
    return this.meta.readLabel(label);
  }

  /** Runs `read` with the number of a stored block. @throws {CodedError} storage/corrupted: the rows are invalid */
  #withNumber<T>(hash: Uint8Array, read: (number: number) => T | undefined): T | undefined {
    const number = this.blocks.numberOf(hash);
    if (number === undefined) return undefined;
    try {
      return read(number);
    } catch (error) {
      if (!isCodedError(error) || (error.code.startsWith("storage/") && error.data.folder !== undefined)) throw error;
      const data = { folder: this.environment.folder, row: `block ${number}`, reason: error.message };
      throw storageError("storage/corrupted", data, { cause: error });
    }
  }

  readHeader(hash: Uint8Array): Header | undefined {
    return this.#withNumber(hash, (number) => this.blocks.header(number));
  }

  readBlock(hash: Uint8Array): Block | undefined {
    return this.#withNumber(hash, (number) => this.blocks.block(number));
  }

  readReceipts(hash: Uint8Array): readonly Receipt[] | undefined {
    return this.#withNumber(hash, (number) => (this.#hasHistory(number) ? this.blocks.receipts(number) : undefined));
  }

  readSenders(hash: Uint8Array): readonly Uint8Array[] | undefined {
    return this.#withNumber(hash, (number) => (this.#hasHistory(number) ? this.blocks.senders(number) : undefined));
  }

  readParts(hash: Uint8Array): BlockParts | undefined {
    return this.#withNumber(hash, (number) => this.blocks.openParts(number, hash, this.#hasHistory(number)));
  }

  readTotalDifficulty(hash: Uint8Array): bigint | undefined {
    return this.#withNumber(hash, (number) => this.blocks.totalDifficulty(number));
  }

  readCanonicalHash(number: number): Uint8Array | undefined {
    return this.blocks.canonicalHash(number);
  }

  readTransactionLocation(transactionHash: Uint8Array): TransactionLocation | undefined {
    const location = this.blocks.transactionLocation(transactionHash);
    return location === undefined || !this.#hasHistory(location.blockNumber) ? undefined : location;
  }

  stateAt(blockNumber: number): StateView | undefined {
    if (blockNumber < this.oldestState()) return undefined;
    const hash = this.blocks.canonicalHash(blockNumber);
    return hash === undefined ? undefined : new StoredStateView(this, blockNumber, hash);
  }

  stateRows(block: BlockId, after?: StatePlace): Iterable<StateRow> {
    return this.state.rowsAt(this.#numberForRows(block), after);
  }

  accountRows(block: BlockId, from: Uint8Array): Iterable<AccountRow> {
    return this.state.accountsAt(this.#numberForRows(block), from);
  }

  slotRows(block: BlockId, owner: Uint8Array, from: Uint8Array): Iterable<SlotRow> {
    return this.state.slotsAt(this.#numberForRows(block), owner, from);
  }

  findCode(codeHash: Uint8Array): Uint8Array | undefined {
    return this.state.findCode(codeHash);
  }

  /** `undefined`: it is the head. @throws {CodedError} storage/state-gone */
  #numberForRows({ number, hash }: BlockId): number | undefined {
    const canonical = this.blocks.canonicalHash(number);
    const isCanonical = canonical !== undefined && bytesToHex(canonical) === hash;
    if (!isCanonical || number < this.oldestState() || number > this.currentHead().number) {
      throw storageError("storage/state-gone", { number, hash });
    }
    return number === this.currentHead().number ? undefined : number;
  }

  trieNodesAt(blockNumber: number): TrieNodeReader | undefined {
    const oldest = this.oldestProvableBlock();
    if (oldest === undefined || blockNumber < oldest) return undefined;
    const hash = this.blocks.canonicalHash(blockNumber);
    return hash === undefined ? undefined : new StoredNodeView(this, blockNumber, hash);
  }

  /** The finalized block, or the safe one if there is none; the head if there is neither. Blocks above it may be unwound. */
  protected settledNumber(head: number): number {
    return (this.meta.readLabel("finalized") ?? this.meta.readLabel("safe"))?.number ?? head;
  }

  protected oldestProvableBlock(): number | undefined {
    const head = this.#currentHead();
    const pruned = this.meta.readPrunedNodes();
    if (head === undefined || pruned === undefined) return undefined;
    const wanted = Math.min(head.number - this.proofWindowBlocks, this.settledNumber(head.number));
    return Math.max(pruned, this.meta.readRuns(), wanted, this.oldestState());
  }

  readPreimage(hash: Uint8Array): Uint8Array | undefined {
    return this.state.readPreimage(hash);
  }

  readMeta(key: string): Uint8Array | undefined {
    return this.meta.readClientValue(key);
  }

  blocksWithLogs(filter: LogFilter, fromBlock: number, toBlock: number): Iterable<number> {
    const head = this.#currentHead();
    return head === undefined
      ? []
      : this.logs.blocks(filter, Math.max(fromBlock, this.retainedHistory()?.oldestReceipts ?? 0), Math.min(toBlock, head.number));
  }

  retainedHistory(): RetainedHistory | undefined {
    const firstBlock = this.meta.readFirstBlock();
    const oldestProof = this.oldestProvableBlock();
    if (firstBlock === undefined || oldestProof === undefined) return undefined;
    const floor = this.#historyFloor();
    return {
      firstBlock,
      oldestBlock: this.#oldestBlock(firstBlock),
      oldestState: this.oldestState(),
      oldestProof,
      oldestReceipts: floor === firstBlock ? firstBlock : floor + 1,
    };
  }

  /** PERF: only a reader beside the writer reads it again. */
  #oldestBlock(firstBlock: number): number {
    const oldest = (this.environment.readOnly ? this.meta.readSnapshot() : this.snapshot)?.oldestBlock ?? firstBlock;
    return oldest === firstBlock + 1 ? firstBlock : oldest;
  }

  refresh(): void {
    this.#onRunEnd();
    if (this.environment.readOnly) this.nodes.forget();
    this.environment.refresh();
  }
}
