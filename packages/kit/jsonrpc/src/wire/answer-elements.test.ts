import { createRandom } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { AnswerElements } from "./answer-elements.ts";

/** Feeds a text in pieces of random sizes. */
function feed(text: string, nextSize: () => number, maxBytes = 1_000_000) {
  const elements: unknown[] = [];
  const reader = new AnswerElements({ maxBytes }, (element) => elements.push(element));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    const size = nextSize();
    const fault = reader.add(bytes.subarray(at, at + size));
    if (fault !== undefined) return { fault };
    at += size;
  }
  return { elements, rest: reader.rest() };
}

const VALUES: readonly unknown[] = [
  null,
  0,
  -1.5e3,
  "",
  'a "quoted" \\ text, with [brackets] {and} commas',
  "\\",
  "ünïcödé 🦊",
  `0x${"ab".repeat(50)}`,
  [],
  {},
  [[], [[1, 2], "],["]],
  { result: [1, 2, { result: [] }], "},{": "]" },
  { logs: [{ data: "0x", topics: ["0x1", "0x2"] }, { data: "\n\t" }] },
];

describe("AnswerElements", () => {
  const below = createRandom(31);
  it.each([1, 2, 7, 64, 5_000])("hands over what JSON.parse gives, in pieces of up to %i bytes", (most) => {
    for (let round = 0; round < 40; round++) {
      const result = Array.from({ length: below(6) }, () => VALUES[below(VALUES.length)]);
      const answer = { jsonrpc: "2.0", id: round, ...(round % 2 === 0 ? { extra: [1, "result"] } : {}), result, after: ["x"] };
      const text = JSON.stringify(answer, undefined, round % 3 === 0 ? 1 : undefined);
      const { elements, rest } = feed(text, () => 1 + below(most));
      expect(elements).toEqual(result);
      expect(JSON.parse(rest!)).toEqual({ ...answer, result: [] });
    }
  });

  it.each([
    ['{"id":1,"error":{"code":1,"message":"x","data":[1,2]}}', []],
    ['{"id":1,"result":null}', []],
    ['{"id":1,"result":{"result":[1,2]}}', []],
    ['{"id":"result","other":[1,2],"result":7}', []],
    ['  {"result" : [ 1 , [2] ] }', [1, [2]]],
    ['{"result":[ ]}', []],
  ])("leaves %s whole but for the list", (text, expected) => {
    const { elements, rest } = feed(text, () => 3);
    expect(elements).toEqual(expected);
    expect(JSON.parse(rest!)).toEqual({ ...JSON.parse(text), ...(expected.length > 0 && { result: [] }) });
  });

  it.each([
    '{"result":[1,]}',
    '{"result":[,1]}',
    '{"result":[1,,2]}',
    '{"result":[1 2]}',
    '{"result":[{"a":}]}',
    '{"result":["a\n"]}',
  ])("says that %s is not JSON", (text) => {
    expect(feed(text, () => 2)).toEqual({ fault: "not-json" });
  });

  it("bounds each element, what is around them, and the depth, and not their number", () => {
    const small = `{"result":[${Array.from({ length: 1_000 }, () => '"0123456789"').join(",")}]}`;
    expect(feed(small, () => 10, 100).elements).toHaveLength(1_000);
    expect(feed(`{"result":["${"0".repeat(200)}"]}`, () => 10, 100)).toEqual({ fault: "too-large" });
    expect(feed(`{"result":[1],"x":"${"0".repeat(200)}"}`, () => 10, 100)).toEqual({ fault: "too-large" });
    expect(feed(`{"result":[${"[".repeat(5_000)}`, () => 1_000)).toEqual({ fault: "too-deep" });
  });
});
