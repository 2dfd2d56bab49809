import type { RpcError } from "@rnode/jsonrpc";
import type { Execution, FilterAnswer, MessageFilter } from "./message-filter.ts";

/** What several filters say together. */
export type Verdict =
  | { readonly kind: "valid" }
  /** the first refusal, as its filter wrote it */
  | { readonly kind: "refused" | "failsafe"; readonly error: RpcError }
  /** `error`: that of the first filter that said why */
  | { readonly kind: "undecided"; readonly reason: string; readonly error?: RpcError };

export interface MessageChecker {
  check(storageKeys: readonly Uint8Array[], execution: Execution): Promise<Verdict>;
  /** One filter's failsafe suffices, and only all filters together end it. `undefined`: some do not answer, and none is in failsafe */
  isInFailsafe(signal: AbortSignal): Promise<boolean | undefined>;
  close(): Promise<void>;
}

/**
 * Asks all filters at once. The first `minResponses` verdicts decide if they agree; slower filters are not waited for. One filter's
 * failsafe refuses everything. Spec: docs/protocol/05-services.md#interop-filters
 *
 * @param filters at least one
 * @param minResponses from 1 to the number of filters
 */
export function createQuorum(filters: readonly MessageFilter[], minResponses: number): MessageChecker {
  return {
    check: (storageKeys, execution) => decide(filters, minResponses, { storageKeys, execution }),
    isInFailsafe: (signal) =>
      new Promise((resolve, reject) => {
        const asked = filters.map(async (filter) => {
          const answer = await filter.isInFailsafe(signal);
          if (answer === true) resolve(true); // the others are not waited for
          return answer;
        });
        Promise.all(asked).then((answers) => resolve(answers.includes(undefined) ? undefined : false), reject);
      }),
    close: async () => void (await Promise.all(filters.map((filter) => filter.close()))),
  };
}

interface Question {
  readonly storageKeys: readonly Uint8Array[];
  readonly execution: Execution;
}

function decide(filters: readonly MessageFilter[], minResponses: number, { storageKeys, execution }: Question): Promise<Verdict> {
  const others = new AbortController();
  const votes = new Votes(filters.length, minResponses);
  return new Promise<Verdict>((resolve, reject) => {
    for (const filter of filters) {
      filter.check(storageKeys, execution, others.signal).then((answer) => {
        const verdict = votes.add(filter.endpoint, answer);
        if (verdict !== undefined) resolve(verdict);
      }, reject);
    }
  }).finally(() => others.abort());
}

class Votes {
  readonly #minResponses: number;
  #open: number;
  #valid = 0;
  readonly #refusals: RpcError[] = [];
  readonly #unavailable: { readonly text: string; readonly error: RpcError | undefined }[] = [];

  constructor(filters: number, minResponses: number) {
    this.#open = filters;
    this.#minResponses = minResponses;
  }

  /** @returns `undefined` if further answers are needed */
  add(endpoint: string, answer: FilterAnswer): Verdict | undefined {
    this.#open--;
    if (answer.kind === "failsafe") return answer;
    if (answer.kind === "valid") this.#valid++;
    else if (answer.kind === "refused") this.#refusals.push(answer.error);
    else this.#unavailable.push({ text: `${endpoint}: ${answer.reason}`, error: answer.error });
    const decided = this.#valid + this.#refusals.length;
    if (decided >= this.#minResponses) return this.#result();
    return this.#open === 0 ? this.#tooFew(decided) : undefined;
  }

  #result(): Verdict {
    const [error] = this.#refusals;
    if (error === undefined) return { kind: "valid" };
    if (this.#valid === 0) return { kind: "refused", error };
    return { kind: "undecided", reason: `filters disagree: ${this.#valid} accept, ${this.#refusals.length} refuse` };
  }

  #tooFew(decided: number): Verdict {
    const reason = `${decided} of ${this.#minResponses} verdicts: ${this.#unavailable.map(({ text }) => text).join("; ")}`;
    const error = this.#unavailable.find((answer) => answer.error !== undefined)?.error;
    return error === undefined ? { kind: "undecided", reason } : { kind: "undecided", reason, error };
  }
}
