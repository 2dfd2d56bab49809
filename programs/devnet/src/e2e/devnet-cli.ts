import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** `npm start` as a user runs it: the real command as a separate process. */
export class DevnetCli {
  readonly #child: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  output = "";

  constructor(args: readonly string[]) {
    const script = fileURLToPath(new URL("../../bin/devnet.js", import.meta.url));
    this.#child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const collect = (chunk: Buffer): void => {
      this.output += chunk.toString("utf8");
    };
    this.#child.stdout?.on("data", collect);
    this.#child.stderr?.on("data", collect);
    this.exited = new Promise((resolve) => this.#child.on("exit", (code, signal) => resolve({ code, signal })));
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
