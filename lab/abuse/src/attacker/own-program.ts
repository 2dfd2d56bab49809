import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";

const program = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
export const DA_SERVER = program("programs/rda-server/bin/rda-server.js");
export const RENGINE = program("programs/rengine/bin/rengine.js");

export interface OwnProgramOptions {
  /** ends it */
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a program of the attack's own. */
export function startProgram(script: string, args: readonly string[], options: OwnProgramOptions = {}): ChildProcess {
  const { signal, env = {} } = options;
  const child = spawn(process.execPath, [script, ...args], { stdio: "ignore", env: { ...process.env, ...env } });
  // As the other programs that are attacked. Its priority is inherited from the attacker.
  if (child.pid !== undefined && process.getuid?.() === 0) setPriority(child.pid, 0);
  signal?.addEventListener("abort", () => child.kill("SIGKILL"));
  return child;
}
