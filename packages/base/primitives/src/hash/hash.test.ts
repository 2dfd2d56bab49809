import { describe, expect, it } from "vitest";
import { asciiToBytes, bytesToHex } from "../bytes.ts";
import { encodeRlp } from "../rlp.ts";
import { EMPTY_KECCAK, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, keccak256, ripemd160, sha256 } from "./hash.ts";

describe("hashes", () => {
  it("of nothing are the protocol's constants", () => {
    expect(keccak256()).toEqual(EMPTY_KECCAK);
    expect(keccak256(encodeRlp(new Uint8Array(0)))).toEqual(EMPTY_TRIE_ROOT);
    expect(keccak256(encodeRlp([]))).toEqual(EMPTY_OMMERS_HASH);
    expect(sha256(new Uint8Array(0))).toEqual(EMPTY_REQUESTS_HASH);
  });

  it("of abc", () => {
    const abc = asciiToBytes("abc");
    expect(bytesToHex(keccak256(abc))).toBe("0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
    expect(bytesToHex(sha256(abc))).toBe("0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(bytesToHex(ripemd160(abc))).toBe("0x8eb208f7e05d987a9b044a8e98c6b087f15a0bfc");
  });

  it("of parts are those of the whole, and results are not shared", () => {
    const first = keccak256(asciiToBytes("a"), asciiToBytes("bc"));
    const copy = first.slice();
    keccak256(asciiToBytes("other"));
    expect(first).toEqual(copy);
    expect(first).toEqual(keccak256(asciiToBytes("abc")));
  });
});
