import { join } from "node:path";
import { READY_TIMEOUT_MS, STOP_TIMEOUT_MS } from "../devnet.ts";
import type { DevnetInfo } from "../files.ts";
import { rnodeSetArgs } from "../processes/commands.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";

/** A chain of the set, once it is created. */
export interface Member {
  readonly info: DevnetInfo;
  /** its options of `rnode set` */
  readonly args: readonly string[];
}

/** `rnode set`. @param members are known when it starts; the first one knows L1 */
export const setProgram = (
  members: readonly Member[],
  {
    datadir,
    port,
    url,
    upgradesDir,
    feedPort,
  }: {
    readonly datadir: string;
    readonly port: number;
    readonly url: string;
    readonly upgradesDir: string;
    /** of its dashboard; `undefined`: none */
    readonly feedPort: number | undefined;
  },
): Program =>
  new Program({
    name: "rnode set",
    command: process.execPath,
    args: () => {
      const { endpoints, parameters } = members[0]!.info;
      const args = new Map(members.map((member) => [String(member.info.l2ChainId), member.args]));
      const l1 = { url: endpoints.l1, beacon: endpoints.l1Beacon };
      return rnodeSetArgs(args, {
        l1,
        l1BlockTimeSec: parameters.l1BlockTimeSec,
        datadir: join(datadir, "set"),
        port,
        upgradesDir,
        feedPort,
      });
    },
    logPath: join(datadir, "logs", "rnode-set.log"),
    // the chains' sequencers dial it
    isReady: async () => {
      for (const { info } of members) await rpcCall(`${url}/${info.l2ChainId}`, "rnodep2p_self", [], 1000);
      return true;
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  });
