import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@rnode/observe";
import { bytesToHex, CodedError, equalBytes, type Hex, hexToBytes, isCodedError } from "@rnode/primitives";
import type { BlockId, L2BlockRef } from "@rnode/protocol";
import { Environment, type Table } from "@rnode/storage/environment";
import { StartError } from "../common/start-error.ts";

/** After everything up to and including `l1Block` was derived, `safeHead` was the safe head. */
export interface SafeHeadEntry {
  readonly l1Block: BlockId;
  readonly safeHead: BlockId;
}

type SafeHeadDatabaseErrorCode =
  /** a row that is not an entry: `row` */
  "safe-heads/invalid-db-entry";

const ENTRY_PREFIX = 0;
const KEY_BYTES = 9;
const ENTRY_BYTES = 72;
const DATA_FILE = "data.mdb";
const TABLES: ReadonlySet<string> = new Set(["safe_heads", "gaps", "rollup"]);
const ROLLUP_KEY = Uint8Array.of(0);
const GAP = Uint8Array.of(1);
/** While the node catches up, one commit in this many waits for the disk. */
const COMMITS_PER_FLUSH = 64;
const DELETED_AT_ONCE = 10_000;

/**
 * The safe head after each L1 block (`--safedb.path`). Spec: docs/protocol/05-services.md#safe-head-database
 * Row: `00 ‖ L1 number u64 → L1 hash 32 ‖ L2 hash 32 ‖ L2 number u64`, integers big-endian. A second table lists the L1 blocks
 * after which there is a gap, because the node ran without the database: until the next row, the answer is unknown.
 * PERF: a commit waits for the disk, some milliseconds. The first safe block of an L1 block is committed at once, later ones
 * together with the first of the next L1 block, or when derivation has read everything. A kill between them loses no L1 block,
 * and `safe-start.ts` completes the row. While the node catches up, only a few commits wait for the disk. A kill still loses
 * nothing; if a power cut damages the database, the node detects it and starts a new one.
 */
export class SafeHeadDatabase {
  private readonly environment: Environment;
  private readonly entries: Table;
  private readonly gaps: Table;
  /** belongs to an L1 block that has a row already, and is newer than it */
  private pending: SafeHeadEntry | undefined;
  private written: SafeHeadEntry | undefined;
  private unflushed = 0;

  private constructor(environment: Environment, entries: Table, gaps: Table) {
    this.environment = environment;
    this.entries = entries;
    this.gaps = gaps;
    this.written = this.stored(entries.lastUpTo(keyOf(Number.MAX_SAFE_INTEGER)));
  }

  /**
   * Opens the database, and creates it if it is missing. A damaged one is put aside: it can be derived from L1 again.
   *
   * @param genesis the rollup's first block, by which a database of another rollup is noticed
   * @throws {StartError} start/bad-config
   */
  static open(folder: string, genesis: Hex, log: Logger): SafeHeadDatabase {
    try {
      return SafeHeadDatabase.openChecked(folder, genesis);
    } catch (error) {
      if (isCodedError(error, "safe-heads/") || isCodedError(error, "storage/corrupted")) {
        const file = join(folder, DATA_FILE);
        renameSync(file, `${file}.damaged`);
        log.warn("the safe-head database is damaged: put aside, and the record begins anew", {
          aside: `${file}.damaged`,
          reason: error.message,
        });
        return SafeHeadDatabase.openChecked(folder, genesis);
      }
      if (!isCodedError(error, "storage/")) throw error;
      throw new StartError("start/bad-config", `--safedb.path ${folder}: ${error.message}`, { cause: error });
    }
  }

  private static openChecked(folder: string, genesis: Hex): SafeHeadDatabase {
    const isNew = !existsSync(join(folder, DATA_FILE));
    const environment = new Environment(folder, { readOnly: false, mapSizeBytes: undefined, sync: "each", syncIntervalMs: 0 });
    try {
      const foreign = isNew ? undefined : environment.tableNames().find((name) => !TABLES.has(name));
      if (foreign !== undefined) {
        throw new StartError(
          "start/bad-config",
          `--safedb.path ${folder} holds another database (table "${foreign}"): give a folder of its own`,
        );
      }
      const table = (name: string): Table => environment.openTable(name)!;
      const rollup = table("rollup");
      const known = rollup.read(ROLLUP_KEY);
      if (known !== undefined && !equalBytes(known, hexToBytes(genesis))) {
        throw new StartError(
          "start/bad-config",
          `--safedb.path ${folder} is of the rollup that begins with ${bytesToHex(known)}, and this one begins with ${genesis}: give another folder`,
        );
      }
      if (known === undefined) environment.atomically(() => rollup.write(ROLLUP_KEY, hexToBytes(genesis)));
      return new SafeHeadDatabase(environment, table("safe_heads"), table("gaps"));
    } catch (error) {
      environment.abandon();
      throw error;
    }
  }

