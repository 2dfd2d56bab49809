import { describe, expect, it } from "vitest";
import { Equivocations } from "./equivocations.ts";

const message = (bytes = 100): Uint8Array => new Uint8Array(bytes).fill(1);
const hashOf = (number: number, salt = 0) => `0x${number}${salt}` as const;

describe("blocks of one height", () => {
  it("are no equivocation while there is one of each", () => {
    const kept = new Equivocations();
    for (let number = 0; number < 1_000; number++) expect(kept.note(number, hashOf(number), "a", message())).toBeUndefined();
    expect(kept.list()).toEqual([]);
  });

  it("are kept as the first two, whoever sent them, and further ones are counted", () => {
    const kept = new Equivocations();
    kept.note(7, hashOf(7), "a", message());
    expect(kept.note(7, hashOf(7, 1), "b", message())).toMatchObject([{ from: "a" }, { from: "b" }]);
    for (let salt = 2; salt < 6; salt++) expect(kept.note(7, hashOf(7, salt), "c", message())).toBe("further");
    expect(kept.list()).toMatchObject([
      {
        number: 7,
        blocks: [
          { hash: "0x70", from: "a" },
          { hash: "0x71", from: "b" },
        ],
      },
    ]);
  });

  it("are bounded in number: the oldest go, from both sides", () => {
    const kept = new Equivocations();
    for (let number = 0; number < 40; number++) for (const salt of [0, 1]) kept.note(number, hashOf(number, salt), "a", message());
    expect(kept.list().map(({ number }) => number)).toEqual(Array.from({ length: 16 }, (_, at) => 39 - at));
    for (let number = 100; number < 229; number++) kept.note(number, hashOf(number), "a", message());
    expect(kept.note(100, hashOf(100, 1), "a", message())).toBeUndefined(); // its first block is forgotten
    expect(kept.note(228, hashOf(228, 1), "a", message())).toHaveLength(2);
  });

  it("are bounded in bytes: large blocks are listed by signature and payload hash", () => {
    const kept = new Equivocations();
    const large = message(3 * 1024 * 1024);
    for (let number = 0; number < 8; number++) kept.note(number, hashOf(number), "a", large);
    expect(kept.note(0, hashOf(0, 1), "a", large)).toBeUndefined();
    for (const number of [5, 6, 7]) for (const salt of [0, 1]) kept.note(number, hashOf(number, salt), "a", large);
    const listed = kept.list();
    const { blocks } = listed[0]!;
    for (let number = 20; number < 30; number++) for (const salt of [0, 1]) kept.note(number, hashOf(number, salt), "a", large);
    expect(kept.list().map(({ number }) => number)).toEqual([29, 28, 27, 26, 25]);
    expect(blocks.map(({ message: text, signature }) => [text === null, signature.length])).toEqual([
      [false, 132],
      [true, 132],
    ]);
  });
});
