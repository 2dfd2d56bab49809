import { spawn } from "node:child_process";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { foundryBinary } from "@rnode/program/testing";

export interface Anvil {
  readonly rpc: RpcClient;
  stop(): Promise<void>;
}

/** Path of anvil for this platform; undefined if there is none. */
export const anvilBinary = (): string | undefined => foundryBinary("anvil");

/** A chain that mines one block per transaction. @param binary the result of `anvilBinary` */
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
