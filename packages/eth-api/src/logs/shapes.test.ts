import { ShapeError } from "@rnode/jsonrpc";
import { bytesToHex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { revertReason } from "../calls/revert-reason.ts";
import { blockNumberShape, blockSelectorShape } from "../params/block-selector.ts";
import { callRequestShape, slotShape, stateOverrideShape } from "../params/call-request.ts";
import { log } from "../testing/blocks.ts";
import { logFilterShape, matchesLog } from "./log-filter.ts";

const HASH = `0x${"ab".repeat(32)}`;
const ADDRESS = `0x${"cd".repeat(20)}`;
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

describe("call requests", () => {
  it("takes data as data or input", () => {
    expect(callRequestShape.parse({ to: ADDRESS, data: "0x01" }).data).toEqual(Uint8Array.of(1));
    expect(callRequestShape.parse({ to: ADDRESS, input: "0x01", data: "0x01" }).data).toEqual(Uint8Array.of(1));
    expect(callRequestShape.parse({})).toMatchObject({ to: undefined, value: 0n, data: new Uint8Array(0) });
    expect(() => callRequestShape.parse({ data: "0x01", input: "0x02" })).toThrow('both "data" and "input" are set');
  });

  it.each([
    { to: "0x12" },
    { gas: "1" },
    { value: -1 },
    { data: "01" },
    { data: "0x1" },
    { accessList: [{ address: ADDRESS }] },
    "0x",
  ])("refuses %j", (value) => {
    expect(() => callRequestShape.parse(value)).toThrow(ShapeError);
  });

  it("pads slots and reads state overrides", () => {
    expect(slotShape.parse("0x5")).toEqual(slotShape.parse(`0x${"5".padStart(64, "0")}`));
    const [override] = stateOverrideShape.parse({ [ADDRESS]: { balance: "0x1", stateDiff: { "0x1": HASH } } });
    expect(override).toMatchObject({ balance: 1n, nonce: undefined, state: undefined });
    expect([...override!.stateDiff!.keys()]).toEqual([`0x${"1".padStart(64, "0")}`]);
    expect(() => stateOverrideShape.parse({ [ADDRESS]: { state: {}, stateDiff: {} } })).toThrow(`${ADDRESS}: has both`);
    expect(() => stateOverrideShape.parse({ "0x12": {} })).toThrow(ShapeError);
  });
});

describe("log filters", () => {
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
  ])("matches %s", (_, filter, expected) => {
    const logs = [log([]), log([1]), log([1, 2])];
    expect(logs.map((one) => matchesLog(one, logFilterShape.parse(filter)))).toEqual(expected);
  });

  it.each([
    { topics: "0x" },
    { topics: [1] },
    { topics: [topic(1), null, null, null, null] },
    { address: "0x" },
    { fromBlock: "x" },
    { fromBlock: HASH },
    [],
  ])("refuses %j", (filter) => {
    expect(() => logFilterShape.parse(filter)).toThrow(ShapeError);
  });
});

describe("revertReason", () => {
  const word = (value: number) => value.toString(16).padStart(64, "0");
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
  it.each([
    ["a text", `08c379a0${word(32)}${word(5)}${Buffer.from("hello").toString("hex").padEnd(64, "0")}`, "hello"],
    ["a panic", `4e487b71${word(0x11)}`, "arithmetic underflow or overflow"],
    ["an unknown panic", `4e487b71${word(0x99)}`, "unknown panic code: 0x99"],
    ["a custom error", `deadbeef${word(1)}`, undefined],
    ["nothing", "", undefined],
    ["an offset beyond the end", `08c379a0${word(320)}${word(5)}`, undefined],
    ["a length beyond the end", `08c379a0${word(32)}${word(500)}`, undefined],
    ["huge numbers", `08c379a0${"f".repeat(64)}${"f".repeat(64)}`, undefined],
  ])("reads %s", (_, hex, reason) => {
    expect(revertReason(bytes(hex))).toBe(reason);
  });
});
