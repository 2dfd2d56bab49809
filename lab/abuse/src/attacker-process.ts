import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Target } from "./attacker/target.ts";

export interface Orders {
  readonly attack: string;
  readonly target: Target;
  /** the loopback address it connects from */
  readonly from: string;
  readonly seed: number;
  /** 0: default priority; 19: lowest priority */
  readonly niceness: number;
  readonly durationMs: number;
}

export interface AttackerReport {
  readonly counts: Readonly<Record<string, number>>;
  /** requests that the system accepted although it must refuse them */
  readonly breaches: readonly string[];
  /** the attack itself went wrong */
  readonly failure: string | undefined;
}

export type MessageFromAttacker = "ready" | AttackerReport;

/** A process that does not exit after its time is killed. On a busy machine the start takes seconds. */
const GRACE_MS = 60_000;
const MAX_HEAP_MIB = 512;
/** Built, also when the harness runs from its sources as in tests. */
const PROGRAM = fileURLToPath(new URL("../dist/attacker-main.js", import.meta.url));

const running = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of running) killGroup(child);
};

/** With the programs that the attack has started. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** An attack in a separate process. */
export interface AttackerProcess {
  /** Settles when it has prepared itself, or has failed to. */
  readonly ready: Promise<void>;
  /** Its time begins now. @returns its report */
  begin(): Promise<AttackerReport>;
}

/** @param signal ends it before its time, without a report */
export function startAttacker(orders: Orders, signal: AbortSignal): AttackerProcess {
  const child = fork(PROGRAM, [JSON.stringify(orders)], {
    execArgv: [`--max-old-space-size=${MAX_HEAP_MIB}`],
    detached: true, // a separate session, to which Linux can give a priority (`attacker-main.ts`)
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let report: AttackerReport | undefined;
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString("utf8")).slice(-2_000);
  });
  if (running.size === 0) process.on("exit", killAll);
  running.add(child);
  const kill = (): void => killGroup(child);
  signal.addEventListener("abort", kill);
  if (signal.aborted) kill();
  let limit = setTimeout(kill, GRACE_MS);
  const ended = new Promise<AttackerReport>((resolve) => {
    child.on("close", (code, endedBy) => {
      clearTimeout(limit);
      signal.removeEventListener("abort", kill);
      running.delete(child);
      if (running.size === 0) process.off("exit", killAll);
      const failure = `ended with ${endedBy ?? code} and no report: ${errors.trim()}`;
      resolve(report ?? { counts: {}, breaches: [], failure });
    });
  });
  const isReady = new Promise<void>((resolve) => {
    child.on("message", (message: MessageFromAttacker) => {
      if (message === "ready") resolve();
      else report = message;
    });
  });
  return {
    ready: Promise.race([isReady, ended.then(() => {})]),
    begin() {
      clearTimeout(limit);
      limit = setTimeout(kill, orders.durationMs + GRACE_MS);
      child.send("begin", () => {}); // one that has ended has reported
      return ended;
    },
  };
}
