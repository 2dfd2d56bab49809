import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Chain } from "@rnode/chain";
import type { BlockPeers } from "@rnode/devp2p";
import type { Logger, MetricFactory } from "@rnode/observe";
import { Backoff, bytesToHex, type Clock, hexToBytes, isCodedError } from "@rnode/primitives";
import { type CommandIo, UserError } from "@rnode/program";
import type { Header } from "@rnode/protocol";
import { type BlockRecord, collectLastBlocks } from "@rnode/snapshot";
import { type ChainDatabase, type ChainStoreOptions, openChainStore } from "@rnode/storage";
import type { FetchedRows, StateTaker } from "@rnode/sync";
import { PeerBlocks } from "../import-state/peer-blocks.ts";
import { RowProgress } from "../import-state/row-progress.ts";
import { ROWS_FOLDER, stateOfPeers } from "../import-state/state-of-peers.ts";
import { writeSorted } from "../import-state/write-state.ts";
import { type ChainSpec, noteGenesis } from "../setup/chain-spec.ts";
import { finishedDatabasePath } from "../setup/database.ts";
import { DiskEstimate } from "./disk-estimate.ts";
import { type Head, isBelowHead, MovingPivot } from "./moving-pivot.ts";
import { isDiskFull, stateSyncFailure } from "./state-sync-error.ts";
import { createStateSyncMetrics } from "./state-sync-metrics.ts";

/** Within the data folder. */
const DATABASE_FOLDER = "chaindata.partial";
const LINE_MS = 8_000;
/** Attempts in a row without progress, before blocks are synced instead. */
const MAX_ATTEMPTS = 3;
const PAUSES = { firstMs: 10_000, maxMs: 300_000 };

export interface StateSyncDeps {
  readonly chain: Pick<Chain, "config" | "genesis" | "head">;
  readonly spec: ChainSpec;
  readonly peers: BlockPeers;
  readonly datadir: string;
  readonly store: ChainStoreOptions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** Called when the new database is complete. It takes the place of the present one when that is opened the next time. */
  readonly onReady: () => void;
}

/**
 * Fetches the state after an ancestor of a head that is far ahead of a chain without blocks, and writes it into a new database, while the client runs on the
 * present one. When the head has moved on by many blocks, the state after an ancestor of the newest one is fetched instead. A failed attempt is repeated. If no
 * peer serves the state, all blocks are synced.
 */
export class StateSync implements StateTaker {
  readonly #deps: StateSyncDeps;
  readonly #minBlocks: number;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #hasFailed = false;
  #counts: FetchedRows | undefined;
  #pivot: MovingPivot | undefined;
  readonly #disk: DiskEstimate;
  readonly #metrics: ReturnType<typeof createStateSyncMetrics>;
  #lineMs: number | undefined;
  /** the head that fork choice named last */
  #newest: Head | undefined;
  /** whether this attempt has fetched or written rows */
  #hasProgressed = false;
  /** of the block whose state is complete */
  #number: number | undefined;

