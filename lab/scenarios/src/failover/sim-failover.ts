import type { BestTransactions, PendingBlock, PendingTransaction } from "@rnode/chain";
import { bytesToHex, type Hex, keccak256, uint64ToBytes, ZERO_HASH } from "@rnode/primitives";
import { decodeFlashblock, type Flashblock, type PayloadAttributes } from "@rnode/protocol";
import { Random } from "../random.ts";
import { SimLog } from "../sim-log.ts";
import { usersOf } from "./engine-watch.ts";
import type { FailoverFault, FailoverPlan } from "./failover-plan.ts";
import { depositOf, genesisOf, headerOf, type SimBlock, userOf, userTransaction } from "./fake-chain.ts";
import { SimEngine } from "./sim-engine.ts";
import { SimSequencer } from "./sim-sequencer.ts";
import { Component, Timeline } from "./timeline.ts";

export interface FailoverViolation {
  readonly rule: string;
  readonly detail: string;
}

/** Why a block does not have what an engine had promised its clients. */
export type Explanation =
  /** its leader had not received the part */
  | "not-received"
  /** its leader had received it, and then the parts of a later leader on the same parent */
  | "replaced"
  /** the engine of its leader was started after the part */
  | "restarted";

/** A connection over which one engine follows another one. */
interface Link {
  readonly from: Machine;
  readonly to: Machine;
  /** counts connections: what was under way in an earlier one is lost */
  connection: number;
  upAtMs: number;
  isCut: boolean;
  isLate: boolean;
  /** messages arrive in order */
  lastMs: number;
}

/** A machine with an engine and, if it may lead, a rollup node with its conductor. */
interface Machine {
  readonly name: string;
  readonly at: number;
  readonly engine: Component;
  readonly rnode: Component;
  client: SimEngine | undefined;
  startedMs: number;
  readonly sequencer: SimSequencer | undefined;
  /** canonical blocks, which a crash leaves */
  readonly blocks: SimBlock[];
  pool: PendingTransaction[];
  isEtcdCut: boolean;
  isIsolated: boolean;
  areBlocksLate: boolean;
  /** until when it leads, as its conductor knows */
  leaseMs: number;
  unhealthySinceMs: number | undefined;
  /** builds that its sequencer has ended */
  readonly stopped: Set<Hex>;
  /** when the first own part of a payload was published */
  readonly begunMs: Map<Hex, number>;
}

const START_MS = 1_800_000_000_000;
const USERS = 6;
const TICK_MS = 300;
const CALL_LIMIT_MS = 3_000;
const UNHEALTHY_MS = 1_000;

/**
 * Sequencers of one chain that lose and take over leadership, and a follower, all with streams of subblocks.
 *
 * Real: `PayloadJobs`, `PartStream`, `PartPublisher`, `PartFollower`, `PartPromises`, `FlashblockOrder`, `PendingBlocks` and the messages. Models:
 * execution (`fake-chain.ts`: nonces, and a root over the order of transactions), rnode's sequencer (`sim-sequencer.ts`: its timing), etcd with conductors (a lease;
 * a block is committed only by the leader and on the tip), and connections (delays, order within one, losses with a reconnect).
 *
 * A new leader promises the transactions that its engine itself has shown on the same parent, since its start (`EngineWatch.promised`). The rules:
 *
 * - `lost`, `moved`: a committed block begins with the transactions of users that its leader promised when its build began, in their order
 * - `not-its-parts`, `taken-back`, `own-parts`: it is exactly the parts that its leader published, whose indexes are contiguous, and which only add
 * - `shown`: a part that was delivered in its turn is the pending block at once (`EngineWatch`)
 * - `overdue`, `after-stop`: no part later than a block time after its block was due, and none after the sequencer's stop has reached the engine
 * - `uncounted`: each engine counts exactly the broken promises to its clients; each of them has an `Explanation`
 * - `liveness`: after the last fault, blocks are committed, all machines have them, and all show their parts again
 */
