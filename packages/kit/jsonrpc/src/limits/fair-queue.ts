import type { RequestContext } from "../wire/method-table.ts";
import { clientOf } from "./connection-places.ts";

export interface FairQueueLimits {
  /** that wait */
  readonly maxItems: number;
  readonly maxItemsPerNetwork: number;
  /** of all items that wait */
  readonly maxBytes: number;
}

/** Which limit an item exceeds. */
export type QueueRefusal = "all" | "network" | "bytes";

/** Marks clients that are served last, regardless of their used time. */
export interface Precedence {
  /** after other networks */
  isNetworkLast(network: string): boolean;
  /** after other connections of its network */
  isConnectionLast(client: RequestContext): boolean;
}

const NO_PRECEDENCE: Precedence = { isNetworkLast: () => false, isConnectionLast: () => false };

interface Waiting<T> {
  readonly item: T;
  readonly bytes: number;
}

/** The used time of a connection, or of a network of connections; it restarts at the others' time when it comes back. */
interface Share {
  usedMs: number;
}

interface ConnectionShare<T> extends Share {
  readonly waiting: Waiting<T>[];
}

interface NetworkShare<T> extends Share {
  readonly connections: Map<RequestContext, ConnectionShare<T>>;
  /** of all its connections */
  count: number;
  /** time of the connection that was served last */
  clockMs: number;
}

/** Assumed cost of an item until it is known. */
const EXPECTED_MS = 5;

