import type { RowCounts } from "@rnode/chain";
import type { BlockPeer, BlockPeers, StatePeer } from "@rnode/devp2p";
import type { Logger } from "@rnode/observe";
import { Alarm, backoffMs, type Clock, CodedError, EMPTY_TRIE_ROOT, equalBytes, isCodedError } from "@rnode/primitives";
import type { KeptState } from "./kept-state.ts";
import type { MixedRows, StateTask } from "./state-task.ts";
import { type StateProgress, StateWork } from "./state-work.ts";

/** How far a download is. */
export interface FetchedRows extends RowCounts {
  /** the part of all accounts' keys that is fetched, from 0 to 1 */
  readonly share: number;
  /** trie nodes that were fetched to heal the rows */
  readonly healedNodes: number;
}

export interface StateDownloadDeps {
  readonly peers: BlockPeers;
  readonly clock: Clock;
  readonly log: Logger;
  /** What it throws ends the download. */
  readonly onProgress?: ((fetched: FetchedRows) => void) | undefined;
  /** Root of the state that is wanted now; default: always the first one. Rows of earlier states are healed. */
  readonly root?: (() => Uint8Array) | undefined;
  /** ends the download; a later one continues it */
  readonly signal?: AbortSignal | undefined;
}

/** Where the rows are kept. */
export type StateRows = Pick<KeptState, "clear" | "commit" | "counts" | "isCommitDue" | "progress"> & MixedRows;

/** Requests to a peer at the same time. */
const PARALLEL = 3;
const TIMEOUT_MS = 12_000;
/** after a fault, doubled with each in a row */
const RESTS = { firstMs: 1_000, maxMs: 30_000 };
/** Without rows for this time, the state cannot be had. */
const STANDSTILL_MS = 60_000;

/** What is known of a peer. */
interface Standing {
  faultsInRow: number;
  /** why it gave nothing, the last time */
  reason: string | undefined;
  hasLied: boolean;
}

/**
 * Fetches the state with one root from all peers that have it. Every answer is verified against the root before it is used, so a peer can only delay.
 * A peer that lies is banned; one that does not answer, or does not have the state, rests. Verified rows are kept, so a download continues after a kill.
 */
export class StateDownload {
  readonly #deps: StateDownloadDeps;
  readonly #rows: StateRows;
  readonly #work: StateWork;
  readonly #ended = new Alarm();
  readonly #standings = new Map<string, Standing>();
  readonly #working = new Set<BlockPeer>();
  #failure: unknown;
  #changed = new Alarm();
  #lastRowsMs: number;

  /** @param rows of an earlier download, also of another state */
  constructor(root: Uint8Array, rows: StateRows, deps: StateDownloadDeps) {
    this.#deps = deps;
    this.#rows = rows;
    if (equalBytes(root, EMPTY_TRIE_ROOT)) rows.clear();
    this.#work = new StateWork(root, rows, rows.progress() as StateProgress | undefined);
    this.#lastRowsMs = deps.clock.monotonicMs();
  }

