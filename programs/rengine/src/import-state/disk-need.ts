import { statfsSync, statSync } from "node:fs";
import { isSystemError } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { StateSource } from "./state-source.ts";

/** Of the database: a row and its part of the trie, with the room that pages keep. Measured with 200,000 accounts and 800,000 slots: 162. */
const ROW_BYTES = 200;
/** The database and the temporary files of a state, by bytes of its lines. */
const LINE_FACTOR = 4;
/** Packed lines are that much smaller. */
const PACKED_FACTOR = 5;
/** Left free, because a full disk stops the node and the system. */
const RESERVE_BYTES = 1 << 30;

/**
 * Reports how much disk the import takes, before it starts.
 *
 * @param database file of an earlier attempt, whose space is used again
 * @throws {UserError} if the disk of `folder` does not have it
 */
export function checkDisk(
  source: StateSource,
  { folder, database }: { readonly folder: string; readonly database: string },
  io: CommandIo,
): void {
  const need = needOf(source);
  if (need !== undefined) assertRoom(folder, need, io, sizeOf(database));
  else
    io.err(
      `the import takes about ${ROW_BYTES} bytes of disk for each account and slot; ${folder} has ${mebibytes(freeBytes(folder))} free`,
    );
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Reports a need of disk. @param used bytes of it that are used already. @throws {UserError} if the disk of `folder` does not have it */
export function assertRoom(folder: string, need: number, io: CommandIo, used = 0): void {
  const free = freeBytes(folder) + used;
  io.err(`the import takes about ${mebibytes(need)} of disk; ${folder} has ${mebibytes(free)} free`);
  if (need + RESERVE_BYTES <= free || need < RESERVE_BYTES / 8) return;
  throw new UserError(
    `--datadir ${folder}: the import takes about ${mebibytes(need)}, and ${mebibytes(RESERVE_BYTES)} stay free, but the disk has ${mebibytes(free)}: name a folder on a larger one`,
  );
}

function needOf(source: StateSource): number | undefined {
  if (source.kind === "sorted") return (source.rows.accounts + source.rows.slots) * ROW_BYTES;
  if (source.kind === "peers" || source.sizeBytes === undefined) return undefined;
  return source.sizeBytes * LINE_FACTOR * (source.isPacked ? PACKED_FACTOR : 1);
}

function sizeOf(file: string): number {
  try {
    return statSync(file).blocks * 512;
  } catch (error) {
    if (isSystemError(error, "ENOENT", "ENOTDIR")) return 0;
    throw error;
  }
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
