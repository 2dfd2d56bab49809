import type { Hex } from "@rnode/primitives";
import type { L2BlockRef } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { withCrossUnsafe } from "./cross-heads.ts";

const MESSAGES_FROM = 5;
const ref = (number: number, branch = "a"): L2BlockRef => ({
  hash: `0x${branch}${number}` as Hex,
  number,
  parentHash: "0x",
  timestamp: number,
  l1Origin: { hash: "0x", number: 0 },
  sequenceNumber: 0,
});

describe("the cross-unsafe head", () => {
  it.each([
    ["is where it was", ref(9), ref(8), ref(6), ref(8)],
    ["is at least the safe head", ref(9), ref(6), ref(7), ref(7)],
    ["begins with the safe head", ref(9), undefined, ref(6), ref(6)],
    ["is unsafe itself while no messages are executed", ref(4), ref(2), ref(1), ref(4)],
    ["is that tip when all is checked", ref(9), ref(9), ref(6), ref(9)],
    ["goes back to the safe head when its block was replaced", ref(8, "b"), ref(8), ref(6), ref(6)],
    ["goes back to the safe head when the tip is below it", ref(7, "b"), ref(8), ref(6), ref(6)],
  ])("%s", (_, unsafe, crossUnsafe, safe, expected) => {
    const heads = { unsafe, crossUnsafe, safe, pendingSafe: safe, localSafe: safe, finalized: ref(0), backupUnsafe: undefined };
    const complete = withCrossUnsafe(heads, ({ timestamp }) => timestamp >= MESSAGES_FROM);
    expect(complete.crossUnsafe).toEqual(expected);
    expect({ ...complete, crossUnsafe: undefined }).toEqual({ ...heads, crossUnsafe: undefined });
  });
});
