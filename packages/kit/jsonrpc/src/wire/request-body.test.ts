import { describe, expect, it } from "vitest";
import { buffersOfRequest, decodeRequest, RequestBody, requestTextOf, sizeOfRequest, VERY_LARGE_BYTES } from "./request-body.ts";

/** No two pieces of it are alike. */
const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => 33 + ((at * 7 + (at >> 8)) % 90)));

/** Sizes of chunks: of one byte, of uneven ones, of the kernel's. */
const CHUNKS = [[65_536], [1, 300_007, 65_535], [1_048_576], [700_000, 1_400_000]] as const;

describe("the body of a request", () => {
  it.each([0, 1, 65_536, VERY_LARGE_BYTES, VERY_LARGE_BYTES + 1, 2 * VERY_LARGE_BYTES, 3_500_001])(
    "of %i bytes is what has arrived, in whatever pieces",
    (length) => {
      const bytes = bytesOf(length);
      for (const sizes of CHUNKS) {
        const body = new RequestBody();
        for (let at = 0, turn = 0; at < length; at += sizes[turn++ % sizes.length]!) {
          body.add(Buffer.from(bytes.subarray(at, at + sizes[turn % sizes.length]!)));
        }
        expect(body.bytes).toBe(length);
        const text = body.finish();
        expect(typeof text).toBe(length > VERY_LARGE_BYTES ? "object" : "string");
        expect(sizeOfRequest(text)).toBe(length);
        const there = structuredClone(text, { transfer: [...buffersOfRequest(text)] });
        expect(decodeRequest(there) === bytes.toString("utf8")).toBe(true);
        expect(sizeOfRequest(text)).toBe(typeof text === "string" ? length : 0); // transferred, not copied
      }
      expect(decodeRequest(requestTextOf(bytes)) === bytes.toString("utf8")).toBe(true);
    },
  );
});
