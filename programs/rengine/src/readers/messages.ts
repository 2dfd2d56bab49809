import type { HeadNotice, PendingUpdate } from "@rnode/chain";
import type { SubmissionTerms, SyncState } from "@rnode/eth-api";
import type { ChainConfig } from "@rnode/protocol";
import type { PooledTransaction } from "@rnode/txpool";
import type { ClientOptions } from "../options.ts";

/** The descriptor of a reader's socket to the writer; its listening sockets follow. */
export const WRITER_FD = 3;

/** The start message for a reader. */
export interface ReaderStart {
  /** 0 … count − 1; a process that replaces another takes over its number */
  readonly reader: number;
  readonly count: number;
  readonly options: ClientOptions;
  readonly config: ChainConfig;
  /** number of the head when the writer started */
  readonly startingBlock: number;
  /** the sync status of the client; undefined: not syncing */
  readonly syncing: SyncState | undefined;
  /** the block under construction; undefined: there is none */
  readonly pendingBlock: PendingUpdate | undefined;
  /** listening sockets; the two are the same if one listener serves both */
  readonly httpFd: number | undefined;
  readonly wsFd: number | undefined;
  /** pid of the writer */
  readonly pid: number;
  readonly version: string;
}

/** A JSON-RPC request with the id 0. The answer refers to the message's own id, of 32 bits. */
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
/** A transaction for the pool, whose signature has been checked. Answered with `accepted`, or with an error, as a call is. */
export interface Submit {
  readonly kind: "submit";
  readonly id: number;
  readonly raw: Uint8Array;
  /** undefined: a blob transaction, whose signature the writer checks */
  readonly sender: Uint8Array | undefined;
  readonly terms: SubmissionTerms | undefined;
}
/** @param hash hash of the transaction, which is now in the pool */
interface Accepted {
  readonly kind: "accepted";
  readonly id: number;
  readonly hash: Uint8Array;
}
interface MetricsAnswer {
  readonly kind: "metrics";
  readonly values: readonly object[];
}

/** How a reader is doing. */
interface Pong {
  readonly kind: "pong";
  /** number of connections, by listener */
  readonly connections: readonly number[];
  /** the reader is unused: it has no connections, and no state for clients that may come back */
  readonly isIdle: boolean;
  /** part of the time since the last ping that it was busy */
  readonly load: number;
}

export type MessageToReader =
  | { readonly kind: "start"; readonly start: ReaderStart }
  | { readonly kind: "head"; readonly notice: HeadNotice }
  /** the block under construction; undefined: there is none any more */
  | { readonly kind: "part"; readonly update: PendingUpdate | undefined }
  | { readonly kind: "syncing"; readonly state: SyncState | undefined }
  | { readonly kind: "pending"; readonly transactions: readonly PooledTransaction[] }
  /** another reader's call about a filter of this reader */
  | Call
  | Answer
  | Accepted
  /** @param elsewhere number of connections of the other readers, by listener */
  | { readonly kind: "ping"; readonly elsewhere: readonly number[] }
  /** another reader has started: @param share of the connections, which are closed after their next answers so that they move there */
  | { readonly kind: "shed"; readonly share: number }
  /** asks the reader to end if it is unused. Otherwise it answers `stays` */
  | { readonly kind: "retire" }
  | { readonly kind: "metrics" | "close" };

export type MessageToWriter =
  | { readonly kind: "ready" | "stays" }
  | Pong
  /** the last message: the reader cannot start. @param isFatal nor could a replacement, because the database is damaged */
  | { readonly kind: "failed"; readonly reason: string; readonly isFatal: boolean }
  /** @param reader the reader with the filter; undefined: the call is for the writer */
  | (Call & { readonly reader?: number | undefined })
  | Submit
  | Answer
  | MetricsAnswer
  /** whether this reader has listeners for pending transactions. Answered without text once it has taken effect */
  | { readonly kind: "watch"; readonly id: number; readonly isOn: boolean };

/**
 * Collects the messages of one turn of the event loop and sends them together. PERF: a message between processes costs about 15 µs on
 * either side, and twenty together cost nearly the same as one.
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