export class SimFailover {
  readonly timeline = new Timeline(START_MS);
  readonly log: SimLog;
  readonly violations: FailoverViolation[] = [];
  readonly explained: Record<Explanation, number> = { "not-received": 0, replaced: 0, restarted: 0 };
  readonly committed: SimBlock[] = [genesisOf(START_MS / 1_000)];
  parts = 0;
  /** parts that were published while another machine led */
  strayParts = 0;
  leaders = 0;
  promised = 0;
  readonly #plan: FailoverPlan;
  readonly #random: Random;
  readonly #machines: Machine[] = [];
  readonly #links: Link[] = [];
  readonly #decoded = new Map<string, Flashblock>();
  readonly #nonces: number[] = new Array<number>(USERS).fill(0);
  #leader: Machine | undefined;
  #leaseMs = 0;

  constructor(plan: FailoverPlan, isLogKept: boolean) {
    this.#plan = plan;
    this.#random = new Random(plan.seed, "failover");
    this.log = new SimLog({ unixMs: () => this.timeline.nowMs }, isLogKept);
    for (let at = 0; at < plan.sequencers; at++) this.#add(`sequencer-${at}`, true);
    this.#add("follower", false);
    for (const to of this.#machines)
      for (const from of this.#machines)
        if (from !== to && from.sequencer !== undefined)
          this.#links.push({ from, to, connection: 0, upAtMs: 0, isCut: false, isLate: false, lastMs: 0 });
    for (const machine of this.#machines) {
      this.#startEngine(machine);
      this.#tick(machine);
    }
    this.#send();
  }

  report(rule: string, detail: string): void {
    this.violations.push({ rule, detail });
    this.log.note("BROKEN", `${rule}: ${detail}`);
  }

  run(forMs: number): void {
    this.timeline.run(this.timeline.nowMs + forMs);
  }

  /** @returns those that do not have the tip, or do not show parts on it */
  get behind(): readonly string[] {
    const tip = this.committed.at(-1)!;
    const shows = ({ client }: Machine): boolean =>
      client !== undefined && client.chain.tip === tip && client.pending.on(tip.hashHex) !== undefined;
    return this.#machines.filter((machine) => !shows(machine)).map(({ name }) => name);
  }

  /** What was counted must be what happened. */
  end(): void {
    for (const machine of this.#machines) this.#checkCount(machine);
  }

  begin({ kind, of, forMs }: FailoverFault): void {
    const leader = this.#leader ?? this.#machines[0]!;
    const machine =
      of === "leader" ? leader : of === "follower" ? this.#machines.at(-1)! : this.#machines.find((each) => each !== leader)!;
    const { engine, rnode } = machine;
    this.log.note("FAULT", `${kind} of ${machine.name} for ${forMs} ms`);
    const links = this.#links.filter(({ from, to }) => from === machine || to === machine);
    const until = (end: () => void): void => {
      this.timeline.after(forMs, () => {
        this.log.note("FAULT", `${kind} of ${machine.name} ends`);
        end();
      });
    };
    const set = (key: "areBlocksLate" | "isEtcdCut" | "isIsolated"): void => {
      machine[key] = true;
      until(() => {
        machine[key] = false;
      });
    };
    const cut = (): void => {
      for (const link of links) link.isCut = true;
      until(() => {
        for (const link of links) {
          link.isCut = false;
          this.#resume(link);
        }
      });
    };
    switch (kind) {
      case "handover":
        this.#handOver(leader);
        break;
      case "machine-crash":
        this.#crashEngine(machine, forMs);
        this.#crashRnode(machine, forMs);
        break;
      case "engine-crash":
        this.#crashEngine(machine, forMs);
        break;
      case "rnode-crash":
        this.#crashRnode(machine, forMs);
        break;
      case "machine-pause":
        engine.pause(forMs);
        rnode.pause(forMs);
        break;
      case "engine-pause":
        engine.pause(forMs);
        break;
      case "rnode-pause":
        rnode.pause(forMs);
        break;
      case "streams-drop":
        for (const link of links) this.#drop(link, this.#random.between(50, 500));
        break;
      case "streams-cut":
        cut();
        break;
      case "stream-late": {
        const link = this.#random.pick(links);
        link.isLate = true;
        until(() => {
          link.isLate = false;
        });
        break;
      }
      case "blocks-late":
        set("areBlocksLate");
        break;
      case "etcd-cut":
        set("isEtcdCut");
        break;
      case "partition":
        set("isIsolated");
        cut();
        break;
    }
  }

  #add(name: string, maySequence: boolean): void {
    const { timeline } = this;
    const [engine, rnode] = [new Component(timeline), new Component(timeline)];
    const machine: Machine = {
      ...{ name, at: this.#machines.length, engine, rnode, client: undefined, startedMs: 0, blocks: [...this.committed], pool: [] },
      ...{ isEtcdCut: false, isIsolated: false, areBlocksLate: false, leaseMs: 0, unhealthySinceMs: undefined },
      ...{ stopped: new Set(), begunMs: new Map() },
      sequencer: !maySequence
        ? undefined
        : new SimSequencer({
            timeline,
            rnode,
            blockTimeMs: this.#plan.blockTimeMs,
            call: (action, then) => this.#call(machine, action, then),
            head: () => machine.client?.chain.tip,
            isLeader: () => (this.#reachesEtcd(machine) ? this.#leader === machine : timeline.nowMs < machine.leaseMs),
            attributesOn: (parent) => this.#attributesOn(parent),
            commit: (id, block) => this.#commit(machine, id, block),
            onStopped: (id) => machine.stopped.add(id),
          }),
    };
    this.#machines.push(machine);
  }

  #startEngine(machine: Machine): void {
    const { engine: component, name, at, blocks } = machine;
    const { timeline, log } = this;
    machine.startedMs = timeline.nowMs;
    machine.stopped.clear();
    machine.begunMs.clear();
    component.isUp = true;
    machine.client = new SimEngine({
      component,
      timeline,
      blocks,
      pool: { best: () => bestOf(machine.pool, at) },
      intervalMs: this.#plan.intervalMs,
      send: (text) => this.#broadcast(machine, text),
      log: log.loggerOf(name),
      report: (rule, detail) => this.report(rule, `${name}: ${detail}`),
      onPart: (part) => this.#onPart(machine, part),
    });
    for (const link of this.#links)
      if (link.from === machine || link.to === machine) this.#drop(link, this.#random.between(50, 400));
  }

  #crashEngine(machine: Machine, forMs: number): void {
    if (machine.client === undefined) return;
    this.#checkCount(machine);
    machine.engine.crash();
    machine.client = undefined;
    for (const link of this.#links) if (link.from === machine || link.to === machine) this.#drop(link, Number.POSITIVE_INFINITY);
    this.timeline.after(forMs, () => {
      this.#startEngine(machine);
      machine.sequencer?.onHead();
    });
  }

  #crashRnode(machine: Machine, forMs: number): void {
    const { rnode, sequencer } = machine;
    if (!rnode.isUp) return;
    rnode.crash();
    sequencer?.crash();
    this.timeline.after(forMs, () => {
      rnode.isUp = true;
      this.#tick(machine);
    });
  }

  #call<T>({ engine, rnode, client }: Machine, action: (client: SimEngine) => T, then: (result: T | undefined) => void): void {
    let isAnswered = false;
    const answer = (result: T | undefined): void => {
      if (isAnswered) return;
      isAnswered = true;
      then(result);
    };
    rnode.after(client === undefined ? 1 : CALL_LIMIT_MS, () => answer(undefined));
    if (client === undefined) return;
    engine.after(1, () => {
      const result = action(client);
      rnode.after(1, () => answer(result));
    });
  }

  #reachesEtcd = ({ isEtcdCut, isIsolated }: Machine): boolean => !isEtcdCut && !isIsolated;

  /** What a conductor, and a rollup node that lacks blocks, do again and again. */
  #tick(machine: Machine): void {
    machine.rnode.after(TICK_MS - this.#random.below(50), () => this.#tick(machine));
    const { nowMs } = this.timeline;
    const { sequencer } = machine;
    if (!machine.isIsolated && headerOf(this.committed.at(-1)!).number > headerOf(machine.blocks.at(-1)!).number + 2)
      this.#catchUp(machine, this.committed.length);
    if (sequencer === undefined) return;
    const isHealthy = machine.client !== undefined && !machine.engine.isPaused;
    machine.unhealthySinceMs = isHealthy ? undefined : (machine.unhealthySinceMs ?? nowMs);
    if (this.#reachesEtcd(machine)) {
      if (nowMs >= this.#leaseMs) this.#leader = undefined;
      const mustResign = machine.unhealthySinceMs !== undefined && nowMs - machine.unhealthySinceMs > UNHEALTHY_MS;
      if (this.#leader === machine && mustResign) this.#leader = undefined;
      if (this.#leader === undefined && isHealthy) {
        this.#leader = machine;
        this.leaders++;
        this.log.note("etcd", `${machine.name} leads`);
        if (sequencer.isActive) sequencer.stop(); // it begins anew, with all committed blocks
      }
      machine.leaseMs = this.#leader === machine ? nowMs + this.#plan.leaseMs : 0;
      if (this.#leader === machine) this.#leaseMs = machine.leaseMs;
    }
    const leads = nowMs < machine.leaseMs;
    if (!leads && sequencer.isActive) sequencer.stop();
    else if (leads && !sequencer.isActive)
      this.#catchUp(machine, this.committed.length, () => nowMs < machine.leaseMs && sequencer.start());
  }

  #handOver(leader: Machine): void {
    const next = this.#machines.find(
      (each) => each !== leader && each.sequencer !== undefined && each.client !== undefined && this.#reachesEtcd(each),
    );
    if (next === undefined || !leader.rnode.isUp) return;
    leader.rnode.after(1, () => {
      leader.sequencer?.stop();
      leader.leaseMs = 0;
      this.#leader = next;
      this.#leaseMs = this.timeline.nowMs + this.#plan.leaseMs;
      this.leaders++;
      next.rnode.after(this.#random.between(1, 300), () => {
        if (this.#leader !== next) return;
        next.leaseMs = this.#leaseMs;
        this.#catchUp(next, this.committed.length, () => next.sequencer!.isActive || next.sequencer!.start());
      });
    });
  }

  /** The committed blocks below a number, in order. */
  #catchUp(machine: Machine, below: number, then: () => void = () => {}): void {
    this.#call(
      machine,
      (client) => {
        for (let number = client.chain.head().number + 1; number < below; number++)
          this.#insert(machine, client, this.committed[number]!);
        return true;
      },
      (done) => done === true && then(),
    );
  }

  #insert(machine: Machine, client: SimEngine, block: SimBlock): void {
    client.insert(block);
    machine.blocks.push(block);
    machine.pool = machine.pool.filter(({ transaction }) => transaction.nonce >= (block.nonces.get(userOf(transaction)) ?? 0n));
    machine.sequencer?.onHead();
  }

