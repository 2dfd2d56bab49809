import type { RequestContext } from "../wire/method-table.ts";

/** The request context for requests of the program itself. */
export const NO_CLIENT: RequestContext = { transport: "http", remoteAddress: "", isGone: false, onGone: () => () => {} };

/** Why a request was not finished, for logs; it is not sent. */
export const CLIENT_GONE = "the client has closed the connection";

/** One connection, as the handlers of its requests see it. */
export class ClientConnection implements RequestContext {
  readonly transport: "http" | "ws";
  readonly remoteAddress: string;
  #isGone = false;
  readonly #listeners = new Set<() => void>();

  constructor(transport: "http" | "ws", remoteAddress: string) {
    this.transport = transport;
    this.remoteAddress = remoteAddress;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  onGone(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** The client has closed the connection, or its side of it. */
  leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
