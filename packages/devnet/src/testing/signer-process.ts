import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";

export { TestAuthority } from "@rnode/signer/testing";

const SIGNER = join(import.meta.dirname, "../../../signer/test-programs/signer-server.mjs");

/** A signer that holds one key, as a process that can die. */
export class SignerProcess {
  readonly #config: string;
  #child: ChildProcess | undefined;

  constructor(config: string) {
    this.#config = config;
  }

  async start(): Promise<void> {
    this.#child = spawn(process.execPath, [SIGNER, this.#config], { stdio: ["ignore", "pipe", "inherit"] });
    await once(this.#child.stdout!, "data");
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

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
