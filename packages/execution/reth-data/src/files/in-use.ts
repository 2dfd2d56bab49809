import { join } from "node:path";
import { RethDataError } from "../errors.ts";
import { readSmallFile, statFile } from "./read-file.ts";

/** Of the files that are read here; `/proc/locks` has 60 a lock. */
const MAX_BYTES = 1 << 20;
/** Linux: clock ticks a second in `/proc`. */
const TICKS = 100;
/** `op-reth` rounds the time of its start to seconds. */
const START_TOLERANCE_SEC = 2;

/**
 * Looks for a process that has the data directory open.
 *
 * - Linux: `/proc/locks` has the locks that libmdbx holds on its two files
 * - op-reth writes its process id and the time of its start into `lock` files, and leaves them behind when it is killed
 *
 * Another machine's process on a shared disk is not found here; its commits are (`PageFile.isUnchanged`).
 *
 * @throws {RethDataError} reth-data/in-use
 */
export function assertNotInUse(folder: string): void {
  const inUse = (reason: string): RethDataError => new RethDataError("reth-data/in-use", { folder, reason });
  const locks = textOf("/proc/locks");
  for (const name of ["db/mdbx.dat", "db/mdbx.lck"]) {
    if (locks !== undefined && hasLock(locks, join(folder, name))) throw inUse(`a process holds a lock on ${name}`);
  }
  for (const name of ["db/lock", "static_files/lock"]) {
    const [, pid, start] = /^(\d{1,10})\n(\d{1,15})\s*$/.exec(textOf(join(folder, name)) ?? "") ?? [];
    if (pid !== undefined && isRunning(Number(pid), Number(start))) throw inUse(`${name} names process ${pid}, which is running`);
  }
}

/** `/proc/locks`: "1: POSIX  ADVISORY  WRITE 14976 fe:00:218478 0 EOF", major and minor number of the device in hexadecimal, inode */
function hasLock(locks: string, path: string): boolean {
  const file = statFile(path);
  if (file === undefined) return false;
  const [major, minor] = deviceNumbers(file.dev);
  return [...locks.matchAll(/ ([0-9a-f]+):([0-9a-f]+):(\d+) /g)].some(([, lockMajor, lockMinor, inode]) => {
    if (Number(inode) !== file.ino) return false;
    // file systems without a device of their own (btrfs, overlays) show different numbers here and there
    return major === 0 || (Number.parseInt(lockMajor!, 16) === major && Number.parseInt(lockMinor!, 16) === minor);
  });
}

/** Linux: minor 8 bits ‖ major 12 bits ‖ minor 12 more bits, from the lowest bit. */
const deviceNumbers = (device: number): readonly [major: number, minor: number] => [
  (device >>> 8) & 0xfff,
  (device & 0xff) | ((device / 2 ** 12) & 0xfff00),
];

/** Whether a process runs that has this id and began at this time, in seconds since 1970. */
function isRunning(pid: number, startSec: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const bootSec = /^btime (\d+)$/m.exec(textOf("/proc/stat") ?? "")?.[1];
  // the 20th field after the name, which is in parentheses and may have spaces
  const ticks = /^.*\) (?:\S+ ){19}(\d+) /s.exec(textOf(`/proc/${pid}/stat`) ?? "")?.[1];
  if (bootSec === undefined || ticks === undefined) return true;
  return Math.abs(Number(bootSec) + Number(ticks) / TICKS - startSec) <= START_TOLERANCE_SEC;
}

function textOf(path: string): string | undefined {
  const bytes = readSmallFile(path, MAX_BYTES);
  return bytes && Buffer.from(bytes).toString("latin1");
}
