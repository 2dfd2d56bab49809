import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type Devnet, rpcCall } from "@rnode/devnet";
import type { Scope } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import type { WatchedProgram } from "./memory-report.ts";

interface PeerBinaries {
  readonly opGeth: string | undefined;
  readonly opNode: string | undefined;
  readonly datadir: string;
}

const READY_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 10_000;
const PAIR = "op-geth, op-node";

/** Starts op-geth and op-node as a second verifier of the devnet, if their binaries are given. @throws one of them does not start */
export async function startPeers(
  scope: Scope,
  devnet: Devnet,
  { opGeth, opNode, datadir }: PeerBinaries,
): Promise<WatchedProgram[]> {
  if (opGeth === undefined && opNode === undefined) return [];
  if (opGeth === undefined || opNode === undefined) throw new Error("--op-geth and --op-node are a pair: both are needed");
  const { paths, endpoints, l2ChainId } = devnet.info;
  const folder = join(datadir, "op-geth");
  const [http, auth, rpc] = await Promise.all([freePort(), freePort(), freePort()]);
  execFileSync(opGeth, ["init", `--datadir=${folder}`, paths.genesis], { stdio: ["ignore", "ignore", "pipe"] });
  const geth = await start(scope, "op-geth", opGeth, join(datadir, "op-geth.log"), [
    `--datadir=${folder}`,
    `--networkid=${l2ChainId}`,
    ...["--nodiscover", "--maxpeers=0", "--port=0", "--ipcdisable", "--syncmode=full"],
    ...["--http", "--http.addr=127.0.0.1", `--http.port=${http}`],
    ...["--authrpc.addr=127.0.0.1", `--authrpc.port=${auth}`, `--authrpc.jwtsecret=${paths.verifierJwt}`],
  ]);
  await untilAnswers("op-geth", () => rpcCall(`http://127.0.0.1:${http}`, "eth_chainId"));
  const node = await start(scope, "op-node", opNode, join(datadir, "op-node.log"), [
    ...[`--l1=${endpoints.l1}`, "--l1.beacon.ignore", "--l1.http-poll-interval=1s"],
    ...[`--l2=http://127.0.0.1:${auth}`, `--l2.jwt-secret=${paths.verifierJwt}`],
    ...[`--rollup.config=${paths.rollupConfig}`, `--rollup.l1-chain-config=${paths.l1ChainConfig}`],
    ...["--p2p.disable", "--rpc.addr=127.0.0.1", `--rpc.port=${rpc}`],
  ]);
  await untilAnswers("op-node", () => rpcCall(`http://127.0.0.1:${rpc}`, "optimism_syncStatus"));
  const watched = (name: string, { pid }: ChildProcess): WatchedProgram => ({
    pair: PAIR,
    name,
    pids: () => (pid === undefined ? [] : [pid]),
    logPath: undefined,
  });
  return [watched("op-geth", geth), watched("op-node", node)];
}

async function start(scope: Scope, name: string, binary: string, logPath: string, args: readonly string[]): Promise<ChildProcess> {
  const log = openSync(logPath, "a");
  const child = spawn(binary, args, { stdio: ["ignore", log, log] });
  closeSync(log);
  await once(child, "spawn");
  const ended = once(child, "exit");
  scope.onClose(
    name,
    async () => {
      child.kill("SIGTERM");
      const insist = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
      await ended;
      clearTimeout(insist);
    },
    { closeLimitMs: 2 * STOP_LIMIT_MS },
  );
  return child;
}

async function untilAnswers(name: string, ask: () => Promise<unknown>): Promise<void> {
  const endMs = Date.now() + READY_LIMIT_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (Date.now() > endMs) throw new Error(`${name} does not answer`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
