import { join } from "node:path";
import { bytesToHex, EMPTY_BYTES, EMPTY_KECCAK, equalBytes, keccak256 } from "@rnode/primitives";
import type { Header } from "@rnode/protocol";
import { type AccountFields, decodeAccount } from "./compact/account.ts";
import { decodeBytecode } from "./compact/bytecode.ts";
import { decodeCheckpoint, decodeMetadata } from "./compact/settings.ts";
import { atPlace, damaged, Malformed, placed, RethDataError } from "./errors.ts";
import { assertNotInUse } from "./files/in-use.ts";
import { u64 } from "./files/little-endian.ts";
import { readSmallFile, statFile } from "./files/read-file.ts";
import { PageFile } from "./mdbx/page-file.ts";
import { Table } from "./mdbx/table.ts";
import { StaticHeaders } from "./static-files/static-headers.ts";

export interface RethAccount extends AccountFields {
  /** keccak256 of the address */
  readonly addressHash: Uint8Array;
}

export interface RethSlot {
  /** keccak256 of the address */
  readonly addressHash: Uint8Array;
  /** keccak256 of the slot */
  readonly slotHash: Uint8Array;
  /** big-endian without leading zeros, never empty */
  readonly value: Uint8Array;
}

/**
 * The state and the headers in the data directory of a stopped op-reth. The state is under hashes, which storage v1 and v2 both have. Memory is
 * bounded whatever the size. MDBX has no checksums: the form of all rows is checked here, their values only by a state root. Headers and code
 * are checked against their hashes.
 *
 * Rows come in the order of their keys. Their bytes are views of pages of the file: copy those that stay for long. All methods and iterators
 * throw `RethDataError`: reth-data/damaged, reth-data/in-use if op-reth wrote meanwhile, reth-data/unreadable.
 */
export interface RethData {
  /** the block that the state is after */
  readonly head: { readonly number: number; readonly hash: Uint8Array };
  /** rows of the state */
  readonly counts: { readonly accounts: number; readonly slots: number };
  /** @throws {RethDataError} reth-data/no-header if the directory has none, or a placeholder */
  header(number: number): Header;
  accounts(): Iterable<RethAccount>;
  slots(): Iterable<RethSlot>;
  /** `undefined` if the directory does not have it */
  code(codeHash: Uint8Array): Uint8Array | undefined;
  close(): void;
}

const DATABASE_VERSION = "2";
const SETTINGS_KEY = "storage_settings";
const KNOWN_SETTINGS = ['{"storage_v2":true}', '{"storage_v2":false}'];
const HASH_BYTES = 32;
const STAGE_NAME = /^[\w-]{1,40}$/;
/** Stages that change the state: without one of them there is none. */
const STATE_STAGES = ["Execution", "AccountHashing", "StorageHashing", "MerkleExecute", "Finish"];
/** Stages that a node leaves at an older block, or at 0, when it has nothing for them to do. */
const IDLE_STAGES = new Set(["Era", "Prune", "PruneSenderRecovery"]);

/**
 * Opens the data directory of an op-reth, the folder with `db` and `static_files`, read only.
 *
 * @throws {RethDataError} reth-data/not-a-data-directory, reth-data/unknown-version, reth-data/in-use, reth-data/stopped-midway,
 *   reth-data/no-header if the static files end before the state's block, reth-data/damaged, reth-data/unreadable
 */
export function openRethData(folder: string): RethData {
  checkFolder(folder);
  assertNotInUse(folder);
  const file = new PageFile(join(folder, "db", "mdbx.dat"));
  try {
    return new OpenRethData(folder, file);
  } catch (error) {
    file.close();
    throw error;
  }
}

/** @throws {RethDataError} reth-data/not-a-data-directory, reth-data/unknown-version */
function checkFolder(folder: string): void {
  for (const name of ["db/mdbx.dat", "db/database.version", "static_files"]) {
    if (statFile(join(folder, name)) !== undefined) continue;
    const reason = statFile(folder) ? `it has no ${name}` : "there is no such folder";
    throw new RethDataError("reth-data/not-a-data-directory", { folder, reason });
  }
  const path = join(folder, "db/database.version");
  const version = Buffer.from(readSmallFile(path) ?? []).toString("latin1");
  if (version.trim() !== DATABASE_VERSION) {
    const found = JSON.stringify(version.slice(0, 20));
    throw new RethDataError("reth-data/unknown-version", { what: path, found, known: `"${DATABASE_VERSION}"` });
  }
}

class OpenRethData implements RethData {
  readonly head: { readonly number: number; readonly hash: Uint8Array };
  readonly counts: { readonly accounts: number; readonly slots: number };
  readonly #folder: string;
  readonly #file: PageFile;
  readonly #headers: StaticHeaders;
  readonly #codes: Table | undefined;

