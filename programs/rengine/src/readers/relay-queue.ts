import { CLIENT_GONE, FairQueue, LIMIT_EXCEEDED, type RequestContext, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import type { MetricFactory } from "@rnode/observe";
import type { OtherProcesses } from "./routing.ts";

export interface RelayLimits {
  /** requests that wait to be sent */
  readonly maxWaiting: number;
  /** size of those */
  readonly maxWaitingBytes: number;
  /** requests that one other process works on at a time for this reader */
  readonly maxSent: number;
  /**
   * limit for the expected size of their answers, estimated from earlier answers of the same methods; an answer is in memory
   * there and here, several times
   */
  readonly maxAnswerBytes: number;
}

interface Job {
  readonly text: string;
  readonly client: RequestContext;
  readonly method: string;
  /** number of a reader; undefined: the writer */
  readonly reader: number | undefined;
  readonly resolve: (answer: string) => void;
  readonly reject: (error: unknown) => void;
  readonly stopListening: () => void;
}

/** What one other process is working on. */
interface Sent {
  count: number;
  /** expected of the answers */
  bytes: number;
}

/** One network of clients may have this part of those that wait. */
const NETWORK_PART = 1 / 4;
/** The answer of a method without earlier requests is estimated as a quarter of the limit. */
const UNKNOWN_PART = 1 / 4;
const METHOD = /"method":"(\w+)"/;

/**
 * The requests of a reader's clients to other processes. A few are sent at a time. The others wait here in a fair queue, and are
 * dropped when their client disconnects.
 */
export class RelayQueue implements OtherProcesses {
  readonly #send: (text: string, reader?: number) => Promise<string>;
  readonly #limits: RelayLimits;
  readonly #queue: FairQueue<Job>;
  /** by process */
  readonly #sent = new Map<number | undefined, Sent>();
  /** size of the last answer, by method */
  readonly #answerBytes = new Map<string, number>();

  constructor(send: (text: string, reader?: number) => Promise<string>, limits: RelayLimits, metrics: MetricFactory) {
    this.#send = send;
    this.#limits = limits;
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
    const method = METHOD.exec(text)?.[1] ?? "";
    if (this.#queue.size === 0 && this.#maySend(method, reader)) return this.#sendNow(text, method, reader);
    return new Promise((resolve, reject) => {
      const stopListening = client.onGone(() => {
        if (this.#queue.remove(client, job)) reject(gone());
      });
      const job: Job = { text, client, method, reader, resolve, reject, stopListening };
      if (this.#queue.add(client, job, text.length) === undefined) {
        this.#sendDue();
        return;
      }
      stopListening();
      reject(new RpcError(LIMIT_EXCEEDED, "too many requests for the main process wait already: try again later"));
    });
  }

  #sentTo(reader: number | undefined): Sent {
    let sent = this.#sent.get(reader);
    if (sent === undefined) this.#sent.set(reader, (sent = { count: 0, bytes: 0 }));
    return sent;
  }

  #expectedBytes(method: string): number {
    return this.#answerBytes.get(method) ?? this.#limits.maxAnswerBytes * UNKNOWN_PART;
  }

  /** One whose answer is larger than all may be goes alone. */
  #maySend(method: string, reader: number | undefined): boolean {
    const { count, bytes } = this.#sentTo(reader);
    const { maxSent, maxAnswerBytes } = this.#limits;
    return count === 0 || (count < maxSent && bytes + this.#expectedBytes(method) <= maxAnswerBytes);
  }

  async #sendNow(text: string, method: string, reader: number | undefined): Promise<string> {
    const sent = this.#sentTo(reader);
    const expected = this.#expectedBytes(method);
    sent.count++;
    sent.bytes += expected;
    try {
      const answer = await this.#send(text, reader);
      this.#answerBytes.set(method, answer.length);
      return answer;
    } finally {
      sent.count--;
      sent.bytes -= expected;
      this.#sendDue();
    }
  }

  #sendDue(): void {
    const mayBegin = ({ method, reader }: Job): boolean => this.#maySend(method, reader);
    for (let job = this.#queue.take(mayBegin); job !== undefined; job = this.#queue.take(mayBegin)) {
      job.stopListening();
      const { client, text, method, reader, resolve, reject } = job;
      const startMs = performance.now();
      void this.#sendNow(text, method, reader)
        .finally(() => this.#queue.charge(client, performance.now() - startMs))
        .then(resolve, reject);
    }
  }
}

const gone = (): RpcError => new RpcError(SERVER_ERROR, CLIENT_GONE);