  /** The safe head after L1 block `l1Number`; undefined if it is not known. @throws {CodedError} safe-heads/*, storage/* */
  at(l1Number: number): SafeHeadEntry | undefined {
    const entry = this.lastUpTo(l1Number);
    if (entry === undefined) return undefined;
    const gap = this.gaps.lastUpTo(keyOf(l1Number));
    return gap !== undefined && numberOf(gap.key) >= entry.l1Block.number ? undefined : entry;
  }

  /** The newest entry of an L1 block up to `l1Number`, even if nothing is known about the blocks after it. */
  lastUpTo(l1Number: number): SafeHeadEntry | undefined {
    const { pending } = this;
    if (pending !== undefined && pending.l1Block.number <= l1Number) return pending;
    return this.stored(this.entries.lastUpTo(keyOf(l1Number)));
  }

  /**
   * The L1 block whose data made an L2 block safe: the first one after which the safe head was not below it.
   *
   * @returns "unknown" if it was safe before the record begins, or while the node ran without the database
   * @throws {CodedError} safe-heads/*, storage/*
   */
  firstWithSafe(l2Number: number): BlockId | "not-safe-yet" | "unknown" {
    const entry = this.entryWithSafe(l2Number);
    if (entry === undefined) return "not-safe-yet";
    const { number } = entry.l1Block;
    // what is safe after the entry's block may have been so before, unless the head before is known
    const isExact = entry.safeHead.number === l2Number || (number > 0 && this.at(number - 1) !== undefined);
    return isExact ? entry.l1Block : "unknown";
  }

  /** As `firstWithSafe`; where that is unknown, the first L1 block that is known to suffice. @throws {CodedError} safe-heads/*, storage/* */
  knownSafeBy(l2Number: number): BlockId | undefined {
    return this.entryWithSafe(l2Number)?.l1Block;
  }

