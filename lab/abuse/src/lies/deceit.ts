import { liesAbout } from "@rnode/jsonrpc/testing";

/** The request: a JSON-RPC method, or `GET` and a path. */
export interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
}

interface Answered {
  readonly question: Question;
  readonly result: unknown;
}

/** The replacement of an honest answer. */
export type Told =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: { readonly code: number; readonly message: string } }
  /** nothing comes, and the connection stays */
  | { readonly kind: "silence" }
  | { readonly kind: "close" }
  | { readonly kind: "status"; readonly status: number }
  /** something that is not an answer */
  | { readonly kind: "text"; readonly text: string }
  /** a beginning, then nothing more */
  | { readonly kind: "cut" }
  /** a body without end */
  | { readonly kind: "endless"; readonly start: string };

/** One way not to be honest about the answers to one method. */
export interface Deceit {
  readonly name: string;
  /** @param known earlier answers to the same method. @returns `undefined`: an honest answer */
  readonly tell: (question: Question, honest: unknown, known: readonly Answered[]) => Told | undefined;
}

export function questionOf(call: Readonly<Record<string, unknown>>): Question {
  return { method: String(call.method), params: Array.isArray(call.params) ? call.params : [] };
}

/**
 * All false answers to a method. Those about fields are generated from an honest answer: each changes that field in all later
 * answers.
 */
export function deceitsAbout(method: string, sample: unknown): readonly Deceit[] {
  return [...fieldDeceits(method, sample), ...wholeDeceits(method)];
}

function fieldDeceits(method: string, sample: unknown): Deceit[] {
  return liesAbout(sample).map(({ name }) => ({
    name: `${method} ${name}`,
    tell: (question, honest) => {
      if (question.method !== method) return undefined;
      const lie = liesAbout(honest).find((one) => one.name === name);
      return lie && { kind: "result", result: lie.answer };
    },
  }));
}

/** An error code of each kind that servers use: theirs, of JSON-RPC, of the Engine API, of limits. */
const ERROR_CODES = [-32000, -32001, -32005, -32600, -32601, -32602, -32603, -38001, -38002, -38003, 3, 0];

function wholeDeceits(method: string): Deceit[] {
  const always = (name: string, told: Told): Deceit => ({
    name: `${method} ${name}`,
    tell: (question) => (question.method === method ? told : undefined),
  });
  const fromKnown = (name: string, choose: (known: readonly Answered[], asked: string) => Answered | undefined): Deceit => ({
    name: `${method} ${name}`,
    tell: (question, _, known) => {
      if (question.method !== method) return undefined;
      const other = choose(known, JSON.stringify(question.params));
      return other && { kind: "result", result: other.result };
    },
  });
  return [
    fromKnown("the first answer to the same question", (known, asked) =>
      known.find((one) => JSON.stringify(one.question.params) === asked),
    ),
    fromKnown("the oldest answer to another question", (known, asked) =>
      known.find((one) => JSON.stringify(one.question.params) !== asked),
    ),
    fromKnown("the newest answer to another question", (known, asked) =>
      known.findLast((one) => JSON.stringify(one.question.params) !== asked),
    ),
    ...ERROR_CODES.map((code) => always(`error ${code}`, { kind: "error", error: { code, message: "not today" } })),
    ...[200, 204, 301, 401, 403, 404, 413, 429, 500, 502, 503].map((status) =>
      always(`status ${status}`, { kind: "status", status }),
    ),
    always("silence", { kind: "silence" }),
    always("a closed connection", { kind: "close" }),
    always("half an answer", { kind: "cut" }),
    always("spaces without end", { kind: "endless", start: "" }),
    always("lists without end", { kind: "endless", start: "[" }),
    always("a text without end", { kind: "endless", start: '"' }),
    always("an empty body", { kind: "text", text: "" }),
    always("not JSON", { kind: "text", text: "<html>" }),
    always("an empty list", { kind: "text", text: "[]" }),
    always("null", { kind: "text", text: "null" }),
    always("the answer to another id", { kind: "text", text: '{"jsonrpc":"2.0","id":"another","result":"0x1"}' }),
    always("neither result nor error", { kind: "text", text: '{"jsonrpc":"2.0","id":1}' }),
    always("an error that is none", { kind: "text", text: '{"jsonrpc":"2.0","id":1,"error":"no"}' }),
  ];
}
