import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import { asciiToBytes } from "@rnode/primitives";
import type { SortedTrieProgress } from "@rnode/trie";
import type { VerifyProgress, VerifyRestartReason } from "../api.ts";
import type { PageCheckPosition } from "../database/page-check.ts";
import { startsWith } from "../database/table.ts";

/*
 * Where an interrupted verification was:
 *   mark 12 ‖ format 2 ‖ CRC-32 of what follows 4 ‖ a `Checkpoint` in the format of `v8.serialize`, which later versions of Node.js read as well
 * Numbers are big-endian. The checksum finds damage; who can write into the folder can write into the database, too.
 */
const MARK = asciiToBytes("rnode-verify");
/**
 * Increased if the layout of `Checkpoint` changes, or if a verification checks more, because rows before a checkpoint are not checked
 * again.
 */
const FORMAT = 2;
const FORMAT_AT = MARK.length;
const CHECKSUM_AT = FORMAT_AT + 2;
const CONTENT_AT = CHECKSUM_AT + 4;

/** The database for which a checkpoint is valid. */
export interface DatabaseStamp {
  /** format of the database, number and hash of the head, and number of reorgs */
  readonly head: string;
  /** `stampOfFile` of the data file */
  readonly file: string;
}

/** A position in the verification of the state. Everything before it is checked. */
export type StatePosition =
  /**
   * reading the tables of accounts and slots: up to the row of the account `account`, which is the last key of `accounts`, and the storage row
   * `slotKey`, which is in the trie `storage` if that account has one (all `undefined` at the start)
   */
  | {
      readonly phase: "rows";
      readonly account?: Uint8Array | undefined;
      readonly accounts?: SortedTrieProgress | undefined;
      readonly slotKey?: Uint8Array | undefined;
      readonly storage?: SortedTrieProgress | undefined;
    }
  /** codes up to the hash `code` */
  | { readonly phase: "codes"; readonly code?: Uint8Array | undefined };

/** The counts and errors up to a position. */
export interface StateTally {
  /** read, as in `VerifyProgress` */
  readonly rows: number;
  readonly accounts: number;
  /** in tries */
  readonly slots: number;
  readonly nodes: number;
  readonly codes: number;
  /** once the trie of the accounts is complete */
  readonly stateRoot?: Uint8Array | undefined;
  readonly problems: readonly string[];
}

/** Position of a verification. The pages of the file come first. */
export type VerifyPlace =
  | { readonly part: "pages"; readonly position: PageCheckPosition }
  | { readonly part: "state"; readonly position: StatePosition; readonly tally: StateTally };

export interface Checkpoint {
  readonly database: DatabaseStamp;
  readonly place: VerifyPlace;
  readonly progress: VerifyProgress;
}

export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const content = serialize(checkpoint);
  const header = Buffer.alloc(CONTENT_AT);
  header.set(MARK);
  header.writeUInt16BE(FORMAT, FORMAT_AT);
  header.writeUInt32BE(crc32(content), CHECKSUM_AT);
  return Buffer.concat([header, content]);
}

/** @returns the checkpoint, or why it is of no use for the database */
export function decodeCheckpoint(bytes: Buffer, database: DatabaseStamp): Checkpoint | VerifyRestartReason {
  if (bytes.length < CONTENT_AT || !startsWith(bytes, MARK)) return "damaged";
  if (bytes.readUInt16BE(FORMAT_AT) !== FORMAT) return "version";
  const content = bytes.subarray(CONTENT_AT);
  if (crc32(content) !== bytes.readUInt32BE(CHECKSUM_AT)) return "damaged";
  let checkpoint: Checkpoint;
  try {
    checkpoint = deserialize(content) as Checkpoint; // mark and checksum show that `encodeCheckpoint` wrote it
  } catch {
    return "version"; // of a later Node.js
  }
  if (checkpoint.database.head !== database.head) return "head";
  if (checkpoint.database.file !== database.file) return "file";
  return checkpoint;
}
