import type { RpcErrorBody } from "@rnode/jsonrpc";
import type { PooledTransaction } from "@rnode/txpool";
import type { MessageToReader, Outbox, Submit } from "./messages.ts";
import type { ReaderMessage } from "./reader-process.ts";
import { errorAnswer } from "./routing.ts";

export interface RelayDependencies {
  /** Answers a reader's JSON-RPC request that belongs to the writer. Never rejects. */
  readonly answer: (text: string) => Promise<string>;
  /**
   * Submits a transaction whose signature a reader has checked. Never rejects. @returns its hash, or an error in the form that `answer`
   * gives it
   */
  readonly submit: (transaction: Submit) => Promise<Uint8Array | string>;
  readonly pending: { onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void };
  /** the answer about a filter that was in a reader that is gone */
  readonly filterNotFound: RpcErrorBody;
}

type Way = Pick<Outbox<MessageToReader>, "push">;
/** Messages of readers that are forwarded to the writer or to another reader. */
export type RelayedMessage = Extract<ReaderMessage, { kind: "call" | "answer" | "submit" | "watch" }>;

/** A reader for the lifetime of its process. */
interface Connected {
  readonly outbox: Way;
  isWatching: boolean;
  /** requests from other readers that this process is working on, by the ids that they have there */
  readonly asked: Map<number, { readonly from: Way; readonly id: number }>;
}

/** Carries requests of readers to the chain, to the pool and to other readers, and carries the answers back. */
export class ReaderRelay {
  readonly #dependencies: RelayDependencies;
  /** by number of the reader */
  readonly #connected = new Map<number, Connected>();
  #stopPending: (() => void) | undefined;
  #nextId = 0;
  #isClosing = false;

  constructor(dependencies: RelayDependencies) {
    this.#dependencies = dependencies;
  }

  connect(reader: number, outbox: Way): void {
    this.#connected.set(reader, { outbox, isWatching: false, asked: new Map() });
  }

  /** The reader's process has ended: all pending requests to it get an error. */
  disconnect(reader: number): void {
    const gone = this.#connected.get(reader);
    this.#connected.delete(reader);
    for (const { from, id } of gone?.asked.values() ?? []) this.#refuse(from, id);
    this.#followPending();
  }

  /** Stops listening for pending transactions. Requests that readers made before they end are still answered. */
  close(): void {
    this.#isClosing = true;
    this.#followPending();
  }

  receive(reader: number, message: RelayedMessage): void {
    const connected = this.#connected.get(reader);
    if (connected === undefined) return;
    const { outbox } = connected; // an answer to a process that has ended goes nowhere
    switch (message.kind) {
      case "watch":
        connected.isWatching = message.isOn;
        this.#followPending();
        outbox.push({ kind: "answer", id: message.id, text: "" });
        return;
      case "submit":
        void this.#dependencies.submit(message).then((given) => {
          const { id } = message;
          outbox.push(typeof given === "string" ? { kind: "answer", id, text: given } : { kind: "accepted", id, hash: given });
        });
        return;
      case "call":
        if (message.reader === undefined) {
          void this.#dependencies.answer(message.text).then((text) => outbox.push({ kind: "answer", id: message.id, text }));
        } else {
          this.#ask(message.reader, message.text, { from: outbox, id: message.id });
        }
        return;
      case "answer": {
        const waiting = connected.asked.get(message.id);
        connected.asked.delete(message.id);
        waiting?.from.push({ kind: "answer", id: waiting.id, text: message.text });
        return;
      }
    }
  }

  #ask(owner: number, text: string, waiting: { readonly from: Way; readonly id: number }): void {
    const connected = this.#connected.get(owner);
    if (connected === undefined) {
      this.#refuse(waiting.from, waiting.id);
      return;
    }
    const id = this.#nextId++ >>> 0;
    connected.asked.set(id, waiting);
    connected.outbox.push({ kind: "call", id, text });
  }

  #refuse(to: Way, id: number): void {
    to.push({ kind: "answer", id, text: errorAnswer(this.#dependencies.filterNotFound) });
  }

  /** Listens to the pool as long as any reader wants pending transactions. */
  #followPending(): void {
    const isWanted = !this.#isClosing && [...this.#connected.values()].some(({ isWatching }) => isWatching);
    if (isWanted) {
      this.#stopPending ??= this.#dependencies.pending.onPending((transactions) => {
        for (const { isWatching, outbox } of this.#connected.values())
          if (isWatching) outbox.push({ kind: "pending", transactions });
      });
    } else {
      this.#stopPending?.();
      this.#stopPending = undefined;
    }
  }
}
