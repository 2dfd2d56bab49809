import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { expect, it } from "vitest";
import { outputRoot, superRoot } from "./output-root.ts";

const word = (hex: string) => hexToBytes(hex.padStart(64, "0"));

// docs/protocol/06-testing.md#header-payload-id-and-root-vectors
it("output root", () => {
  const parts = { stateRoot: word("beef"), messagePasserStorageRoot: word("babe"), blockHash: word("c0de") };
  expect(bytesToHex(outputRoot(parts))).toBe("0x0c39fb6b07cf6694b13e63e59f7b15255be1c93a4d6d3e0da6c99729647c0d11");
});

it("super root, in the order of chain ids", () => {
  const chain = (chainId: bigint) => ({ chainId, outputRoot: new Uint8Array(32) });
  const expected = "0x0980033cbf4337f614a2401ab7efbfdc66ab647812f1c98d891d92ddfb376541";
  expect(bytesToHex(superRoot(10, [chain(1n), chain(2n)]))).toBe(expected);
  expect(bytesToHex(superRoot(10, [chain(2n), chain(1n)]))).toBe(expected);
});
