import type { MessagePort } from "node:worker_threads";

/** A message to the thread. Requests are answered in order. */
export interface WorkerRequest<Q> {
  /** 0: no answer is wanted */
  readonly id: number;
  readonly question: Q;
}

export type WorkerReply<A> =
  | { readonly id: number; readonly kind: "answer"; readonly answer: A }
  | { readonly id: number; readonly kind: "failed"; readonly error: unknown };

/** The `workerData` of every thread. */
export interface WorkerStart {
  readonly port: MessagePort;
  readonly signals: Int32Array<SharedArrayBuffer>;
  /** data for the thread's program */
  readonly data: unknown;
}

/** Indices in `signals`. Value 0 of the state: the thread is starting. */
export const SIGNAL_STATE = 0;
export const STATE_SERVES = 1;
export const STATE_ENDED = 2;
/** Counts replies and the end of the thread. A caller that waits without an event loop waits for it to change. */
export const SIGNAL_REPLIES = 1;
/** A number that the program reports about itself. */
export const SIGNAL_GAUGE = 2;
export const SIGNAL_COUNT = 3;
