import { bytesToHex } from "@rnode/primitives";
import { createSuperRoot, superRootHash } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { superRootAnswerFromJson } from "./super-root-answer.ts";

const fill = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const hex = (byte: number): string => bytesToHex(fill(byte));
const outputs = [
  { chainId: 901n, outputRoot: fill(1) },
  { chainId: 902n, outputRoot: fill(2) },
];
const superRoot = createSuperRoot(100, outputs);
const chains = [
  { ChainID: "901", Output: hex(1) },
  { ChainID: "902", Output: hex(2) },
];
const data = {
  verified_required_l1: { hash: hex(7), number: 7 },
  super: { timestamp: "0x64", chains },
  super_root: bytesToHex(superRootHash(superRoot)),
};
const answer = {
  current_l1: { hash: hex(9), number: 9 },
  safe_timestamp: 110,
  local_safe_timestamp: 112,
  finalized_timestamp: 104,
  optimistic_at_timestamp: {},
  chain_ids: ["901", "902"],
  data,
};

describe("superRootAnswerFromJson", () => {
  it("reads a super root that follows from its parts, and an answer without one", () => {
    const status = { currentL1: { hash: hex(9), number: 9 }, safeTimeSec: 110, finalizedTimeSec: 104 };
    expect(superRootAnswerFromJson(answer, 100)).toEqual({ ...status, data: { superRoot, root: data.super_root } });
    expect(superRootAnswerFromJson({ ...answer, data: undefined }, 100)).toEqual({ ...status, data: undefined });
  });

  it("takes chain ids in hex and in any order", () => {
    const others = {
      chain_ids: ["0x386", "0x385"],
      data: { ...data, super: { timestamp: "0x64", chains: [...chains].reverse() } },
    };
    expect(superRootAnswerFromJson({ ...answer, ...others }, 100).data?.root).toBe(data.super_root);
  });

  const withData = (change: object) => ({ data: { ...data, ...change } });
  const withSuper = (change: object) => withData({ super: { ...data.super, ...change } });
  it.each<[string, object, string]>([
    ["another root", withData({ super_root: hex(5) }), "its parts hash to"],
    ["another time", withSuper({ timestamp: "0x65" }), "its time is 101, and 100 was requested"],
    ["another output", withSuper({ chains: [chains[0], { ...chains[1], Output: hex(3) }] }), "its parts hash to"],
    ["fewer chains than the set", withSuper({ chains: [chains[0]] }), "it has the chains 901, and chain_ids has 901, 902"],
    ["a chain outside of the set", { chain_ids: ["901", "903"] }, "it has the chains 901, 902, and chain_ids has 901, 903"],
    ["a chain twice", withSuper({ chains: [chains[0], chains[0]] }), "each once"],
    ["no chain", { ...withSuper({ chains: [] }), chain_ids: [] }, "each once"],
    ["a chain id as a number", { chain_ids: [901, 902] }, "superRoot.chain_ids[0]"],
    ["a chain id beyond 256 bits", { chain_ids: [String(1n << 256n)] }, "superRoot.chain_ids[0]"],
    [
      "a short output",
      withSuper({ chains: [{ ...chains[0], Output: "0x00" }, chains[1]] }),
      "superRoot.data.super.chains[0].Output",
    ],
    ["no status", { finalized_timestamp: undefined }, "superRoot.finalized_timestamp"],
    ["a negative time", { safe_timestamp: -1 }, "superRoot.safe_timestamp"],
    ["a list without end", { chain_ids: Array(2000).fill("1") }, "at most 1024"],
  ])("refuses %s", (_, change, message) => {
    expect(() => superRootAnswerFromJson({ ...answer, ...change }, 100)).toThrow(message);
  });
});
