import type { BlobProvider, DerivationConfig, DerivationObserver } from "@rnode/derivation";
import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { type L1Client, L1Error } from "@rnode/l1";
import { EngineClient, L2Blocks, RpcRollupNode } from "@rnode/node-clients";
import { noMetrics, silentLogger } from "@rnode/observe";
import { LruCache } from "@rnode/primitives";
import { parseOptions, Scope } from "@rnode/program";
import { type MachineTime, type SimClock, SimProcess } from "@rnode/program/testing";
import {
  type DaCommitment,
  type ExecutionPayloadEnvelope,
  type L2BlockRef,
  type RollupConfig,
  rollupConfigToJson,
} from "@rnode/protocol";
import {
  type BlockGossip,
  type CrossSafety,
  type Heads,
  type MissingBlocks,
  type NodeAdminApi,
  type Published,
  type RnodeOptions,
  RollupNode,
  rnodeOptions,
  SafeHeadDatabase,
  type SequencerConductor,
  type SyncStatusJson,
} from "@rnode/rnode";
import { L1_TIMEOUT_MS, l1ClientOf } from "./l1-client.ts";
import type { L1Server } from "./l1-rpc.ts";
import { healthyServer, Link, type ServerState } from "./link.ts";
import { type EngineKind, USER_ADDRESS } from "./plan.ts";
import type { Random } from "./random.ts";
import { type GenesisContract, RealEngine } from "./real-engine.ts";
import type { ScenarioEngine } from "./scenario-engine.ts";
import type { BeaconState, SimBeacon } from "./sim-beacon.ts";
import type { KnownBlocks } from "./sim-block.ts";
import type { SimDa } from "./sim-da.ts";
import { SimDisk } from "./sim-disk.ts";
import { genesisPayload, SimEngine } from "./sim-engine.ts";
import type { SimL1 } from "./sim-l1.ts";
import type { SimLog } from "./sim-log.ts";
import { SimSupernode } from "./sim-supernode.ts";

export interface SimNodeOptions {
  readonly name: string;
  readonly isSequencer: boolean;
  readonly maxLatencyMs: number;
  readonly l1PollMs: number;
  readonly sequencerConfs: number;
  readonly verifierConfs: number;
  /** whether it has a safe-head database */
  readonly keepsSafeHeads: boolean;
  /** an existing one, or the kind of a new one */
  readonly engine: EngineKind | ScenarioEngine;
  /** of a real engine's genesis */
  readonly contracts?: readonly GenesisContract[] | undefined;
  /** a real engine refunds gas in blocks that it builds */
  readonly refunds?: Random | undefined;
  /** `--syncmode=execution-layer` with an engine of this kind; default: it derives all blocks from L1 */
  readonly syncsAs?: "geth" | "reth" | undefined;
  /** the node that it takes safe blocks from (`--l2.follow.source`), until `changeMode`; `undefined`: it derives them */
  readonly follows?: string | undefined;
  /** it verifies messages: its safe head is so many blocks behind its local-safe head; `undefined`: it does not */
  readonly verifiedLagBlocks?: number | undefined;
}

/** What a node of a set shares with those of the other chains. */
export interface OfSet {
  readonly process: SimProcess;
  readonly l1: L1Client;
  readonly crossSafety: (rollup: RollupConfig) => CrossSafety;
}

