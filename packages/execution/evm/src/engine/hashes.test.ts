import { blake2b } from "@noble/hashes/blake2.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, concatBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { bareEngine } from "../testing/engine.ts";

const engine = bareEngine();
const INPUT = 0x200000;
const OUTPUT = 0x1f0000;

const data = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) + length) & 0xff);
const bytes = (): Uint8Array => new Uint8Array(engine.memory.buffer);
const hashInEngine = (name: "keccak256" | "sha256", input: Uint8Array): Uint8Array => {
  bytes().set(input, INPUT);
  engine[name]!(INPUT, input.length, OUTPUT);
  return bytes().slice(OUTPUT, OUTPUT + 32);
};

const LENGTHS = [...Array.from({ length: 300 }, (_, i) => i), 407, 408, 409, 1000, 1088, 4096, 100_000];

describe("hashes", () => {
  it("keccak256 of every length around the rate", () => {
    for (const length of LENGTHS)
      expect(bytesToHex(hashInEngine("keccak256", data(length)))).toBe(bytesToHex(keccak_256(data(length))));
  });

  it("sha256 of every length around the block", () => {
    for (const length of LENGTHS) expect(bytesToHex(hashInEngine("sha256", data(length)))).toBe(bytesToHex(sha256(data(length))));
  });

  /** One block of BLAKE2b is one F with 12 rounds, from the parameter block's state. */
  const blakeInput = (rounds: number, message: Uint8Array): Uint8Array => {
    const iv = [
      0x6a09e667f3bcc908n ^ 0x01010040n, // 64 bytes of digest, no key
      ...[0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n],
      ...[0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n],
    ];
    const input = new Uint8Array(213);
    const view = new DataView(input.buffer);
    view.setUint32(0, rounds);
    for (const [index, limb] of iv.entries()) view.setBigUint64(4 + 8 * index, limb, true);
    input.set(message, 68);
    view.setBigUint64(196, BigInt(message.length), true);
    input[212] = 1;
    return input;
  };

  it("blake2F makes a BLAKE2b", () => {
    for (const length of [0, 3, 127, 128]) {
      bytes().set(blakeInput(12, data(length)), INPUT);
      engine.blake2F!(INPUT, OUTPUT);
      expect(bytesToHex(bytes().slice(OUTPUT, OUTPUT + 64))).toBe(bytesToHex(blake2b(data(length))));
    }
  });

  it("blake2F goes on correctly after a slice of rounds", () => {
    // with a state of 200,003 rounds computed in one go by a plain implementation
    const input = blakeInput(200_003, data(50));
    bytes().set(input, INPUT);
    engine.blake2F!(INPUT, OUTPUT);
    expect(bytesToHex(bytes().slice(OUTPUT, OUTPUT + 64))).toBe(bytesToHex(plainF(200_003, input)));
  });

  it("blake2F reads the offset counter", () => {
    const input = concatBytes(blakeInput(7, data(50)));
    input[208] = 9;
    input[212] = 0;
    bytes().set(input, INPUT);
    engine.blake2F!(INPUT, OUTPUT);
    expect(bytesToHex(bytes().slice(OUTPUT, OUTPUT + 64))).toBe(bytesToHex(plainF(7, input)));
  });
});

/** RFC 7693 § 3.2 in BigInts. */
function plainF(rounds: number, input: Uint8Array): Uint8Array {
  const sigma = [
    "0123456789abcdef",
    "ea489fd61c02b753",
    "b8c052fdae367194",
    "7931dcbe265a40f8",
    "905724afe1bc683d",
    "2c6a0b834d75fe19",
    "c51fed4a0763928b",
    "db7ec13950f4862a",
    "6fe9b308c2d714a5",
    "a2847615fb9e3cd0",
  ];
  const view = new DataView(input.buffer, input.byteOffset);
  const limb = (at: number) => view.getBigUint64(at, true);
  const h = Array.from({ length: 8 }, (_, i) => limb(4 + 8 * i));
  const m = Array.from({ length: 16 }, (_, i) => limb(68 + 8 * i));
  const iv = [
    ...[0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n],
    ...[0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n],
  ];
  const v = [...h, ...iv];
  v[12]! ^= limb(196);
  v[13]! ^= limb(204);
  if (input[212] !== 0) v[14] = BigInt.asUintN(64, ~v[14]!);
  const rotate = (x: bigint, n: bigint) => BigInt.asUintN(64, (x >> n) | (x << (64n - n)));
  const mix = (a: number, b: number, c: number, d: number, x: bigint, y: bigint) => {
    v[a] = BigInt.asUintN(64, v[a]! + v[b]! + x);
    v[d] = rotate(v[d]! ^ v[a]!, 32n);
    v[c] = BigInt.asUintN(64, v[c]! + v[d]!);
    v[b] = rotate(v[b]! ^ v[c]!, 24n);
    v[a] = BigInt.asUintN(64, v[a]! + v[b]! + y);
    v[d] = rotate(v[d]! ^ v[a]!, 16n);
    v[c] = BigInt.asUintN(64, v[c]! + v[d]!);
    v[b] = rotate(v[b]! ^ v[c]!, 63n);
  };
  for (let round = 0; round < rounds; round++) {
    const s = Array.from(sigma[round % 10]!, (digit) => m[Number.parseInt(digit, 16)]!);
    for (let i = 0; i < 4; i++) mix(i, 4 + i, 8 + i, 12 + i, s[2 * i]!, s[2 * i + 1]!);
    for (let i = 0; i < 4; i++) mix(i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4), s[8 + 2 * i]!, s[9 + 2 * i]!);
  }
  const output = new Uint8Array(64);
  const outputView = new DataView(output.buffer);
  for (let i = 0; i < 8; i++) outputView.setBigUint64(8 * i, h[i]! ^ v[i]! ^ v[i + 8]!, true);
  return output;
}
