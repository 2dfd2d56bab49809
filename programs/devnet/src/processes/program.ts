import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { UserError } from "@rnode/program";
import { SECRET_MODE } from "../files.ts";

export interface ProgramSpec {
  /** as printed: `sequencer engine` */
  readonly name: string;
  readonly command: string;
  /** evaluated at each start */
  args(): readonly string[];
  /** all output is appended here */
  readonly logPath: string;
  /** whether it answers; an error means not yet */
  isReady(): Promise<boolean>;
  readonly readyTimeoutMs: number;
  /** how long a clean stop may take before the program is killed */
  readonly stopTimeoutMs: number;
}

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The message says which program failed, how it ended, the last lines of its log and where the rest is. */
export class ProgramFailure extends UserError {
  readonly program: string;

  constructor(spec: ProgramSpec, what: string) {
    const lines = tailOf(spec.logPath, 12);
    const excerpt = lines.length > 0 ? `\n${lines.map((line) => `  | ${line}`).join("\n")}` : "";
    super(`${spec.name} ${what}${excerpt}\n  full log: ${spec.logPath}`);
    this.program = spec.name;
  }
}

const READY_POLL_MS = 100;

/**
 * A child process that can be restarted. It has its own process group, so that Ctrl-C reaches only the devnet, which stops all
 * programs in order.
 */
export class Program {
  readonly spec: ProgramSpec;
  /** called each time a process was created */
  onLaunch: (() => void) | undefined;
  /** called when it ends without having been asked to */
  onUnexpectedExit: ((exit: ProgramExit) => void) | undefined;
  #child: ChildProcess | undefined;
  #exited: Promise<ProgramExit> = Promise.resolve({ code: 0, signal: null });
  #lastExit: ProgramExit | undefined;
  #wanted = false;

  constructor(spec: ProgramSpec) {
    this.spec = spec;
  }

  /** undefined if it is not running */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** why it does not run; undefined: it runs */
  get downBecause(): string | undefined {
    if (this.isRunning) return undefined;
    if (this.#lastExit === undefined) return "it has not been started yet";
    return `it ${describeExit(this.#lastExit)}; log: ${this.spec.logPath}`;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Resolves when the running process ends; at once if there is none. */
  get exited(): Promise<ProgramExit> {
    return this.#exited;
  }

  logTail(lines: number): string[] {
    return tailOf(this.spec.logPath, lines);
  }

  /**
   * Starts it and waits until it answers.
   * @throws {ProgramFailure} it ended first, or did not answer in time (then it is killed)
   */
  async start(): Promise<void> {
    if (this.#child) throw new Error(`${this.spec.name} runs already`);
    this.#launch();
    const deadlineMs = performance.now() + this.spec.readyTimeoutMs;
    while (!(await this.#answers())) {
      if (!this.isRunning) throw new ProgramFailure(this.spec, describeExit(this.#lastExit));
      if (performance.now() > deadlineMs) {
        await this.kill("SIGKILL");
        throw new ProgramFailure(this.spec, `did not answer within ${this.spec.readyTimeoutMs / 1000} s`);
      }
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }

  /** Asks it to end, and kills it after a while. */
  async stop(): Promise<ProgramExit> {
    this.#wanted = false;
    this.#signal("SIGTERM");
    const insist = setTimeout(() => this.#signal("SIGKILL"), this.spec.stopTimeoutMs);
    try {
      return await this.#exited;
    } finally {
      clearTimeout(insist);
    }
  }

  /** Sends a signal and waits for the end; the program is not restarted automatically. */
  async kill(signal: NodeJS.Signals): Promise<ProgramExit> {
    this.#wanted = false;
    this.#signal(signal);
    return await this.#exited;
  }

  /** For the last moment of this process, when nothing can be awaited any more. */
  killNow(): void {
    this.#wanted = false;
    this.#signal("SIGTERM");
  }

  #launch(): void {
    const { command, logPath } = this.spec;
    mkdirSync(dirname(logPath), { recursive: true });
    const log = openSync(logPath, "a", SECRET_MODE);
    const args = [...this.spec.args()];
    writeSync(log, `=== ${new Date().toISOString()} ${[command, ...args].join(" ")}\n`);
    const child = spawn(command, args, { stdio: ["ignore", log, log], detached: true, windowsHide: true });
    closeSync(log);
    this.#child = child;
    this.#wanted = true;
    this.#lastExit = undefined;
    this.#exited = new Promise((resolve) => {
      const end = (exit: ProgramExit): void => {
        if (this.#child !== child) return;
        this.#child = undefined;
        this.#lastExit = exit;
        const unexpected = this.#wanted;
        this.#wanted = false;
        resolve(exit);
        if (unexpected) this.onUnexpectedExit?.(exit);
      };
      child.on("exit", (code, signal) => end({ code, signal }));
      child.on("error", () => end({ code: null, signal: null }));
    });
    this.onLaunch?.();
  }

  async #answers(): Promise<boolean> {
    try {
      return this.isRunning && (await this.spec.isReady());
    } catch {
      return false;
    }
  }

  #signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }
}

export function describeExit(exit: ProgramExit | undefined): string {
  if (exit?.signal) return `was ended by ${exit.signal}`;
  if (exit?.code === null || exit === undefined) return "could not be started";
  return `ended with code ${exit.code}`;
}

/** The last lines of a file; only its end is read. */
export function tailOf(path: string, lines: number): string[] {
  if (!existsSync(path)) return [];
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const buffer = Buffer.alloc(Math.min(size, 16_384));
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8").trimEnd().split("\n").slice(-lines);
  } finally {
    closeSync(file);
  }
}