  /** @param file closed by the caller if this throws */
  constructor(folder: string, file: PageFile) {
    this.#folder = folder;
    this.#file = file;
    this.#checkSettings();
    this.counts = { accounts: this.#table("HashedAccounts").rowCount, slots: this.#table("HashedStorages").rowCount };
    this.#codes = Table.named(file, "Bytecodes");
    const number = this.#readHeadNumber();
    this.#headers = new StaticHeaders(join(folder, "static_files"));
    try {
      this.head = { number, hash: this.#headers.read(number).hash };
      this.#checkHead();
    } catch (error) {
      this.#headers.close();
      throw error;
    }
  }

  header(number: number): Header {
    return this.#headers.read(number).header;
  }

  accounts(): Generator<RethAccount, void, undefined> {
    return this.#rows("HashedAccounts", (addressHash, value) => ({ addressHash, ...decodeAccount(value) }));
  }

  slots(): Generator<RethSlot, void, undefined> {
    return this.#rows("HashedStorages", (addressHash, row) => ({ addressHash, slotHash: slotOf(row), value: slotValue(row) }));
  }

  code(codeHash: Uint8Array): Uint8Array | undefined {
    if (equalBytes(codeHash, EMPTY_KECCAK)) return EMPTY_BYTES;
    try {
      const row = this.#codes?.get(codeHash);
      if (row === undefined) return undefined;
      return atPlace(this.#file.path, `the code ${bytesToHex(codeHash)}`, () => {
        const code = decodeBytecode(row);
        if (!equalBytes(keccak256(code), codeHash)) throw new Malformed("the code has another hash");
        return code;
      });
    } catch (error) {
      throw this.#orInUse(error);
    }
  }

  close(): void {
    this.#headers.close();
    this.#file.close();
  }

  *#rows<T>(name: string, decode: (key: Uint8Array, value: Uint8Array) => T): Generator<T, void, undefined> {
    let key: Uint8Array = EMPTY_BYTES;
    try {
      for (const batch of this.#table(name).batches()) {
        for (const row of batch) {
          if (row.key.length !== HASH_BYTES) throw new Malformed(`the next key has ${row.key.length} bytes`);
          key = row.key;
          yield decode(key, row.value);
        }
      }
      this.#assertUnchanged();
    } catch (cause) {
      throw this.#orInUse(placed(cause, this.#file.path, `the row ${bytesToHex(key)} of ${name}`));
    }
  }

  #assertUnchanged(): void {
    if (this.#file.isUnchanged()) return;
    const reason = "a process wrote to the database while it was read";
    throw new RethDataError("reth-data/in-use", { folder: this.#folder, reason });
  }

  /** The error to throw for a caught one: pages that a running node reuses look like damage. */
  #orInUse(error: unknown): unknown {
    if (error instanceof RethDataError && error.code === "reth-data/damaged") this.#assertUnchanged();
    return error;
  }

  #table(name: string): Table {
    const table = Table.named(this.#file, name);
    if (table === undefined) throw damaged(this.#file.path, "its list of tables", `there is no table ${name}`);
    return table;
  }

  /** Storage v1 and v2 differ in tables that are not read; nodes older than v2 have no entry. @throws {RethDataError} reth-data/unknown-version */
  #checkSettings(): void {
    const value = Table.named(this.#file, "Metadata")?.get(new TextEncoder().encode(SETTINGS_KEY));
    if (value === undefined) return;
    const settings = atPlace(this.#file.path, `Metadata's ${SETTINGS_KEY}`, () => decodeMetadata(value));
    if (KNOWN_SETTINGS.includes(settings)) return;
    throw new RethDataError("reth-data/unknown-version", {
      what: `${SETTINGS_KEY} of ${this.#folder}`,
      found: JSON.stringify(settings.slice(0, 200)),
      known: KNOWN_SETTINGS.join(" and "),
    });
  }

  /** The block of all stages. @throws {RethDataError} reth-data/stopped-midway */
  #readHeadNumber(): number {
    const stages = new Map<string, number>();
    for (const batch of this.#table("StageCheckpoints").batches()) {
      for (const { key, value } of batch) {
        const name = Buffer.from(key).toString("latin1");
        if (!STAGE_NAME.test(name))
          throw damaged(this.#file.path, "StageCheckpoints", `a stage named ${bytesToHex(key.subarray(0, 40))}`);
        stages.set(
          name,
          atPlace(this.#file.path, `the checkpoint of stage ${name}`, () => decodeCheckpoint(value)),
        );
      }
    }
    const midway = (reason: string): RethDataError =>
      new RethDataError("reth-data/stopped-midway", { folder: this.#folder, reason });
    const missing = STATE_STAGES.find((name) => !stages.has(name));
    if (missing !== undefined) throw midway(`stage ${missing} has never run`);
    const head = stages.get("Execution")!;
    for (const [name, number] of stages) {
      if (number !== head && !IDLE_STAGES.has(name))
        throw midway(`stage Execution is at block ${head}, stage ${name} at ${number}`);
    }
    return head;
  }

  /** The database and the static files are of one node if the database has the head's hash. */
  #checkHead(): void {
    const { number, hash } = this.head;
    const stored = this.#table("HeaderNumbers").get(hash);
    if (stored === undefined || stored.length !== 8 || u64(stored, 0) !== number) {
      const reason = `it does not have ${bytesToHex(hash)}, which static_files has for block ${number}`;
      throw damaged(this.#file.path, "HeaderNumbers", reason);
    }
  }
}

/** The first 32 bytes of a row of storage. @throws {Malformed} */
function slotOf(row: Uint8Array): Uint8Array {
  if (row.length <= 32 || row.length > 64 || row[32] === 0) throw new Malformed(`a slot with a value of ${row.length - 32} bytes`);
  return row.subarray(0, 32);
}

const slotValue = (row: Uint8Array): Uint8Array => row.subarray(32);