  /** @param minBlocks distance of the head from which the state is fetched */
  constructor(minBlocks: number, deps: StateSyncDeps) {
    this.#minBlocks = minBlocks;
    this.#deps = deps;
    this.#disk = new DiskEstimate(deps.datadir, deps.log);
    this.#metrics = createStateSyncMetrics(deps.metrics, {
      fetched: () => this.#counts,
      pivotBlock: () => this.#pivot?.number ?? 0,
      diskBytes: () => this.#disk.bytes,
    });
  }

  /** Rows fetched so far; `undefined`: no state is being fetched */
  get counts(): FetchedRows | undefined {
    return this.#counts;
  }

  takes(head: Head, isChosen: boolean): boolean {
    const { chain } = this.#deps;
    if (this.#hasFailed || !this.#isEmpty || head.number - chain.head().number < Math.max(1, this.#minBlocks)) return false;
    if (!isChosen) return true;
    this.#newest = head;
    this.#running ??= this.#run(head);
    return true;
  }

  get #isEmpty(): boolean {
    const { chain } = this.#deps;
    return chain.head().hash === bytesToHex(chain.genesis.hash);
  }

  async #run({ number, hash }: Head): Promise<void> {
    const { log, clock, datadir, onReady } = this.#deps;
    const { signal } = this.#closing;
    log.info("the state below a far head is fetched from peers", { number, hash: bytesToHex(hash) });
    const backoff = new Backoff(PAUSES);
    while (!signal.aborted) {
      this.#hasProgressed = false;
      try {
        await this.#fetch();
        const { accounts, slots } = this.#counts ?? {};
        log.info("the state is complete", { number: this.#number, accounts, slots });
        onReady();
        return;
      } catch (cause) {
        if (signal.aborted) return;
        const error = stateSyncFailure(cause, datadir);
        if (this.#hasProgressed && !isCodedError(error, "state-sync/fault")) backoff.reset();
        const pauseMs = backoff.nextMs();
        const reason = error.message;
        this.#metrics.failures.inc();
        if (!this.#isEmpty || (backoff.failures >= MAX_ATTEMPTS && !isDiskFull(error))) {
          this.#hasFailed = true;
          log.warn("the state cannot be had from peers: all blocks are synced instead", { reason });
          return;
        }
        const text = "the state sync failed, trying again after a pause";
        if (isCodedError(error, "state-sync/fault")) log.error(text, { error: cause, pauseMs });
        else if (isDiskFull(error)) log.error(text, { reason, pauseMs });
        else log.warn(text, { reason, pauseMs });
        await clock.sleep(pauseMs, signal);
      } finally {
        this.#counts = this.#pivot = undefined;
      }
    }
  }

  /** Completes the new database; one that an earlier start had completed is good, too. */
  async #fetch(): Promise<void> {
    const { chain, peers, clock, datadir } = this.#deps;
    const { signal } = this.#closing;
    const folder = join(datadir, DATABASE_FOLDER);
    const blocks = new PeerBlocks(chain.config, { peers, clock, signal });
    while (!(await this.#complete(folder, blocks))) rmSync(folder, { recursive: true, force: true });
    if (!this.#isEmpty) throw new UserError("the chain has got blocks meanwhile");
    renameSync(folder, finishedDatabasePath(datadir));
    rmSync(join(datadir, ROWS_FOLDER), { recursive: true, force: true });
  }

  /** @returns whether it is the database of an ancestor of the head */
  async #complete(folder: string, blocks: PeerBlocks): Promise<boolean> {
    const { spec, log, store: options } = this.#deps;
    const newest = (): Head => this.#newest!;
    const headerOf = async (hash: Uint8Array): Promise<Header> => (await blocks.blockOf(hash)).block.header;
    const store = openChainStore(folder, options);
    try {
      if (store.head() === undefined) {
        const genesis = this.#deps.chain.genesis.block.header.number;
        const pivot = await MovingPivot.below({ newest, genesis, headerOf, log });
        this.#pivot = pivot;
        await this.#fill(store, pivot, blocks);
      }
      noteGenesis(store, spec);
      const { number, hash } = store.head()!;
      const isGood = await isBelowHead({ number, hash: hexToBytes(hash) }, { newest, headerOf });
      if (!isGood) log.warn("the pivot is not below the head any more: the state below the new head is fetched", { number });
      return isGood;
    } finally {
      await store.close();
    }
  }

  async #fill(store: ChainDatabase, pivot: MovingPivot, blocks: PeerBlocks): Promise<void> {
    const { chain, peers, datadir, clock, log } = this.#deps;
    const { config, genesis } = chain;
    const { signal } = this.#closing;
    const io = this.#io();
    const state = stateOfPeers({ datadir, peers: () => peers, clock, log, signal });
    try {
      const reading = new RowProgress(io, "reading");
      const onProgress = (fetched: FetchedRows): void => {
        this.#counts = fetched;
        this.#hasProgressed = true;
        reading.at(fetched);
        this.#disk.at(fetched);
      };
      const read = await state.read(() => pivot.root, onProgress);
      const { header, hash } = pivot.withRoot(read.root);
      this.#number = header.number;
      const source = (wanted: Uint8Array): Promise<BlockRecord> => blocks.blockOf(wanted);
      const lastBlocks = await collectLastBlocks({ config, genesis, hash, source, hasReceipts: false, folder: datadir });
      try {
        const block = { header, transactions: [], ommers: [] };
        const rows = { ...state, ...read };
        await writeSorted(store, rows, { block, hash, genesis, lastBlocks }, { folder: datadir, signal }, io);
      } finally {
        lastBlocks.close();
      }
    } finally {
      await state.close();
    }
  }

  /** Where the machinery of `rengine import-state` reports to. */
  #io(): CommandIo {
    const { log, clock } = this.#deps;
    return {
      out: () => {},
      err: (text) => log.info(text),
      progress: (text) => {
        const nowMs = clock.monotonicMs();
        if (this.#lineMs !== undefined && nowMs - this.#lineMs < LINE_MS) return;
        this.#lineMs = nowMs;
        const fetched = this.#counts && `${(100 * this.#counts.share).toFixed(1)} %`;
        log.info("syncing state", { progress: text, fetched, healedNodes: this.#counts?.healedNodes });
      },
    };
  }

  /** Ends it. The next start continues when a fork choice names a head again. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the client stops"));
    await this.#running;
  }
}

/** Removes what is left of a state sync of a chain that has blocks now. */
export function removeStateSync(datadir: string): void {
  for (const name of [DATABASE_FOLDER, ROWS_FOLDER]) rmSync(join(datadir, name), { recursive: true, force: true });
}
