import type { Chain, ChainParts } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { decodeFlashblock, type Flashblock, type FlashblockOrder, type FlashblockPlace } from "@rnode/protocol";
import type { DropReason, StreamMetrics } from "./stream-metrics.ts";

export interface PartFollowerDeps {
  readonly chain: Pick<Chain, "head" | "onHeadChange"> & Pick<ChainParts, "executePart">;
  readonly pending: PendingBlocks;
  /** sends a part on to readers of the stream */
  readonly relay: (part: Flashblock, text: string) => void;
  readonly order: FlashblockOrder;
  /** number of the block that is being built here, of which parts of others do not count */
  readonly building: () => number | undefined;
  readonly log: Logger;
  readonly metrics: StreamMetrics;
  readonly nowMs: () => number;
}

interface Waiting {
  readonly part: Flashblock;
  readonly size: number;
  readonly source: string;
}

/** Parts that wait for their parent block. */
const MAX_WAITING_CHARACTERS = 32 * 1024 * 1024;
/** Interval of the log line while streams are broken. */
const LOG_INTERVAL_MS = 10_000;

/**
 * Follows streams of parts: puts the parts in order, relays them, and executes them on the head. The result is the pending block. A part that
 * does not fit ends its block, and the pending block is the head again.
 */
export class PartFollower {
  readonly #deps: PartFollowerDeps;
  readonly #stop: () => void;
  /** parts of one block, in order */
  #waiting: Waiting[] = [];
  #waitingSize = 0;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(deps: PartFollowerDeps) {
    this.#deps = deps;
    this.#stop = deps.chain.onHeadChange(() => this.#execute());
  }

  close(): void {
    this.#stop();
  }

  /** @param text undefined: the message was not readable */
  take(text: string | undefined, source: string): void {
    const part = text === undefined ? undefined : this.#decoded(text, source);
    if (text === undefined) this.#refuse("unreadable", source, { reason: "neither JSON nor brotli, or too large" });
    if (text === undefined || part === undefined) return;
    const { payloadId, index } = part;
    const { metrics } = this.#deps;
    const place = this.#placeOf(part);
    metrics.received.inc({ place: place.kind });
    switch (place.kind) {
      case "built-here":
      case "late":
      case "duplicate":
      case "no-base":
        return;
      case "gap":
        this.#showHead();
        this.#refuse("gap", source, { payloadId, index, reason: `expected part ${place.expected}` });
        return;
      case "conflict":
        this.#end();
        this.#refuse("conflict", source, { payloadId, index, reason: "it contradicts a part before it" });
        return;
      case "first":
        this.#forget();
        break;
      case "next":
        break;
    }
    this.#deps.relay(part, text);
    this.#waiting.push({ part, size: text.length, source });
    this.#waitingSize += text.length;
    this.#execute();
    if (this.#waitingSize > MAX_WAITING_CHARACTERS) {
      this.#end();
      this.#refuse("too-much-waits", source, { payloadId, index, reason: "its parent block does not come" });
    }
  }

  /** A first part would begin another block, so parts of blocks that are decided here have no place in the order. */
  #placeOf(part: Flashblock): FlashblockPlace | { readonly kind: "built-here" | "late" } {
    const { building, chain, order } = this.#deps;
    if (part.blockNumber <= (building() ?? -1)) return { kind: "built-here" };
    return part.blockNumber <= chain.head().number ? { kind: "late" } : order.take(part);
  }

  #decoded(text: string, source: string): Flashblock | undefined {
    try {
      return decodeFlashblock(text);
    } catch (error) {
      if (!isCodedError(error, "json/")) throw error;
      this.#refuse("unreadable", source, { reason: error.message });
      return undefined;
    }
  }

  #execute(): void {
    const { chain, pending, metrics } = this.#deps;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { part, source } = next;
      if (part.blockNumber <= chain.head().number) {
        this.#forget();
        return;
      }
      const stopTimer = metrics.execute.time();
      const verdict = chain.executePart(part);
      if (verdict.kind === "other-parent") {
        if (part.index > 0) this.#end(); // the head has changed
        return;
      }
      stopTimer();
      this.#waiting.shift();
      this.#waitingSize -= next.size;
      if (verdict.kind === "refused") {
        this.#end();
        this.#refuse(verdict.fault, source, { payloadId: part.payloadId, index: part.index, reason: verdict.reason });
        return;
      }
      pending.set(verdict.pending);
    }
  }

  /** Nothing more is expected of the current block, and what came of it does not count. */
  #end(): void {
    this.#deps.order.drop();
    this.#forget();
    this.#showHead();
  }

  #showHead(): void {
    const { building, pending } = this.#deps;
    if (building() === undefined && pending.latest !== undefined) pending.set(undefined);
  }

  #forget(): void {
    this.#waiting = [];
    this.#waitingSize = 0;
  }

  #refuse(reason: DropReason, source: string, fields: { payloadId?: string; index?: number; reason: string }): void {
    const { log, metrics, nowMs } = this.#deps;
    metrics.refused.inc({ reason });
    const isQuiet = nowMs() - this.#saidMs < LOG_INTERVAL_MS;
    if (!isQuiet) this.#saidMs = nowMs();
    log[isQuiet ? "debug" : "warn"]("subblock dropped", { source, ...fields });
  }
}
