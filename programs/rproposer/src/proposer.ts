import { type ContractAnswer, type ContractCall, isNewerL1 } from "@rnode/l1";
import { errorText, type LogFields, type Logger } from "@rnode/observe";
import { Backoff, bytesToHex, type Clock, type Ether, etherOf } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";
import type { SendOutcome, TxCandidate } from "@rnode/tx-manager";
import type { ContractState, OutputContract, PostedRoot } from "./output-contract.ts";
import type { Proposal, ProposalSource, RootKind, SourceStatus } from "./proposal.ts";
import type { ProposerMetrics } from "./proposer-metrics.ts";

export interface ProposerOptions {
  readonly pollIntervalMs: number;
  /** how long to wait after the rollup node had no answer */
  readonly outputRetryIntervalMs: number;
  /** propose safe blocks, too, whose L1 blocks are not finalized */
  readonly allowNonFinalized: boolean;
  /** at the start, wait until the rollup node has derived up to the L1 head */
  readonly waitNodeSync: boolean;
  /** how long to wait for transactions of an earlier run before its nonces are used again */
  readonly pendingLimitMs: number;
}

/** The part of the L1 API that the proposer uses beside the contract. */
interface ProposerL1 {
  head(): Promise<L1BlockRef>;
  nonce(address: Uint8Array, block: "latest" | "pending"): Promise<bigint>;
  balance(address: Uint8Array): Promise<bigint>;
  simulate(call: ContractCall): Promise<ContractAnswer>;
}

/** `TransactionManager` has it. */
interface ProposalSender {
  readonly address: Uint8Array;
  send(candidate: TxCandidate, signal: AbortSignal): Promise<SendOutcome>;
}

export interface ProposerDeps {
  readonly contract: OutputContract;
  /** of the kind of root that the contract takes */
  readonly source: ProposalSource;
  readonly l1: ProposerL1;
  readonly transactions: ProposalSender;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProposerMetrics;
}

const MAX_BACKOFF_MS = 30_000;
const BALANCE_INTERVAL_MS = 60_000;
/** L1 contracts know the hashes of 256 blocks; some time passes until the transaction is in one. */
const MAX_L1_BLOCK_AGE = 200;
/** After so many polls without a new L1 block, the round starts again. */
const MAX_L1_POLLS = 10;

/** How logs and the status name the position of a root. */
const POSITIONS: Readonly<Record<RootKind, { readonly field: string; readonly last: string; nameOf(number: number): string }>> = {
  "output root": { field: "block", last: "lastProposedBlock", nameOf: (number) => `block ${number}` },
  "super root": { field: "l2Time", last: "lastProposedL2Time", nameOf: (number) => `L2 time ${number}` },
};

/**
 * Posts output roots or super roots. A round reads the state of L1 and posts at most one root. Between rounds the proposer keeps only the
 * state of its log messages.
 */
export class Proposer {
  readonly #options: ProposerOptions;
  readonly #deps: ProposerDeps;
  #run: { readonly proposing: ProposingRun; readonly done: Promise<void> } | undefined;

