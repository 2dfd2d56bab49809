import { accessSync, constants, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";

/**
 * A new folder for what simulated disks hold. PERF: in memory where the system has such a place, since nobody cuts the power of a
 * scenario, and waiting for a disk takes longer than all else that a commit does.
 */
export function scratchFolder(prefix: string): string {
  return mkdtempSync(join(placeOfFolders(), prefix));
}

function placeOfFolders(): string {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    return IN_MEMORY;
  } catch {
    return tmpdir();
  }
}
