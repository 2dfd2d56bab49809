import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SignerServerTls } from "@rnode/signer/testing";

export { TestAuthority } from "@rnode/signer/testing";

const SIGNER = join(import.meta.dirname, "../../../../packages/kit/signer/test-programs/signer-server.mjs");

export interface SignerProcessConfig {
  /** 32 bytes in hexadecimal */
  readonly key: string;
  /** the key that it signs with in truth; default: `key` */
  readonly signsWith?: string;
  readonly port: number;
  readonly tls: SignerServerTls;
}

/** A signer that holds one key, as a process that can die. */
export class SignerProcess {
  readonly config: SignerProcessConfig;
  readonly #path: string;
  #child: ChildProcess | undefined;

  /** @param path where its configuration is written for the process */
  constructor(path: string, config: SignerProcessConfig) {
    this.#path = path;
    this.config = config;
  }

  /** Ends the process, if there is one, and starts another, which differs from the configuration in `changes`. */
  async restart(changes: Partial<SignerProcessConfig> = {}): Promise<void> {
    await this.kill();
    writeFileSync(this.#path, JSON.stringify({ ...this.config, ...changes }), { mode: 0o600 });
    this.#child = spawn(process.execPath, [SIGNER, this.#path], { stdio: ["ignore", "pipe", "inherit"] });
    await once(this.#child.stdout!, "data");
  }

  /** From now on it takes connections and requests, and answers none. */
  pause(): void {
    this.#child!.kill("SIGSTOP");
  }

  resume(): void {
    this.#child!.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
