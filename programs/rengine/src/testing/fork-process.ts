import { spawn } from "node:child_process";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { PROGRAM } from "./built-package.ts";

export interface Fork {
  readonly rpc: RpcClient;
  readonly url: string;
  readonly output: () => string;
  stop(): Promise<void>;
}

/** Another process: a fork waits for its endpoint with its whole thread. @throws its output if it ends at once */
export async function startFork(...args: readonly string[]): Promise<Fork> {
  const child = spawn(process.execPath, [PROGRAM, "--dev", "--http.port=0", ...args], { stdio: "pipe" });
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
  const url = `http://127.0.0.1:${port}`;
  const rpc = createRpcClient({ url, timeoutMs: 60_000 });
  return {
    ...{ rpc, url, output: () => output },
    async stop() {
      await rpc.close();
      child.kill();
      await ended;
    },
  };
}
