import { type Logger, silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { createRandom, type Random } from "@rnode/primitives/testing";
import { type MachineTime, rightTime, SimClock, SimProcess, within } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { CommitStore } from "../cluster/commit-store.ts";
import { ClusterKeys } from "../cluster/keys.ts";
import { readHead, readLeader } from "../cluster/records.ts";
import type { Comparison, Etcd, KeyValue } from "../etcd/etcd-api.ts";
import { EtcdError } from "../etcd/etcd-error.ts";
import type { SequencerNode } from "../sequencer/sequencer-api.ts";
import { EtcdModel } from "./etcd-model.ts";
import { etcdOver } from "./model-etcd.ts";
import { SAMPLE_FORKS } from "./sample-payload.ts";
import { type SimConductor, startSimConductor } from "./sim-conductor.ts";
import { SimL1 } from "./sim-l1.ts";
import { SimDisk, SimNode } from "./sim-node.ts";

/** A rule that is switched off, to see whether the simulation notices. */
export type Mutant =
  /** commits do not compare who leads */
  | "no-fence"
  /** commits do not compare which block was the last */
  | "no-head-compare"
  /** blocks are committed whatever their parent is */
  | "no-parent-check"
  /** a new leader starts from whatever its node has */
  | "start-anywhere"
  /** committed blocks are taken back as soon as L1 seems to lack their origins */
  | "l1-believed-at-once"
  /** etcd's leases never end */
  | "no-lease"
  /** a candidate does not check that the leader key is free, and a leader without etcd ignores the end of its lease */
  | "leader-key-not-exclusive";

export interface SimOptions {
  readonly seed: number;
  readonly servers?: number;
  readonly mutant?: Mutant | undefined;
  readonly log?: Logger;
}

const ETCD_TIMEOUT_MS = 800;
const RPC_TIMEOUT_MS = 2_000;

/** One machine: a conductor, a rollup node with its execution client, and their links. */
export class Machine {
  readonly time: MachineTime = rightTime();
  readonly disk: SimDisk;
  readonly id: string;
  conductor: SimConductor | undefined;
  node: SimNode | undefined;
  /** what does not work now */
  readonly cut = { etcd: 0, peers: 0, engine: 0, local: 0 };
  /** how long it takes to see what L1 did */
  l1DelayMs = 0;
  /** percentage of etcd's answers that are lost, and of requests that arrive late */
  etcdLoss = 0;
  /** how long requests to etcd, and its answers, take besides */
  etcdDelayMs = 0;
  /** requests reach etcd, answers do not come back */
  hasNoEtcdAnswers = false;

  constructor(id: string, genesisSec: number) {
    this.id = id;
    this.disk = new SimDisk(genesisSec);
  }
}

export interface Committed {
  readonly atMs: number;
  readonly leader: string;
  readonly fence: number;
  readonly block: ExecutionPayloadEnvelope;
}

const hashHex = ({ executionPayload }: ExecutionPayloadEnvelope): string => bytesToHex(executionPayload.blockHash);

/** Conductors with everything around them simulated: clocks, etcd, rollup nodes, links. Everything follows from the seed. */
export class SimCluster {
  readonly clock = new SimClock();
  readonly random: Random;
  readonly l1 = new SimL1();
  readonly machines: readonly Machine[];
  /** all commits, in order; blocks that L1 has taken away later included */
  readonly committed: Committed[] = [];
  /** those of them that the last one builds on, it included */
  #chain: Committed[] = [];
  readonly released = new Map<number, string>();
  /** committed blocks that were taken back, as L1 had replaced their origins */
  rewound = 0;
  /** what must never happen, and did */
  readonly violations: string[] = [];
  readonly leaders: { readonly atMs: number; readonly id: string | undefined }[] = [];
  readonly #options: SimOptions;
  readonly #model: EtcdModel;
  readonly #keys = new ClusterKeys("/sim/");
  /** blocks that nodes wanted to commit, by hash */
  readonly #sealed = new Map<string, ExecutionPayloadEnvelope>();
  readonly #committedHashes = new Set<string>();
  #etcdState: "up" | "no-leader" | "down" = "up";

  constructor(options: SimOptions) {
    this.#options = options;
    this.random = createRandom(options.seed);
    this.#model = new EtcdModel(() => (options.mutant === "no-lease" ? 0 : this.clock.unixMs()));
    this.#model.onChange = (key, pair) => {
      if (key === this.#keys.leader) this.#onLeader(pair);
      if (key === this.#keys.head && pair !== undefined) this.#onCommit(readHead(pair));
    };
    const genesisSec = Math.floor(this.clock.unixMs() / 1000);
    this.machines = Array.from({ length: options.servers ?? 3 }, (_, index) => new Machine(`s${index}`, genesisSec));
  }

  get leader(): Machine | undefined {
    const pair = this.#model.get(this.#keys.leader);
    return pair && this.machines.find(({ id }) => id === readLeader(pair).id);
  }

  get etcdSize(): EtcdModel["size"] {
    return this.#model.size;
  }

  start(): void {
    for (const machine of this.machines) {
      this.startNode(machine);
      this.startConductor(machine);
    }
  }

  /** etcd loses its leader and elects another, or its majority. */
  setEtcd(state: "up" | "no-leader" | "down"): void {
    if (state === "up" && this.#etcdState !== "up") this.#model.renewLeases();
    this.#etcdState = state;
  }

  startNode(machine: Machine): void {
    if (machine.node !== undefined && !machine.node.process.isDead) return;
    const process = new SimProcess(machine.id, this.clock, machine.time);
    machine.node = new SimNode({
      name: machine.id,
      sim: this.clock,
      random: this.random,
      process,
      disk: machine.disk,
      isLeader: () =>
        this.#call(
          process,
          machine,
          () => machine.conductor?.process,
          async () => machine.conductor!.program.isLeader,
        ),
      commit: (envelope) => {
        this.#sealed.set(hashHex(envelope), envelope);
        return this.#call(
          process,
          machine,
          () => machine.conductor?.process,
          () => machine.conductor!.program.commit(envelope),
          500,
        );
      },
      peers: () => this.#peersOf(machine),
      onRelease: (envelope) => this.#onRelease(machine, envelope),
      engineCut: () => machine.cut.engine > 0,
      l1: this.l1,
      l1SeenMs: () => this.clock.unixMs() - machine.l1DelayMs,
    });
  }

  /** The node ends at once; the last blocks may not have reached its disk. */
  killNode(machine: Machine): void {
    machine.node?.process.kill();
    for (let lost = this.random(3); lost > 0; lost--)
      machine.disk.head = machine.disk.parentOf(machine.disk.head) ?? machine.disk.head;
  }

  startConductor(machine: Machine): void {
    if (machine.conductor !== undefined && !machine.conductor.process.isDead) return;
    const process = new SimProcess(machine.id, this.clock, machine.time);
    const { mutant, log } = this.#options;
    machine.conductor = startSimConductor(
      {
        id: machine.id,
        leaseTtlSec: 3,
        compactionIntervalMs: 30_000,
        blockTimeSec: 1,
        forkTimes: SAMPLE_FORKS,
        mayBootstrap: machine === this.machines[0] || mutant === "start-anywhere",
        // longer than machines take to see what L1 did
        l1ReorgWaitMs: mutant === "l1-believed-at-once" ? 0 : 6_000,
      },
      {
        process,
        etcd: this.#etcdOf(machine, process),
        keys: this.#keys,
        node: this.#nodeOf(machine, process),
        log: log?.child({ server: machine.id }) ?? silentLogger,
        alterStore: (store) => {
          if (mutant === "no-parent-check") this.#forgetParents(store);
          if (mutant === "start-anywhere") store.latest = async () => undefined;
        },
      },
    );
  }

  /** Lets everything work, and time pass. */
  advance(ms: number): Promise<void> {
    return this.clock.advance(ms, () => this.#model.expireLeases());
  }

  /** The faults that remain some time after the last injected fault ended. @param sinceMs when the last fault ended */
  checkRecovered(sinceMs: number): void {
    const last = this.#chain.at(-1);
    if (last === undefined || last.atMs < sinceMs) {
      this.violations.push("production does not go on after the last fault");
      return;
    }
    const chains = this.machines.map(({ disk }) => chainOf(disk));
    const settled = last.block.executionPayload.blockNumber - 5; // later ones may be on their way
    const lost = this.#chain.find(
      ({ block }) => block.executionPayload.blockNumber <= settled && chains.some((chain) => !chain.has(hashHex(block))),
    );
    if (lost !== undefined)
      this.violations.push(`block ${lost.block.executionPayload.blockNumber} was committed and is not everywhere`);
    const active = this.machines.filter(({ node }) => node?.isActive);
    if (active.length !== 1) this.violations.push(`${active.length} sequencers are active`);
  }

  #onLeader(pair: KeyValue | undefined): void {
    const id = pair && readLeader(pair).id;
    if (pair !== undefined && pair.createRevision !== pair.modRevision)
      this.violations.push(`${id} took the leader key from another one`);
    this.leaders.push({ atMs: this.clock.unixMs(), id });
  }

  #onCommit({ number, hash, leader, fence }: ReturnType<typeof readHead>): void {
    if (this.#committedHashes.has(hash)) {
      this.#onRewind(number, hash);
      return;
    }
    const block = this.#sealed.get(hash);
    if (block === undefined) {
      this.violations.push(`block ${number} ${hash} was committed, which nobody made`);
      return;
    }
    const before = this.#chain.at(-1);
    if (before !== undefined && bytesToHex(block.executionPayload.parentHash) !== hashHex(before.block)) {
      this.violations.push(
        `block ${number} of ${leader} was committed, which does not follow ${before.block.executionPayload.blockNumber} of ${before.leader}`,
      );
    }
    if (fence !== this.#model.get(this.#keys.leader)?.createRevision)
      this.violations.push(`${leader} committed block ${number} and did not lead`);
    this.#committedHashes.add(hash);
    const committed = { atMs: this.clock.unixMs(), leader, fence, block };
    this.committed.push(committed);
    this.#chain.push(committed);
  }

  /** The last committed block is an earlier one again: only those may go whose L1 origins are gone. */
  #onRewind(number: number, hash: string): void {
    const at = this.#chain.findIndex(({ block }) => hashHex(block) === hash);
    if (at < 0) {
      this.violations.push(`block ${number} is the last committed one again, and is not of the chain`);
      return;
    }
    for (const { block } of this.#chain.splice(at + 1)) {
      const { blockNumber } = block.executionPayload;
      if (!this.l1.hasReplacedOriginOf(block, this.clock.unixMs()))
        this.violations.push(`block ${blockNumber} was taken back, and L1 still has its origin`);
      this.released.delete(blockNumber);
      this.rewound++;
    }
  }

  /** Reorganises L1 from `depth` blocks before the origin of the last committed block. */
  reorganiseL1(depth: number): void {
    const last = this.#chain.at(-1)?.block.executionPayload.blockNumber ?? 0;
    this.l1.reorganise(Math.max(1, Math.floor(last / 6) - depth), this.clock.unixMs());
  }

  #onRelease({ id }: Machine, envelope: ExecutionPayloadEnvelope): void {
    const hash = hashHex(envelope);
    const { blockNumber } = envelope.executionPayload;
    if (!this.#committedHashes.has(hash)) this.violations.push(`${id} released block ${blockNumber}, which was not committed`);
    const other = this.released.get(blockNumber);
    if (other !== undefined && other !== hash) this.violations.push(`${id} released another block ${blockNumber}`);
    this.released.set(blockNumber, hash);
  }

  #peersOf(machine: Machine): readonly SimNode[] {
    if (machine.cut.peers > 0 || machine.node?.process.isRunning !== true) return [];
    return this.machines.flatMap(({ node, cut }) =>
      node !== undefined && node !== machine.node && node.process.isRunning && cut.peers === 0 ? [node] : [],
    );
  }

  /** A request between two programs of one machine. One that is paused gets it when it wakes up. */
  async #call<T>(
    from: SimProcess,
    machine: Machine,
    to: () => SimProcess | undefined,
    act: () => Promise<T>,
    timeoutMs = RPC_TIMEOUT_MS,
  ): Promise<T> {
    const { clock, random } = this;
    const answer = async (): Promise<T> => {
      await clock.sleep(1 + random(5));
      if (machine.cut.local > 0) return await new Promise<never>(() => {});
      const target = to();
      if (target === undefined || target.isDead) throw new Error("connection refused");
      await target.wait(Promise.resolve());
      const result = await target.wait(act());
      await clock.sleep(1 + random(5));
      return machine.cut.local > 0 ? await new Promise<never>(() => {}) : result;
    };
    return from.wait(within(clock, timeoutMs, answer(), () => new Error("no answer in time")));
  }

  #nodeOf(machine: Machine, process: SimProcess): SequencerNode {
    const call = <T>(act: (node: SimNode) => T | Promise<T>): Promise<T> =>
      this.#call(
        process,
        machine,
        () => machine.node?.process,
        async () => act(machine.node!),
      );
    return {
      sample: async () => {
        try {
          return await call((node) => node.sample());
        } catch (error) {
          const down = { error: (error as Error).message };
          return { sync: down, peers: down, engine: down, isActive: undefined };
        }
      },
      unsafeHead: () => call((node) => node.unsafeHead()),
      start: (hash) => call((node) => node.start(hash)),
      stop: () => call((node) => node.stop()),
      post: (envelope) => call((node) => node.receive(envelope)),
      replaceHead: (envelope) => call((node) => node.replaceHead(envelope)),
      hashOf: (number) =>
        call((node) => {
          const block = node.payloadAt(number);
          return block && bytesToHex(block.executionPayload.blockHash);
        }),
      payloadAt: (number) => call((node) => node.payloadAt(number)),
      hasL1Replaced: (origin) => call((node) => node.hasL1Replaced(origin)),
    };
  }

  #etcdOf(machine: Machine, process: SimProcess): Etcd {
    const { clock, random } = this;
    const request = <T>(what: string, act: () => T): Promise<T> => {
      const unavailable = (reason: string): EtcdError => new EtcdError("etcd/unavailable", { what, reason });
      const never = (): Promise<never> => new Promise(() => {});
      const answer = async (): Promise<T> => {
        // A request on its way arrives, whatever becomes of who sent it.
        const isLate = random(100) < machine.etcdLoss;
        await clock.sleep(1 + random(8) + (isLate ? random(20_000) : 0) + machine.etcdDelayMs);
        if (machine.cut.etcd > 0 || this.#etcdState === "down") return never();
        if (this.#etcdState === "no-leader") throw unavailable("no leader");
        const result = act();
        const isLost = random(100) < machine.etcdLoss;
        await clock.sleep(1 + random(8) + machine.etcdDelayMs);
        return isLost || machine.hasNoEtcdAnswers || machine.cut.etcd > 0 ? never() : result;
      };
      return process.wait(within(clock, ETCD_TIMEOUT_MS, answer(), () => unavailable("no answer in time")));
    };
    const etcd = etcdOver(this.#model, request);
    return { ...etcd, txn: (comparisons, ...then) => etcd.txn(this.#mutated(comparisons), ...then) };
  }

  #mutated(comparisons: readonly Comparison[]): readonly Comparison[] {
    switch (this.#options.mutant) {
      case "no-fence":
        return comparisons.filter(({ key, revision }) => key !== this.#keys.leader || revision === 0);
      case "no-head-compare":
        return comparisons.filter(({ key }) => key !== this.#keys.head);
      case "leader-key-not-exclusive":
        return comparisons.filter(({ key, revision }) => key !== this.#keys.leader || revision !== 0);
      default:
        return comparisons;
    }
  }

  /** Each block pretends to follow whatever was committed last. */
  #forgetParents(store: CommitStore): void {
    const commit = store.commit.bind(store);
    store.commit = (envelope, fence) => {
      const last = this.committed.at(-1)?.block;
      const pretended = last && { parentHash: last.executionPayload.blockHash, blockNumber: last.executionPayload.blockNumber + 1 };
      return commit({ ...envelope, executionPayload: { ...envelope.executionPayload, ...pretended } }, fence);
    };
  }
}

/** The blocks from a head down to the first one. */
function chainOf(disk: SimDisk): Set<string> {
  const hashes = new Set<string>();
  for (let at: ExecutionPayloadEnvelope | undefined = disk.head; at !== undefined; at = disk.parentOf(at)) hashes.add(hashHex(at));
  return hashes;
}
