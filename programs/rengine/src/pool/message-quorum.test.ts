import { RpcError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import type { FilterAnswer, MessageFilter } from "./message-filter.ts";
import { createQuorum } from "./message-quorum.ts";

const ANSWERS: Readonly<Record<string, FilterAnswer>> = {
  valid: { kind: "valid" },
  refused: { kind: "refused", error: new RpcError(-320600, "conflicting data") },
  failsafe: { kind: "failsafe", error: new RpcError(-320602, "failsafe") },
  unavailable: { kind: "unavailable", reason: "away" },
};
const KINDS = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];
const EXECUTION = { timestampSec: 1, timeoutSec: 1 };

/** All lists of answers of so many filters, in the order in which they come. */
function* listsOf(length: number): Generator<string[]> {
  if (length === 0) yield [];
  else for (const rest of listsOf(length - 1)) for (const kind of KINDS) yield [kind, ...rest];
}

/** Filters that answer one after the other when the test says so. */
function filtersOf(kinds: readonly string[]) {
  const answers: (() => void)[] = [];
  const signals: AbortSignal[] = [];
  const filters = kinds.map(
    (kind, index): MessageFilter => ({
      endpoint: `filter ${index}`,
      check: (_, __, signal) => {
        signals.push(signal);
        return new Promise((resolve) => answers.push(() => resolve(ANSWERS[kind]!)));
      },
      isInFailsafe: async () => undefined,
      close: async () => {},
    }),
  );
  return { filters, answers, signals };
}

/** What the first answers decide, and how many of them are needed. */
function expected(kinds: readonly string[], minResponses: number): { readonly kind: string; readonly after: number } {
  const verdicts: string[] = [];
  for (const [index, kind] of kinds.entries()) {
    if (kind === "failsafe") return { kind, after: index + 1 };
    if (kind !== "unavailable") verdicts.push(kind);
    if (verdicts.length === minResponses) {
      return { kind: new Set(verdicts).size === 1 ? verdicts[0]! : "undecided", after: index + 1 };
    }
  }
  return { kind: "undecided", after: kinds.length };
}

describe.each([1, 2, 3, 4])("a verdict of %i filters", (count) => {
  it("is that of the first answers, whatever they are and in whatever order they come", async () => {
    for (const kinds of listsOf(count)) {
      for (let minResponses = 1; minResponses <= count; minResponses++) {
        const { filters, answers, signals } = filtersOf(kinds);
        const verdict = createQuorum(filters, minResponses).check([], EXECUTION);
        const { kind, after } = expected(kinds, minResponses);
        for (const answer of answers.slice(0, after)) answer();
        expect([kinds, minResponses, (await verdict).kind]).toEqual([kinds, minResponses, kind]);
        expect(signals.every(({ aborted }) => aborted)).toBe(true); // the others are not waited for
      }
    }
  });
});

it("names each filter that has no verdict, and passes on why", async () => {
  const { filters, answers } = filtersOf(["unavailable", "unavailable"]);
  const why = new RpcError(-321100, "not read yet");
  const second = {
    ...filters[1]!,
    check: async (): Promise<FilterAnswer> => ({ kind: "unavailable", reason: "no data", error: why }),
  };
  const verdict = createQuorum([filters[0]!, second], 2).check([], EXECUTION);
  for (const answer of answers) answer();
  expect(await verdict).toEqual({ kind: "undecided", reason: "0 of 2 verdicts: filter 1: no data; filter 0: away", error: why });
});

it.each<[(boolean | "silent")[], boolean | undefined]>([
  [[false, false], false],
  [[false, true], true],
  [["silent", true], true],
  [[false, "silent"], undefined],
])("the failsafe of filters that say %o is %s", async (sayings, expected) => {
  const { filters } = filtersOf(sayings.map(() => "valid"));
  const never = new Promise<undefined>(() => {});
  const asked = filters.map((filter, index) => {
    const saying = sayings[index]!;
    const isWaitedFor = expected !== true;
    const answer = saying !== "silent" ? saying : isWaitedFor ? undefined : never;
    return { ...filter, isInFailsafe: async () => answer };
  });
  expect(await createQuorum(asked, 1).isInFailsafe(new AbortController().signal)).toBe(expected);
});
