import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { ProgramKind } from "@rnode/dashboard";
import { UserError } from "@rnode/program";
import { type DevnetPaths, NODE_ROLES, type NodeRole } from "../files.ts";
import type { ChainParameters } from "../parameters.ts";
import type { Ports, PortUse } from "../ports.ts";
import { rpcCall } from "../rpc.ts";
import { FOLLOWED_STREAMS, type NodeTuning, RCONDUCTOR, rengineArgs, rnodeArgs, subblocksAt } from "./commands.ts";
import { enodeOf } from "./engine-peers.ts";
import { Program, type ProgramSpec } from "./program.ts";
import type { ProgramName } from "./program-names.ts";

/** What one of the sequencers consists of; the first one's rengine and rnode are those of any devnet. */
export interface SequencerPrograms {
  readonly id: string;
  readonly engine: Program;
  readonly node: Program;
  readonly conductor: Program;
  /** of rnode, rengine and rconductor */
  readonly urls: { readonly node: string; readonly http: string; readonly conductor: string };
}

export interface SequencerClusterOptions {
  /** 2 or more */
  readonly sequencers: number;
  readonly datadir: string;
  readonly paths: DevnetPaths;
  readonly ports: Ports;
  readonly parameters: ChainParameters;
  readonly tuning: Omit<NodeTuning, "staticPeers">;
  readonly common: Pick<ProgramSpec, "command" | "readyTimeoutMs" | "stopTimeoutMs">;
}

export interface SequencerClusterDeps {
  /** starts a program, and stops it at the end */
  readonly start: (program: Program) => Promise<void>;
  /** creates the first block of an engine */
  readonly initEngine: (paths: DevnetPaths, role: NodeRole) => Promise<void>;
}

type PortName =
  | "http"
  | "ws"
  | "auth"
  | "node"
  | "p2p"
  | "engineP2P"
  | "subblocks"
  | "conductor"
  | "engineFeed"
  | "nodeFeed"
  | "conductorFeed";
const PORT_NAMES: readonly PortName[] = [
  "http",
  "ws",
  "auth",
  "node",
  "p2p",
  "engineP2P",
  "subblocks",
  "conductor",
  "engineFeed",
  "nodeFeed",
  "conductorFeed",
];
const EXTRA_PORTS = ["etcdClient", "etcdPeer", "observer"] as const;
type OwnPorts = Readonly<Record<PortName, number>>;
type ExtraPorts = Readonly<Record<(typeof EXTRA_PORTS)[number], number>>;
const NO_ETCD = `--sequencers: several sequencers need etcd, and there is none here: install it (Debian, Ubuntu: apt-get install etcd-server; macOS: brew install etcd)`;

const urlOf = (port: number): string => `http://127.0.0.1:${port}`;
const clusterFolder = (datadir: string): string => join(datadir, "sequencers");

/** With a single sequencer blocks are not committed: an etcd that knows older ones would stop the chain when it is used again. */
export function forgetCommits(datadir: string): void {
  rmSync(join(clusterFolder(datadir), "etcd"), { recursive: true, force: true });
}

/**
 * Several sequencers on one machine, each with its conductor, on an etcd of one server. Users, the batch submitter and the proposer reach
 * whichever leads through a conductor without a sequencer.
 */
export class SequencerCluster {
  readonly #options: SequencerClusterOptions;
  readonly #ports: readonly OwnPorts[];
  readonly #extra: ExtraPorts;
  #sequencers: readonly SequencerPrograms[] = [];
  #etcd: Program | undefined;
  #observer: Program | undefined;

  /** @throws {UserError} etcd is not installed */
  static async create(options: SequencerClusterOptions): Promise<SequencerCluster> {
    if (spawnSync("etcd", ["--version"]).status !== 0) throw new UserError(NO_ETCD);
    const count = options.sequencers * PORT_NAMES.length + EXTRA_PORTS.length;
    const free = await freePorts(count);
    const take = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
      Object.fromEntries(names.map((name) => [name, free.pop()!])) as Record<Name, number>;
    return new SequencerCluster(
      options,
      Array.from({ length: options.sequencers }, () => take(PORT_NAMES)),
      take(EXTRA_PORTS),
    );
  }

  private constructor(options: SequencerClusterOptions, ports: readonly OwnPorts[], extra: ExtraPorts) {
    this.#options = options;
    const { sequencerHttp, sequencerWs, sequencerAuth, sequencerNode, sequencerP2P, sequencerEngineP2P, sequencerSubblocks } =
      options.ports;
    const first = {
      http: sequencerHttp,
      ws: sequencerWs,
      auth: sequencerAuth,
      node: sequencerNode,
      p2p: sequencerP2P,
      engineP2P: sequencerEngineP2P,
      subblocks: sequencerSubblocks,
    };
    this.#ports = ports.map((own, index) => (index === 0 ? { ...own, ...first } : own));
    this.#extra = extra;
  }

