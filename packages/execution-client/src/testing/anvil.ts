import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";

export interface Anvil {
  readonly rpc: RpcClient;
  stop(): Promise<void>;
}

/** Path of the program of this platform; undefined where there is none. */
export function anvilBinary(): string | undefined {
  const require = createRequire(createRequire(import.meta.url).resolve("@foundry-rs/anvil/package.json"));
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  try {
    const folder = dirname(require.resolve(`@foundry-rs/anvil-${process.platform}-${arch}/package.json`));
    const binary = join(folder, "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
    return existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

/** A chain that mines one block a transaction. @param binary of `anvilBinary` */
export async function startAnvil(binary: string, args: readonly string[]): Promise<Anvil> {
  const child = spawn(binary, ["--host", "127.0.0.1", "--port", "0", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise<number>((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`anvil ended with ${code}: ${text}`)));
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(text);
      if (found !== null) resolve(Number(found[1]));
    });
  });
  const rpc = createRpcClient({ url: `http://127.0.0.1:${port}` });
  return {
    rpc,
    async stop() {
      await rpc.close();
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
    },
  };
}
