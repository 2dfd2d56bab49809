import type { Logger } from "@rnode/observe";
import { clientOf } from "../limits/connection-places.ts";

export interface IncomingDependencies {
  readonly log: Logger;
  /** counts the clients that were disconnected */
  readonly onDrop: () => void;
}

/** The connection that a request arrives on. */
export interface IncomingFlow {
  /** called at most once */
  readonly disconnect: () => void;
  /** Reads nothing until `resume`. Without these two, the connection cannot be held back. */
  readonly pause?: () => void;
  readonly resume?: () => void;
}

/** The received part of an incomplete request. */
export interface Incoming {
  /** Sets the number of held bytes; can disconnect this connection or another, or pause it. */
  hold(bytes: number): void;
  /** The connection has ended. */
  close(): void;
}

interface Part {
  bytes: number;
  readonly flow: IncomingFlow;
}

interface Client {
  /** parts with held bytes */
  readonly parts: Set<Part>;
  bytes: number;
  /** beyond the client's share, one request arrives at a time */
  going: Part | undefined;
  /** whether that one has grown since the last check */
  hasGrown: boolean;
  /** paused parts, in the order of their pauses */
  readonly heldBack: Set<Part>;
}

/** Smaller requests are never held back. */
const SMALL_BYTES = 256 * 1024;
/** Of all bytes, a client may hold this part before its requests arrive one at a time. */
const CLIENT_PART = 1 / 2;
/** A request that makes the client's other requests wait is disconnected after one to two of these intervals without data. */
const CHECK_INTERVAL_MS = 500;

/**
 * Limits the bytes of incomplete requests that a server holds, over all connections. A client with half of the budget sends one
 * large request at a time, while its other connections are paused; if it stalls, it is disconnected. If the budget is exceeded
 * nevertheless, the client with the most bytes loses its largest request.
 */
export class IncomingBudget {
  readonly #maxBytes: number;
  readonly #dependencies: IncomingDependencies;
  #bytes = 0;
  readonly #clients = new Map<string, Client>();
  #timer: NodeJS.Timeout | undefined;

  constructor(maxBytes: number, dependencies: IncomingDependencies) {
    this.#maxBytes = maxBytes;
    this.#dependencies = dependencies;
  }

  get bytes(): number {
    return this.#bytes;
  }

  open(remoteAddress: string, flow: IncomingFlow): Incoming {
    let part: Part | undefined = {
      bytes: 0,
      flow: {
        ...flow,
        disconnect: () => {
          part = undefined;
          flow.disconnect();
        },
      },
    };
    const address = clientOf(remoteAddress);
    return {
      hold: (bytes) => {
        // PERF: a request that arrives in one piece is never counted
        if (part !== undefined && bytes !== part.bytes) this.#change(address, part, bytes);
      },
      close: () => {
        if (part !== undefined) this.#change(address, part, 0);
        part = undefined;
      },
    };
  }

  #change(address: string, part: Part, bytes: number): void {
    const client = this.#clientAt(address);
    const more = bytes - part.bytes;
    this.#bytes += more;
    client.bytes += more;
    part.bytes = bytes;
    if (bytes === 0) this.#forget(address, client, part);
    else {
      client.parts.add(part);
      if (more > 0) this.#holdBack(client, part);
    }
    while (this.#bytes > this.#maxBytes) this.#dropLargest();
  }

  #clientAt(address: string): Client {
    let client = this.#clients.get(address);
    if (client === undefined) {
      client = { parts: new Set(), bytes: 0, going: undefined, hasGrown: false, heldBack: new Set() };
      this.#clients.set(address, client);
    }
    return client;
  }

  /** @param part has grown */
  #holdBack(client: Client, part: Part): void {
    if (client.bytes <= this.#maxBytes * CLIENT_PART || part.bytes <= SMALL_BYTES || part.flow.pause === undefined) return;
    client.going ??= part;
    if (client.going === part) client.hasGrown = true;
    else if (!client.heldBack.has(part)) {
      client.heldBack.add(part);
      part.flow.pause();
    }
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref();
  }

  #forget(address: string, client: Client, part: Part): void {
    client.parts.delete(part);
    client.heldBack.delete(part);
    if (client.going === part) client.going = undefined;
    if (client.parts.size === 0) this.#clients.delete(address);
    else this.#letOn(client);
  }

  /** Resumes paused connections: all, or one if the client still holds much. */
  #letOn(client: Client): void {
    if (client.bytes <= this.#maxBytes * CLIENT_PART) client.going = undefined;
    for (const part of client.heldBack) {
      if (client.going !== undefined) return;
      client.heldBack.delete(part);
      if (client.bytes > this.#maxBytes * CLIENT_PART) {
        client.going = part;
        client.hasGrown = true;
      }
      part.flow.resume?.();
    }
  }

  #check(): void {
    let isAnyoneWaiting = false;
    for (const [address, client] of this.#clients) {
      const { going } = client;
      if (going !== undefined && client.heldBack.size > 0) {
        if (client.hasGrown) client.hasGrown = false;
        else this.#drop(address, going);
      }
      isAnyoneWaiting ||= client.heldBack.size > 0;
    }
    if (isAnyoneWaiting) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #dropLargest(): void {
    const [address, { parts }] = largest([...this.#clients], ([, { bytes }]) => bytes);
    this.#drop(
      address,
      largest([...parts], ({ bytes }) => bytes),
    );
  }

  #drop(address: string, part: Part): void {
    const { bytes } = part;
    this.#dependencies.log.debug("client disconnected: too much of unfinished requests", { client: address, bytes });
    this.#dependencies.onDrop();
    this.#change(address, part, 0);
    part.flow.disconnect();
  }
}

/** @param items at least one */
function largest<T>(items: readonly T[], sizeOf: (item: T) => number): T {
  return items.reduce((most, item) => (sizeOf(item) > sizeOf(most) ? item : most));
}