  /** The first entry whose safe head is not below a number. */
  private entryWithSafe(l2Number: number): SafeHeadEntry | undefined {
    const { first, last } = this;
    if (first === undefined || last === undefined || last.safeHead.number < l2Number) return undefined;
    let from = first.l1Block.number;
    let to = last.l1Block.number;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const entry = this.lastUpTo(middle)!;
      if (entry.safeHead.number >= l2Number) to = entry.l1Block.number;
      else from = middle + 1;
    }
    return this.lastUpTo(from)!;
  }

  /** The entries with safe heads above a block, oldest first. Nothing may be written meanwhile. @throws {CodedError} safe-heads/*, storage/* */
  *after(base: L2BlockRef): Generator<SafeHeadEntry> {
    const { pending } = this;
    for (const row of this.entries.range(keyOf(base.l1Origin.number))) {
      const entry = this.stored(row);
      if (entry === undefined || entry.safeHead.number <= base.number) continue;
      yield pending?.l1Block.hash === entry.l1Block.hash ? pending : entry;
    }
  }

  get last(): SafeHeadEntry | undefined {
    return this.pending ?? this.written;
  }

  get first(): SafeHeadEntry | undefined {
    return this.stored(this.entries.firstFrom(keyOf(0)));
  }

  /**
   * The safe head advanced to `safeHead` with data of `l1Block`.
   *
   * @param isCatchingUp there are many more to come
   * @throws {CodedError} storage/*
   */
  record(entry: SafeHeadEntry, isCatchingUp = false): void {
    if (this.written?.l1Block.hash === entry.l1Block.hash) {
      this.pending = entry;
      return;
    }
    const isFlushed = !isCatchingUp || this.unflushed >= COMMITS_PER_FLUSH;
    this.environment.atomically(
      () => {
        if (this.pending !== undefined) this.put(this.pending);
        this.put(entry);
      },
      { isFlushed },
    );
    this.unflushed = isFlushed ? 0 : this.unflushed + 1;
    this.pending = undefined;
    this.written = entry;
  }

  /** Commits the pending rows. @throws {CodedError} storage/* */
  settle(): void {
    const { pending } = this;
    if (pending === undefined && this.unflushed === 0) return;
    this.environment.atomically(() => this.put(pending ?? this.written!));
    this.unflushed = 0;
    this.pending = undefined;
    this.written = pending ?? this.written;
  }

  /**
   * Derivation restarts after `safe`: removes the rows after it.
   *
   * @param derivedFrom the L1 block from which `safe` was derived, if known
   * @throws {CodedError} safe-heads/*, storage/*
   */
  reset(safe: L2BlockRef, derivedFrom: BlockId | undefined): void {
    this.settle();
    const safeHead = { hash: safe.hash, number: safe.number };
    this.environment.atomically(() => {
      if (derivedFrom !== undefined) {
        this.removeFrom(derivedFrom.number);
        this.put({ l1Block: derivedFrom, safeHead });
        return;
      }
      const replaced = this.firstSafeAt(safe);
      if (replaced !== undefined) {
        const { number } = replaced.l1Block;
        const isExact = number > 0 && this.at(number - 1) !== undefined;
        this.removeFrom(number);
        if (isExact) this.put({ l1Block: replaced.l1Block, safeHead });
        return;
      }
      const last = this.stored(this.entries.lastUpTo(keyOf(Number.MAX_SAFE_INTEGER)));
      if (last !== undefined && last.safeHead.number < safe.number) this.gaps.write(keyOf(last.l1Block.number), GAP);
    });
    this.written = this.stored(this.entries.lastUpTo(keyOf(Number.MAX_SAFE_INTEGER)));
  }

  async close(): Promise<void> {
    try {
      this.settle();
    } finally {
      await this.environment.close();
    }
  }

  /** The first entry, from the L1 origin of `safe` on, by which `safe` was safe. */
  private firstSafeAt(safe: L2BlockRef): SafeHeadEntry | undefined {
    for (const row of this.entries.range(keyOf(safe.l1Origin.number))) {
      const entry = this.stored(row);
      if (entry !== undefined && entry.safeHead.number >= safe.number) return entry;
    }
    return undefined;
  }

  private removeFrom(l1Number: number): void {
    for (const table of [this.entries, this.gaps]) {
      for (let keys: Uint8Array[] = []; ; keys = []) {
        for (const key of table.keys(keyOf(l1Number))) if (keys.push(key) === DELETED_AT_ONCE) break;
        for (const key of keys) table.delete(key);
        if (keys.length < DELETED_AT_ONCE) break;
      }
    }
  }

  private put({ l1Block, safeHead }: SafeHeadEntry): void {
    const value = new Uint8Array(ENTRY_BYTES);
    value.set(hexToBytes(l1Block.hash));
    value.set(hexToBytes(safeHead.hash), 32);
    new DataView(value.buffer).setBigUint64(64, BigInt(safeHead.number));
    const key = keyOf(l1Block.number);
    this.entries.write(key, value);
    this.gaps.delete(key);
  }

  private stored(row: { readonly key: Uint8Array; readonly value: Uint8Array } | undefined): SafeHeadEntry | undefined {
    if (row === undefined) return undefined;
    const { key, value } = row;
    if (key.length !== KEY_BYTES || key[0] !== ENTRY_PREFIX || value.length !== ENTRY_BYTES) {
      throw new CodedError<SafeHeadDatabaseErrorCode>("safe-heads/invalid-db-entry", { row: bytesToHex(key) });
    }
    const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
    return {
      l1Block: { hash: bytesToHex(value.subarray(0, 32)), number: numberOf(key) },
      safeHead: { hash: bytesToHex(value.subarray(32, 64)), number: Number(view.getBigUint64(64)) },
    };
  }
}

function keyOf(l1Number: number): Uint8Array {
  const key = new Uint8Array(KEY_BYTES);
  key[0] = ENTRY_PREFIX;
  new DataView(key.buffer).setBigUint64(1, BigInt(l1Number));
  return key;
}

const numberOf = (key: Uint8Array): number => Number(new DataView(key.buffer, key.byteOffset, key.byteLength).getBigUint64(1));
