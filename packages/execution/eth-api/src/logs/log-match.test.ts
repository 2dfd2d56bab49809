import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { logFilterShape } from "../params/log-filter.ts";
import { log } from "../testing/blocks.ts";
import { matchesLog } from "./log-match.ts";

const ADDRESS = `0x${"cd".repeat(20)}`;

describe("logs", () => {
  const topic = (byte: number) => bytesToHex(new Uint8Array(32).fill(byte));
  it.each<[string, unknown, boolean[]]>([
    ["nothing", {}, [true, true, true]],
    ["an address", { address: bytesToHex(new Uint8Array(20).fill(0x22)) }, [true, true, true]],
    ["another address", { address: [ADDRESS] }, [false, false, false]],
    ["no address", { address: [] }, [true, true, true]],
    ["a first topic", { topics: [topic(1)] }, [false, true, true]],
    ["a second topic", { topics: [null, topic(2)] }, [false, false, true]],
    ["one of two", { topics: [[topic(9), topic(1)]] }, [false, true, true]],
    ["null among topics", { topics: [[null, topic(9)]] }, [false, true, true]],
    ["more topics than there are", { topics: [null, null, null] }, [false, false, false]],
    ["an empty position", { topics: [[]] }, [false, true, true]],
  ])("are matched by %s", (_, filter, expected) => {
    const logs = [log([]), log([1]), log([1, 2])];
    expect(logs.map((one) => matchesLog(one, logFilterShape.parse(filter)))).toEqual(expected);
  });
});
