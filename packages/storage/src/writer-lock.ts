import { closeSync, mkdirSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { storageError } from "./errors.ts";

const LOCK_FILE = "writer.lock";

/** Folders that this process has open for writing. */
const ownFolders = new Set<string>();

export interface WriterLock {
  /** whether the last writer ended without letting go of the folder: it was killed, or it crashed */
  readonly wasLeft: boolean;
  release(): void;
}

/**
 * Makes this process the only writer of the folder. The lock file holds the pid and, where the system tells it, when that process
 * started, so that a lock left by a dead process is taken over even if its pid is in use again (pid 1 of a restarted container).
 *
 * @throws {CodedError} storage/locked with the folder and the holder's pid
 */
export function acquireWriterLock(folderPath: string): WriterLock {
  const folder = resolve(folderPath);
  if (ownFolders.has(folder)) throw storageError("storage/locked", { folder, pid: process.pid });
  mkdirSync(folder, { recursive: true });
  const file = join(folder, LOCK_FILE);
  let wasLeft = false;
  while (!tryCreate(file)) {
    const holder = readHolder(file);
    if (holder !== undefined && isAlive(holder)) throw storageError("storage/locked", { folder, pid: holder.pid });
    wasLeft = true;
    takeAway(file);
  }
  ownFolders.add(folder);
  return {
    wasLeft,
    release() {
      if (ownFolders.delete(folder)) takeAway(file);
    },
  };
}

interface Holder {
  readonly pid: number;
  /** opaque; undefined where the system does not tell */
  readonly startedAt: string | undefined;
}

function tryCreate(file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx");
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
  try {
    writeSync(descriptor, `${process.pid} ${startTime(process.pid) ?? ""}\n`);
  } catch (error) {
    takeAway(file); // a full disk
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return true;
}

function readHolder(file: string): Holder | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  const [pidText = "", startedAt = ""] = text.trim().split(" ");
  const pid = Number(pidText);
  // Empty: its writer died between creating and writing it, which takes microseconds.
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, startedAt: startedAt === "" ? undefined : startedAt };
}

/** Removes the file; renamed first, so that of two processes that find a stale lock one removes it and the other sees it gone. */
function takeAway(file: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    unlinkSync(aside);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

function isAlive({ pid, startedAt }: Holder): boolean {
  if (pid === process.pid && startedAt === undefined) return false; // an earlier process: this one's folders are in `ownFolders`
  try {
    process.kill(pid, 0);
  } catch (error) {
    return isErrno(error, "EPERM");
  }
  const now = startTime(pid);
  if (startedAt !== undefined && now !== undefined) return now === startedAt && pid !== process.pid;
  return true;
}

/** Boot id and start time in clock ticks since boot, from /proc; undefined elsewhere. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // Field 22, counted after the command name, which is in parentheses and may hold spaces.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return ticks === undefined ? undefined : `${boot}:${ticks}`;
  } catch {
    return undefined;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
