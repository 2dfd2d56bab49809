import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { SyncStatus } from "./api.ts";

/** Interval of the log line about the progress. */
const LINE_MS = 8_000;
/** A sync that nothing comes of is warned about so often, */
const WARNING_MS = 30_000;
/** Time before the first warning; earlier without peers, because that rarely resolves itself. */
const FIRST_WARNING_MS = 60_000;
const FIRST_WARNING_WITHOUT_PEERS_MS = 5_000;

/** The line about a sync in the log, and a warning when nothing comes of it. */
export class SyncProgress {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #advice: string;
  #startMs = 0;
  #lineMs = 0;
  #lineBlock = 0;
  #lineHeaders = 0;
  /** time and value of the latest progress */
  #movedMs = 0;
  #mark = "";
  #warnedMs: number | undefined;

  /** @param advice the remedy if there are no peers */
  constructor(clock: Clock, log: Logger, advice: string) {
    this.#clock = clock;
    this.#log = log;
    this.#advice = advice;
  }

  /** milliseconds since something of the sync came */
  get stillMs(): number {
    return this.#clock.monotonicMs() - this.#movedMs;
  }

  begin(status: SyncStatus): void {
    const nowMs = this.#clock.monotonicMs();
    this.#startMs = this.#lineMs = this.#movedMs = nowMs;
    this.#lineBlock = status.currentBlock;
    this.#lineHeaders = headersOf(status);
    this.#warnedMs = undefined;
    this.#log.info("syncing to a head that the rollup node names", {
      head: status.currentBlock,
      target: status.highestBlock,
      peers: status.peers,
    });
  }

  /** Called about every second. */
  tick(status: SyncStatus): void {
    const nowMs = this.#clock.monotonicMs();
    const headers = headersOf(status);
    const mark = `${status.currentBlock} ${status.lowestHeader} ${status.downloadedBlock}`;
    if (mark !== this.#mark) {
      this.#mark = mark;
      this.#movedMs = nowMs;
    }
    this.#warn(status, nowMs);
    const elapsedMs = nowMs - this.#lineMs;
    if (elapsedMs < LINE_MS) return;
    const blocks = Math.max(0, status.currentBlock - this.#lineBlock);
    const fetched = Math.max(0, headers - this.#lineHeaders);
    this.#lineMs = nowMs;
    this.#lineBlock = status.currentBlock;
    this.#lineHeaders = headers;
    const { stage, currentBlock, highestBlock, peers } = status;
    const remaining = Math.max(0, highestBlock - currentBlock);
    const perSec = (count: number): number => Math.round((count * 1_000) / elapsedMs);
    if (stage === "headers") {
      this.#log.info("syncing headers", { target: highestBlock, lowest: status.lowestHeader, perSec: perSec(fetched), peers });
      return;
    }
    const rate = perSec(blocks);
    const etaSec = rate > 0 ? Math.round(remaining / rate) : undefined;
    this.#log.info("syncing blocks", { number: currentBlock, target: highestBlock, perSec: rate, remaining, etaSec, peers });
  }

  /** @param status the last one of the sync */
  end(status: SyncStatus, head: { readonly number: number; readonly hash: string }): void {
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    const blocks = head.number - status.startingBlock;
    const perSec = elapsedMs > 0 ? Math.round((blocks * 1_000) / elapsedMs) : undefined;
    this.#log.info("synced", { number: head.number, hash: head.hash, blocks, elapsedSec: Math.round(elapsedMs / 1_000), perSec });
  }

  #warn({ peers, highestBlock }: SyncStatus, nowMs: number): void {
    const { stillMs } = this;
    if (stillMs < (peers === 0 ? FIRST_WARNING_WITHOUT_PEERS_MS : FIRST_WARNING_MS)) return;
    if (this.#warnedMs !== undefined && nowMs - this.#warnedMs < WARNING_MS) return;
    this.#warnedMs = nowMs;
    const fields = { target: highestBlock, peers, forSec: Math.round(stillMs / 1_000) };
    if (peers === 0) this.#log.warn(`the sync waits for peers, and there are none: ${this.#advice}`, fields);
    else this.#log.warn("the sync stands still: no peer has the blocks up to its target, or all are too slow", fields);
  }
}

const headersOf = ({ lowestHeader, highestBlock }: SyncStatus): number =>
  lowestHeader === undefined ? 0 : highestBlock - lowestHeader;
