import { createRandomFraction } from "@rnode/primitives/testing";

/** A method as `rpc.discover` describes it. */
export interface DescribedMethod {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly required: boolean; readonly schema: unknown }[];
}

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const ADDRESS = `0x${"11".repeat(20)}`;
const HASH = `0x${"22".repeat(32)}`;

/** Values that almost fit somewhere. They are JSON texts, because a number of 400 digits has no other representation. */
const VALUES: readonly string[] = [
  "null",
  "true",
  "-1",
  "1.5",
  "1e308",
  "1e999",
  "9".repeat(400),
  '""',
  '"0x"',
  '"0x0"',
  '"0x1"',
  '"0x00"',
  '"0xg"',
  '"latest"',
  '"pending"',
  '"earliest"',
  '"LATEST"',
  `"0x${"f".repeat(16)}"`,
  `"0x${"f".repeat(64)}"`,
  `"0x${"f".repeat(65)}"`,
  `"0x${"f".repeat(5000)}"`,
  `"${"x".repeat(5000)}"`,
  '"\\u0000"',
  '"\\ud800"',
  `"${ADDRESS}"`,
  `"${ADDRESS.slice(0, -1)}"`,
  `"${HASH}"`,
  "[]",
  "{}",
  "[[]]",
  "[null]",
  "[[[[[[[[]]]]]]]]",
  '{"__proto__":{"a":1}}',
  '{"constructor":"x","toString":1,"hasOwnProperty":2}',
  `{"from":"${ADDRESS}","to":"${ADDRESS}","gas":"0xffffffffffffffff"}`,
  `{"to":"${ADDRESS}","data":"0x1"}`,
  '{"fromBlock":"0x5","toBlock":"0x1","address":[]}',
  '{"blockHash":"0x1","fromBlock":"latest"}',
  '{"topics":[[[[]]]],"address":{}}',
  '{"blockStateCalls":[{"calls":[{}],"blockOverrides":{"number":"0xffffffffffffff"}}]}',
  '{"tracer":"callTracer","tracerConfig":{"withLog":1}}',
  '{"tracer":"{step: function() {}}","timeout":"99999h"}',
  '{"tracer":"muxTracer","tracerConfig":{"muxTracer":{"muxTracer":null}}}',
  '{"a":1,"a":2,"to":"0x","to":5}',
  `[{"transactions":[{}],"blockOverride":{"number":"${HASH}"}}]`,
  `[${'"0x0",'.repeat(50)}"0x0"]`,
  '["0x1","0x2"]',
  "[25,50,-1,1e9]",
];

export interface RequestGenerator {
  /** a request object, or something like it */
  readonly request: () => string;
  /** a text with a piece removed, doubled or inserted */
  readonly damaged: () => string;
  /** a batch: empty, long, nested, or with all kinds of members */
  readonly batch: () => string;
  /** bytes that are not UTF-8, or not text at all */
  readonly bytes: () => Uint8Array;
}

const PIECES = [
  "",
  '"',
  "{",
  "}",
  "[[[[",
  "]",
  "\\",
  ",",
  ":",
  "\u0000",
  "1e999",
  "9".repeat(400),
  nested(300, "[", "]"),
  nested(300, '{"a":', "}"),
];

/** Generates requests that are wrong in one way or in several. The same seed gives the same requests. */
export function malformedRequests(methods: readonly DescribedMethod[], seed: number): RequestGenerator {
  const random = createRandomFraction(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const rarely = (chance: number, rare: () => string, usual: () => string): string => (random() < chance ? rare() : usual());

  const paramsOf = ({ params }: DescribedMethod): string => {
    if (random() < 0.1) return oneOf(VALUES);
    const count = below(params.length + 2);
    const values = Array.from({ length: count }, () => oneOf(VALUES));
    if (random() < 0.8) return `[${values.join(",")}]`;
    return `{${values.map((value, index) => `${JSON.stringify(params[index]?.name ?? "other")}:${value}`).join(",")}}`;
  };
  const request = (): string => {
    const method = oneOf(methods);
    const fields = [
      rarely(
        0.05,
        () => `"jsonrpc":${oneOf(VALUES)}`,
        () => '"jsonrpc":"2.0"',
      ),
      rarely(
        0.1,
        () => `"id":${oneOf(VALUES)}`,
        () => `"id":${below(1e6)}`,
      ),
      rarely(
        0.1,
        () => `"method":${oneOf(VALUES)}`,
        () => `"method":${JSON.stringify(method.name)}`,
      ),
      `"params":${paramsOf(method)}`,
    ];
    if (random() < 0.05) fields.push(oneOf(fields));
    if (random() < 0.05) fields.splice(below(fields.length), 1);
    return `{${fields.join(",")}}`;
  };
  const batch = (): string => {
    switch (below(6)) {
      case 0:
        return nested(1 + below(200), "[", "]");
      case 1:
        return `[${Array.from({ length: 1001 + below(50) }, () => "1").join(",")}]`;
      case 2:
        return `[[${request()}],[[${request()}]],[]]`;
      case 3:
        return `[${Array.from({ length: 1 + below(4) }, () => oneOf(VALUES)).join(",")}]`;
      default:
        return `[${Array.from({ length: 1 + below(5) }, () => rarely(0.2, () => oneOf(VALUES), request)).join(",")}]`;
    }
  };
  const damaged = (): string => {
    let text = rarely(0.2, batch, request);
    if (random() < 0.3) return text.slice(0, below(text.length));
    for (let times = below(3); times >= 0; times--) {
      const at = below(text.length);
      text = text.slice(0, at) + oneOf(PIECES) + text.slice(at + below(20));
    }
    return text;
  };
  const bytes = (): Uint8Array => {
    const text = Buffer.from(request());
    if (random() < 0.3) return Uint8Array.from({ length: below(300) }, () => below(256));
    for (let times = below(5); times >= 0; times--) text[below(text.length)] = oneOf([0xff, 0xc0, 0xed, 0x80, 0xf8, 0x00]);
    return text;
  };
  return { request, damaged, batch, bytes };
}
