import type { Logger } from "@rnode/observe";

export interface UnsentLimits {
  /** of the answers and notifications of all connections together that wait for their clients to read */
  readonly maxUnsentBytes: number;
  /** a client that is owed bytes and takes none of them for so long is disconnected */
  readonly writeTimeoutMs: number;
}

/**
 * Why a client was disconnected: it read nothing (`timeout`), its bytes were needed for others (`budget`), or it read its notifications too
 * slowly (`backlog`).
 */
export type DropReason = "timeout" | "budget" | "backlog";

export interface UnsentDependencies {
  readonly log: Logger;
  /** counts the clients that were disconnected */
  readonly onDrop: (reason: DropReason) => void;
  readonly nowMs: () => number;
}

/** Larger answers are written in slices of this size, so that it shows whether the client reads. PERF: a slice costs as much as a small answer. */
export const SLICE_BYTES = 256 * 1024;
/** A client that has been owed bytes for less than this is not disconnected to make room. */
const GRACE_MS = 1000;
const CHECK_INTERVAL_MS = 1000;

/** What one client has not taken yet. */
export interface Unsent {
  readonly bytes: number;
  /** Something is to be sent; may disconnect this client or another. */
  add(bytes: number): void;
  /** The kernel has taken some of it. */
  sent(bytes: number): void;
  /** Disconnects the client. */
  drop(reason: DropReason): void;
  /** The connection has ended. */
  close(): void;
}

/** Bounds the bytes that a server holds for clients that do not read, and the time for which it holds them. */
export class UnsentBudget {
  readonly #limits: UnsentLimits;
  readonly #dependencies: UnsentDependencies;
  /** clients that are owed something */
  readonly #owed = new Set<OwedClient>();
  /** what clients are owed, and the finished parts of batches */
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: UnsentLimits, dependencies: UnsentDependencies) {
    this.#limits = limits;
    this.#dependencies = dependencies;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param disconnect called at most once, when the client is dropped */
  open(remoteAddress: string, disconnect: (reason: DropReason) => void): Unsent {
    return new OwedClient({
      nowMs: this.#dependencies.nowMs,
      onChange: (client, difference) => this.#onChange(client, difference),
      onDrop: (reason, bytes) => {
        this.#dependencies.log.debug("client disconnected: it does not read", { reason, remoteAddress, unsentBytes: bytes });
        this.#dependencies.onDrop(reason);
        disconnect(reason);
      },
    });
  }

  /**
   * Whether this number of bytes can be added; slow clients with much unsent data are disconnected for it. A single answer above
   * the limit is allowed if it is the only one.
   */
  makeRoom(bytes: number): boolean {
    while (this.#bytes > 0 && this.#bytes + bytes > this.#limits.maxUnsentBytes) {
      const slowest = this.#slowest(GRACE_MS);
      if (slowest === undefined) return false;
      slowest.drop("budget");
    }
    return true;
  }

  /** Adds finished parts of an answer, without disconnecting clients. @param bytes negative: released */
  hold(bytes: number): void {
    this.#bytes += bytes;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #onChange(client: OwedClient, difference: number): void {
    this.#bytes += difference;
    if (client.bytes === 0) this.#owed.delete(client);
    else this.#owed.add(client);
    if (difference <= 0) return;
    this.#timer ??= setInterval(() => this.#check(), Math.min(CHECK_INTERVAL_MS, this.#limits.writeTimeoutMs / 2)).unref();
    while (this.#bytes > this.#limits.maxUnsentBytes && this.#owed.size > 1) this.#slowest(0)?.drop("budget");
  }

  #check(): void {
    const latestMs = this.#dependencies.nowMs() - this.#limits.writeTimeoutMs;
    for (const client of this.#owed) if (client.progressMs < latestMs) client.drop("timeout");
    if (this.#owed.size === 0) this.close();
  }

  /** Who has been owed most for longest: bytes times time. */
  #slowest(graceMs: number): OwedClient | undefined {
    const nowMs = this.#dependencies.nowMs();
    let slowest: OwedClient | undefined;
    let most = -1;
    for (const client of this.#owed) {
      const owedMs = nowMs - client.owedSinceMs;
      const weight = client.bytes * (1 + owedMs);
      if (owedMs < graceMs || weight <= most) continue;
      most = weight;
      slowest = client;
    }
    return slowest;
  }
}

interface OwedClientEvents {
  readonly nowMs: () => number;
  readonly onChange: (client: OwedClient, difference: number) => void;
  readonly onDrop: (reason: DropReason, bytes: number) => void;
}

class OwedClient implements Unsent {
  readonly #events: OwedClientEvents;
  #isOpen = true;
  bytes = 0;
  /** since when it has been owed anything at all */
  owedSinceMs = 0;
  /** when it took something last */
  progressMs = 0;

  constructor(events: OwedClientEvents) {
    this.#events = events;
  }

  add(bytes: number): void {
    if (!this.#isOpen || bytes === 0) return;
    if (this.bytes === 0) this.owedSinceMs = this.progressMs = this.#events.nowMs();
    this.#change(bytes);
  }

  sent(bytes: number): void {
    if (!this.#isOpen) return;
    this.progressMs = this.#events.nowMs();
    this.#change(-Math.min(bytes, this.bytes));
  }

  drop(reason: DropReason): void {
    if (!this.#isOpen) return;
    const { bytes } = this;
    this.close();
    this.#events.onDrop(reason, bytes);
  }

  close(): void {
    this.#isOpen = false;
    this.#change(-this.bytes);
  }

  #change(difference: number): void {
    if (difference === 0) return;
    this.bytes += difference;
    this.#events.onChange(this, difference);
  }
}

/**
 * Writes pieces of bytes slice by slice, each when the kernel has taken the one before.
 *
 * @param write calls back when the slice was taken, and not at all when the connection is lost
 */
export function writeInSlices(
  pieces: readonly Buffer[],
  write: (slice: Buffer, isLast: boolean, onTaken: () => void) => void,
): void {
  let index = 0;
  let at = 0;
  const next = (): void => {
    const piece = pieces[index];
    if (piece === undefined) return;
    const slice = piece.subarray(at, at + SLICE_BYTES);
    at += slice.length;
    if (at === piece.length) {
      index++;
      at = 0;
    }
    write(slice, index === pieces.length, next);
  };
  next();
}