export interface SimNodeDeps {
  readonly derivation: DerivationConfig;
  /** of simulated execution clients */
  readonly knownBlocks: KnownBlocks;
  readonly clock: SimClock;
  readonly random: Random;
  readonly l1: SimL1;
  readonly l1Server: L1Server;
  /** `undefined`: blobs are found by their versioned hashes, without commitments and proofs */
  readonly beacon: SimBeacon | undefined;
  readonly da: SimDa | undefined;
  readonly log: SimLog;
  /** `undefined`: blobs are found by their versioned hashes, without commitments and proofs */
  readonly time?: MachineTime | undefined;
  /** of its machine; `undefined`: right */
  readonly conductor?: ((process: SimProcess) => SequencerConductor) | undefined;
  /** its conductor */
  readonly requestGap?: ((missing: MissingBlocks) => void) | undefined;
  /** `undefined`: it is a program of its own */
  readonly ofSet?: OfSet | undefined;
  /** what another node answers, if it runs */
  readonly askNode?: ((name: string, method: string) => unknown) | undefined;
  readonly gossip: (from: string, envelope: ExecutionPayloadEnvelope) => Published | Promise<Published>;
  readonly observer: (node: SimNode) => Partial<DerivationObserver>;
  /** requests blocks that gossip did not deliver from other nodes */
  readonly onEnded: (node: SimNode, reason: string) => void;
}

const ENGINE_TIMEOUT_MS = 5_000;
const SOURCE_TIMEOUT_MS = 5_000;

/** the node has exited by itself */
const optionsOf = new LruCache<string, RnodeOptions>(100);

/** A rollup node as it is, on a simulated network. Its execution client outlives it. */
export class SimNode {
  readonly options: SimNodeOptions;
  readonly engine: ScenarioEngine;
  readonly engineState: ServerState;
  /** of each of its L1 endpoints */
  readonly l1States: readonly [ServerState, ServerState];
  readonly beaconState: BeaconState;
  /** of the node that it follows */
  readonly sourceState: ServerState;
  /** how often it has asked L1 and the beacon node for what: `full` for blocks with their transactions */
  readonly l1Requests = new Map<string, number>();
  /** the node that it follows now */
  follows: string | undefined;
  /** A real rollup node, on a simulated network. Its execution client survives it. */
  incarnation = 0;
  readonly #deps: SimNodeDeps;
  readonly #disk: SimDisk<SafeHeadDatabase> | undefined;
  readonly #supernode: SimSupernode | undefined;
  #running:
    | {
        readonly process: SimProcess;
        readonly node: RollupNode;
        readonly scope: Scope;
        readonly safeHeads: SafeHeadDatabase | undefined;
      }
    | undefined;

  constructor(options: SimNodeOptions, deps: SimNodeDeps) {
    this.options = options;
    this.#deps = deps;
    const { rollup } = deps.derivation;
    const { engine, contracts, refunds } = options;
    this.engine =
      typeof engine !== "string"
        ? engine
        : engine === "simulated"
          ? new SimEngine(rollup, genesisPayload(rollup), deps.knownBlocks, options.follows !== undefined)
          : new RealEngine(rollup, deps.clock, { user: USER_ADDRESS, profile: engine, contracts, refunds });
    const { maxLatencyMs, keepsSafeHeads, verifiedLagBlocks } = options;
    this.#supernode =
      verifiedLagBlocks !== undefined && this.engine instanceof SimEngine
        ? new SimSupernode(this.engine, verifiedLagBlocks)
        : undefined;
    const { hash: genesis } = rollup.genesis.l2;
    this.#disk = keepsSafeHeads ? new SimDisk((folder) => SafeHeadDatabase.open(folder, genesis, silentLogger)) : undefined;
    this.engineState = healthyServer(maxLatencyMs);
    this.l1States = [healthyServer(maxLatencyMs), healthyServer(maxLatencyMs)];
    this.sourceState = healthyServer(maxLatencyMs);
    this.follows = options.follows;
    this.beaconState = { ...healthyServer(maxLatencyMs), blobLie: undefined };
  }

