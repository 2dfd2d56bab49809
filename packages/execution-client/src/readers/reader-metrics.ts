import type { CollectedMetrics } from "@rnode/observe";
import type { MessageToReader, Outbox } from "./messages.ts";

/** A reader that does not answer in time is left out. */
const ANSWER_LIMIT_MS = 500;

/** Asks readers for their metrics when somebody asks the writer. */
export class ReaderMetrics {
  /** by the reader's number */
  readonly #waiting = new Map<number, (values: CollectedMetrics | undefined) => void>();

  /** Of one reader; undefined when it does not answer in time. */
  ask(reader: number, outbox: Pick<Outbox<MessageToReader>, "push">): Promise<CollectedMetrics | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.onAnswer(reader, undefined), ANSWER_LIMIT_MS);
      const earlier = this.#waiting.get(reader);
      this.#waiting.set(reader, (values) => {
        clearTimeout(timer);
        earlier?.(values);
        resolve(values);
      });
      outbox.push({ kind: "metrics" });
    });
  }

  /** @param values undefined: there will be none */
  onAnswer(reader: number, values: CollectedMetrics | undefined): void {
    const answer = this.#waiting.get(reader);
    this.#waiting.delete(reader);
    answer?.(values);
  }
}