/**
 * A queue of items. The client with the least used time is next: first among networks (client addresses), then among the
 * connections of that network. So an item's place depends on the time that others have used, not on the number of their items. A
 * precedence can put clients last.
 */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  readonly #precedence: Precedence;
  readonly #networks = new Map<string, NetworkShare<T>>();
  #clockMs = 0;
  #size = 0;
  #bytes = 0;

  constructor(limits: FairQueueLimits, precedence: Precedence = NO_PRECEDENCE) {
    this.#limits = limits;
    this.#precedence = precedence;
  }

  get size(): number {
    return this.#size;
  }

  /** of the items that wait */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns why the item is refused; `undefined` if it is queued */
  add(client: RequestContext, item: T, bytes: number): QueueRefusal | undefined {
    const { maxItems, maxItemsPerNetwork, maxBytes } = this.#limits;
    // Checked first, so that if another limit is reached, a place could be freed.
    const known = this.#networks.get(clientOf(client.remoteAddress));
    if (known !== undefined && known.count >= maxItemsPerNetwork) return "network";
    if (this.#size >= maxItems) return "all";
    if (this.#size > 0 && this.#bytes + bytes > maxBytes) return "bytes";
    const network = this.#networkOf(client);
    const own = connectionIn(network, client);
    if (network.count === 0) network.usedMs = Math.max(network.usedMs, this.#clockMs);
    if (own.waiting.length === 0) own.usedMs = Math.max(own.usedMs, network.clockMs);
    own.waiting.push({ item, bytes });
    network.count++;
    this.#size++;
    this.#bytes += bytes;
    return undefined;
  }

  /** Removes and returns the next item among those that may start now. */
  take(mayBegin: (item: T) => boolean = () => true): T | undefined {
    // PERF: usually the first in order may start, so no sorting is needed.
    const first = firstOf(this.#networks, ({ count }) => count > 0, this.#isNetworkLast);
    const firstOwn = first && firstOf(first.connections, ({ waiting }) => waiting.length > 0, this.#isConnectionLast);
    if (first === undefined || firstOwn === undefined) return undefined;
    if (mayBegin(firstOwn.waiting[0]!.item)) return this.#takeFrom(first, firstOwn, 0);
    for (const network of inOrder(this.#networks, this.#isNetworkLast)) {
      for (const own of inOrder(network.connections, this.#isConnectionLast)) {
        const index = own.waiting.findIndex(({ item }) => mayBegin(item));
        if (index !== -1) return this.#takeFrom(network, own, index);
      }
    }
    return undefined;
  }

  /** Removes the last item in order among those that may be removed. */
  removeLast(mayGo: (item: T) => boolean): T | undefined {
    for (const network of inOrder(this.#networks, this.#isNetworkLast).reverse()) {
      for (const own of inOrder(network.connections, this.#isConnectionLast).reverse()) {
        const index = own.waiting.findLastIndex(({ item }) => mayGo(item));
        if (index !== -1) return this.#removeAt(network, own, index);
      }
    }
    return undefined;
  }

  readonly #isNetworkLast = (network: string): boolean => this.#precedence.isNetworkLast(network);
  readonly #isConnectionLast = (client: RequestContext): boolean => this.#precedence.isConnectionLast(client);

  #takeFrom(network: NetworkShare<T>, own: ConnectionShare<T>, index: number): T {
    this.#clockMs = Math.max(this.#clockMs, network.usedMs);
    network.clockMs = Math.max(network.clockMs, own.usedMs);
    network.usedMs += EXPECTED_MS;
    own.usedMs += EXPECTED_MS;
    return this.#removeAt(network, own, index);
  }

  /** @returns whether it was waiting */
  remove(client: RequestContext, item: T): boolean {
    const network = this.#networks.get(clientOf(client.remoteAddress));
    const own = network?.connections.get(client);
    const index = own?.waiting.findIndex((waiting) => waiting.item === item) ?? -1;
    if (network === undefined || own === undefined || index === -1) return false;
    this.#removeAt(network, own, index);
    return true;
  }

  /** Counts the time that an item took after it had been taken. */
  charge(client: RequestContext, usedMs: number): void {
    const network = this.#networkOf(client);
    network.usedMs += usedMs - EXPECTED_MS;
    const own = network.connections.get(client);
    if (own !== undefined) own.usedMs += usedMs - EXPECTED_MS;
    this.#forgetEven();
  }

  #networkOf(client: RequestContext): NetworkShare<T> {
    const key = clientOf(client.remoteAddress);
    let network = this.#networks.get(key);
    if (network === undefined) {
      network = { usedMs: this.#clockMs, connections: new Map(), count: 0, clockMs: 0 };
      this.#networks.set(key, network);
    }
    return network;
  }

  #removeAt(network: NetworkShare<T>, own: ConnectionShare<T>, index: number): T {
    const [{ item, bytes }] = own.waiting.splice(index, 1) as [Waiting<T>];
    network.count--;
    this.#size--;
    this.#bytes -= bytes;
    return item;
  }

  /** Removes shares without items that are not ahead of the others. */
  #forgetEven(): void {
    for (const [key, network] of this.#networks) {
      for (const [client, own] of network.connections) {
        if (own.waiting.length === 0 && (client.isGone || own.usedMs <= network.clockMs)) network.connections.delete(client);
      }
      if (network.count === 0 && network.usedMs <= this.#clockMs) this.#networks.delete(key);
    }
  }
}

function connectionIn<T>(network: NetworkShare<T>, client: RequestContext): ConnectionShare<T> {
  let own = network.connections.get(client);
  if (own === undefined) network.connections.set(client, (own = { usedMs: network.clockMs, waiting: [] }));
  return own;
}

/** The first in order among the relevant ones: those that are not last, then by the least used time. */
function firstOf<K, S extends Share>(
  shares: ReadonlyMap<K, S>,
  matters: (share: S) => boolean,
  isLast: (key: K) => boolean,
): S | undefined {
  let first: S | undefined;
  let firstIsLast = true;
  for (const [key, share] of shares) {
    if (!matters(share)) continue;
    const last = isLast(key);
    if (first !== undefined && (last === firstIsLast ? share.usedMs >= first.usedMs : last)) continue;
    first = share;
    firstIsLast = last;
  }
  return first;
}

function inOrder<K, S extends Share>(shares: ReadonlyMap<K, S>, isLast: (key: K) => boolean): S[] {
  return [...shares]
    .map(([key, share]) => ({ share, last: Number(isLast(key)) }))
    .sort((a, b) => a.last - b.last || a.share.usedMs - b.share.usedMs)
    .map(({ share }) => share);
}
