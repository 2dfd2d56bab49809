import { ShapeError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { blockNumberShape, blockSelectorShape } from "./block-selector.ts";

const HASH = `0x${"ab".repeat(32)}`;
const hashSelector = (requireCanonical: boolean) => ({ kind: "hash", hash: new Uint8Array(32).fill(0xab), requireCanonical });

describe("block selectors", () => {
  it.each<[unknown, unknown]>([
    ["latest", { kind: "tag", tag: "latest" }],
    ["finalized", { kind: "tag", tag: "finalized" }],
    ["0x10", { kind: "number", number: 16 }],
    [HASH, hashSelector(false)],
    [{ blockHash: HASH }, hashSelector(false)],
    [{ blockHash: HASH, requireCanonical: true }, hashSelector(true)],
    [{ blockNumber: "0x5" }, { kind: "number", number: 5 }],
    [{ blockNumber: "safe" }, { kind: "tag", tag: "safe" }],
  ])("reads %j", (value, selector) => {
    expect(blockSelectorShape.parse(value)).toEqual(selector);
  });

  it.each([
    5,
    "5",
    "",
    "0x",
    "newest",
    "Latest",
    null,
    [],
    {},
    "0xzz",
    `${HASH}00`,
    { blockHash: "0x1" },
    { blockHash: HASH, blockNumber: "0x1" },
    "0xffffffffffffffff",
  ])("refuses %j", (value) => {
    expect(() => blockSelectorShape.parse(value)).toThrow(ShapeError);
  });

  it("takes no hash where a number is wanted", () => {
    expect(() => blockNumberShape.parse(HASH)).toThrow(ShapeError);
  });
});
