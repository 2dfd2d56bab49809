import { accessSync, constants, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";

/**
 * A new folder for simulated disks. PERF: in memory if the system supports it, because scenarios have no power cuts, and waiting
 * for the disk takes most of a commit's time.
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
