import { describe, expect, it } from "vitest";
import { decodeOpstackEntry, encodeOpstackEntry } from "./opstack-entry.ts";

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "hex"));

describe("the opstack entry", () => {
  // docs/protocol/03-p2p.md#discovery, without the header of the RLP string
  it.each([
    [10n, "0a00"],
    [8453n, "854200"],
    [2n ** 64n - 1n, "ffffffffffffffffff0100"],
  ])("of chain %s", (chainId, bytes) => {
    expect(Buffer.from(encodeOpstackEntry({ chainId, version: 0n })).toString("hex")).toBe(bytes);
    expect(decodeOpstackEntry(hex(bytes))).toEqual({ chainId, version: 0n });
  });

  it("may be followed by other bytes", () => {
    expect(decodeOpstackEntry(hex("0a01ffff"))).toEqual({ chainId: 10n, version: 1n });
  });

  it.each([
    ["empty", ""],
    ["without version", "0a"],
    ["cut within the chain id", "85"],
    ["cut within the version", "0a80"],
    ["beyond 64 bits", "ffffffffffffffffff0200"],
    ["longer than a uvarint", "8080808080808080808000"],
  ])("is refused: %s", (_, bytes) => {
    expect(decodeOpstackEntry(hex(bytes))).toBeUndefined();
  });
});
