import { ShapeError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { logFilterShape } from "./log-filter.ts";

const HASH = `0x${"ab".repeat(32)}`;

describe("log filters", () => {
  const topic = `0x${"01".repeat(32)}`;
  it.each([
    { topics: "0x" },
    { topics: [1] },
    { topics: [topic, null, null, null, null] },
    { address: "0x" },
    { fromBlock: "x" },
    { fromBlock: HASH },
    [],
  ])("refuses %j", (filter) => {
    expect(() => logFilterShape.parse(filter)).toThrow(ShapeError);
  });
});
