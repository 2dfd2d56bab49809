import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";

/**
 * The niceness of what has to wait when cores are scarce: answering cheap requests and building blocks come first, and take ten times as much
 * of a core that both want. 19 would leave costly requests next to nothing beside a busy writer, and they have a limit of time.
 */
const NICENESS = 10;

/** Lowers the priority of the thread that calls this. Linux has priorities of threads, by their own ids; elsewhere nothing happens. */
export function lowerOwnPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), NICENESS);
  } catch {
    // works as well, only not behind the others
  }
}
