import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { PREDEPLOYS } from "../params/predeploys.ts";
import {
  decodeMessageAccesses,
  encodeMessageAccess,
  logHash,
  messageChecksum,
  messageHash,
  messageStorageKeys,
} from "./interop-message.ts";

const origin = new Uint8Array(20).fill(0xaa);
const payloadHash = new Uint8Array(32).fill(0xbb);
const id = { origin, blockNumber: 100n, timestamp: 1_700_000_000n, logIndex: 3, chainId: 10n };
const checksum = messageChecksum(id, payloadHash);

describe("a message", () => {
  // docs/protocol/06-testing.md
  it("has the log hash, checksum and lookup of the published vector", () => {
    expect(bytesToHex(logHash(origin, payloadHash))).toBe("0x570f68b7feb290239fe8ec6638516f012fec4ddb55c27d88eb920371edfd518b");
    expect(bytesToHex(checksum)).toBe("0x032d41c75f8e55e47878c23ee7e8351dd8f9a1ce94b298535c53c577cd6ffbd6");
    const [lookup, last] = encodeMessageAccess({ ...id, checksum });
    expect(bytesToHex(lookup!)).toBe("0x01000000000000000000000a0000000000000064000000006553f10000000003");
    expect(last).toBe(checksum);
  });

  it("hashes topics and data in one", () => {
    const topics = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const data = Uint8Array.of(3, 4);
    expect(messageHash({ topics, data })).toEqual(
      messageHash({ topics: [], data: Uint8Array.of(...topics[0]!, ...topics[1]!, 3, 4) }),
    );
  });
});

describe("the access list of a transaction that executes messages", () => {
  it("is read as it was written, also for chain ids of more than 64 bits", () => {
    const wide = { ...id, chainId: (5n << 64n) | 7n, checksum };
    const keys = [...encodeMessageAccess({ ...id, checksum }), ...encodeMessageAccess(wide)];
    expect(keys).toHaveLength(5);
    const own = { address: PREDEPLOYS.crossL2Inbox, storageKeys: keys };
    const other = { address: origin, storageKeys: [payloadHash] };
    expect(messageStorageKeys([other, own])).toEqual(keys);
    const read = decodeMessageAccesses(keys);
    expect(read.map(({ chainId }) => chainId)).toEqual([10n, (5n << 64n) | 7n]);
    expect(read[0]).toEqual({ chainId: 10n, blockNumber: 100n, timestamp: 1_700_000_000n, logIndex: 3, checksum });
  });

  const [lookup] = encodeMessageAccess({ ...id, checksum });
  const extension = (upper: number): Uint8Array => hexToBytes(`0x02${"00".repeat(30)}${upper.toString(16).padStart(2, "0")}`);
  const dirty = (key: Uint8Array, at: number): Uint8Array => key.map((byte, index) => (index === at ? 9 : byte));
  it.each([
    ["a checksum first", [checksum], "expected a lookup (type 1), got type 3"],
    ["an unknown type", [hexToBytes(`0x04${"00".repeat(31)}`)], "expected a lookup (type 1), got type 4"],
    ["bytes that are not zero", [dirty(lookup!, 2), checksum], "bytes 1 to 3 are not zero"],
    ["a lookup at the end", [lookup!], "a lookup without its checksum"],
    ["two lookups", [lookup!, lookup!], "expected a checksum (type 3), got type 1"],
    ["an extension of nothing", [lookup!, extension(0), checksum], "a chain-id extension of zero"],
    ["an extension that is not clean", [lookup!, dirty(extension(1), 3), checksum], "bytes 1 to 7 are not zero"],
    ["two extensions", [lookup!, extension(1), extension(1), checksum], "expected a checksum (type 3), got type 2"],
  ])("is refused with %s", (_, keys, words) => {
    expect(() => decodeMessageAccesses(keys)).toThrow(words);
  });
});
