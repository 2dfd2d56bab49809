import type { MessagePort } from "node:worker_threads";

/** To the thread. Requests are answered in their order. */
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
  /** what the program itself needs */
  readonly data: unknown;
}

/** Places in `signals`. 0: the thread starts. */
export const SIGNAL_STATE = 0;
export const STATE_SERVES = 1;
export const STATE_ENDED = 2;
/** Counts replies and the end of the thread: what waits without an event loop waits for it to change. */
export const SIGNAL_REPLIES = 1;
/** A number that the program tells of itself. */
export const SIGNAL_GAUGE = 2;
export const SIGNAL_COUNT = 3;
