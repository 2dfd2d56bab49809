import { statfsSync } from "node:fs";
import { snapshotError } from "./errors.ts";

/** Free space that a snapshot leaves on a disk, because a full disk stops the node and the system. */
const DISK_RESERVE_BYTES = 1 << 30;

/** @returns free bytes above the reserve; negative if the reserve is used */
export function roomAt(folder: string, reserveBytes = DISK_RESERVE_BYTES): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize - reserveBytes;
}

/** @throws {CodedError} snapshot/no-room */
export function assertRoom(folder: string, reserveBytes = DISK_RESERVE_BYTES): void {
  const room = roomAt(folder, reserveBytes);
  if (room < 0) throw snapshotError("snapshot/no-room", { folder, freeBytes: room + reserveBytes, reserveBytes });
}