  /** @returns the number of rows, which are committed, and the root of their state. @throws {CodedError} sync/no-state: no peer gives it; storage/*; the signal's reason */
  async run(): Promise<RowCounts & { readonly root: Uint8Array }> {
    const { peers, clock, signal } = this.#deps;
    const notify = (): void => this.#notify();
    const employ = (): void => {
      for (const peer of peers.list()) void this.#employ(peer);
    };
    const forget = peers.onChange(employ);
    signal?.addEventListener("abort", notify);
    employ();
    try {
      while (!this.#work.isDone && this.#failure === undefined) {
        signal?.throwIfAborted();
        const leftMs = this.#lastRowsMs + STANDSTILL_MS - clock.monotonicMs();
        if (leftMs <= 0) throw new CodedError("sync/no-state", { reason: this.#reasons() });
        await clock.sleep(leftMs, this.#changed);
      }
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      forget();
      signal?.removeEventListener("abort", notify);
      this.#ended.ring();
      this.#notify();
      if (this.#failure === undefined) this.#rows.commit(this.#work.progress());
    }
    return { ...this.#rows.counts, root: this.#work.root };
  }

  #reasons(): string {
    const said = [...this.#standings].flatMap(([id, { reason }]) => (reason === undefined ? [] : [`${id.slice(0, 8)}: ${reason}`]));
    return said.length === 0 ? "no peer serves states (snap/1)" : said.slice(0, 5).join("; ");
  }

  /** Has a peer work until the end, until it lies, or until it is gone. */
  async #employ(peer: BlockPeer): Promise<void> {
    const { state } = peer;
    if (state === undefined || this.#working.has(peer)) return;
    this.#working.add(peer);
    const standing = this.#standings.get(peer.id) ?? { faultsInRow: 0, reason: undefined, hasLied: false };
    this.#standings.set(peer.id, standing);
    try {
      await Promise.all(Array.from({ length: PARALLEL }, () => this.#serve(peer, state, standing)));
    } catch (error) {
      this.#failure ??= error;
      this.#notify();
    }
  }

  async #serve(peer: BlockPeer, state: StatePeer, standing: Standing): Promise<void> {
    const { clock, peers } = this.#deps;
    while (!this.#ended.aborted && !this.#work.isDone && !standing.hasLied && peers.list().includes(peer)) {
      this.#work.moveTo(this.#deps.root?.() ?? this.#work.root);
      const task = this.#work.next();
      if (task === undefined) {
        if (this.#work.isDone) this.#notify();
        else await clock.sleep(RESTS.maxMs, this.#changed);
        continue;
      }
      const reason = await this.#try(task, state);
      if (reason === undefined) {
        standing.faultsInRow = 0;
        this.#lastRowsMs = clock.monotonicMs();
        const { share, healedNodes } = this.#work;
        this.#deps.onProgress?.({ ...this.#rows.counts, share, healedNodes });
        this.#notify();
        continue;
      }
      if (this.#ended.aborted) return;
      standing.reason = reason.text;
      this.#deps.log.debug("a peer gave nothing of the state", { peer: peer.id, reason: reason.text });
      standing.hasLied ||= reason.fault === "lied";
      if (reason.fault !== undefined) peer.report(reason.fault, reason.text);
      this.#notify(); // another peer can take the task
      await clock.sleep(backoffMs(++standing.faultsInRow, RESTS), this.#ended);
    }
  }

  /** @returns `undefined`: rows came of it. @throws what the sink throws */
  async #try(
    task: StateTask,
    peer: StatePeer,
  ): Promise<{ readonly text: string; readonly fault: "lied" | "slow" | undefined } | undefined> {
    const controller = new AbortController();
    const answered = new Alarm();
    const abort = (): void => answered.ring();
    this.#ended.addEventListener("abort", abort);
    const asked = task.ask(peer, controller.signal).finally(() => answered.ring());
    asked.catch(() => {}); // it is awaited below, unless there is no time left
    await this.#deps.clock.sleep(TIMEOUT_MS, answered);
    this.#ended.removeEventListener("abort", abort);
    if (!answered.aborted || this.#ended.aborted) {
      controller.abort();
      task.giveBack();
      return { text: `no answer in ${TIMEOUT_MS} ms`, fault: "slow" };
    }
    try {
      const take = await asked;
      const outcome = take();
      if (this.#rows.isCommitDue || this.#work.isHealing) this.#rows.commit(this.#work.progress());
      return outcome === "rows" ? undefined : { text: "it does not have the state", fault: undefined };
    } catch (error) {
      if (!isCodedError(error) || error.code.startsWith("storage/")) throw error;
      task.giveBack();
      const isLie = ["trie/", "rlp/", "sync/bad-state", "devp2p/bad-message"].some((code) => error.code.startsWith(code));
      return { text: error.message, fault: isLie ? "lied" : undefined };
    }
  }

  #notify(): void {
    const before = this.#changed;
    this.#changed = new Alarm();
    before.ring();
  }
}
