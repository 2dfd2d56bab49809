import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Devnet, Program, type ProgramName, startDevnet } from "@rnode/devnet";
import type { Scope } from "@rnode/program";
import { freePort } from "@rnode/program/testing";
import { LyingProxy } from "../lies/proxy.ts";
import { pause } from "../pause.ts";

/** Short blocks, so that minutes have many. */
const BLOCK_TIME_SEC = 1;
/** longer than the balancer takes to notice */
const DRAIN = "--shutdown.delay=4s";
const READY_LIMIT_MS = 180_000;

/** An execution client and its rollup node. */
export interface FleetNode {
  readonly name: string;
  readonly engine: Program;
  readonly rollup: Program;
  /** of HTTP and WebSocket */
  readonly port: number;
  /** folder of the engine's database */
  readonly datadir: string;
  /** in front of its source; `undefined`: it derives */
  readonly source: LyingProxy | undefined;
}

export interface Fleet {
  readonly devnet: Devnet;
  readonly nodes: readonly FleetNode[];
}

/** A sequencer, two nodes that derive, and light nodes that follow these. The sequencer serves none of the clients. */
export async function startFleet(scope: Scope, folder: string, light: number, log: (line: string) => void): Promise<Fleet> {
  let sequencer = "";
  const changeArgs = (name: ProgramName, given: readonly string[]): readonly string[] => {
    if (name === "sequencerEngine") sequencer = `http://127.0.0.1:${optionOf(given, "http.port")}`;
    if (name === "verifierNode" || name === "followerNode") return [...given, DRAIN];
    if (name !== "verifierEngine" && name !== "followerEngine") return given;
    const serving = ["--rpc.workers=1", `--rollup.sequencer-http=${sequencer}`, DRAIN];
    return [...changed(given, { "ws.port": optionOf(given, "http.port") }), ...serving];
  };
  const devnet = await startDevnet(scope, {
    datadir: folder,
    basePort: 0,
    nodes: 3,
    dashboard: false,
    subblocks: false,
    supervise: false,
    parameters: { l1BlockTimeSec: 3, l2BlockTimeSec: BLOCK_TIME_SEC },
    log,
    changeArgs,
  });
  devnet.failure.catch(() => {}); // programs are killed here
  const { verifierEngine, verifierNode, followerEngine, followerNode } = devnet.programs;
  const nodes = [deriving("verifier", verifierEngine, verifierNode), deriving("follower", followerEngine!, followerNode!)];
  for (let number = 0; number < light; number++) {
    const source = nodes[number % 2]!;
    nodes.push(await startLight(scope, devnet, { folder, name: `light-${number + 1}`, source }));
  }
  return { devnet, nodes };
}

const deriving = (name: string, engine: Program, rollup: Program): FleetNode => {
  const args = engine.spec.args();
  const [port, datadir] = [Number(optionOf(args, "http.port")), optionOf(args, "datadir")];
  return { name, engine, rollup, port, datadir, source: undefined };
};

interface LightOptions {
  readonly folder: string;
  readonly name: string;
  readonly source: FleetNode;
}

/** As the devnet's follower, with ports, keys and folders of its own. */
async function startLight(scope: Scope, devnet: Devnet, { folder, name, source }: LightOptions): Promise<FleetNode> {
  const own = join(folder, name);
  mkdirSync(own);
  const secret = (file: string): string => {
    writeFileSync(join(own, file), randomBytes(32).toString("hex"), { mode: 0o600 });
    return join(own, file);
  };
  const [port, auth, enginePeers, rpc, p2p] = await Promise.all(Array.from({ length: 5 }, () => freePort()));
  const proxy = await LyingProxy.listen();
  scope.onClose(`source of ${name}`, () => proxy.close());
  proxy.upstream = `http://127.0.0.1:${optionOf(source.rollup.spec.args(), "rpc.port")}`;
  const { followerEngine, followerNode } = devnet.programs;
  const jwt = secret("jwt.hex");
  const datadir = join(own, "engine");
  const engineArgs = changed(followerEngine!.spec.args(), {
    ...{ datadir, "http.port": port, "ws.port": port, "authrpc.port": auth, "authrpc.jwtsecret": jwt },
    ...{ port: enginePeers, nodekey: secret("node-key.hex") },
  });
  const rollupArgs = changed(followerNode!.spec.args(), {
    ...{ l2: `http://127.0.0.1:${auth}`, "l2.jwt-secret": jwt, "rpc.port": rpc, "p2p.listen.tcp": p2p },
    ...{ "p2p.priv.path": secret("p2p-key.hex"), "p2p.peerstore.path": join(own, "peerstore") },
    ...{ "p2p.static": Object.values(devnet.info.p2p ?? {}).join(","), syncmode: "execution-layer" },
  });
  const [command] = engineArgs;
  await promisify(execFile)(process.execPath, [command!, "init", `--chain=${devnet.info.paths.genesis}`, `--datadir=${datadir}`]);
  const program = (what: string, args: readonly string[]): Program =>
    new Program({
      ...followerEngine!.spec,
      name: `${name} ${what}`,
      args: () => args,
      logPath: join(folder, "logs", `${name}-${what}.log`),
      isReady: async () => (await fetch(`http://127.0.0.1:${what === "rengine" ? port : rpc}/readyz`)).status > 0,
    });
  const node: FleetNode = {
    name,
    engine: program("rengine", engineArgs),
    rollup: program("rnode", [...rollupArgs, `--l2.follow.source=${proxy.url}`]),
    port: port!,
    datadir,
    source: proxy,
  };
  for (const each of [node.engine, node.rollup]) {
    scope.onClose(each.spec.name, () => each.stop(), { closeLimitMs: 30_000 });
    await each.start();
  }
  return node;
}

/** Both programs, as a machine that is shut down. */
export const stopNode = async ({ engine, rollup }: FleetNode): Promise<void> => {
  await Promise.all([engine.stop(), rollup.stop()]);
};

export const startNode = async ({ engine, rollup }: FleetNode): Promise<void> => {
  await engine.start();
  await rollup.start();
};

/** Waits until a balancer would use the node. @param query limits of `/readyz` */
export async function untilReady(node: FleetNode, query: string): Promise<void> {
  const deadlineMs = performance.now() + READY_LIMIT_MS;
  let reason = "";
  while (performance.now() < deadlineMs) {
    try {
      const response = await fetch(`http://127.0.0.1:${node.port}/readyz?${query}`);
      if (response.ok) return;
      reason = await response.text();
    } catch (error) {
      reason = String(error);
    }
    await pause(200);
  }
  throw new Error(`${node.name} is not ready after ${READY_LIMIT_MS / 1000} s: ${reason}`);
}

function optionOf(args: readonly string[], option: string): string {
  const start = `--${option}=`;
  const given = args.find((arg) => arg.startsWith(start));
  if (given === undefined) throw new Error(`the devnet's command line has no ${start}`);
  return given.slice(start.length);
}

/** Replaces or adds options. */
function changed(args: readonly string[], options: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(options).map((name) => `--${name}=`);
  const others = args.filter((arg) => !names.some((name) => arg.startsWith(name)));
  return [...others, ...Object.entries(options).map(([name, value]) => `--${name}=${String(value)}`)];
}
