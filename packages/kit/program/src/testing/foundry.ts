import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Path of a Foundry program that npm installed for this platform; undefined if there is none. */
export function foundryBinary(name: "anvil" | "cast"): string | undefined {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve(`@foundry-rs/${name}/package.json`));
    const folder = dirname(require.resolve(`@foundry-rs/${name}-${process.platform}-${arch}/package.json`));
    const binary = join(folder, "bin", process.platform === "win32" ? `${name}.exe` : name);
    return existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

const TIMEOUT_MS = 20_000;

/** Runs a program to its end. @returns its output without the last newline. @throws Error with its error output */
export function runProgram(
  binary: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = TIMEOUT_MS,
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(binary, args, { env: { ...process.env, ...env }, timeout: timeoutMs, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(new Error(`${args.join(" ")}: ${stderr.trim() || error.message}`));
    });
  });
}

export interface DevProgram {
  readonly url: string;
  readonly output: () => string;
  stop(): Promise<void>;
}

/**
 * Starts a development chain as a separate process. @param program the path of rengine. @throws its output if it exits at once
 */
export async function startDevProgram(program: string, ...args: readonly string[]): Promise<DevProgram> {
  const child = spawn(process.execPath, [program, "--dev", "--http.port=0", ...args], { stdio: "pipe" });
  let output = "";
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const port = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (found !== null) resolve(found[1]!);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", () => reject(new Error(output)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      child.kill();
      await ended;
    },
  };
}
