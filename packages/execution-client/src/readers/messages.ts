import type { HeadNotice } from "@rnode/chain";
import type { TransactionConditional } from "@rnode/eth-api";
import type { ChainConfig } from "@rnode/protocol";
import type { PooledTransaction } from "@rnode/txpool";
import type { ClientOptions } from "../options.ts";

/** A reader's socket to the writer; its listening sockets follow. */
export const WRITER_FD = 3;

/** What a reader needs to know once. */
export interface ReaderStart {
  /** 0 … count − 1; another process that takes its place has the same */
  readonly reader: number;
  readonly count: number;
  readonly options: ClientOptions;
  readonly config: ChainConfig;
  /** number of the head when the writer started */
  readonly startingBlock: number;
  /** listening sockets; the same for both when one listener serves both */
  readonly httpFd: number | undefined;
  readonly wsFd: number | undefined;
  /** of the writer */
  readonly pid: number;
  readonly version: string;
}

/** A JSON-RPC request with the id 0, and its answer; the message's own id is of 32 bits. */
interface Call {
  readonly kind: "call";
  readonly id: number;
  readonly text: string;
}
interface Answer {
  readonly kind: "answer";
  readonly id: number;
  readonly text: string;
}
/** A transaction for the pool; its signature has been checked. Answered by `accepted`, or as a call is: with an error. */
export interface Submit {
  readonly kind: "submit";
  readonly id: number;
  readonly raw: Uint8Array;
  /** undefined: of a blob transaction, which the writer checks */
  readonly sender: Uint8Array | undefined;
  readonly conditional: TransactionConditional | undefined;
}
/** @param hash of the transaction that the pool has */
interface Accepted {
  readonly kind: "accepted";
  readonly id: number;
  readonly hash: Uint8Array;
}
interface MetricsAnswer {
  readonly kind: "metrics";
  readonly values: readonly object[];
}

export type MessageToReader =
  | { readonly kind: "start"; readonly start: ReaderStart }
  | { readonly kind: "head"; readonly notice: HeadNotice }
  | { readonly kind: "pending"; readonly transactions: readonly PooledTransaction[] }
  /** another reader's, about a filter of this one */
  | Call
  | Answer
  | Accepted
  /** @param elsewhere connections that other readers have, by listener */
  | { readonly kind: "ping"; readonly elsewhere: readonly number[] }
  | { readonly kind: "metrics" | "close" };

export type MessageToWriter =
  | { readonly kind: "ready" }
  /** @param connections by listener */
  | { readonly kind: "pong"; readonly connections: readonly number[] }
  /** the last message: it cannot start. @param isFatal nor can another in its place: the database is damaged */
  | { readonly kind: "failed"; readonly reason: string; readonly isFatal: boolean }
  /** @param reader whose filter it is about; undefined: for the writer */
  | (Call & { readonly reader?: number | undefined })
  | Submit
  | Answer
  | MetricsAnswer
  /** whether somebody here waits for pending transactions; answered, without a text, when it holds */
  | { readonly kind: "watch"; readonly id: number; readonly isOn: boolean };

/**
 * Sends messages of one turn of the event loop together. PERF: what a message between processes costs, about 15 µs on either side, is
 * nearly the same for one and for twenty.
 */
export class Outbox<Message> {
  readonly #send: (batch: readonly Message[]) => void;
  #waiting: Message[] = [];

  constructor(send: (batch: readonly Message[]) => void) {
    this.#send = send;
  }

  push(message: Message): void {
    if (this.#waiting.push(message) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    this.#send(batch);
  }
}
