import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "viem";
import { anvilArgs, anvilBinary } from "../l1/anvil.ts";
import type { ChainParameters } from "../parameters.ts";
import { choosePorts } from "../ports.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";

export interface AnvilFixture {
  readonly url: string;
  readonly program: Program;
  close(): Promise<void>;
}

/** An anvil that mines on demand (or as `extraArgs` say), in a temporary folder. */
export async function startAnvil(
  parameters: ChainParameters,
  extraArgs?: (folder: string) => readonly string[],
): Promise<AnvilFixture> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-anvil-"));
  const { l1: port } = await choosePorts(0);
  const url = `http://127.0.0.1:${port}`;
  const options = { port, parameters, statePath: join(folder, "state.json"), stateIntervalSec: 600 };
  const program = new Program({
    name: "anvil",
    command: anvilBinary(),
    args: () => extraArgs?.(folder).concat("--port", String(port)) ?? anvilArgs(options, true, Math.floor(Date.now() / 1000)),
    logPath: join(folder, "anvil.log"),
    isReady: async () => (await rpcCall<Hex>(url, "eth_chainId", [], 1000)) !== undefined,
    readyTimeoutMs: 20_000,
    stopTimeoutMs: 5_000,
  });
  await program.start();
  return {
    url,
    program,
    close: async () => {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
