import { EMPTY_KECCAK, EMPTY_TRIE_ROOT, encodeRlp, keccak256, type RlpItem, rlpUint } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import {
  decodeAccountRange,
  decodeAccountRangeRequest,
  decodeBlobs,
  decodeByteCodesRequest,
  decodeStorageRanges,
  decodeStorageRangesRequest,
  decodeTrieNodesRequest,
  encodeAccountRange,
  encodeAccountRangeRequest,
  encodeBlobs,
  encodeByteCodesRequest,
  encodeStorageRanges,
  encodeStorageRangesRequest,
  encodeTrieNodesRequest,
  idOf,
} from "./messages.ts";
import { decodeSlimAccount, encodeSlimAccount } from "./slim-account.ts";

const hashOf = (number: number): Uint8Array => keccak256(Uint8Array.of(number));
const NOTHING = new Uint8Array(0);
const account = { nonce: 7n, balance: 10n ** 30n, storageRoot: hashOf(1), codeHash: hashOf(2) };
const body = encodeSlimAccount(account);
const bad = expect.objectContaining({ code: expect.stringMatching(/^rlp\//) as string });

describe("messages of snap/1", () => {
  it("are read as they were written", () => {
    const range = { root: hashOf(1), origin: hashOf(2), limit: hashOf(3), bytes: 500_000 };
    expect(decodeAccountRangeRequest(encodeAccountRangeRequest(5, range))).toEqual({ id: 5n, ...range });
    for (const origin of [hashOf(4), NOTHING]) {
      const ranges = { ...range, accounts: [hashOf(5), hashOf(6)], origin, limit: NOTHING };
      expect(decodeStorageRangesRequest(encodeStorageRangesRequest(6, ranges))).toEqual({ id: 6n, ...ranges });
    }
    const codes = { hashes: [hashOf(7)], bytes: 1 };
    expect(decodeByteCodesRequest(encodeByteCodesRequest(7, codes))).toEqual({ id: 7n, ...codes });
    const nodes = { root: hashOf(1), paths: [[Uint8Array.of(0)], [hashOf(2), Uint8Array.of(0x11), Uint8Array.of(0, 5)]], bytes: 9 };
    expect(decodeTrieNodesRequest(encodeTrieNodesRequest(8, nodes))).toEqual({ id: 8n, ...nodes });

    const accounts = { accounts: [{ hash: hashOf(1), body }], proof: [Uint8Array.of(1, 2), hashOf(9)] };
    expect(decodeAccountRange(encodeAccountRange(2n ** 64n - 1n, accounts))).toEqual(accounts);
    const slots = { slots: [[], [{ hash: hashOf(1), body: Uint8Array.of(0x81, 0x80) }]], proof: [hashOf(8)] };
    const encoded = encodeStorageRanges(4n, slots);
    expect(decodeStorageRanges(encoded)).toEqual(slots);
    expect(idOf(encoded)).toBe(4n);
    expect(decodeBlobs(encodeBlobs(1n, [NOTHING, hashOf(1)]))).toEqual([NOTHING, hashOf(1)]);
  });

  const hash = hashOf(0);
  const request = (...fields: RlpItem[]): Uint8Array => encodeRlp([rlpUint(1), ...fields, rlpUint(1)]);
  it.each<[string, (data: Uint8Array) => unknown, Uint8Array]>([
    ["a root of 31 bytes", decodeAccountRangeRequest, request(new Uint8Array(31), hash, hash)],
    ["no size", decodeAccountRangeRequest, encodeRlp([rlpUint(1), hash, hash, hash])],
    ["an origin of 5 bytes", decodeStorageRangesRequest, request(hash, [hash], new Uint8Array(5), hash)],
    ["a list for an account", decodeStorageRangesRequest, request(hash, [[hash]], NOTHING, NOTHING)],
    ["5,000 accounts", decodeStorageRangesRequest, request(hash, new Array<RlpItem>(5_000).fill(hash), NOTHING, NOTHING)],
    ["5,000 codes", decodeByteCodesRequest, request(new Array<RlpItem>(5_000).fill(hash))],
    ["an empty set of paths", decodeTrieNodesRequest, request(hash, [[]])],
    [
      "5,000 paths in two sets",
      decodeTrieNodesRequest,
      request(hash, new Array<RlpItem>(2).fill(new Array<RlpItem>(2_500).fill(NOTHING))),
    ],
    ["5,000 sets of paths", decodeTrieNodesRequest, request(hash, new Array<RlpItem>(5_000).fill([NOTHING]))],
    ["a proof of 200 nodes", decodeAccountRange, encodeRlp([rlpUint(1), [], new Array<RlpItem>(200).fill(hash)])],
    ["an account without a body", decodeAccountRange, encodeRlp([rlpUint(1), [[hash]], []])],
    ["300,000 slots", decodeStorageRanges, encodeRlp([rlpUint(1), [new Array<RlpItem>(300_000).fill([hash, NOTHING])], []])],
    ["5,000 nodes", decodeBlobs, encodeRlp([rlpUint(1), new Array<RlpItem>(5_000).fill(NOTHING)])],
    ["an id of 9 bytes", decodeBlobs, encodeRlp([new Uint8Array(9).fill(1), []])],
    ["no list", decodeBlobs, Uint8Array.of(0x80)],
  ])("are refused with %s", (_, decode, data) => {
    expect(() => decode(data)).toThrow(bad);
  });
});

describe("slim accounts", () => {
  it("leave out the hashes of nothing", () => {
    const plain = { nonce: 0n, balance: 1n, storageRoot: EMPTY_TRIE_ROOT, codeHash: EMPTY_KECCAK };
    expect(encodeSlimAccount(plain)).toEqual(Uint8Array.of(0xc4, 0x80, 0x01, 0x80, 0x80));
    for (const each of [plain, account, { ...plain, codeHash: hashOf(1) }, { ...plain, storageRoot: hashOf(1) }])
      expect(decodeSlimAccount(encodeSlimAccount(each))).toEqual(each);
  });

  it.each<[string, RlpItem]>([
    ["three fields", [NOTHING, NOTHING, NOTHING]],
    ["five fields", [NOTHING, NOTHING, NOTHING, NOTHING, NOTHING]],
    ["a root of 31 bytes", [NOTHING, NOTHING, new Uint8Array(31), NOTHING]],
    ["a balance of 33 bytes", [NOTHING, new Uint8Array(33).fill(1), NOTHING, NOTHING]],
    ["a nonce of 9 bytes", [new Uint8Array(9).fill(1), NOTHING, NOTHING, NOTHING]],
    ["a nonce with a leading zero", [Uint8Array.of(0), NOTHING, NOTHING, NOTHING]],
  ])("are refused with %s", (_, item) => {
    expect(() => decodeSlimAccount(encodeRlp(item))).toThrow(bad);
  });
});