  get name(): string {
    return this.options.name;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get process(): SimProcess | undefined {
    return this.#running?.process;
  }

  /** `undefined`: it has no record, or is not running */
  get safeHeads(): SafeHeadDatabase | undefined {
    return this.#running?.safeHeads;
  }

  get heads(): Heads | undefined {
    const heads = this.#running?.node.heads;
    return heads && (this.#supernode?.heads(heads) ?? heads);
  }

  /** `undefined`: it is not running */
  get node(): RollupNode | undefined {
    return this.#running?.node;
  }

  /** its RPC's admin methods; `undefined`: it is not running */
  get admin(): NodeAdminApi | undefined {
    return this.#running?.node.admin;
  }

  /** `undefined`: it has no record, or is not running */
  syncStatus(): SyncStatusJson {
    if (this.#running === undefined) throw new Error("not running");
    const { node } = this.#running;
    const status = node.syncStatus();
    return this.#supernode?.status(status, node.heads) ?? status;
  }

  /** A supernode decides that a block is invalid, and derives again from its parent. @param mayExecute messages, by the block's time */
  invalidateBlock(mayExecute: (timestampSec: number) => boolean): L2BlockRef | undefined {
    const localSafe = this.#running?.node.heads?.safe;
    const denied = localSafe && this.#supernode?.invalidate(localSafe, mayExecute);
    if (denied !== undefined) {
      this.kill();
      this.start();
    }
    return denied;
  }

  /** From the next start on, a light node derives, or follows again. */
  changeMode(): void {
    this.follows = this.follows === undefined ? this.options.follows : undefined;
  }

  /** Its answer as a source of others. @throws {RpcTransportError} it is not running */
  answer(method: string): unknown {
    if (this.#running === undefined)
      throw new RpcTransportError("rpc/unreachable", { endpoint: this.name, reason: "connection refused" });
    if (method === "optimism_syncStatus") return this.syncStatus();
    if (method === "optimism_rollupConfig") return rollupConfigToJson(this.#deps.derivation.rollup);
    throw new RpcError(-32601, `the method ${method} does not exist`);
  }

  start(): void {
    const { clock, log, derivation, ofSet } = this.#deps;
    this.incarnation++;
    const process = ofSet?.process ?? new SimProcess(this.name, clock, this.#deps.time);
    const logger = log.loggerOf(this.name);
    const scope = new Scope({ log: logger, clock: process.clock });
    // a light node does not open it
    const safeHeads = this.follows === undefined ? this.#disk?.open() : undefined;
    const node = new RollupNode(this.#rnodeOptions(), {
      derivation,
      connect: () => this.#connect(process),
      safeHeads,
      crossSafety: ofSet?.crossSafety(derivation.rollup),
      adminState: { load: () => undefined, save: () => {} },
      gossip: this.#gossip(process),
      conductor: this.#deps.conductor?.(process),
      requestGap: this.#deps.requestGap,
      observer: this.#deps.observer(this),
      clock: process.clock,
      random: () => this.#deps.random.fraction(),
      log: logger,
      metrics: noMetrics,
      health: () => ({ isHealthy: true, body: { version: "simulated" } }),
    });
    const running = { process, node, scope, safeHeads };
    this.#running = running;
    void node
      .startWithoutServer(scope)
      .then(({ ended }) => ended)
      .then(
        () => "its loop ended",
        (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
      )
      .then((reason) => {
        if (this.#running !== running || process.isDead) return;
        this.#running = undefined;
        this.#deps.onEnded(this, reason);
      });
  }

  /** It stops at once, whatever it was doing. */
  kill(): void {
    this.#running?.process.kill();
    this.#running = undefined;
  }

  /** its RPC's admin methods; `undefined`: it is not running */
  async remove(): Promise<void> {
    this.kill();
    await this.#disk?.remove();
    await this.engine.remove();
  }

  /** A block that another node sequenced arrives. */
  receive(envelope: ExecutionPayloadEnvelope): void {
    this.#running?.node.offerUnsafePayload(envelope);
  }

  #rnodeOptions(): RnodeOptions {
    const { isSequencer, l1PollMs, sequencerConfs, verifierConfs, syncsAs } = this.options;
    const args = [
      "--l1=http://l1.invalid",
      "--l2=http://l2.invalid",
      "--network=op-mainnet",
      "--l1.beacon.ignore",
      ...(this.follows === undefined ? [] : ["--l2.follow.source=http://source.invalid"]),
      `--l1.http-poll-interval=${l1PollMs}ms`,
      `--l1.epoch-poll-interval=${3 * l1PollMs}ms`,
      `--verifier.l1-confs=${verifierConfs}`,
      ...(syncsAs === undefined
        ? []
        : ["--syncmode=execution-layer", `--l2.enginekind=${syncsAs}`, "--syncmode.offset-el-safe=0s"]),
      ...(isSequencer ? ["--sequencer.enabled", `--sequencer.l1-confs=${sequencerConfs}`] : []),
    ];
    const key = args.join(" ");
    let options = optionsOf.get(key);
    if (options === undefined) {
      const parsed = parseOptions(rnodeOptions, args, {});
      if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
      options = parsed.options;
      optionsOf.set(key, options);
    }
    return options;
  }

  #connect(process: SimProcess) {
    const { clock, random, derivation, log, da } = this.#deps;
    const config = derivation.rollup;
    const logger = log.loggerOf(this.name);
    const link = (name: string, state: ServerState, timeoutMs: number, handle: Handle): Link =>
      new Link({ name, process, clock, random, state, timeoutMs, handle });
    const engineLink = link("engine", this.engineState, ENGINE_TIMEOUT_MS, (method, params) => this.engine.handle(method, params));
    const l1Client =
      this.#deps.ofSet?.l1 ??
      l1ClientOf(this.l1States, {
        ...this.#deps,
        process,
        chainId: config.l1ChainId,
        log: logger,
        count: (what) => this.#count(what),
      });
    return {
      l1: l1Client,
      blobs: this.#blobs(process),
      daInputs: da && { get: (commitment: DaCommitment) => process.wait(da.get(commitment)) },
      engine: new EngineClient(engineLink, config.forkTimes),
      l2: new L2Blocks(engineLink, config),
      source: this.#source(link),
      check: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }

  #count(request: string): void {
    this.l1Requests.set(request, (this.l1Requests.get(request) ?? 0) + 1);
  }

  #source(link: (name: string, state: ServerState, timeoutMs: number, handle: Handle) => Link): RpcRollupNode | undefined {
    const { follows } = this;
    if (follows === undefined) return undefined;
    const handle: Handle = (method) => this.#deps.askNode!(follows, method);
    return new RpcRollupNode(link("source", this.sourceState, SOURCE_TIMEOUT_MS, handle), "optimism");
  }

  #blobs(process: SimProcess): BlobProvider {
    const { clock, random, l1, beacon, log } = this.#deps;
    const state = this.beaconState;
    if (beacon !== undefined) return beacon.client({ process, clock, random, state, log: log.loggerOf(this.name) });
    return {
      blobs: (block, ids) => {
        this.#count("blobs");
        const answer = async () => {
          if (state.maxLatencyMs > 0) await clock.sleep(random.between(0, state.maxLatencyMs));
          if (state.isDown || random.chance(state.failureRate)) {
            throw new L1Error("l1/blobs-unavailable", { l1Block: block.number, reason: "the beacon node does not answer" });
          }
          if (state.stalls) {
            await clock.sleep(L1_TIMEOUT_MS);
            throw new L1Error("l1/blobs-unavailable", { l1Block: block.number, reason: "no answer in time" });
          }
          const blobs = ids.map(({ versionedHash }) => l1.blob(versionedHash));
          return blobs.every((blob) => blob !== undefined) ? blobs : undefined;
        };
        return process.wait(answer());
      },
    };
  }

  #gossip(process: SimProcess): BlockGossip {
    return {
      publish: async (envelope) => {
        await process.wait(Promise.resolve());
        return process.wait(Promise.resolve(this.#deps.gossip(this.name, envelope)));
      },
    };
  }
}

type Handle = (method: string, params: readonly unknown[]) => unknown;
