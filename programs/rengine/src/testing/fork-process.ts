import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import { type DevProgram, startDevProgram } from "@rnode/program/testing";
import { PROGRAM } from "./built-package.ts";

export interface Fork extends DevProgram {
  readonly rpc: RpcClient;
}

/** Another process: a fork waits for its endpoint with its whole thread. @throws its output if it ends at once */
export async function startFork(...args: readonly string[]): Promise<Fork> {
  const program = await startDevProgram(PROGRAM, ...args);
  const rpc = createRpcClient({ url: program.url, timeoutMs: 60_000 });
  return {
    ...program,
    rpc,
    async stop() {
      await rpc.close();
      await program.stop();
    },
  };
}
