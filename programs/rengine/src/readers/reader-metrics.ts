import type { CollectedMetrics } from "@rnode/observe";
import type { MessageToReader, Outbox } from "./messages.ts";

/** A reader that does not answer within this time is left out. */
const ANSWER_LIMIT_MS = 500;

/** Collects the readers' metrics whenever the writer's metrics are requested. */
export class ReaderMetrics {
  /** by number of the reader */
  readonly #waiting = new Map<number, (values: CollectedMetrics | undefined) => void>();

  /** The metrics of one reader; undefined if it does not answer in time. */
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

  /** @param values undefined: the reader will not answer */
  onAnswer(reader: number, values: CollectedMetrics | undefined): void {
    const answer = this.#waiting.get(reader);
    this.#waiting.delete(reader);
    answer?.(values);
  }
}