  #commit(machine: Machine, id: Hex, block: SimBlock): boolean {
    const tip = this.committed.at(-1)!;
    const { client } = machine;
    if (!this.#reachesEtcd(machine) || this.#leader !== machine || bytesToHex(headerOf(block).parentHash) !== tip.hashHex)
      return false;
    if (client === undefined) return false;
    client.watch.checkSealed(id, block);
    this.#explain(machine, client, block, id);
    this.committed.push(block);
    this.log.note(machine.name, `commits block ${headerOf(block).number} with ${block.block.transactions.length} transactions`);
    const { length } = this.committed;
    for (const other of this.#machines) {
      if (other === machine) {
        this.#catchUp(machine, length);
        continue;
      }
      if (machine.isIsolated || other.isIsolated) continue;
      const delayMs = other.areBlocksLate ? this.#random.between(300, 3_000) : this.#random.between(2, 80);
      other.rnode.after(delayMs, () => this.#catchUp(other, length));
    }
    return true;
  }

  /** Each broken promise to clients of any machine has a reason. */
  #explain(leader: Machine, own: SimEngine, block: SimBlock, id: Hex): void {
    const sealed = usersOf(block.block.transactions);
    const parent = bytesToHex(headerOf(block).parentHash);
    for (const { client } of this.#machines) {
      if (client === undefined || client.watch.promised.parent !== parent) continue;
      for (const [at, each] of client.watch.promised.users.entries()) {
        this.promised++;
        if (sealed[at] === each) continue;
        const had = own.watch.hasShown(each);
        if (had && own.watch.begunWith(id)[at] === each)
          this.report("unexplained", `transaction ${at} of block ${headerOf(block).number}`);
        else if (had) this.explained.replaced++;
        else if (leader.startedMs > START_MS && this.timeline.nowMs - leader.startedMs < 10_000) this.explained.restarted++;
        else this.explained["not-received"]++;
      }
    }
  }

