import { bytesToHex, concatBytes, keccak256 } from "@rnode/primitives";
import { hashTypedData } from "viem";
import { describe, expect, it } from "vitest";
import { readTypedData } from "./typed-data.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const MAIL = {
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "chainId", type: "uint256" },
    ],
    Person: [
      { name: "name", type: "string" },
      { name: "wallets", type: "address[]" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "cc", type: "Person[]" },
      { name: "amount", type: "uint96" },
      { name: "delta", type: "int16" },
      { name: "tag", type: "bytes4" },
      { name: "data", type: "bytes" },
      { name: "ok", type: "bool" },
    ],
  },
  primaryType: "Mail",
  domain: { name: "Mail", chainId: 31337 },
  message: {
    from: { name: "Alice", wallets: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"] },
    cc: [{ name: "Bob", wallets: [] }],
    amount: "79228162514264337593543950335",
    delta: -5,
    tag: "0x12345678",
    data: "0xdeadbeef",
    ok: true,
  },
} as const;
const hashOf = (data: unknown): string => bytesToHex(readTypedData(data).hash);
const withMessage = (message: object): object => ({ ...MAIL, message: { ...MAIL.message, ...message } });
const without = (type: string, value?: unknown): object => ({
  types: { EIP712Domain: [], M: [{ name: "x", type }] },
  primaryType: "M",
  domain: {},
  message: { x: value },
});

describe("typed data", () => {
  it("has viem's hash, as an object and as text", () => {
    const expected = hashTypedData(MAIL as unknown as Parameters<typeof hashTypedData>[0]);
    expect([hashOf(MAIL), hashOf(JSON.stringify(MAIL))]).toEqual([expected, expected]);
    expect(readTypedData(MAIL).domainChainId).toBe(31337n);
  });

  it("without a domain type, the domain has no fields", () => {
    const { EIP712Domain: _, ...types } = MAIL.types;
    const domain = keccak256(keccak256(utf8("EIP712Domain()")));
    const empty = { ...MAIL, types: { ...MAIL.types, EIP712Domain: [] } };
    expect(hashOf({ ...MAIL, types })).toBe(hashOf(empty));
    expect(hashOf({ types: {}, primaryType: "EIP712Domain" })).toBe(
      bytesToHex(keccak256(concatBytes(Uint8Array.of(0x19, 1), domain))),
    );
  });

  it("a missing struct is a zero word, in lists as well", () => {
    const word = new Uint8Array(32);
    const expected = (words: readonly Uint8Array[], type: string): string => {
      const struct = keccak256(concatBytes(keccak256(utf8(type)), ...words));
      return bytesToHex(keccak256(concatBytes(Uint8Array.of(0x19, 1), keccak256(keccak256(utf8("EIP712Domain()"))), struct)));
    };
    const types = { M: [{ name: "next", type: "M" }] };
    for (const message of [{}, { next: null }, undefined])
      expect(hashOf({ types, primaryType: "M", domain: {}, message })).toBe(expected([word], "M(M next)"));
    const lists = { M: [{ name: "all", type: "M[]" }] };
    const inList = { types: lists, primaryType: "M", domain: {}, message: { all: [null, null] } };
    expect(hashOf(inList)).toBe(expected([keccak256(concatBytes(word, word))], "M(M[] all)"));
  });

  it.each([
    ["a null string is empty", without("string", null), without("string", "")],
    ["text as bytes", without("bytes", "hello"), without("bytes", "0x68656c6c6f")],
    ["any value is true or false", without("bool", "false"), without("bool", true)],
    ["null is false", without("bool", null), without("bool", false)],
    ["short hex is padded", without("bytes32", "0x12"), without("bytes32", `0x12${"00".repeat(31)}`)],
    ["short addresses are padded", without("address", "0x1"), without("address", `0x${"1".padStart(40, "0")}`)],
    ["hex and decimal", without("uint8", "0xff"), without("uint8", 255)],
  ])("%s", (_name, data, same) => {
    expect(hashOf(data)).toBe(hashOf(same));
  });

  const ATOMS = ["string", "bytes", "bool", "address", "bytes4", "uint256", "int8", "string[]", "uint8[2]", "M[]", "constructor"];
  it.each(ATOMS)("a missing %s is refused", (type) => {
    expect(() => hashOf(without(type))).toThrow(/missing/);
  });

  it.each<[string, unknown]>([
    ["no object", 5],
    ["no JSON", "{"],
    ["no types", { primaryType: "M", domain: {}, message: {} }],
    ["unknown primary type", { ...MAIL, primaryType: "constructor" }],
    ["above the range", withMessage({ amount: "79228162514264337593543950336" })],
    ["below the range", withMessage({ delta: -32769 })],
    ["negative", withMessage({ amount: -1 })],
    ["no number", withMessage({ amount: "" })],
    ["a list as a number", withMessage({ amount: [1] })],
    ["long bytes", withMessage({ tag: "0x1234567890" })],
    ["an object as text", without("string", {})],
    ["an unknown type", without("uint7", 1)],
    ["a prototype's property", without("toString", 1)],
    ["a fixed list's length", without("uint8[2]", [1])],
    ["too deep", without(`uint8${"[]".repeat(100)}`, JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`))],
    ["a domain's chain id that is no integer", { ...without("bool", true), domain: { chainId: {} } }],
  ])("%s is refused", (_name, data) => {
    expect(() => hashOf(data)).toThrow(/typed data/);
  });

  it("many types in a chain neither overflow the stack nor take long", () => {
    const types = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`T${index}`, [{ name: "n", type: `T${index + 1}` }]]),
    );
    const all = { ...types, T5000: [], L: [{ name: "l", type: "T0[]" }] };
    const message = { l: Array.from({ length: 2000 }, () => ({})) };
    expect(hashOf({ types: all, primaryType: "L", domain: {}, message })).toMatch(/^0x/);
  });
});
