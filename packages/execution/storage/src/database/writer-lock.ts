import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isSystemError } from "@rnode/primitives";
import { storageError } from "../errors.ts";

const LOCK_FILE = "writer.lock";
const EMPTY_LOCK_WAIT_MS = 50;

/** Folders that this process has opened for writing. */
const ownFolders = new Set<string>();

export interface WriterLock {
  /** whether the last writer ended without releasing the folder, because it was killed or crashed */
  readonly wasLeft: boolean;
  /** whether the last commit of the last writer can be partly on disk; passed on to the next writers until `settle` */
  readonly lastCommitMayBeTorn: boolean;
  /** whether this system tells if it was started again since a lock was left: without that, no commit may be flushed behind */
  readonly knowsRestarts: boolean;
  /** The last commit was dealt with. */
  settle(): void;
  /** From now on until `release`, this writer's last commit may be missing on the disk after a restart of the machine. */
  commitsBehind(): void;
  /** The last commit may be torn even without a restart. The lock stays when the writer ends. */
  leave(): void;
  release(): void;
}

/** Written after the holder: its commits are flushed behind it; its last commit may be torn. */
type LockNote = "behind" | "torn" | undefined;

/**
 * Makes this process the only writer of the folder. The lock file contains the pid of the writer and, where the system provides it, the
 * start time of that process. A lock left by a dead process is therefore taken over even if its pid is in use again (pid 1 of a
 * restarted container).
 *
 * @throws {CodedError} storage/locked with the folder and the holder's pid
 */
export function acquireWriterLock(folderPath: string): WriterLock {
  const folder = resolve(folderPath);
  if (ownFolders.has(folder)) throw storageError("storage/locked", { folder, pid: process.pid });
  makeFolder(folder);
  const file = join(folder, LOCK_FILE);
  const startedAt = startTime(process.pid);
  const textOf = (note: LockNote): string => `${process.pid} ${[startedAt, note].filter(Boolean).join(" ")}\n`;
  let own = textOf(undefined);
  let wasLeft = false;
  let lastCommitMayBeTorn = false;
  while (!tryCreate(file, own)) {
    const found = readLock(file);
    if (found === undefined) continue; // it was released just now
    const holder = holderOf(found);
    if (holder !== undefined && isAlive(holder)) throw storageError("storage/locked", { folder, pid: holder.pid });
    wasLeft = true;
    if (mayBeTorn(found)) {
      lastCommitMayBeTorn = true;
      own = textOf("torn"); // until a writer settles it
    }
    takeAway(file, found);
  }
  ownFolders.add(folder);
  const note = (text: LockNote): void => {
    const next = textOf(text);
    writeFileSync(`${file}.new`, next, { flush: true });
    renameSync(`${file}.new`, file);
    own = next;
  };
  let isLeft = false;
  return {
    wasLeft,
    lastCommitMayBeTorn,
    knowsRestarts: startedAt !== undefined,
    settle: () => note(undefined),
    commitsBehind: () => note("behind"),
    leave() {
      isLeft = true;
      note("torn");
    },
    release() {
      if (ownFolders.delete(folder) && !isLeft) takeAway(file, own);
    },
  };
}

/** Whether the last commit in a folder can be torn, and no writer has opened it since. */
export function lastCommitMayBeTorn(folder: string): boolean {
  const text = readLock(join(folder, LOCK_FILE));
  if (text === undefined || !mayBeTorn(text)) return false;
  const holder = holderOf(text);
  return holder === undefined || !isAlive(holder);
}

/** A lock whose holder has exited. */
function mayBeTorn(text: string): boolean {
  const [, startedAt = "", note] = text.trim().split(" ");
  return note === "torn" || (note === "behind" && bootOf(startedAt) !== bootId());
}

/** Like `mkdirSync` with `recursive`, but stops at a parent that can have no folders, such as /proc. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (isSystemError(error, "EEXIST")) return; // if it is a file, opening the lock fails
    const parent = dirname(path);
    if (!isSystemError(error, "ENOENT") || existsSync(parent)) throw error;
    makeFolder(parent);
    mkdirSync(path);
  }
}

interface Holder {
  readonly pid: number;
  /** opaque; undefined where the system does not provide it */
  readonly startedAt: string | undefined;
}

function tryCreate(file: string, text: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "wx");
  } catch (error) {
    if (isSystemError(error, "EEXIST")) return false;
    throw error;
  }
  try {
    writeSync(descriptor, text);
  } catch (error) {
    takeAway(file); // the disk is full
    throw error;
  } finally {
    closeSync(descriptor);
  }
  return true;
}

/**
 * The lock's content; `undefined` without a lock. Empty if its writer died between creating and writing it, which takes
 * microseconds.
 */
function readLock(file: string): string | undefined {
  try {
    const text = readFileSync(file, "utf8");
    if (text !== "") return text;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EMPTY_LOCK_WAIT_MS);
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return undefined;
    throw error;
  }
}

function holderOf(text: string): Holder | undefined {
  const [pidText = "", startedAt = ""] = text.trim().split(" ");
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, startedAt: startedAt === "" ? undefined : startedAt };
}

/**
 * Removes the lock if it is still the one that was read. It is renamed first. If two processes find a stale lock, one of them
 * removes it. The other finds no lock, or has moved the first one's new lock, and moves it back.
 *
 * @param expected its content; `undefined`: any
 */
export function takeAway(file: string, expected?: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (expected !== undefined && readFileSync(aside, "utf8") !== expected) linkSync(aside, file);
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return;
    if (!isSystemError(error, "EEXIST")) throw error;
  }
  unlinkSync(aside);
}

function isAlive({ pid, startedAt }: Holder): boolean {
  if (pid === process.pid && startedAt === undefined) return false; // an earlier process, because this one's folders are in `ownFolders`
  try {
    process.kill(pid, 0);
  } catch (error) {
    return isSystemError(error, "EPERM");
  }
  const now = startTime(pid);
  if (startedAt !== undefined && now !== undefined) return now === startedAt && pid !== process.pid;
  return true;
}

/** Boot id and start time in clock ticks since boot, from /proc; undefined on other systems. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const boot = bootId();
    if (boot === undefined) return undefined;
    // Field 22, counted after the command name, which is in parentheses and may contain spaces.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return ticks === undefined ? undefined : `${boot}:${ticks}`;
  } catch {
    return undefined;
  }
}

const bootOf = (startedAt: string): string => startedAt.split(":")[0]!;

/** Changes when the machine is started again. */
function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
