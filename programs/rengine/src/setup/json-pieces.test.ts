import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonTextError, type MemberSink, readJsonPieces } from "./json-pieces.ts";

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

type Value = Record<string, unknown>;

/** As JSON.parse does it: `__proto__` is a key like any other. */
function setMember(target: Value, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Opens every object that is longer than `minBytes`; what is put together is what JSON.parse gives. */
async function readAll(text: string, pieceSize: number, minBytes: number): Promise<unknown> {
  const into = (target: Value): MemberSink => ({
    member(key, read) {
      setMember(target, key, read());
    },
    open(key) {
      const inner: Value = {};
      return { sink: into(inner), minBytes, onEnd: () => setMember(target, key, inner) };
    },
  });
  const root: Value = {};
  return (await readJsonPieces(piecesOf(text, pieceSize), into(root))) ?? root;
}

describe("a JSON text in pieces", () => {
  it("gives what JSON.parse gives", async () => {
    const json = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }));
    await fc.assert(
      fc.asyncProperty(
        json,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 1, 30),
        fc.constantFrom("", " ", "\n\t"),
        async (value, size, min, space) => {
          const text = `${space}${JSON.stringify(value, undefined, space)}${space}`;
          expect(await readAll(text, size, min)).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each<[string, string]>([
    ["nothing", ""],
    ["an object that does not end", '{"a":{"b":1}'],
    ["a string that does not end", '{"a":"bcd'],
    ["a key alone", '{"a"}'],
    ["a key that is no string", "{a:1}"],
    ["a comma too many", '{"a":1,}'],
    ["a comma too few", '{"a":1 "b":2}'],
    ["a comma at first", '{,"a":1}'],
    ["no value", '{"a":}'],
    ["a word", '{"a":tru}'],
    ["two values", '{"a":1} {}'],
    ["a bracket of the other kind", '{"a":[1}'],
    ["a bracket of the other kind inside", '{"a":{"b":[1}]}'],
    ["what is no JSON at all", "hello"],
  ])("refuses %s, as JSON.parse does", async (_, text) => {
    expect(() => JSON.parse(text)).toThrow();
    for (const size of [1, 3, 100]) {
      for (const minBytes of [0, 8]) {
        await expect(readAll(text, size, minBytes)).rejects.toThrow(JsonTextError);
        await expect(readAll(text, size, minBytes)).rejects.toThrow(/^not JSON: .* at byte \d+$/s);
      }
    }
  });

  it("gives a member named __proto__", async () => {
    const text = '{"":{"__proto__":""},"__proto__":{"a":1}}';
    for (const minBytes of [0, 100]) expect(await readAll(text, 3, minBytes)).toEqual(JSON.parse(text));
  });

  it("gives values that are no objects", async () => {
    for (const text of ["[1, 2]", "3", '"x"', "null"]) {
      expect(await readJsonPieces(piecesOf(text, 1), { member: () => undefined })).toEqual(JSON.parse(text));
    }
  });

  it("passes over what is not read", async () => {
    const keys: string[] = [];
    const sink = { member: (key: string) => void keys.push(key) };
    await readJsonPieces(piecesOf('{"a":{"x":"}"},"b":["]"],"c":"\\"}"}', 2), sink);
    expect(keys).toEqual(["a", "b", "c"]);
  });
});
