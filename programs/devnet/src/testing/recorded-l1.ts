import { openRecording, recordL1Command, serveL1 } from "@rnode/conformance";
import { createPublicClient, http } from "viem";
import type { DevnetInfo } from "../files.ts";
import { l1ViemChain } from "../viem-chains.ts";

/** Records all of L1 from the origin of the L2's genesis on. @returns an endpoint, also of the beacon API, that has only that */
export async function recordAndReplay(
  info: DevnetInfo,
  folder: string,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const { endpoints, genesis } = info;
  const l1 = createPublicClient({ chain: l1ViemChain(info), transport: http() });
  const said: string[] = [];
  const print = { out: () => {}, err: (line: string) => said.push(line), progress: () => {} };
  const range = [`--from=${genesis.l1.number}`, `--to=${await l1.getBlockNumber()}`];
  const args = [folder, `--l1=${endpoints.l1}`, `--beacon=${endpoints.l1}`, ...range];
  const code = await recordL1Command(args, print);
  if (code !== 0) throw new Error(said.join("\n"));
  return serveL1(openRecording(folder));
}
