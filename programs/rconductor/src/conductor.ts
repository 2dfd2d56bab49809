import { errorText, type LogFields, type Logger } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { couldLead } from "./cluster/campaign.ts";
import type { ClusterView } from "./cluster/cluster-view.ts";
import { type CommitStore, DEFAULT_COMMIT_OPTIONS } from "./cluster/commit-store.ts";
import type { ClusterKeys } from "./cluster/keys.ts";
import type { BlockName, Fitness, MemberRecord } from "./cluster/records.ts";
import { ClusterSession, type SessionOptions } from "./cluster/session.ts";
import { ConductorError } from "./conductor-error.ts";
import type { ConductorMetrics } from "./conductor-metrics.ts";
import { type HealthOptions, HealthRules, type HealthVerdict } from "./control/health-rules.ts";
import { type Decision, SequencerMachine, type Situation } from "./control/sequencer-machine.ts";
import type { Etcd } from "./etcd/etcd-api.ts";
import { isForeign, replaceForeign } from "./sequencer/committed-chain.ts";
import type { SequencerNode } from "./sequencer/sequencer-api.ts";
import { startFromCommitted } from "./sequencer/start-from-committed.ts";

export interface ConductorOptions {
  readonly session: SessionOptions;
  readonly health: HealthOptions;
  readonly blockTimeSec: number;
  readonly mayBootstrap: boolean;
  readonly isPaused: boolean;
  /** see `StartFromOptions` */
  readonly l1ReorgWaitMs: number;
  /** what other members know of this one */
  readonly addresses: Pick<MemberRecord, "addr" | "executionRpc" | "executionWs" | "rollupRpc">;
}

export interface ConductorDeps {
  readonly etcd: Etcd;
  readonly keys: ClusterKeys;
  readonly store: CommitStore;
  readonly node: SequencerNode;
  /** @throws {ConductorError} conductor/bad-payload */
  readonly checkPayload: (envelope: ExecutionPayloadEnvelope) => void;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly metrics: ConductorMetrics;
}

/** How the sequencer was before it was looked at. */
const UNKNOWN: HealthVerdict = { fitness: "down", reasons: ["its sequencer has not been looked at yet"] };
/** A start that takes longer is tried again, or left to others. */
const START_LIMIT_MS = 10_000;
const MIN_GRACE_MS = 10_000;
/** A block of another sequencer reaches the node within so long after it was due. */
const GOSSIP_MS = 500;
/** A health check that takes longer counts as no answer. */
const MAX_DECISION_PAUSE_MS = 1_000;

/** PERF: without a reason, an error with its stack is made each time. */
const NUDGED = "nudged";

interface Transfer {
  readonly to: string | undefined;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Keeps one sequencer in the state that the cluster wants: three loops, for the cluster, for health, and for what to do. Only the last one
 * starts and stops the sequencer and gives leadership up.
 */
export class Conductor {
  readonly #options: ConductorOptions;
  readonly #deps: ConductorDeps;
  readonly #session: ClusterSession;
  readonly #rules: HealthRules;
  readonly #machine: SequencerMachine;
  readonly #closing = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #verdict = UNKNOWN;
  #unsafe = 0;
  #isActive = false;
  /** counts starts and stops: a sample that began before one of them says nothing of the sequencer's state */
  #actions = 0;
  /** the node lacked committed blocks when it was looked at last */
  #isLacking = false;
  #isHandingOn = false;
  /** the last logged reason why committed blocks could not be sent to the node */
  #handOnTrouble: string | undefined;
  #isPaused: boolean;
  #isStopped = false;
  #isOverridden = false;
  #transfer: Transfer | undefined;
  #wake: AbortController | undefined;
  #committing: Promise<unknown> = Promise.resolve();
  #trouble: string | undefined;
  #shown = "";

