import { join } from "node:path";
import type { Devnet } from "../devnet.ts";
import { programPath } from "../paths.ts";
import { Program } from "../processes/program.ts";
import { rpcCall } from "../rpc.ts";
import type { TwoChains } from "./two-chains.ts";

const RNODE = programPath("rnode/bin/rnode.js");

export interface RnodeSetOptions {
  /** of its data and its log */
  readonly folder: string;
  readonly port: number;
  /** further options */
  readonly args?: readonly string[];
}

/** `rnode set` of two chains, on the execution clients of their verifiers. */
export function rnodeSet({ a, b, l1 }: TwoChains, { folder, port, args = [] }: RnodeSetOptions): Program {
  return new Program({
    name: "rnode set",
    command: process.execPath,
    args: () => [
      ...[RNODE, "set", "--chain=a", "--chain=b", `--set.datadir=${join(folder, "set")}`, `--rpc.port=${port}`],
      ...[`--l1=${l1}`, `--l1.beacon=${l1}`, "--l1.http-poll-interval=1s", "--l1.epoch-poll-interval=2s", "--rpc.enable-admin"],
      ...args,
      ...optionsOf(a, "a"),
      ...optionsOf(b, "b"),
    ],
    logPath: join(folder, "set.log"),
    isReady: async () => (await rpcCall<string>(`http://127.0.0.1:${port}`, "heartbeat_check")).length === 10,
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
}

const optionsOf = (devnet: Devnet, name: string): string[] =>
  devnet.programs
    .verifierNode!.spec.args()
    .filter((arg) => /^--(l2|l2\.jwt-secret|rollup\.config|rollup\.l1-chain-config|interop\.dependency-set)=/.test(arg))
    .map((arg) => arg.replace("--", `--${name}.`));
