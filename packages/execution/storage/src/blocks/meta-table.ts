import { asciiToBytes, bytesToHex, concatBytes, type Hex, hexToBytes } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import type { ForkchoiceLabel } from "../api.ts";
import { BLOCK_NUMBER_SIZE, blockNumberKey, readBlockNumber, readUint32, writeBlockNumber, writeUint32 } from "../database/keys.ts";
import { startsWith, type Table } from "../database/table.ts";

/** The head, and the number of reorganisations so far: as long as that number stays the same, every canonical block stays canonical. */
export interface Head {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly hashHex: Hex;
  readonly reorganisations: number;
}

/** How much history has been removed. Blocks are pruned upwards from the first block of the chain. */
export interface PrunedHistory {
  /** the last block whose history was pruned; the state after it is the oldest readable one */
  readonly floor: number;
  /** the last block whose history rows have all been removed; at most `floor` */
  readonly removed: number;
  /** how much of block `removed + 1` has been removed (pruning.ts) */
  readonly cursor: number;
}

/** The first block whose state is stored, and the first block that is, apart from the genesis. */
export interface SnapshotStart {
  readonly number: number;
  readonly oldestBlock: number;
}

const HEAD_KEY = asciiToBytes("head");
const FIRST_BLOCK_KEY = asciiToBytes("first-block");
const PRUNED_NODES_KEY = asciiToBytes("pruned-nodes");
const RUNS_KEY = asciiToBytes("runs");
const PRUNED_HISTORY_KEY = asciiToBytes("pruned-history");
const SNAPSHOT_KEY = asciiToBytes("snapshot");
const UNFINISHED_KEY = asciiToBytes("unfinished-state");
const LABEL_KEYS: Readonly<Record<ForkchoiceLabel, Uint8Array>> = {
  safe: asciiToBytes("label-safe"),
  finalized: asciiToBytes("label-finalized"),
};
/** Keeps the client's keys apart from our own. */
const clientKey = (key: string): Uint8Array => asciiToBytes(`client/${key}`);
const HASH_SIZE = 32;

/** Small rows: the head, the labels, and values of the client. */
export class MetaTable {
  readonly #table: Table;
  #lastHead: { readonly row: Uint8Array; readonly head: Head } | undefined;

  constructor(table: Table) {
    this.#table = table;
  }

  /** PERF: a reader calls this with every read of the state, and the head is nearly always unchanged. */
  readHead(): Head | undefined {
    const shared = this.#table.peek(HEAD_KEY);
    if (shared === undefined) return undefined;
    const last = this.#lastHead;
    if (last !== undefined && startsWith(shared, last.row) && shared.length === last.row.length) return last.head;
    const row = Uint8Array.from({ length: shared.length }, (_, index) => shared[index]!);
    const hash = row.subarray(BLOCK_NUMBER_SIZE, BLOCK_NUMBER_SIZE + HASH_SIZE);
    const reorganisations = readBlockNumber(row, BLOCK_NUMBER_SIZE + HASH_SIZE);
    const head = { number: readBlockNumber(row, 0), hash, hashHex: bytesToHex(hash), reorganisations };
    this.#lastHead = { row, head };
    return head;
  }

  writeHead({ number, hash, reorganisations }: Head): void {
    this.#table.write(HEAD_KEY, concatBytes(blockNumberKey(number), hash, blockNumberKey(reorganisations)));
  }

  readFirstBlock(): number | undefined {
    const row = this.#table.peek(FIRST_BLOCK_KEY);
    return row === undefined ? undefined : readBlockNumber(row, 0);
  }

  writeFirstBlock(number: number): void {
    this.#table.write(FIRST_BLOCK_KEY, blockNumberKey(number));
  }

  /** The last block whose trie node changes were removed; the first block of the chain has none. */
  readPrunedNodes(): number | undefined {
    const row = this.#table.peek(PRUNED_NODES_KEY);
    return row === undefined ? this.readFirstBlock() : readBlockNumber(row, 0);
  }

  writePrunedNodes(number: number): void {
    this.#table.write(PRUNED_NODES_KEY, blockNumberKey(number));
  }

  /** The last block of a run of which only one state root was computed: nothing before it has trie nodes. 0: there was none. */
  readRuns(): number {
    const row = this.#table.peek(RUNS_KEY);
    return row === undefined ? 0 : readBlockNumber(row, 0);
  }

  writeRuns(number: number): void {
    this.#table.write(RUNS_KEY, blockNumberKey(number));
  }

  readPrunedHistory(): PrunedHistory {
    const row = this.#table.peek(PRUNED_HISTORY_KEY);
    if (row === undefined) {
      const first = this.readFirstBlock() ?? 0;
      return { floor: first, removed: first, cursor: 0 };
    }
    return {
      floor: readBlockNumber(row, 0),
      removed: readBlockNumber(row, BLOCK_NUMBER_SIZE),
      cursor: readUint32(row, 2 * BLOCK_NUMBER_SIZE),
    };
  }

  writePrunedHistory({ floor, removed, cursor }: PrunedHistory): void {
    const row = new Uint8Array(2 * BLOCK_NUMBER_SIZE + 4);
    writeBlockNumber(row, 0, floor);
    writeBlockNumber(row, BLOCK_NUMBER_SIZE, removed);
    writeUint32(row, 2 * BLOCK_NUMBER_SIZE, cursor);
    this.#table.write(PRUNED_HISTORY_KEY, row);
  }

  /** Where a database begins that was restored from a snapshot. */
  readSnapshot(): SnapshotStart | undefined {
    const row = this.#table.peek(SNAPSHOT_KEY);
    return row === undefined
      ? undefined
      : { number: readBlockNumber(row, 0), oldestBlock: readBlockNumber(row, BLOCK_NUMBER_SIZE) };
  }

  writeSnapshot({ number, oldestBlock }: SnapshotStart): void {
    this.#table.write(SNAPSHOT_KEY, concatBytes(blockNumberKey(number), blockNumberKey(oldestBlock)));
  }

  /** How far the state with this id (32 bytes) was written before the process ended. */
  readUnfinished(id: Uint8Array): Uint8Array | undefined {
    const row = this.#table.read(UNFINISHED_KEY);
    return row !== undefined && startsWith(row, id) ? row.subarray(id.length) : undefined;
  }

  /** @param progress `undefined`: there is nothing to continue */
  writeUnfinished(id: Uint8Array, progress: Uint8Array | undefined): void {
    if (progress === undefined) this.#table.delete(UNFINISHED_KEY);
    else this.#table.write(UNFINISHED_KEY, concatBytes(id, progress));
  }

  readLabel(label: ForkchoiceLabel): BlockId | undefined {
    const row = this.#table.read(LABEL_KEYS[label]);
    if (row === undefined) return undefined;
    return { number: readBlockNumber(row, 0), hash: bytesToHex(row.subarray(BLOCK_NUMBER_SIZE)) };
  }

  writeLabel(label: ForkchoiceLabel, block: BlockId | undefined): void {
    if (block === undefined) this.#table.delete(LABEL_KEYS[label]);
    else this.#table.write(LABEL_KEYS[label], concatBytes(blockNumberKey(block.number), hexToBytes(block.hash)));
  }

  readClientValue(key: string): Uint8Array | undefined {
    return this.#table.read(clientKey(key));
  }

  writeClientValue(key: string, value: Uint8Array): void {
    this.#table.write(clientKey(key), value);
  }
}
