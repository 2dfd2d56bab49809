import { describe, expect, it } from "vitest";
import { AnswerBody } from "./answer-body.ts";

/** Feeds the body in pieces of `piece` bytes. @returns the number of bytes at which it ended; `undefined`: it did not */
function endOf(body: AnswerBody, text: string, piece: number): number | undefined {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += piece) {
    const to = Math.min(bytes.length, at + piece);
    if (body.take(bytes, at, to)) return to;
  }
  return undefined;
}

const CHUNKS = "5\r\nabcde\r\n1a;x=y\r\n01234567890123456789\n\r\n\r\nz\r\n0\r\n\r\n";

describe("the body of an answer", () => {
  it.each([1, 2, 3, 7, 100])("ends with its length, in pieces of %i", (piece) => {
    expect(endOf(new AnswerBody(10), "0123456789", piece)).toBe(10);
    expect(endOf(new AnswerBody(11), "0123456789", piece)).toBeUndefined();
  });

  it.each([1, 2, 3, 7, 100])("ends with its last chunk, in pieces of %i", (piece) => {
    expect(endOf(new AnswerBody(undefined), CHUNKS, piece)).toBe(CHUNKS.length);
    expect(endOf(new AnswerBody(undefined), CHUNKS.slice(0, -1), piece)).toBeUndefined();
  });

  it("refuses what is no chunk", () => {
    expect(() => endOf(new AnswerBody(undefined), "what\r\n", 100)).toThrow("no size of a chunk");
  });
});
