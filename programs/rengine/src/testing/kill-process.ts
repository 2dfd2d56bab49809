import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const LISTENS = /Engine API listens.* port=(\d+)/;

/** Size of a block for `ulimit -f` in a POSIX shell. */
const ULIMIT_BYTES = 512;

export interface ProcessLimits {
  /** Simulates a full disk without special rights or a separate file system: a write beyond the limit fails, or is truncated. */
  readonly maxFileBytes?: number | undefined;
  readonly maxOpenFiles?: number;
}

/** The command, which runs within limits. */
export function limitedCommand(command: readonly string[], { maxFileBytes, maxOpenFiles }: ProcessLimits): string[] {
  const limits = [
    ...(maxFileBytes === undefined ? [] : [`ulimit -f ${Math.floor(maxFileBytes / ULIMIT_BYTES)};`]),
    ...(maxOpenFiles === undefined ? [] : [`ulimit -n ${maxOpenFiles};`]),
  ];
  return limits.length === 0 ? [...command] : ["sh", "-c", `${limits.join(" ")} exec "$@"`, "sh", ...command];
}

/** A `rengine` in a separate process that can be killed. */
export class KillableClient {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #stdout = "";
  #stderr = "";

  /**
   * @param program the built bin/rengine.js
   */
  constructor(program: string, args: readonly string[], limits: ProcessLimits = {}) {
    const [file = "", ...rest] = limitedCommand([process.execPath, program, ...args], limits);
    this.#child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout!.on("data", (data: Buffer) => {
      this.#stdout += data.toString();
    });
    this.#child.stderr!.on("data", (data: Buffer) => {
      this.#stderr += data.toString();
    });
    this.#ended = once(this.#child, "close");
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when the process has ended by itself. @returns the exit code; null: ended by a signal */
  async exitCode(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get log(): string {
    return this.#stderr;
  }

  /** Resolves with the port when the Engine API listens; with undefined if the process ends before. */
  async enginePort(): Promise<number | undefined> {
    const port = await this.logged(LISTENS);
    return port === undefined ? undefined : Number(port);
  }

  /** Resolves with the first group when the log matches; with undefined if the process ends before. */
  async logged(pattern: RegExp): Promise<string | undefined> {
    for (;;) {
      const group = pattern.exec(this.#stderr)?.[1];
      if (group !== undefined) return group;
      if (this.hasEnded) return undefined;
      await Promise.race([this.#ended, once(this.#child.stderr!, "data")]);
    }
  }

  /** Kills the process after `afterMs`, unless it ends earlier; resolves when it is gone. @returns whether it was killed */
  async killAfter(afterMs: number): Promise<boolean> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), afterMs);
    await this.#ended;
    clearTimeout(timer);
    if (this.#child.signalCode === "SIGKILL") return true;
    if (this.#child.exitCode !== 0) throw new Error(`rengine ended with ${this.#child.exitCode}: ${this.#stderr.slice(-2000)}`);
    return false;
  }
}
