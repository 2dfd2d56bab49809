import { CLIENT_GONE, FairQueue, LIMIT_EXCEEDED, type RequestContext, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { MetricFactory } from "@rnode/observe";
import type { OtherProcesses } from "./routing.ts";

export interface RelayLimits {
  /** requests that wait to be sent */
  readonly maxWaiting: number;
  /** size of those */
  readonly maxWaitingBytes: number;
  /** requests that one other process works on at a time for this reader: what it answers is in memory here and there */
  readonly maxSent: number;
}

interface Job {
  readonly text: string;
  readonly client: RequestContext;
  /** number of a reader; undefined: the writer */
  readonly reader: number | undefined;
  readonly resolve: (answer: string) => void;
  readonly reject: (error: unknown) => void;
  readonly stopListening: () => void;
}

/** One network of clients may have this part of those that wait. */
const NETWORK_PART = 1 / 4;

/**
 * What a reader's clients ask of other processes. A few requests are sent at a time; the others wait here, where they are fair to each
 * other and are given up when their client leaves.
 */
export class RelayQueue implements OtherProcesses {
  readonly #send: (text: string, reader?: number) => Promise<string>;
  readonly #maxSent: number;
  readonly #queue: FairQueue<Job>;
  /** by process */
  readonly #sent = new Map<number | undefined, number>();

  constructor(send: (text: string, reader?: number) => Promise<string>, limits: RelayLimits, metrics: MetricFactory) {
    this.#send = send;
    this.#maxSent = limits.maxSent;
    this.#queue = new FairQueue({
      maxItems: limits.maxWaiting,
      maxItemsPerNetwork: Math.max(1, limits.maxWaiting * NETWORK_PART),
      maxBytes: limits.maxWaitingBytes,
    });
    metrics.gaugeOf("rpc_relay_waiting", "Requests that wait to be sent to another process of the client.", () => this.#queue.size);
  }

  /** @throws {RpcError} there is no room for it, or its client has gone */
  ask(text: string, client: RequestContext, reader?: number): Promise<string> {
    if (client.isGone) return Promise.reject(gone());
    if (this.#queue.size === 0 && this.#maySend(reader)) return this.#sendNow(text, reader);
    return new Promise((resolve, reject) => {
      const stopListening = client.onGone(() => {
        if (this.#queue.remove(client, job)) reject(gone());
      });
      const job: Job = { text, client, reader, resolve, reject, stopListening };
      if (this.#queue.add(client, job, text.length) === undefined) {
        this.#sendDue();
        return;
      }
      stopListening();
      reject(new RpcError(LIMIT_EXCEEDED, "too many requests for the main process wait already: try again later"));
    });
  }

  #maySend(reader: number | undefined): boolean {
    return (this.#sent.get(reader) ?? 0) < this.#maxSent;
  }

  async #sendNow(text: string, reader: number | undefined): Promise<string> {
    this.#sent.set(reader, (this.#sent.get(reader) ?? 0) + 1);
    try {
      return await this.#send(text, reader);
    } finally {
      this.#sent.set(reader, this.#sent.get(reader)! - 1);
      this.#sendDue();
    }
  }

  #sendDue(): void {
    const mayBegin = ({ reader }: Job): boolean => this.#maySend(reader);
    for (let job = this.#queue.take(mayBegin); job !== undefined; job = this.#queue.take(mayBegin)) {
      job.stopListening();
      const { client, text, reader, resolve, reject } = job;
      const startMs = performance.now();
      void this.#sendNow(text, reader)
        .finally(() => this.#queue.charge(client, performance.now() - startMs))
        .then(resolve, reject);
    }
  }
}

const gone = (): RpcError => new RpcError(SERVER_ERROR, CLIENT_GONE);
