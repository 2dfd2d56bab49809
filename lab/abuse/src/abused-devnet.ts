import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Devnet, type DevnetOptions, rpcCall, type SyncStatus, startDevnet } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, privateKeyToPublicKey } from "@rnode/primitives";
import { Scope, systemClock } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import type { Target } from "./attacker/target.ts";
import { portOf } from "./monitor/monitor.ts";
import { pause } from "./pause.ts";

const FIRST_SAFE_TIMEOUT_MS = 60_000;
/** Smaller than by default, so the safe head moves within a run of seconds. */
const L1_BLOCK_TIME_SEC = 2;

export interface AbusedDevnet {
  readonly devnet: Devnet;
  readonly target: Target;
  /** Stops all programs and deletes their data. */
  readonly close: () => Promise<void>;
}

type ChangeArgs = DevnetOptions["changeArgs"];

/**
 * Starts the built programs on free ports and waits for the verifier's first safe block. As on a public chain, the sequencer's
 * public port does not list `miner`, so the batch submitter runs without throttling.
 */
export async function startAbusedDevnet(
  log: (line: string) => void,
  changeArgs: ChangeArgs = (_, args) => args,
): Promise<AbusedDevnet> {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-abuse-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  const close = async (): Promise<void> => {
    await scope.close();
    if (process.env.RNODE_E2E_KEEP === undefined) rmSync(datadir, { recursive: true, force: true });
    else log(`kept: ${datadir}`);
  };
  try {
    const metrics = { sequencerEngine: await freePort(), sequencerNode: await freePort() };
    const pprof = { sequencerEngine: await freePort(), sequencerNode: await freePort() };
    const p2pArgs = [
      ...["--p2p.listen.ip=127.0.0.1", `--p2p.listen.tcp=${await freePort()}`, "--p2p.no-discovery"],
      ...[`--p2p.priv.path=${join(datadir, "abused-p2p-key.hex")}`, `--p2p.peerstore.path=${join(datadir, "abused-peerstore")}`],
    ];
    const engine = await engineDoor(datadir);
    const streams = { subblocks: await freePort(), hostileStream: await freePort() };
    const followed = Object.values(streams).map((port) => `ws://127.0.0.1:${port}`);
    const streamArgs = [`--flashblocks-url=${followed.join(",")}`, "--subblocks.addr=127.0.0.1", "--subblocks.port=0"];
    const devnet = await startDevnet(scope, {
      datadir,
      basePort: 0,
      parameters: { l1BlockTimeSec: L1_BLOCK_TIME_SEC },
      log,
      changeArgs: (name, given) => {
        const changed = changeArgs(name, given).map((arg) => (arg.startsWith("--http.api=") ? arg.replace(",miner", "") : arg));
        const args = changed.flatMap((arg) => {
          if (name === "verifierNode" && arg === "--p2p.disable") return p2pArgs;
          if (name === "sequencerEngine" && arg.startsWith("--subblocks.port=")) return `--subblocks.port=${streams.subblocks}`;
          return name === "verifierEngine" && arg === "--max-peers=0" ? [...engine.args, ...streamArgs] : arg;
        });
        if (name === "batcher") return [...args, "--throttle.unsafe-da-bytes-lower-threshold=0"];
        return name === "sequencerEngine" || name === "sequencerNode"
          ? [
              ...[...args, "--metrics.enabled", "--metrics.addr=127.0.0.1", `--metrics.port=${metrics[name]}`],
              ...["--pprof.enabled", "--pprof.addr=127.0.0.1", `--pprof.port=${pprof[name]}`],
            ]
          : args;
      },
    });
    await untilFirstSafeBlock(devnet);
    const { addresses } = await rpcCall<{ addresses: string[] }>(devnet.info.endpoints.verifier.node, "rnodep2p_self");
    return {
      devnet,
      target: targetOf(devnet, { metrics, pprof, p2p: addresses[0]!, verifierEnode: engine.enode, ...streams }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The peer port of the verifier's execution client, which uses discovery. */
async function engineDoor(folder: string): Promise<{ readonly args: readonly string[]; readonly enode: string }> {
  const key = randomBytes(32);
  const path = join(folder, "abused-nodekey.hex");
  writeFileSync(path, key.toString("hex"), { mode: 0o600 });
  const port = await freePort();
  return {
    args: ["--addr=127.0.0.1", `--port=${port}`, "--nat=none", `--nodekey=${path}`],
    enode: `enode://${bytesToHex(privateKeyToPublicKey(key)).slice(2)}@127.0.0.1:${port}`,
  };
}

async function untilFirstSafeBlock({ info }: Devnet): Promise<void> {
  const deadlineMs = Date.now() + FIRST_SAFE_TIMEOUT_MS;
  while ((await rpcCall<SyncStatus>(info.endpoints.verifier.node, "rnode_syncStatus")).safe_l2.number === 0) {
    if (Date.now() > deadlineMs) throw new Error(`no safe block within ${FIRST_SAFE_TIMEOUT_MS / 1000} s, before any attack`);
    await pause(200);
  }
}

interface SidePorts {
  readonly sequencerEngine: number;
  readonly sequencerNode: number;
}

interface Doors {
  readonly metrics: SidePorts;
  readonly pprof: SidePorts;
  readonly p2p: string;
  readonly verifierEnode: string;
  readonly subblocks: number;
  readonly hostileStream: number;
}

function targetOf({ info }: Devnet, { metrics, pprof, ...doors }: Doors): Target {
  const { sequencer, verifier, batcher, l1 } = info.endpoints;
  return {
    host: "127.0.0.1",
    http: portOf(sequencer.http),
    ws: portOf(sequencer.ws),
    auth: portOf(sequencer.auth),
    node: portOf(sequencer.node),
    batcher: portOf(batcher),
    engineMetrics: metrics.sequencerEngine,
    nodeMetrics: metrics.sequencerNode,
    enginePprof: pprof.sequencerEngine,
    nodePprof: pprof.sequencerNode,
    l1: portOf(l1),
    l2ChainFile: info.paths.genesis,
    ...doors,
    verifierHttp: portOf(verifier.http),
    l2ChainId: info.l2ChainId,
    privateKey: info.accounts[8]!.privateKey,
    peerPrivateKey: info.accounts[7]!.privateKey,
  };
}
