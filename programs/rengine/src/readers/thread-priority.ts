import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";

/**
 * The niceness of costly requests. Cheap requests and block building get ten times as much of a core that both want. With 19,
 * costly requests would get almost no CPU time beside a busy writer, and they have a time limit.
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