  constructor(options: ConductorOptions, deps: ConductorDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#isPaused = options.isPaused;
    this.#rules = new HealthRules(options.health, options.blockTimeSec);
    const stallGraceMs = Math.max(MIN_GRACE_MS, 5000 * options.blockTimeSec);
    this.#machine = new SequencerMachine({ startLimitMs: START_LIMIT_MS, stallGraceMs });
    const { etcd, keys, clock, monotonicMs, log } = deps;
    this.#session = new ClusterSession(options.session, {
      etcd,
      keys,
      clock,
      monotonicMs,
      log,
      self: () => ({ id: this.id, ...options.addresses, fitness: this.#fitness, unsafe: this.#unsafe }),
      candidate: () => ({
        fitness: this.#fitness,
        unsafe: this.#unsafe,
        mayBootstrap: options.mayBootstrap,
        isStopped: this.#isStopped,
      }),
      onChange: () => this.#onChange(),
    });
  }

  get id(): string {
    return this.#options.session.id;
  }

  get isLeader(): boolean {
    return this.#session.leadership !== undefined;
  }

  get isOverridden(): boolean {
    return this.#isOverridden;
  }

  set isOverridden(isOverridden: boolean) {
    if (isOverridden !== this.#isOverridden) this.#deps.log.warn("leadership overridden by request", { override: isOverridden });
    this.#isOverridden = isOverridden;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  get isHealthy(): boolean {
    return this.#verdict.fitness === "healthy";
  }

  /** The cluster as it was last seen. */
  get view(): ClusterView | undefined {
    return this.#session.view;
  }

  get session(): Pick<ClusterSession, "look" | "changeRoster"> {
    return this.#session;
  }

  start(): void {
    this.#loops = Promise.all([this.#session.run(), this.#watchHealth(), this.#control()]);
  }

  /** Stops the sequencer if it leads, and lets another one lead. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#nudge();
    if (this.isLeader && !this.#isPaused && this.#isActive) await this.#stopSequencer().catch(() => {}); // it can commit nothing any more
    await this.#session.close();
    await this.#loops;
  }

  /**
   * Commits a block before it is published.
   *
   * @throws {ConductorError} conductor/not-leader, conductor/not-on-committed-head; {EtcdError} the outcome is unknown; repeating
   * the commit determines it
   */
  async commit(envelope: ExecutionPayloadEnvelope): Promise<void> {
    // One after the other: two at once could only get in each other's way.
    const committing = this.#committing.then(() => this.#commit(envelope));
    this.#committing = committing.catch(() => {});
    return committing;
  }

  /** Stops controlling the sequencer. Elections go on. */
  pause(): void {
    this.#isPaused = true;
    this.#deps.log.info("paused");
  }

  async resume(): Promise<void> {
    await this.#lookAtNode();
    this.#isPaused = false;
    this.#deps.log.info("resumed");
    this.#nudge();
  }

  /** Leaves the elections and stops controlling the sequencer, permanently. A leader transfers leadership first. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    // Even without another candidate: the operator requested the stop.
    if (this.isLeader) await this.#handOver(undefined);
    this.#isStopped = true;
    this.#deps.log.warn("stopped by request: this conductor takes no part in elections until it is started again");
  }

  /**
   * Transfers leadership to another server. @param to undefined: to any healthy one
   * @throws {ConductorError} conductor/refused
   */
  async transfer(to: string | undefined): Promise<void> {
    const { members, roster } = await this.#session.look();
    const refuse = (reason: string): ConductorError => new ConductorError("conductor/refused", { reason });
    if (!this.isLeader) throw refuse("node is not the leader");
    const mayLead = ({ id }: MemberRecord): boolean => !roster.nonvoters.includes(id) && !roster.removed.includes(id);
    const others = members.filter((member) => member.id !== this.id && mayLead(member) && member.fitness !== "down");
    if (to === this.id) throw refuse(`${to} leads already`);
    if (to !== undefined && !others.some(({ id }) => id === to))
      throw refuse(
        `${to} cannot lead: it is ${members.some(({ id }) => id === to) ? "no voter, or its sequencer does not answer" : "no member"}`,
      );
    if (to === undefined && others.length === 0) throw refuse("no other member could lead");
    if (this.#transfer !== undefined) throw refuse("a transfer is under way already");
    if (!(await this.#handOver(to))) throw refuse("node is not the leader");
  }

  /**
   * Who may lead is changed on the server that leads, as in a cluster of raft. While none leads, each may: otherwise a cluster without voters
   * would have none again.
   *
   * @throws {ConductorError} conductor/refused
   */
  assertMayChangeRoster(): void {
    const { leader } = this.view ?? {};
    if (leader === undefined || this.isLeader) return;
    throw new ConductorError("conductor/refused", { reason: `node is not the leader: call it on ${leader.id}, which leads` });
  }

  /**
   * Takes back the last committed block, which no engine can execute: the next one is made on its parent.
   *
   * @param hash of the last committed block
   * @throws {ConductorError} conductor/refused: it does not lead, or some node has the block; {EtcdError}
   */
  async undo(hash: string): Promise<BlockName> {
    const { store, node, log } = this.#deps;
    const refuse = (reason: string): ConductorError => new ConductorError("conductor/refused", { reason });
    const { members, head } = await this.#session.look();
    const { leadership } = this.#session;
    if (leadership === undefined) throw refuse("node is not the leader: ask the conductor that leads");
    if (head?.hash !== hash) throw refuse(`${hash} is not the last committed block, which is ${head?.number} ${head?.hash}`);
    const own = await node.unsafeHead();
    const having = members.find(({ id, unsafe }) => id !== this.id && unsafe >= head.number);
    if (own.number >= head.number || having !== undefined) {
      const name = having === undefined ? "this node" : having.id;
      throw refuse(`the unsafe head of ${name} is ${having?.unsafe ?? own.number}: an engine has executed a block ${head.number}`);
    }
    const to = head.recent.at(-1);
    if (to === undefined)
      throw refuse("no earlier block is kept: conductor_forgetUnsafePayload lets a conductor with --bootstrap begin anew");
    if (!(await store.rewind(head, to, leadership.fence))) throw refuse("the last committed block has changed meanwhile");
    log.warn("a committed block was taken back by request", { number: head.number, hash, now: to.number, nowHash: to.hash });
    this.#nudge();
    return { number: to.number, hash: to.hash };
  }

  /** The fitness published to other members. A paused member is ranked last. */
  get #fitness(): Fitness {
    const { fitness } = this.#verdict;
    if (this.#isStopped) return "down";
    return this.#isPaused && fitness !== "down" ? "unfit" : fitness;
  }

  /** Stops the sequencer, unless it is paused, and gives leadership up. @returns false if it did not lead any more */
  #handOver(to: string | undefined): Promise<boolean> {
    return new Promise<boolean>((resolve, reject) => {
      this.#transfer?.resolve(false);
      this.#transfer = { to, resolve, reject };
      this.#nudge();
    });
  }

  status(): LogFields {
    const { view, waitingFor, trouble } = this.#session;
    const { fitness, reasons } = this.#verdict;
    const problem =
      trouble ?? (this.isLeader ? this.#trouble : undefined) ?? (fitness === "healthy" ? undefined : reasons.join("; "));
    return {
      leader: view?.leader?.id ?? "nobody",
      isLeader: this.isLeader,
      sequencer: this.#isActive ? "active" : "stopped",
      health: fitness,
      committedBlock: view?.head?.number,
      committedHash: view?.head?.hash,
      fence: view?.leader?.fence,
      members: view?.members.map(({ id }) => id).join(", "),
      control: this.#isStopped ? "stopped" : this.#isPaused ? "paused" : "running",
      ...(problem === undefined ? {} : { trouble: problem }),
      ...(waitingFor === "" ? {} : { waitingFor }),
    };
  }

  async #commit(envelope: ExecutionPayloadEnvelope): Promise<void> {
    const { store, checkPayload, metrics, monotonicMs, log } = this.#deps;
    const { blockNumber: number, blockHash, parentHash } = envelope.executionPayload;
    checkPayload(envelope);
    const { leadership } = this.#session;
    if (leadership === undefined) {
      metrics.commits.inc({ outcome: "not-leader" });
      throw new ConductorError("conductor/not-leader", { number });
    }
    const startMs = monotonicMs();
    let outcome: Awaited<ReturnType<CommitStore["commit"]>>;
    try {
      outcome = await store.commit(envelope, leadership.fence);
    } catch (error) {
      metrics.commits.inc({ outcome: "failed" });
      log.warn("a block could not be committed", { number, hash: bytesToHex(blockHash), error: errorText(error) });
      throw error;
    }
    metrics.commits.inc({ outcome: outcome.kind });
    switch (outcome.kind) {
      case "committed":
        metrics.commitSeconds.observe((monotonicMs() - startMs) / 1000);
        metrics.committed(number);
        log.debug("block committed", { number, hash: bytesToHex(blockHash), fence: leadership.fence });
        return;
      case "not-leader":
        log.warn("a block was not committed: another one leads", { number, leader: outcome.leader, fence: leadership.fence });
        throw new ConductorError("conductor/not-leader", { number });
      case "not-on-head": {
        const { head } = outcome;
        log.warn("a block was not committed: it does not follow the last committed one", {
          number,
          head: head.number,
          headHash: head.hash,
        });
        this.#machine.noteConflict();
        this.#nudge();
        const data = { number, parent: bytesToHex(parentHash), headNumber: head.number, head: head.hash };
        throw new ConductorError("conductor/not-on-committed-head", data);
      }
    }
  }

  async #watchHealth(): Promise<void> {
    const { clock, monotonicMs } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const startMs = monotonicMs();
      await this.#lookAtNode();
      void this.#handOnCommitted();
      await clock.sleep(Math.max(0, 1000 * this.#options.health.intervalSec - (monotonicMs() - startMs)), signal);
    }
  }

  async #lookAtNode(): Promise<void> {
    const { node, clock, monotonicMs, metrics, log } = this.#deps;
    const actions = this.#actions;
    const sample = await node.sample();
    const verdict = this.#rules.judge(sample, monotonicMs(), clock.unixMs() / 1000);
    if (!("error" in sample.sync)) this.#unsafe = sample.sync.unsafe.number;
    if (sample.isActive !== undefined && actions === this.#actions) this.#isActive = sample.isActive;
    metrics.healthChecks.inc({ success: verdict.fitness === "healthy" ? "true" : "false" });
    if (verdict.fitness !== this.#verdict.fitness) {
      const fields = { was: this.#verdict.fitness, reasons: verdict.reasons.join("; ") };
      if (verdict.fitness === "healthy") log.info("the sequencer is healthy", { was: fields.was });
      else log.warn(`the sequencer is ${verdict.fitness}`, fields);
    }
    this.#verdict = verdict;
    this.#nudge();
  }

  /**
   * Keeps a node that does not lead on the committed chain. It sends the node the blocks that it lacks, because gossip carries no
   * old blocks and a leader that catches up would be the only one with them. Blocks of another signer at the same heights are
   * replaced.
   */
  async #handOnCommitted(): Promise<void> {
    if (this.#isHandingOn) return;
    const { store, node, log } = this.#deps;
    const { head: record } = this.#session.view ?? {};
    const isOurs = (): boolean => !this.isLeader && !this.#isActive && !this.#isPaused && !this.#isStopped;
    if (record === undefined || this.#verdict.fitness === "down" || !isOurs()) return;
    this.#isHandingOn = true;
    try {
      const head = await node.unsafeHead();
      const lacks = record.number - head.number;
      const wasLacking = this.#isLacking;
      this.#isLacking = lacks > 1 && lacks < DEFAULT_COMMIT_OPTIONS.keptBlocks;
      const isReplaced = await isForeign(head, record, node);
      if (!isReplaced && !(this.#isLacking && wasLacking)) return; // gossip may be on its way
      const latest = await store.latest();
      if (latest === undefined || !isOurs()) return;
      if (isReplaced) {
        if (!(await isForeign(head, latest.record, node))) return;
        const blocks = { number: head.number, hash: head.hash, committed: latest.record.number, committedHash: latest.record.hash };
        if (!(await replaceForeign(head, latest, node)))
          throw new Error("the node has none of the committed blocks that etcd keeps");
        this.#handOnTrouble = undefined;
        log.warn("the node had unsafe blocks that were never committed: the committed ones have replaced them", blocks);
        return;
      }
      for (const envelope of [...((await latest.after(head.number)) ?? []), latest.envelope]) await node.post(envelope);
      this.#handOnTrouble = undefined;
      log.debug("committed blocks handed to the node", { after: head.number, to: latest.record.number });
    } catch (error) {
      const text = errorText(error);
      // It is tried at each look: a node without the method, or with another safe block, would fill the log.
      if (text !== this.#handOnTrouble) log.warn("the node lacks committed blocks, and does not get them", { error: text });
      this.#handOnTrouble = text;
    } finally {
      this.#isHandingOn = false;
    }
  }

  async #control(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#act();
      this.#show();
      const wake = new AbortController();
      this.#wake = wake;
      if (!signal.aborted) await clock.sleep(Math.min(this.#options.session.pollIntervalMs, MAX_DECISION_PAUSE_MS), wake.signal);
    }
    this.#transfer?.resolve(false);
  }

  /** Does at most one thing. */
  async #act(): Promise<void> {
    const { log, monotonicMs } = this.#deps;
    if (this.#transfer !== undefined) return this.#transferNow(this.#transfer);
    const decision = this.#machine.decide(this.#situation());
    if (decision.kind === "none") return;
    const { fitness } = this.#verdict;
    let isDone = false;
    try {
      isDone = await this.#perform(decision);
      this.#trouble = undefined;
    } catch (error) {
      const text = errorText(error);
      if (text !== this.#trouble) log.error(`cannot ${WORDS[decision.kind]}`, { why: decision.why, error: text });
      this.#trouble = text;
    }
    this.#machine.done(decision, isDone, { nowMs: monotonicMs(), fitness });
  }

  async #transferNow({ to, resolve, reject }: Transfer): Promise<void> {
    this.#transfer = undefined;
    try {
      if (!this.#isPaused && this.#isActive) await this.#stopSequencer();
      resolve(await this.#resign(to, "asked for"));
    } catch (error) {
      reject(error);
    }
  }

  async #perform({ kind, why }: Exclude<Decision, { kind: "none" }>): Promise<boolean> {
    const { log } = this.#deps;
    switch (kind) {
      case "start":
        await this.#startSequencer(why);
        return true;
      case "stop":
        log.info("stopping the sequencer", { why });
        await this.#stopSequencer();
        return true;
      case "resign":
        return this.#resign(undefined, why);
      case "hand-over":
        // Whether or not it can be stopped: once another one leads, it can commit nothing.
        log.warn("handing leadership over", { why, reasons: this.#verdict.reasons.join("; ") });
        await this.#stopSequencer().catch((error: unknown) =>
          log.warn("the sequencer was not stopped", { error: errorText(error) }),
        );
        return this.#resign(undefined, why);
    }
  }

  async #startSequencer(why: string): Promise<void> {
    const { store, node, clock, monotonicMs, log, metrics } = this.#deps;
    const { mayBootstrap, l1ReorgWaitMs, blockTimeSec } = this.#options;
    this.#actions++;
    try {
      const started = await startFromCommitted(
        { mayBootstrap, postedLimitMs: START_LIMIT_MS, l1ReorgWaitMs, standstillMs: 1000 * blockTimeSec + GOSSIP_MS },
        {
          commit: (envelope) => this.commit(envelope),
          latest: () => store.latest(),
          rewind: async (from, to) => {
            const { leadership } = this.#session;
            return leadership !== undefined && store.rewind(from, to, leadership.fence);
          },
          node,
          clock,
          monotonicMs,
          log,
          isLeader: () => this.isLeader && !this.#closing.signal.aborted,
        },
      );
      log.info("sequencer started", { why, number: started.number, hash: started.hash, fence: this.#session.leadership?.fence });
      metrics.starts.inc({ success: "true" });
      this.#isActive = true;
    } catch (error) {
      metrics.starts.inc({ success: "false" });
      throw error;
    } finally {
      this.#actions++;
    }
  }

  async #stopSequencer(): Promise<void> {
    const { node, metrics } = this.#deps;
    this.#actions++;
    try {
      await node.stop();
      metrics.stops.inc({ success: "true" });
      this.#isActive = false;
    } catch (error) {
      metrics.stops.inc({ success: "false" });
      throw error;
    } finally {
      this.#actions++;
    }
  }

  async #resign(to: string | undefined, why: string): Promise<boolean> {
    const { log, metrics } = this.#deps;
    try {
      const isDone = await this.#session.resign(to);
      metrics.transfers.inc({ success: isDone ? "true" : "false" });
      if (isDone) log.info("gave leadership up", { why, to: to ?? "any other" });
      return isDone;
    } catch (error) {
      metrics.transfers.inc({ success: "false" });
      throw error;
    }
  }

  #situation(): Situation {
    const { members = [], roster, head } = this.#session.view ?? {};
    // What etcd no longer has, only this node may have.
    const hasBlocks = (unsafe: number): boolean => head === undefined || unsafe + DEFAULT_COMMIT_OPTIONS.keptBlocks > head.number;
    const mayLead = (id: string): boolean => roster?.nonvoters.includes(id) !== true && roster?.removed.includes(id) !== true;
    const others = members.filter((member) => member.id !== this.id && couldLead(member, roster));
    return {
      nowMs: this.#deps.monotonicMs(),
      isLeader: this.isLeader,
      mayLead: mayLead(this.id),
      fitness: this.#verdict.fitness,
      isProgressing: this.#rules.hasProgressed,
      isActive: this.#isActive,
      canOthersLead: others.some(({ unsafe }) => hasBlocks(unsafe)),
      hasMostBlocks: others.every(({ unsafe }) => unsafe + 1 < this.#unsafe),
      isPaused: this.#isPaused,
      isStopped: this.#isStopped,
    };
  }

  #onChange(): void {
    const { leadership } = this.#session;
    // What an earlier leader has committed meanwhile is not known here.
    if (leadership === undefined) this.#deps.store.reset();
    this.#nudge();
  }

  #nudge(): void {
    this.#wake?.abort(NUDGED);
  }

  #show(): void {
    const { metrics, log } = this.#deps;
    const state = { leader: text(this.isLeader), healthy: text(this.isHealthy), active: text(this.#isActive) };
    metrics.leader.set(Number(this.isLeader));
    metrics.healthy.set(Number(this.isHealthy));
    metrics.active.set(Number(this.#isActive));
    const shown = JSON.stringify(state);
    if (shown === this.#shown) return;
    if (this.#shown !== "") {
      metrics.stateChanges.inc(state);
      log.info("state changed", { leads: this.isLeader, health: this.#verdict.fitness, sequencing: this.#isActive });
    }
    this.#shown = shown;
  }
}

const WORDS = {
  start: "start the sequencer",
  stop: "stop the sequencer",
  resign: "give leadership up",
  "hand-over": "hand leadership over",
};

const text = (value: boolean): "true" | "false" => (value ? "true" : "false");
