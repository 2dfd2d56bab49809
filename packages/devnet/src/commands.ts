import { fileURLToPath } from "node:url";
import { derivationFactsAt } from "@rnode/protocol";
import type { DevnetPaths } from "./files.ts";
import { type ChainParameters, l2ForkTimes } from "./parameters.ts";
import type { Ports } from "./ports.ts";

/** The command lines of the real programs; a user could type each of them. */
export type NodeRole = "sequencer" | "verifier";

const program = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const RENGINE = program("execution-client/bin/rengine.js");
export const RNODE = program("rollup-node/bin/rnode.js");
export const RBATCHER = program("batcher/bin/rbatcher.js");

const HTTP_API = "eth,net,web3,debug,txpool";

export const rengineInitArgs = (paths: DevnetPaths, role: NodeRole): string[] => [
  RENGINE,
  "init",
  `--chain=${paths.genesis}`,
  `--datadir=${paths.engine(role)}`,
];

export function rengineArgs(paths: DevnetPaths, ports: Ports, role: NodeRole): string[] {
  const [http, ws, auth] =
    role === "sequencer"
      ? [ports.sequencerHttp, ports.sequencerWs, ports.sequencerAuth]
      : [ports.verifierHttp, ports.verifierWs, ports.verifierAuth];
  return [
    RENGINE,
    `--chain=${paths.genesis}`,
    `--datadir=${paths.engine(role)}`,
    ...["--http", "--http.addr=127.0.0.1", `--http.port=${http}`, `--http.api=${HTTP_API}`],
    ...["--ws", "--ws.addr=127.0.0.1", `--ws.port=${ws}`, "--ws.api=eth,net,web3"],
    ...["--authrpc.addr=127.0.0.1", `--authrpc.port=${auth}`, `--authrpc.jwtsecret=${paths.jwt(role)}`],
  ];
}

export interface NodeTuning {
  /** how many L1 blocks the sequencer stays behind the L1 head */
  readonly sequencerL1Confs: number;
}

export function rnodeArgs(
  paths: DevnetPaths,
  ports: Ports,
  parameters: ChainParameters,
  role: NodeRole,
  { sequencerL1Confs }: NodeTuning,
): string[] {
  const [auth, rpc] = role === "sequencer" ? [ports.sequencerAuth, ports.sequencerNode] : [ports.verifierAuth, ports.verifierNode];
  // The devnet's L1 is fast and local, so it can be polled often.
  const l1PollMs = Math.min(1000, (parameters.l1BlockTimeSec * 1000) / 2);
  return [
    RNODE,
    `--l1=http://127.0.0.1:${ports.l1}`,
    "--l1.beacon.ignore",
    `--l1.http-poll-interval=${l1PollMs}ms`,
    `--l1.epoch-poll-interval=${parameters.l1BlockTimeSec * 1000}ms`,
    `--l2=http://127.0.0.1:${auth}`,
    `--l2.jwt-secret=${paths.jwt(role)}`,
    `--rollup.config=${paths.rollupConfig}`,
    `--rollup.l1-chain-config=${paths.l1ChainConfig}`,
    "--p2p.disable",
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${rpc}`, "--rpc.enable-admin"],
    ...(role === "sequencer" ? ["--sequencer.enabled", `--sequencer.l1-confs=${sequencerL1Confs}`] : []),
  ];
}

export function rbatcherArgs(ports: Ports, parameters: ChainParameters, keyPath: string): string[] {
  const genesisTimeSec = 1;
  const { allowsSpanBatches, allowsBrotli } = derivationFactsAt(l2ForkTimes(parameters, genesisTimeSec), genesisTimeSec);
  return [
    RBATCHER,
    `--l1-eth-rpc=http://127.0.0.1:${ports.l1}`,
    `--l2-eth-rpc=http://127.0.0.1:${ports.sequencerHttp}`,
    `--rollup-rpc=http://127.0.0.1:${ports.sequencerNode}`,
    `--private-key-file=${keyPath}`,
    ...[`--batch-type=${allowsSpanBatches ? 1 : 0}`, `--compression-algo=${allowsBrotli ? "brotli" : "zlib"}`],
    ...["--max-channel-duration=1", "--sub-safety-margin=4"],
    "--max-pending-tx=10",
    ...["--poll-interval=1s", "--num-confirmations=1", "--txmgr.receipt-query-interval=500ms"],
    ...["--rpc.addr=127.0.0.1", `--rpc.port=${ports.batcher}`, "--rpc.enable-admin"],
  ];
}
