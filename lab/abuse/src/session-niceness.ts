import { writeFileSync } from "node:fs";

/**
 * Sets the niceness of this process's session. Linux shares the processor among sessions first (sched(7), autogroups), and each
 * program of the devnet has its own session, so only a session's niceness has an effect. No effect without autogroups or
 * permission (below 0 needs root).
 */
export function setSessionNiceness(niceness: number): void {
  try {
    writeFileSync("/proc/self/autogroup", String(niceness));
  } catch {
    // measured as well, with more of the machine's own delays
  }
}
