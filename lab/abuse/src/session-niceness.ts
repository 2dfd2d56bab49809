import { writeFileSync } from "node:fs";

/**
 * Sets the niceness of this process's session. Linux shares the processor among sessions first (sched(7), autogroups), and each program of the devnet has a
 * session of its own: a process's niceness says nothing to them, its session's does. Nothing happens where there are no autogroups, or where it is not
 * allowed (less than 0 takes root).
 */
export function setSessionNiceness(niceness: number): void {
  try {
    writeFileSync("/proc/self/autogroup", String(niceness));
  } catch {
    // measured as well, with more of the machine's own delays
  }
}