  #checkCount({ name, client }: Machine): void {
    if (client !== undefined && client.broken !== client.watch.broken)
      this.report("uncounted", `${name} counts ${client.broken} broken promises, ${client.watch.broken} were broken`);
  }

  #onPart(machine: Machine, { payloadId, index, block }: PendingBlock): void {
    const { nowMs } = this.timeline;
    this.parts++;
    if (this.#leader !== machine) this.strayParts++;
    if (!machine.begunMs.has(payloadId)) machine.begunMs.set(payloadId, nowMs);
    const { timestamp, number } = block.header;
    const limitMs = Math.max(timestamp * 1_000, machine.begunMs.get(payloadId)!) + this.#plan.blockTimeMs;
    if (nowMs > limitMs)
      this.report(
        "overdue",
        `part ${index} of block ${number} by ${machine.name}, ${nowMs - limitMs} ms after the last allowed time`,
      );
    if (machine.stopped.has(payloadId)) this.report("after-stop", `part ${index} of block ${number} by ${machine.name}`);
    this.log.note(machine.name, `part ${index} of block ${number}, ${block.transactions.length} transactions, ${payloadId}`);
  }

  #broadcast(from: Machine, text: string): void {
    for (const link of this.#links) if (link.from === from) this.#deliver(link, text);
  }

  #deliver(link: Link, text: string): void {
    const { nowMs } = this.timeline;
    const { from, to, connection } = link;
    if (link.isCut || nowMs < link.upAtMs) return;
    let part = this.#decoded.get(text);
    if (part === undefined) this.#decoded.set(text, (part = decodeFlashblock(text)));
    const delayMs = link.isLate ? this.#random.between(300, 2_500) : this.#random.between(1, this.#plan.streamMs);
    link.lastMs = Math.max(link.lastMs, nowMs + delayMs);
    to.engine.after(link.lastMs - nowMs, () => {
      if (link.connection === connection) to.client?.receive(text, part!, from.name);
    });
  }

  #drop(link: Link, forMs: number): void {
    const connection = ++link.connection;
    link.lastMs = 0;
    link.upAtMs = this.timeline.nowMs + forMs;
    if (!Number.isFinite(forMs)) return;
    link.from.engine.after(forMs, () => {
      if (link.connection === connection) this.#resume(link);
    });
  }

  /** A new connection begins with the parts of the block under construction. */
  #resume(link: Link): void {
    for (const text of link.from.client?.missed() ?? []) this.#deliver(link, text);
  }

  #attributesOn(parent: SimBlock): PayloadAttributes {
    const { number, timestamp } = headerOf(parent);
    const origin = this.#random.chance(this.#plan.otherOrigin) ? number + 1 : number;
    return {
      timestamp: timestamp + this.#plan.blockTimeMs / 1_000,
      prevRandao: keccak256(uint64ToBytes(origin)),
      suggestedFeeRecipient: new Uint8Array(20),
      parentBeaconBlockRoot: ZERO_HASH,
      withdrawals: [],
      transactions: [depositOf(origin)],
      gasLimit: 30_000_000n,
      noTxPool: false,
    };
  }

  /** Users' transactions reach the machines at different times. */
  #send(): void {
    const random = this.#random;
    const { transactionMs, replaced } = this.#plan;
    const user = random.below(USERS);
    const nonce = this.#nonces[user]!++;
    const usual = userTransaction(user, nonce, 1);
    const special = random.chance(replaced) ? random.pick(this.#machines) : undefined;
    for (const machine of this.#machines) {
      const transaction = machine === special ? userTransaction(user, nonce, 2) : usual;
      this.timeline.after(random.between(1, 200), () => machine.pool.push(transaction));
    }
    this.timeline.after(random.between(1, 2 * transactionMs), () => this.#send());
  }
}

/** By user, in an order that differs between machines, then by nonce. */
function bestOf(pool: readonly PendingTransaction[], at: number): BestTransactions {
  const rank = ({ transaction }: PendingTransaction): number => (Number(userOf(transaction)) * (2 * at + 3)) % 7;
  const sorted = pool.toSorted((a, b) => rank(a) - rank(b) || Number(a.transaction.nonce - b.transaction.nonce));
  let next = 0;
  return {
    next: () => sorted[next++],
    skipSender: () => {
      const skipped = userOf(sorted[next - 1]!.transaction);
      while (next < sorted.length && userOf(sorted[next]!.transaction) === skipped) next++;
    },
  };
}
