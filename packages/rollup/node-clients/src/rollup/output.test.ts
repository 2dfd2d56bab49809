import { bytesToHex } from "@rnode/primitives";
import { outputRoot } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { outputFromJson } from "./output.ts";

const fill = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const hex = (byte: number): string => bytesToHex(fill(byte));
const l1 = { hash: hex(1), number: 7, parentHash: hex(2), timestamp: 70 };
const l2 = { hash: hex(3), number: 5, parentHash: hex(4), timestamp: 60, l1origin: { hash: hex(1), number: 7 }, sequenceNumber: 0 };
const root = bytesToHex(outputRoot({ stateRoot: fill(5), messagePasserStorageRoot: fill(6), blockHash: fill(3) }));
const answer = {
  version: hex(0),
  outputRoot: root,
  blockRef: l2,
  withdrawalStorageRoot: hex(6),
  stateRoot: hex(5),
  syncStatus: { head_l1: l1, current_l1: l1, unsafe_l2: l2, safe_l2: l2, finalized_l2: l2 },
};

describe("outputFromJson", () => {
  it("reads an output that follows from its parts", () => {
    expect(outputFromJson(answer, 5)).toMatchObject({ root, block: { number: 5 }, status: { finalizedL2: { number: 5 } } });
  });

  it.each<[string, object, string]>([
    ["another version", { version: hex(1) }, "version 0x0101"],
    ["the output of another block", { blockRef: { ...l2, number: 6 } }, "it is that of block 6"],
    ["another state root", { stateRoot: hex(9) }, "its parts hash to"],
    ["another storage root", { withdrawalStorageRoot: hex(9) }, "its parts hash to"],
    ["another block hash", { blockRef: { ...l2, hash: hex(9) } }, "its parts hash to"],
    ["another root", { outputRoot: hex(9) }, "its parts hash to"],
    ["no status", { syncStatus: undefined }, "syncStatus"],
  ])("refuses %s", (_, change, message) => {
    expect(() => outputFromJson({ ...answer, ...change }, 5)).toThrow(message);
  });
});
