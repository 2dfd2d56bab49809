import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@rnode/program/testing";
import type { Hex } from "viem";
import type { Devnet } from "../devnet.ts";
import { writeSecret } from "../files.ts";
import { RENGINE } from "../processes/commands.ts";
import { enodeOf } from "../processes/engine-peers.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";

export interface FurtherEngine {
  readonly program: Program;
  readonly url: string;
  readonly authUrl: string;
  /** file of the JWT secret */
  readonly jwt: string;
}

/** One more execution client of a devnet, without blocks. It gets them from the clients of verifier and follower. */
export async function furtherEngine(
  devnet: Devnet,
  { folder, name, options = [] }: { readonly folder: string; readonly name: string; readonly options?: readonly string[] },
): Promise<FurtherEngine> {
  const { info, programs } = devnet;
  const datadir = join(folder, `engine-${name}`);
  await promisify(execFile)(process.execPath, [RENGINE, "init", `--chain=${info.paths.genesis}`, `--datadir=${datadir}`]);
  const jwt = join(folder, `jwt-${name}.hex`);
  writeSecret(jwt, randomBytes(32).toString("hex"));
  const [http, auth, p2p] = [await freePort(), await freePort(), await freePort()];
  const peers = [programs.verifierEngine, programs.followerEngine!].map(({ spec }) => {
    const value = (flag: string): string =>
      spec
        .args()
        .find((arg) => arg.startsWith(`--${flag}=`))!
        .slice(flag.length + 3);
    return enodeOf(value("nodekey"), Number(value("port")));
  });
  const url = `http://127.0.0.1:${http}`;
  const program = new Program({
    name: `rengine ${name}`,
    command: process.execPath,
    args: () => [
      ...[RENGINE, `--chain=${info.paths.genesis}`, `--datadir=${datadir}`],
      ...["--http", "--http.addr=127.0.0.1", `--http.port=${http}`, "--http.api=eth,net,web3"],
      ...["--authrpc.addr=127.0.0.1", `--authrpc.port=${auth}`, `--authrpc.jwtsecret=${jwt}`],
      ...["--addr=127.0.0.1", `--port=${p2p}`, "--nat=none", "--disable-discovery", `--trusted-peers=${peers.join(",")}`],
      ...options,
    ],
    logPath: join(folder, `engine-${name}.log`),
    isReady: async () => Number(await rpcCall<Hex>(url, "eth_chainId", [], 1000)) === info.l2ChainId,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
  return { program, url, authUrl: `http://127.0.0.1:${auth}`, jwt };
}
