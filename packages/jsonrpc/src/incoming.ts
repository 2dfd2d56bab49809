import type { Logger } from "@rnode/observe";
import { clientOf } from "./connection-places.ts";

export interface IncomingDependencies {
  readonly log: Logger;
  /** counts the clients that were disconnected */
  readonly onDrop: () => void;
}

/** What has arrived of a request that is not complete. */
export interface Incoming {
  /** From now on so many bytes are held; may disconnect this connection or another. */
  hold(bytes: number): void;
  /** The connection has ended. */
  close(): void;
}

interface Part {
  bytes: number;
  readonly disconnect: () => void;
}

/**
 * Bounds the bytes that a server holds of requests that are still arriving, all connections together. When there are more, the client
 * that they are most of loses its largest request.
 */
export class IncomingBudget {
  readonly #maxBytes: number;
  readonly #dependencies: IncomingDependencies;
  #bytes = 0;
  /** those that hold something */
  readonly #byClient = new Map<string, Set<Part>>();

  constructor(maxBytes: number, dependencies: IncomingDependencies) {
    this.#maxBytes = maxBytes;
    this.#dependencies = dependencies;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param disconnect called at most once */
  open(remoteAddress: string, disconnect: () => void): Incoming {
    let part: Part | undefined = {
      bytes: 0,
      disconnect: () => {
        part = undefined;
        disconnect();
      },
    };
    const client = clientOf(remoteAddress);
    return {
      hold: (bytes) => {
        // PERF: a request that arrives in one piece is never counted
        if (part !== undefined && bytes !== part.bytes) this.#change(client, part, bytes);
      },
      close: () => {
        if (part !== undefined) this.#change(client, part, 0);
        part = undefined;
      },
    };
  }

  #change(client: string, part: Part, bytes: number): void {
    this.#bytes += bytes - part.bytes;
    part.bytes = bytes;
    let parts = this.#byClient.get(client);
    if (bytes === 0) {
      parts?.delete(part);
      if (parts?.size === 0) this.#byClient.delete(client);
      return;
    }
    if (parts === undefined) this.#byClient.set(client, (parts = new Set()));
    parts.add(part);
    while (this.#bytes > this.#maxBytes) this.#dropLargest();
  }

  #dropLargest(): void {
    const [client, parts] = largest([...this.#byClient], ([, own]) => sum([...own].map(({ bytes }) => bytes)));
    const part = largest([...parts], ({ bytes }) => bytes);
    const { bytes } = part;
    this.#change(client, part, 0);
    this.#dependencies.log.debug("client disconnected: too much of unfinished requests", { client, bytes });
    this.#dependencies.onDrop();
    part.disconnect();
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** @param items at least one */
function largest<T>(items: readonly T[], sizeOf: (item: T) => number): T {
  return items.reduce((most, item) => (sizeOf(item) > sizeOf(most) ? item : most));
}