  get sequencers(): readonly SequencerPrograms[] {
    return this.#sequencers;
  }

  /** one that follows the leader, for users */
  get url(): string {
    return urlOf(this.#options.ports.leader);
  }

  get observer(): string {
    return urlOf(this.#extra.observer);
  }

  get etcd(): Program | undefined {
    return this.#etcd;
  }

  /** All programs except those of the first sequencer, each with the URL of its feed. */
  get programs(): readonly {
    readonly id: string;
    readonly kind: ProgramKind;
    readonly feedPort?: number;
    readonly program: Program;
  }[] {
    const further = this.#sequencers.flatMap(({ id, engine, node, conductor }, index) => {
      const { engineFeed, nodeFeed, conductorFeed } = this.#ports[index]!;
      const own = [{ id: `${id}Conductor`, kind: "rconductor", feedPort: conductorFeed, program: conductor }] as const;
      if (index === 0) return own;
      return [
        { id: `${id}Engine`, kind: "rengine", feedPort: engineFeed, program: engine },
        { id: `${id}Node`, kind: "rnode", feedPort: nodeFeed, program: node },
        ...own,
      ] as const;
    });
    return this.#observer === undefined ? further : [...further, { id: "observer", kind: "rconductor", program: this.#observer }];
  }

  /** Command lines of programs that any devnet has, as this one needs them. */
  changeArgs(name: ProgramName, args: readonly string[]): readonly string[] {
    const without = (...flags: readonly string[]): string[] =>
      args.filter((arg) => !flags.some((flag) => arg.startsWith(`--${flag}=`)));
    switch (name) {
      case "sequencerEngine":
        return [...args, this.#streamsArg(0)];
      case "verifierEngine":
      case "followerEngine":
        return [...without(FOLLOWED_STREAMS), this.#streamsArg(undefined)];
      case "sequencerNode":
        return [...args, ...this.#conductorArgs(0)];
      case "batcher":
        return [...without("l2-eth-rpc", "l2-jwt-secret", "rollup-rpc"), `--l2-eth-rpc=${this.url}`, `--rollup-rpc=${this.url}`];
      case "proposer":
        return [...without("rollup-rpc"), `--rollup-rpc=${this.url}`];
      default:
        return args;
    }
  }

  /** @param first the programs of the first sequencer, which run already; @param peers multiaddresses of the nodes that run */
  async start(
    first: Pick<SequencerPrograms, "engine" | "node">,
    peers: readonly string[],
    { start, initEngine }: SequencerClusterDeps,
  ): Promise<void> {
    const { common, paths, sequencers } = this.#options;
    const logOf = (name: string): string => join(paths.logs, `${name}.log`);
    this.#etcd = new Program({
      ...common,
      name: "etcd",
      command: "etcd",
      args: () => this.#etcdArgs(),
      logPath: logOf("etcd"),
      isReady: async () => (await fetch(`${urlOf(this.#extra.etcdClient)}/health`)).ok,
    });
    await start(this.#etcd);
    this.#observer = new Program({
      ...common,
      name: "rconductor (observer)",
      args: () => this.#observerArgs(),
      logPath: logOf("rconductor-observer"),
      isReady: () => isUp(this.#extra.observer),
    });
    const all: SequencerPrograms[] = [];
    for (let index = 0; index < sequencers; index++) {
      const id = `sequencer${index + 1}`;
      const { http, node, conductor } = this.#ports[index]!;
      const pair = index === 0 ? first : this.#pair(index, id, peers, logOf);
      const urls = { node: urlOf(node), http: urlOf(http), conductor: urlOf(conductor) };
      const program = new Program({
        ...common,
        name: `${id} rconductor`,
        args: () => this.#rconductorArgs(index, id),
        logPath: logOf(`${id}-rconductor`),
        isReady: () => isUp(conductor),
      });
      all.push({ id, ...pair, conductor: program, urls });
    }
    this.#sequencers = all;
    // The first one goes to work at once.
    await Promise.all([start(all[0]!.conductor), start(this.#observer)]);
    for (const [index, { engine, node, conductor }] of all.entries()) {
      if (index === 0) continue;
      const own = this.#pathsOf(index);
      if (!existsSync(own.engine("sequencer"))) {
        mkdirSync(dirname(own.jwt("sequencer")), { recursive: true });
        copyFileSync(paths.jwt("sequencer"), own.jwt("sequencer"));
        await initEngine(own, "sequencer");
      }
      await start(engine);
      await start(node);
      await start(conductor);
    }
  }

  #pair(
    index: number,
    id: string,
    peers: readonly string[],
    logOf: (name: string) => string,
  ): Pick<SequencerPrograms, "engine" | "node"> {
    const { common, parameters, tuning, ...shared } = this.#options;
    const { http, node, engineP2P } = this.#ports[index]!;
    const [paths, ports] = [this.#pathsOf(index), this.#portsOf(index)];
    return {
      engine: new Program({
        ...common,
        name: `${id} rengine`,
        args: () => {
          const neighbours = NODE_ROLES.map((role) => enodeOf(shared.paths.engineKey(role), shared.ports[`${role}EngineP2P`]));
          const peering = { port: engineP2P, keyPath: paths.engineKey("sequencer"), neighbours };
          return [
            ...rengineArgs(paths, ports, "sequencer", { hasDashboard: tuning.hasDashboard, hasSubblocks: true, peering }),
            this.#streamsArg(index),
          ];
        },
        logPath: logOf(`${id}-rengine`),
        isReady: async () => Number(await rpcCall(urlOf(http), "eth_chainId", [], 1000)) === parameters.l2ChainId,
      }),
      node: new Program({
        ...common,
        name: `${id} rnode`,
        args: () => [
          ...rnodeArgs(paths, ports, parameters, "sequencer", { ...tuning, staticPeers: peers }),
          ...this.#conductorArgs(index),
        ],
        logPath: logOf(`${id}-rnode`),
        isReady: async () => (await rpcCall(urlOf(node), "rnode_syncStatus", [], 1000)) !== undefined,
      }),
    };
  }

  /** The folders of a further sequencer. */
  #pathsOf(index: number): DevnetPaths {
    const { datadir, paths } = this.#options;
    const own = (name: string): string => join(clusterFolder(datadir), String(index + 1), name);
    return {
      ...paths,
      engine: () => own("engine"),
      jwt: () => own("jwt.hex"),
      engineKey: () => own("engine-key.hex"),
      networkKey: () => own("p2p-key.hex"),
      peerstore: () => own("peerstore"),
    };
  }

  #portsOf(index: number): Ports {
    const { http, ws, auth, node, p2p, subblocks, engineFeed, nodeFeed } = this.#ports[index]!;
    const own: Partial<Record<PortUse, number>> = {
      sequencerHttp: http,
      sequencerWs: ws,
      sequencerAuth: auth,
      sequencerNode: node,
      sequencerP2P: p2p,
      sequencerSubblocks: subblocks,
      sequencerEngineFeed: engineFeed,
      sequencerNodeFeed: nodeFeed,
    };
    return { ...this.#options.ports, ...own };
  }

  /** The streams of all sequencers, except for that with this index. */
  #streamsArg(index: number | undefined): string {
    const others = this.#ports.filter((_, at) => at !== index);
    return `--${FOLLOWED_STREAMS}=${others.map(({ subblocks }) => subblocksAt(subblocks)).join(",")}`;
  }

  #conductorArgs(index: number): string[] {
    return ["--conductor.enabled", `--conductor.rpc=${urlOf(this.#ports[index]!.conductor)}`];
  }

  #etcdArgs(): string[] {
    const [client, peer] = [urlOf(this.#extra.etcdClient), urlOf(this.#extra.etcdPeer)];
    return [
      `--data-dir=${join(clusterFolder(this.#options.datadir), "etcd")}`,
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      // Its ports change from run to run, and it has no other server to tell.
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`, `--initial-cluster=default=${peer}`],
    ];
  }

  #rconductorArgs(index: number, id: string): string[] {
    const { http, ws, node, conductor, conductorFeed } = this.#ports[index]!;
    return [
      RCONDUCTOR,
      ...[`--etcd=${urlOf(this.#extra.etcdClient)}`, `--server-id=${id}`],
      ...[`--rollup-rpc=${urlOf(node)}`, `--execution-rpc=${urlOf(http)}`, `--execution-ws=ws://127.0.0.1:${ws}`],
      ...["--rpc.addr=127.0.0.1", `--rpc.port=${conductor}`, `--advertise.addr=${urlOf(conductor)}`],
      ...(this.#options.tuning.hasDashboard
        ? ["--dashboard", "--dashboard.addr=127.0.0.1", `--dashboard.port=${conductorFeed}`]
        : []),
      // The chain begins where the first sequencer is.
      ...(index === 0 ? ["--bootstrap"] : []),
    ];
  }

  #observerArgs(): string[] {
    return [
      ...[RCONDUCTOR, "--observer", `--etcd=${urlOf(this.#extra.etcdClient)}`],
      ...["--rpc.addr=127.0.0.1", `--rpc.port=${this.#extra.observer}`],
      ...["--proxy", "--proxy.addr=127.0.0.1", `--proxy.port=${this.#options.ports.leader}`, "--proxy.methods=miner_setMaxDASize"],
    ];
  }
}

async function isUp(port: number): Promise<boolean> {
  return (await fetch(`${urlOf(port)}/healthz`)).ok;
}

/** Ports that are free now, below the range that systems use for outgoing connections. */
async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let port = 12_000 + Math.floor(Math.random() * 15_000); found.length < count && port < 32_000; port++) {
    if (await isFree(port)) found.push(port);
  }
  if (found.length < count) throw new UserError(`no ${count} free ports below 32000`);
  return found;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
