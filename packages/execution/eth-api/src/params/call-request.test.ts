import { ShapeError } from "@rnode/jsonrpc";
import { describe, expect, it } from "vitest";
import { callRequestShape, slotShape, stateOverrideShape } from "./call-request.ts";

const HASH = `0x${"ab".repeat(32)}`;
const ADDRESS = `0x${"cd".repeat(20)}`;

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
