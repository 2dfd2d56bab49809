import { workerData } from "node:worker_threads";
import {
  SIGNAL_GAUGE,
  SIGNAL_REPLIES,
  SIGNAL_STATE,
  STATE_ENDED,
  STATE_SERVES,
  type WorkerReply,
  type WorkerRequest,
  type WorkerStart,
} from "./protocol.ts";

const { port, signals, data } = workerData as WorkerStart;

/** The data that the host passed to this thread at its start. */
export const startData = <T>(): T => data as T;

/** An answer, and the buffers in it to transfer instead of copying. */
export interface Served<A> {
  readonly answer: A;
  readonly transfer: readonly ArrayBuffer[];
}

/**
 * Answers the requests of the `WorkerHost` that started this thread. If `handle` throws, the caller gets the error; without a
 * requested answer, the thread exits.
 *
 * @param handle returns `undefined` without an answer, to a message that needs none
 * @param gauge read after each request
 */
export function serveWorker<Q, A>(handle: (question: Q) => Served<A> | undefined, gauge?: () => number): void {
  const changed = (): void => {
    Atomics.add(signals, SIGNAL_REPLIES, 1);
    Atomics.notify(signals, SIGNAL_REPLIES);
  };
  // Also runs after an uncaught error: a caller that waits without an event loop notices neither the error nor the end of the thread.
  process.on("exit", () => {
    Atomics.store(signals, SIGNAL_STATE, STATE_ENDED);
    changed();
  });
  port.on("message", ({ id, question }: WorkerRequest<Q>) => {
    if (id === 0) {
      handle(question);
      return;
    }
    let reply: WorkerReply<A | undefined>;
    let transfer: readonly ArrayBuffer[] = [];
    try {
      const served = handle(question);
      reply = { id, kind: "answer", answer: served?.answer };
      transfer = served?.transfer ?? [];
    } catch (error) {
      reply = { id, kind: "failed", error };
    }
    port.postMessage(reply, [...transfer]);
    if (gauge !== undefined) Atomics.store(signals, SIGNAL_GAUGE, gauge());
    changed();
  });
  Atomics.store(signals, SIGNAL_STATE, STATE_SERVES);
}
