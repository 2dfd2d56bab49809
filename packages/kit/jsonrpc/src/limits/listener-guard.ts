import type { Server } from "node:net";
import type { Logger } from "@rnode/observe";

export interface ListenerGuardDeps {
  readonly log: Logger;
  /** maximum number of file descriptors for connections of all listeners; `undefined`: no limit */
  readonly maxOpenFiles: number | undefined;
  readonly listeners: number;
  /** makes room for new connections */
  readonly closeLongestIdle: () => void;
}

const LEAST_SPARE = 16;
const MOST_SPARE = 256;
/** Interval of the log line while connections are refused. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Keeps listeners available at their connection limit and at the system's limit of file descriptors: closes excess connections at
 * once, and idle ones to make room.
 */
export class ListenerGuard {
  readonly #deps: ListenerGuardDeps;
  /** of one listener, by file descriptors */
  readonly #cap: number;
  #saidMs = Number.NEGATIVE_INFINITY;
  #refused = 0;

  constructor(deps: ListenerGuardDeps) {
    this.#deps = deps;
    this.#cap = Math.max(1, Math.floor((deps.maxOpenFiles ?? Number.POSITIVE_INFINITY) / deps.listeners));
  }

  /** @param wanted connections; 0: no limit but that of file descriptors; negative: none */
  limitOf(wanted: number): number {
    return wanted < 0 ? wanted : Math.min(wanted || Number.POSITIVE_INFINITY, this.#cap);
  }

  /**
   * Number of connections beyond `most` that a listener may accept before it closes some: those of one burst, or few if
   * descriptors are scarce.
   */
  spareFor(most: number): number {
    return Math.min(MOST_SPARE, Math.max(LEAST_SPARE, this.#cap - most));
  }

  /** For a server that listens: from now on an error means that a connection could not be accepted. */
  watch(server: Server): void {
    server.on("drop", () => this.refuse(server));
    server.on("error", (error) => {
      this.#deps.closeLongestIdle();
      this.#refuse(error.message, server);
    });
  }

  /** A connection was closed because the limit is reached. */
  refuse(server: Server): void {
    this.#refuse("the listener has all the connections it may have", server);
  }

  #refuse(reason: string, { maxConnections }: Server): void {
    this.#refused++;
    const nowMs = performance.now();
    if (nowMs - this.#saidMs < LOG_INTERVAL_MS) return;
    this.#deps.log.warn("connections are refused", { reason, refused: this.#refused, maxConnections });
    this.#saidMs = nowMs;
    this.#refused = 0;
  }
}
