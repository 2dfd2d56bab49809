import { silentLogger } from "@rnode/observe";
import { type SimClock, SimProcess } from "@rnode/program/testing";
import type { BlockId, RollupConfig } from "@rnode/protocol";
import {
  BEFORE_ANY_L1,
  CanonicalL1,
  type CrossSafety,
  CrossUnsafe,
  chainSafety,
  NodeChain,
  runSet,
  SetDatabase,
  SetVerifier,
  setRules,
  startOfSet,
  type VerifiedRound,
} from "@rnode/rnode";
import { l1ClientOf } from "../l1-client.ts";
import type { L1Server } from "../l1-rpc.ts";
import { healthyServer, type ServerState } from "../link.ts";
import type { Random } from "../random.ts";
import { SimDisk } from "../sim-disk.ts";
import type { SimL1 } from "../sim-l1.ts";
import type { SimLog } from "../sim-log.ts";
import type { OfSet, SimNode } from "../sim-node.ts";

export interface SimSourceDeps {
  readonly clock: SimClock;
  readonly random: Random;
  readonly l1: SimL1;
  readonly l1Server: L1Server;
  readonly log: SimLog;
  readonly expirySec: number;
  readonly maxLatencyMs: number;
  readonly configs: readonly RollupConfig[];
  /** its node of a chain; a new process starts at each start of the source */
  readonly nodeOf: (source: SimSource, config: RollupConfig) => SimNode;
  /** something was verified, denied or rewound */
  readonly onVerdict: (source: SimSource) => void;
  readonly onEnded: (source: SimSource, reason: string) => void;
}

/** `rnode set`, as it is, on a simulated network: its nodes, its database and its verifier in one process. */
export class SimSource {
  readonly name: string;
  readonly nodes: readonly SimNode[];
  /** of its L1 endpoints */
  readonly l1States: readonly [ServerState, ServerState];
  readonly startSec: number;
  readonly #deps: SimSourceDeps;
  readonly #disk: SimDisk<SetDatabase>;
  #running: { readonly process: SimProcess; readonly database: SetDatabase; readonly ofSet: OfSet } | undefined;

  constructor(name: string, deps: SimSourceDeps) {
    this.name = name;
    this.#deps = deps;
    this.l1States = [healthyServer(deps.maxLatencyMs), healthyServer(deps.maxLatencyMs)];
    this.startSec = startOfSet(deps.configs);
    const chainIds = deps.configs.map(({ l2ChainId }) => l2ChainId);
    this.#disk = new SimDisk((folder) => SetDatabase.open(folder, chainIds, silentLogger));
    this.nodes = deps.configs.map((config) => deps.nodeOf(this, config));
  }

  get process(): SimProcess | undefined {
    return this.#running?.process;
  }

  /** what its nodes share while it runs */
  get ofSet(): OfSet | undefined {
    return this.#running?.ofSet;
  }

  /** `undefined`: it is not running */
  get database(): SetDatabase | undefined {
    return this.#running?.database;
  }

  get lastRound(): VerifiedRound | undefined {
    return this.database?.verified.last;
  }

  start(): void {
    const { clock, log, configs, expirySec, onVerdict, onEnded } = this.#deps;
    const process = new SimProcess(this.name, clock);
    const logger = log.loggerOf(this.name);
    const database = this.#disk.open();
    const l1 = l1ClientOf(this.l1States, {
      ...this.#deps,
      process,
      chainId: configs[0]!.l1ChainId,
      log: logger,
      count: () => {},
    });
    const canonicalL1 = new CanonicalL1(l1);
    const { startSec } = this;
    const crossSafety = (config: RollupConfig): CrossSafety =>
      chainSafety({ database, config, startSec, onL1Head: (block) => void canonicalL1.onHead(block) });
    const running = { process, database, ofSet: { process, l1, crossSafety } };
    this.#running = running;
    for (const node of this.nodes) node.start();
    const chains = this.nodes.map((node, i) => new NodeChain(node.node!, configs[i]!, database.messageLog(configs[i]!.l2ChainId)));
    const commit = database.atomically.bind(database);
    database.atomically = (action, options) => {
      const result = commit(action, options);
      onVerdict(this);
      return result;
    };
    const checkL1 = async (block: BlockId): Promise<"canonical" | "replaced" | "missing"> =>
      block.hash === BEFORE_ANY_L1.hash ? "canonical" : (await canonicalL1.check([block])).kind;
    const verifier = new SetVerifier({ chains, expiryWindowSec: expirySec, database, checkL1, log: logger });
    const crossUnsafe = new CrossUnsafe({ chains, rules: setRules(chains, expirySec), database, startSec });
    void runSet({ verifier, crossUnsafe, clock: process.clock, log: logger }, new AbortController().signal).then(
      () => {},
      (error: unknown) => {
        if (this.#running !== running || process.isDead) return;
        this.#running = undefined;
        onEnded(this, error instanceof Error ? (error.stack ?? error.message) : String(error));
      },
    );
  }

  /** It stops at once, whatever it was doing. */
  kill(): void {
    this.#running?.process.kill();
    this.#running = undefined;
    for (const node of this.nodes) node.kill();
  }

  async remove(): Promise<void> {
    this.kill();
    for (const node of this.nodes) await node.remove();
    await this.#disk.remove();
  }
}
