import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { expect, it } from "vitest";
import { outputRoot } from "./output-root.ts";

const word = (hex: string) => hexToBytes(hex.padStart(64, "0"));

// docs/protocol/06-testing.md#header-payload-id-and-root-vectors
it("output root", () => {
  const parts = { stateRoot: word("beef"), messagePasserStorageRoot: word("babe"), blockHash: word("c0de") };
  expect(bytesToHex(outputRoot(parts))).toBe("0x0c39fb6b07cf6694b13e63e59f7b15255be1c93a4d6d3e0da6c99729647c0d11");
});
