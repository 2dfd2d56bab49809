import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Target } from "./attacker/target.ts";

export interface Orders {
  readonly attack: string;
  readonly target: Target;
  /** the loopback address it connects from */
  readonly from: string;
  readonly seed: number;
  readonly durationMs: number;
}

export interface AttackerReport {
  readonly counts: Readonly<Record<string, number>>;
  /** what the system did although it must refuse it */
  readonly breaches: readonly string[];
  /** the attack itself went wrong */
  readonly failure: string | undefined;
}

/** A process that does not end by itself after its time is killed. */
const GRACE_MS = 3_000;
const MAX_HEAP_MIB = 512;
/** Built, also when the harness runs from its sources as in tests. */
const PROGRAM = fileURLToPath(new URL("../dist/attacker-main.js", import.meta.url));

/** Runs one attack in a process of its own and waits for its end. */
export function runAttacker(orders: Orders): Promise<AttackerReport> {
  return new Promise((resolve) => {
    const child = fork(PROGRAM, [JSON.stringify(orders)], {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let report: AttackerReport | undefined;
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString("utf8")).slice(-2_000);
    });
    const onExit = (): void => void child.kill("SIGKILL");
    process.once("exit", onExit);
    const limit = setTimeout(() => child.kill("SIGKILL"), orders.durationMs + GRACE_MS);
    child.on("message", (message) => {
      report = message as AttackerReport;
    });
    child.on("close", (code, signal) => {
      clearTimeout(limit);
      process.off("exit", onExit);
      // an attack that is killed at its end is an attack that never reads, not one that failed
      const failure = signal === "SIGKILL" ? undefined : `ended with ${signal ?? code}: ${errors.trim()}`;
      resolve(report ?? { counts: {}, breaches: [], failure });
    });
  });
}
