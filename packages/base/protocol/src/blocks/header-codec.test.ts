import { bytesToHex, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, encodeRlp, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { PREDEPLOYS } from "../params/predeploys.ts";
import { AMSTERDAM_BLOCK_JSON } from "../testing/amsterdam-header.ts";
import type { Header } from "./block.ts";
import { decodeHeader, encodeHeader, hashHeader, headerToRlp } from "./header-codec.ts";
import { headerFromRpc } from "./rpc-json.ts";

const fill = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

const bedrock: Header = {
  parentHash: fill(1),
  ommersHash: EMPTY_OMMERS_HASH,
  beneficiary: PREDEPLOYS.sequencerFeeVault,
  stateRoot: fill(2),
  transactionsRoot: EMPTY_TRIE_ROOT,
  receiptsRoot: EMPTY_TRIE_ROOT,
  logsBloom: new Uint8Array(256),
  difficulty: 0n,
  number: 1000,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 1764691201,
  extraData: new Uint8Array(0),
  mixHash: fill(3),
  nonce: new Uint8Array(8),
  baseFeePerGas: 1_000_000_000n,
};
const canyon: Header = { ...bedrock, withdrawalsRoot: EMPTY_TRIE_ROOT };
const ecotone: Header = { ...canyon, blobGasUsed: 0n, excessBlobGas: 0n, parentBeaconBlockRoot: fill(4) };
const holocene: Header = { ...ecotone, extraData: hexToBytes("0x00000000fa00000006") };
const isthmus: Header = { ...holocene, withdrawalsRoot: fill(5), requestsHash: EMPTY_REQUESTS_HASH };
const jovian: Header = { ...isthmus, blobGasUsed: 40_000n, extraData: hexToBytes("0x01000000fa000000060000000000000000") };
const amsterdam = headerFromRpc(AMSTERDAM_BLOCK_JSON);

const vectors: [string, Header, string][] = [
  ["Bedrock", bedrock, "0xe2e2b6f4b2006722f1e941dccee1dbbe66ba120a67afc0dd2f235e0621cb9ee4"],
  ["Canyon", canyon, "0x2553fb623a3b3166574e08156a918319818bbce52df77d97c78a2074548047df"],
  ["Ecotone", ecotone, "0x65c0593520b47ac81fea1a6c022aa4453de8ddeb4a3078f382e6937bc9e075ce"],
  ["Holocene", holocene, "0x4c2a369c3530c47cac4d8b7d59fabaea0a0c2a1696987216602ac24a11d9e571"],
  ["Isthmus", isthmus, "0xf4ffe6f4068dea014011757bad523c2c10915747626777a309bf6977668277bc"],
  ["Jovian", jovian, "0x9d8ee00084c42991d9fe538ecd8c7a55715557d055110030a7753200611445c3"],
  ["L1 Amsterdam", amsterdam, AMSTERDAM_BLOCK_JSON.hash],
];

describe("header codec", () => {
  it.each(vectors)("hashes a %s header", (_, header, hash) => {
    expect(bytesToHex(hashHeader(header))).toBe(hash);
  });

  it.each(vectors)("round-trips a %s header", (_, header) => {
    expect(decodeHeader(encodeHeader(header))).toEqual(header);
  });

  it("round-trips a proof-of-work header", () => {
    const { baseFeePerGas: _, ...beforeLondon } = bedrock;
    const header = { ...beforeLondon, difficulty: 17_179_869_184n, nonce: hexToBytes("0x539bd4979fef1ec4") };
    expect(decodeHeader(encodeHeader(header))).toEqual(header);
  });

  it("refuses a field without those before it", () => {
    expect(() => encodeHeader({ ...bedrock, blobGasUsed: 0n })).toThrow(expect.objectContaining({ code: "header/field-gap" }));
  });

  it.each(["blockAccessListHash", "slotNumber"] as const)("refuses %s without the other one", (field) => {
    expect(() => encodeHeader({ ...amsterdam, [field]: undefined })).toThrow(expect.objectContaining({ code: "header/field-gap" }));
  });

  const all = headerToRlp(amsterdam) as Uint8Array[];
  it("takes every number of fields that a fork has, and no other", () => {
    const counts = Array.from({ length: 30 }, (_, count) => count).filter((count) => {
      const listed = [...all, ...all].slice(0, count);
      try {
        return decodeHeader(encodeRlp(listed)) !== undefined;
      } catch (error) {
        expect(error).toMatchObject({ code: "header/malformed" });
        return false;
      }
    });
    expect(counts).toEqual([15, 16, 17, 18, 19, 20, 21, 23]);
  });

  it.each(all.map((_, index) => index))("refuses field %i one byte too long or too short", (at) => {
    const isFree = at === 12; // extraData
    const isNumber = [7, 8, 9, 10, 11, 15, 17, 18, 22].includes(at);
    const sizes = isFree ? [] : isNumber ? [[7, 15].includes(at) ? 33 : 9] : [all[at]!.length - 1, all[at]!.length + 1];
    for (const size of sizes) {
      const encoded = encodeRlp(all.map((item, index) => (index === at ? new Uint8Array(size).fill(1) : item)));
      expect(() => decodeHeader(encoded)).toThrow(expect.objectContaining({ code: "header/malformed" }));
    }
    const nested = encodeRlp(all.map((item, index) => (index === at ? [item] : item)));
    expect(() => decodeHeader(nested)).toThrow(expect.objectContaining({ code: "header/malformed" }));
  });

  const items = headerToRlp(jovian);
  const replaced = (at: number, item: Uint8Array): Uint8Array => encodeRlp(items.map((old, index) => (index === at ? item : old)));
  it.each<[string, Uint8Array]>([
    ["14 fields", encodeRlp(items.slice(0, 14))],
    ["22 fields", encodeRlp([...items, fill(1)])],
    ["a parent hash of 31 bytes", replaced(0, fill(1).subarray(1))],
    ["a bloom of 255 bytes", replaced(6, new Uint8Array(255))],
    ["a number with a leading zero", replaced(8, hexToBytes("0001"))],
    ["a nonce of 7 bytes", replaced(14, new Uint8Array(7))],
    ["a gas limit beyond 64 bits", replaced(9, new Uint8Array(9).fill(1))],
    ["a trailing byte", Uint8Array.of(...encodeHeader(jovian), 0)],
  ])("refuses %s", (_, encoded) => {
    expect(() => decodeHeader(encoded)).toThrow(expect.objectContaining({ code: "header/malformed" }));
  });
});
