import type { RpcErrorBody } from "@rnode/jsonrpc";
import type { PooledTransaction } from "@rnode/txpool";
import type { MessageToReader, Outbox, Submit } from "./messages.ts";
import type { ReaderMessage } from "./reader-process.ts";
import { errorAnswer } from "./routing.ts";

export interface RelayDependencies {
  /** A JSON-RPC request of a reader that belongs to the writer. Never fails. */
  readonly answer: (text: string) => Promise<string>;
  /** A transaction whose signature a reader has checked. Never fails. @returns its hash, or an error as `answer` gives it */
  readonly submit: (transaction: Submit) => Promise<Uint8Array | string>;
  readonly pending: { onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void };
  /** a filter was in a reader that is gone */
  readonly filterNotFound: RpcErrorBody;
}

type Way = Pick<Outbox<MessageToReader>, "push">;
/** What readers want of others. */
export type RelayedMessage = Extract<ReaderMessage, { kind: "call" | "answer" | "submit" | "watch" }>;

/** A reader as long as its process lives. */
interface Connected {
  readonly outbox: Way;
  isWatching: boolean;
  /** requests of other readers that its process works on, by the ids that they have there */
  readonly asked: Map<number, { readonly from: Way; readonly id: number }>;
}

/** Brings what readers ask to the chain, to the pool and to each other, and the answers back. */
export class ReaderRelay {
  readonly #dependencies: RelayDependencies;
  /** by number */
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

  /** Its process has ended: nobody is left waiting for it. */
  disconnect(reader: number): void {
    const gone = this.#connected.get(reader);
    this.#connected.delete(reader);
    for (const { from, id } of gone?.asked.values() ?? []) this.#refuse(from, id);
    this.#followPending();
  }

  /** No pending transactions any more; what readers have asked before they end is still answered. */
  close(): void {
    this.#isClosing = true;
    this.#followPending();
  }

  receive(reader: number, message: RelayedMessage): void {
    const connected = this.#connected.get(reader);
    if (connected === undefined) return;
    const { outbox } = connected; // an answer to a process that is gone is lost with it
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

  /** Listens to the pool while a reader wants it. */
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