  constructor(options: ProposerOptions, deps: ProposerDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** @returns false if it is already running */
  start(): boolean {
    if (this.#run !== undefined) return false;
    const proposing = new ProposingRun(this.#options, this.#deps);
    this.#run = { proposing, done: proposing.run() };
    this.#deps.metrics.up.set(1);
    this.#deps.log.info("proposer started");
    return true;
  }

  /** A transaction that is under way may still be included: the next start finds it on L1. @returns false if it is not running */
  async stop(): Promise<boolean> {
    const run = this.#run;
    if (run === undefined) return false;
    run.proposing.stop();
    await run.done;
    if (this.#run === run) {
      this.#run = undefined;
      this.#deps.metrics.up.set(0);
      this.#deps.log.info("proposer stopped");
    }
    return true;
  }

  /** The last proposal and, if nothing is proposed, what the proposer waits for. */
  status(): LogFields {
    return this.#run === undefined ? { waitingFor: "admin_startProposer" } : this.#run.proposing.status();
  }
}

/** The result of a round: the proposer waits for something, or the next round can start at once. */
type RoundResult = { readonly kind: "again" } | { readonly kind: "wait"; readonly reason: string; readonly ms?: number };

const waitFor = (reason: string, ms?: number): RoundResult => ({ kind: "wait", reason, ...(ms === undefined ? {} : { ms }) });

class ProposingRun {
  readonly #options: ProposerOptions;
  readonly #deps: ProposerDeps;
  readonly #stopping = new AbortController();
  #isNodeSynced: boolean;
  #pendingSinceMs: number | undefined;
  #nextBalanceMs = 0;
  #balance: Ether | undefined;
  #latest: PostedRoot | undefined;
  #waitingFor = "L1";
  #lastError = "";
  /** in the round in progress */
  #nodeFailed = false;

  constructor(options: ProposerOptions, deps: ProposerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#isNodeSynced = !options.waitNodeSync;
  }

  stop(): void {
    this.#stopping.abort();
  }

  get #position() {
    return POSITIONS[this.#deps.source.rootKind];
  }

  /** The position of a root as a field of log lines. */
  #at(number: number | undefined): LogFields {
    return { [this.#position.field]: number };
  }

  status(): LogFields {
    return {
      contract: this.#deps.contract.kind,
      [this.#position.last]: this.#latest?.sequenceNumber,
      balanceEther: this.#balance,
      ...(this.#lastError === "" ? { waitingFor: this.#waitingFor } : { trouble: this.#lastError }),
    };
  }

  async run(): Promise<void> {
    const { clock, metrics } = this.#deps;
    const backoff = new Backoff({ firstMs: this.#options.pollIntervalMs, maxMs: MAX_BACKOFF_MS });
    while (!this.#stopping.signal.aborted) {
      let pauseMs = this.#options.pollIntervalMs;
      this.#nodeFailed = false;
      try {
        const result = await this.#round();
        backoff.reset();
        this.#lastError = "";
        if (result.kind === "again") continue;
        this.#waitingFor = result.reason;
        pauseMs = result.ms ?? pauseMs;
      } catch (error) {
        metrics.errors.inc();
        this.#logFailure(error);
        const nextMs = backoff.nextMs();
        pauseMs = this.#nodeFailed ? this.#options.outputRetryIntervalMs : nextMs;
      }
      await clock.sleep(pauseMs, this.#stopping.signal);
    }
  }

  async #round(): Promise<RoundResult> {
    const { contract, clock, log } = this.#deps;
    await this.#readBalance();
    if (!this.#isNodeSynced && !(await this.#checkNodeSync())) return waitFor("the rollup node to derive up to the L1 head");
    const state = await contract.state();
    this.#noteLatest(state.latest);
    if (state.next.kind === "later") {
      const ms = Math.max(0, state.next.atMs - clock.unixMs());
      return waitFor("the proposal interval to pass", Math.min(ms, this.#options.pollIntervalMs));
    }
    const status = await this.#ask((source) => source.status());
    const number = this.#chosen(state, status);
    if (number === undefined) return waitFor("newer blocks that may be proposed");
    const contradiction = await this.#contradictionOf(state.latest, status);
    if (contradiction !== undefined) return contradiction;
    const proposal = await this.#ask((source) => source.proposalAt(number));
    // The node may have gone back between its two answers.
    if (this.#proposable(proposal.status) < number) return waitFor("the rollup node to call the block safe again");
    if (await contract.has(proposal)) return waitFor("a block whose output is not on L1 yet");
    if (!(await this.#ownTransactionsSettled())) return waitFor("transactions of an earlier run to be included");
    const l1Wait = contract.checksL1Block ? await this.#waitForL1After(proposal.status.currentL1.number) : undefined;
    if (l1Wait !== undefined) return waitFor(l1Wait);
    log.debug("a root is due", { ...this.#at(number), root: proposal.root });
    return this.#propose(proposal);
  }

  /** The L2 block or time whose root is due, if it may be proposed. */
  #chosen({ next, latest }: ContractState, status: SourceStatus): number | undefined {
    const newest = this.#proposable(status);
    if (next.kind === "block") return next.number <= newest ? next.number : undefined;
    return newest > (latest?.sequenceNumber ?? 0) ? newest : undefined;
  }

  #proposable({ finalized, safe }: SourceStatus): number {
    return this.#options.allowNonFinalized ? safe : finalized;
  }

  /** The proposer stops if its own node contradicts the newest output on L1: one of them is wrong, and an operator must look. */
  async #contradictionOf(latest: PostedRoot | undefined, status: SourceStatus): Promise<RoundResult | undefined> {
    const { metrics, log, source } = this.#deps;
    if (latest === undefined || latest.sequenceNumber > this.#proposable(status)) return undefined;
    const { sequenceNumber: number } = latest;
    const { root } = await this.#ask(() => source.proposalAt(number));
    const isValid = root === latest.root;
    metrics.l2Ref(isValid ? "valid_output" : "invalid_output", { number });
    if (isValid) return undefined;
    const reason = `the ${source.rootKind} of ${this.#position.nameOf(number)} on L1 to be the rollup node's`;
    if (this.#waitingFor !== reason) {
      log.error("L1 has another root than the rollup node: nothing is proposed on it", {
        ...this.#at(number),
        onL1: latest.root,
        ofNode: root,
        remedy: "have the wrong root removed or its game challenged, or mend the node",
      });
    }
    return waitFor(reason);
  }

  /**
   * Contracts can read the hash of an L1 block only from the next block on, and only for 256 blocks. @returns what to wait for;
   * undefined if the block can be used
   */
  async #waitForL1After(number: number): Promise<string | undefined> {
    const { l1, clock } = this.#deps;
    const { pollIntervalMs } = this.#options;
    for (let polls = 0; polls < MAX_L1_POLLS && !this.#stopping.signal.aborted; polls++) {
      const head = await l1.head();
      if (head.number - number > MAX_L1_BLOCK_AGE) return "the rollup node to come closer to the L1 head";
      if (head.number > number) return undefined;
      this.#waitingFor = "an L1 block after the one that the node has read";
      await clock.sleep(pollIntervalMs, this.#stopping.signal);
    }
    return this.#waitingFor;
  }

  async #propose(proposal: Proposal): Promise<RoundResult> {
    const { contract, l1, transactions, log, metrics, clock } = this.#deps;
    const { root, sequenceNumber } = proposal;
    const call = await contract.transaction(proposal);
    const simulated = await l1.simulate({ ...call, from: transactions.address });
    if (simulated.kind === "reverted") {
      metrics.proposals.inc({ outcome: "refused" });
      log.error("the contract refuses the proposal", {
        contract: bytesToHex(contract.address),
        ...this.#at(sequenceNumber),
        proposer: bytesToHex(transactions.address),
        message: simulated.message,
      });
      return waitFor(`the contract to accept ${this.#position.nameOf(sequenceNumber)}: ${simulated.message}`);
    }
    log.info("proposing a root", { ...this.#at(sequenceNumber), root });
    this.#waitingFor = "the transaction to be included";
    const startedMs = clock.monotonicMs();
    const { to, data, valueWei } = call;
    const candidate: TxCandidate = { to, carries: { kind: "calldata", data }, value: valueWei, gasLimit: "estimated" };
    const outcome = await transactions.send(candidate, this.#stopping.signal);
    return this.#settle(proposal, outcome, startedMs);
  }

  async #settle(proposal: Proposal, outcome: SendOutcome, startedMs: number): Promise<RoundResult> {
    const { contract, log, metrics, clock } = this.#deps;
    const { root, sequenceNumber: number, timestampSec: timestamp } = proposal;
    switch (outcome.kind) {
      case "confirmed": {
        // An included transaction may have reverted, so the contract is read.
        const isPosted = await contract.has(proposal);
        metrics.proposals.inc({ outcome: isPosted ? "confirmed" : "lost" });
        const fields = { ...this.#at(number), root, hash: outcome.hash, l1Block: outcome.inclusion.blockNumber };
        if (!isPosted) {
          log.error("a proposal was included, but the contract does not have the root", fields);
          return waitFor("the contract to have the proposal");
        }
        metrics.l2Ref("proposed", { number, timestamp });
        log.info("root proposed", { ...fields, tookMs: clock.monotonicMs() - startedMs });
        return { kind: "again" };
      }
      case "failed":
        metrics.proposals.inc({ outcome: "failed" });
        log.warn("a proposal was given up", { ...this.#at(number), reason: outcome.reason });
        return waitFor("the next try");
      case "nonce-consumed":
        metrics.proposals.inc({ outcome: "nonce-consumed" });
        log.warn("another transaction has taken the proposer's nonce", { nonce: outcome.nonce });
        return waitFor("the next try");
      case "cancelled":
        return waitFor("the end");
    }
  }

  /** Whether L1's pool is free of transactions of the account, which are those of an earlier run: one may be the proposal that is due. */
  async #ownTransactionsSettled(): Promise<boolean> {
    const { l1, transactions, clock, log } = this.#deps;
    const { address } = transactions;
    const [latest, pending] = await Promise.all([l1.nonce(address, "latest"), l1.nonce(address, "pending")]);
    if (pending <= latest) {
      this.#pendingSinceMs = undefined;
      return true;
    }
    this.#pendingSinceMs ??= clock.monotonicMs();
    if (clock.monotonicMs() - this.#pendingSinceMs < this.#options.pendingLimitMs) return false;
    // The next transaction takes the first of the nonces: one of the two is included, never both.
    log.warn("transactions of an earlier run are not included: replacing them", { nonce: latest, pending });
    return true;
  }

  async #checkNodeSync(): Promise<boolean> {
    const { currentL1 } = await this.#ask((source) => source.status());
    this.#isNodeSynced = currentL1.number + 1 >= (await this.#deps.l1.head()).number;
    return this.#isNodeSynced;
  }

  /** Asks the rollup node; a failure is noted, as it is asked again after a time of its own. */
  async #ask<T>(question: (source: ProposalSource) => Promise<T>): Promise<T> {
    try {
      return await question(this.#deps.source);
    } catch (error) {
      this.#nodeFailed = true;
      throw error;
    }
  }

  #noteLatest(latest: PostedRoot | undefined): void {
    const { log } = this.#deps;
    if (this.#latest !== undefined && (latest?.sequenceNumber ?? -1) < this.#latest.sequenceNumber) {
      log.warn("L1 no longer has a root: it was reorganised away, or removed", {
        was: this.#latest.sequenceNumber,
        now: latest?.sequenceNumber,
      });
    }
    this.#latest = latest;
  }

  async #readBalance(): Promise<void> {
    const { clock, l1, metrics, transactions } = this.#deps;
    if (clock.monotonicMs() < this.#nextBalanceMs) return;
    this.#balance = etherOf(await l1.balance(transactions.address));
    this.#nextBalanceMs = clock.monotonicMs() + BALANCE_INTERVAL_MS;
    metrics.balance.set(this.#balance);
  }

  #logFailure(error: unknown): void {
    const { log } = this.#deps;
    const text = errorText(error);
    if (text === this.#lastError || isNewerL1(error)) log.debug("cannot go on for now", { error: text });
    else log.warn("cannot go on for now", { error: text });
    this.#lastError = text;
  }
}
