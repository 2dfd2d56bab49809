import {
  bytesToHex,
  concatBytes,
  encodeRlp,
  hexToBytes,
  isCodedError,
  keccak256,
  type RlpItem,
  ZERO_HASH,
} from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Header } from "../blocks/block.ts";
import { decodeHeader, encodeHeader, hashHeader } from "../blocks/header-codec.ts";
import { payloadId } from "../blocks/payload-id.ts";
import { attributesFromJson, attributesToJson, envelopeFromJson, envelopeToJson } from "../blocks/payload-json.ts";
import { headerFromRpc } from "../blocks/rpc-json.ts";
import { parseGenesis } from "../chains/genesis.ts";
import { blockToPayload, payloadToHeader } from "../rollup/payload-block.ts";
import { headerJson, headerOf } from "../testing/index.ts";
import { childNumber, exactNumber, exactTimestamp, positionFields } from "./exact-fields.ts";

const MAX = 2n ** 64n - 1n;
const VALUES = [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 63n + 1n, MAX - 1n, MAX];
const TABLE = VALUES.flatMap((value) => [[value, 7n] as const, [7n, value] as const, [value, value] as const]);
const TOO_LARGE = [2n ** 64n, 2n ** 64n + 1n, 2n ** 255n];

const quantity = (value: bigint): `0x${string}` => `0x${value.toString(16)}`;
/** An RLP integer from its hex digits, without the codec's own conversion. */
function digits(value: bigint): Uint8Array {
  const hex = value.toString(16);
  return value === 0n ? new Uint8Array(0) : hexToBytes(`0x${hex.length % 2 === 0 ? hex : `0${hex}`}`);
}

const CANCUN = headerOf({
  extraData: Uint8Array.of(1, 2),
  gasLimit: 30_000_000n,
  baseFeePerGas: 7n,
  withdrawalsRoot: hexToBytes("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
  blobGasUsed: 0n,
  excessBlobGas: 0n,
  parentBeaconBlockRoot: new Uint8Array(32).fill(4),
});

/** The RLP of `CANCUN` with another number and timestamp. */
function encodedWith(number: bigint, timestamp: bigint): Uint8Array {
  const h = CANCUN;
  const roots: RlpItem[] = [h.parentHash, h.ommersHash, h.beneficiary, h.stateRoot, h.transactionsRoot, h.receiptsRoot];
  const place = [h.logsBloom, digits(h.difficulty), digits(number), digits(h.gasLimit), digits(h.gasUsed), digits(timestamp)];
  const rest = [h.extraData, h.mixHash, h.nonce, digits(7n), h.withdrawalsRoot!, digits(0n), digits(0n), h.parentBeaconBlockRoot!];
  return encodeRlp([...roots, ...place, ...rest]);
}

const rpcJson = (header: Header, number: bigint, timestamp: bigint): object => ({
  ...headerJson(header),
  number: quantity(number),
  timestamp: quantity(timestamp),
});

const headerAt = (number: bigint, timestamp: bigint): Header => ({ ...CANCUN, ...positionFields(number, timestamp) });

describe("numbers and timestamps of 64 bits", () => {
  it.each(TABLE)("number %i, timestamp %i: the RLP of a header, and its hash", (number, timestamp) => {
    const encoded = encodedWith(number, timestamp);
    const header = decodeHeader(encoded);
    expect([BigInt(exactNumber(header)), BigInt(exactTimestamp(header))]).toEqual([number, timestamp]);
    expect(encodeHeader(header)).toEqual(encoded);
    expect(hashHeader(header)).toEqual(keccak256(encoded));
    expect(header).toEqual(headerAt(number, timestamp));
    expect("exact" in header).toBe(number > Number.MAX_SAFE_INTEGER || timestamp > Number.MAX_SAFE_INTEGER);
  });

  it.each(TABLE)("number %i, timestamp %i: the JSON of a header", (number, timestamp) => {
    expect(encodeHeader(headerFromRpc(rpcJson(CANCUN, number, timestamp)))).toEqual(encodedWith(number, timestamp));
  });

  it.each(TABLE)("number %i, timestamp %i: a payload, its JSON, and its header", (number, timestamp) => {
    const header = headerAt(number, timestamp);
    const json = envelopeToJson(blockToPayload({ header, transactions: [], ommers: [], withdrawals: [] }, ZERO_HASH, false));
    expect(json.executionPayload).toMatchObject({ blockNumber: quantity(number), timestamp: quantity(timestamp) });
    const read = envelopeFromJson(JSON.parse(JSON.stringify(json)));
    const { transactionsRoot, withdrawalsRoot } = CANCUN;
    const roots = [withdrawalsRoot!, transactionsRoot];
    expect(encodeHeader(payloadToHeader(read, undefined, () => roots.pop()!))).toEqual(encodedWith(number, timestamp));
  });

  it.each(VALUES)("timestamp %i: payload attributes, their JSON and id", (timestamp) => {
    const json = {
      timestamp: quantity(timestamp),
      prevRandao: bytesToHex(ZERO_HASH),
      suggestedFeeRecipient: `0x${"00".repeat(20)}`,
    };
    const attributes = attributesFromJson(json);
    expect(exactTimestamp(attributes)).toEqual(exactTimestamp(headerAt(0n, timestamp)));
    expect(attributesToJson(attributes)).toEqual(json);
    const others = VALUES.filter((other) => other !== timestamp).map((other) =>
      attributesFromJson({ ...json, timestamp: quantity(other) }),
    );
    expect(others.map((other) => payloadId(ZERO_HASH, other, 3))).not.toContain(payloadId(ZERO_HASH, attributes, 3));
  });

  it.each(TABLE)("number %i, timestamp %i: a genesis file, in hex and in decimals", (number, timestamp) => {
    for (const text of [quantity, String]) {
      const { header } = parseGenesis({ number: text(number), timestamp: text(timestamp), gasLimit: "0x1", alloc: {} });
      expect([BigInt(exactNumber(header)), BigInt(exactTimestamp(header))]).toEqual([number, timestamp]);
    }
  });

  it.each(TOO_LARGE)("%i is malformed everywhere", (value) => {
    const refused = (read: () => unknown): string => {
      try {
        read();
      } catch (error) {
        if (isCodedError(error)) return error.code;
        throw error;
      }
      return "accepted";
    };
    const payload = envelopeToJson(
      blockToPayload({ header: CANCUN, transactions: [], ommers: [], withdrawals: [] }, ZERO_HASH, false),
    );
    const changed = (field: string) => ({ executionPayload: { ...payload.executionPayload, [field]: quantity(value) } });
    const genesis = { gasLimit: "0x1", alloc: {} };
    const attributes = { prevRandao: bytesToHex(ZERO_HASH), suggestedFeeRecipient: `0x${"00".repeat(20)}` };
    expect([
      refused(() => decodeHeader(encodedWith(value, 1n))),
      refused(() => decodeHeader(encodedWith(1n, value))),
      refused(() => headerFromRpc(rpcJson(CANCUN, value, 1n))),
      refused(() => headerFromRpc(rpcJson(CANCUN, 1n, value))),
      refused(() => envelopeFromJson(changed("blockNumber"))),
      refused(() => envelopeFromJson(changed("timestamp"))),
      refused(() => attributesFromJson({ ...attributes, timestamp: quantity(value) })),
      refused(() => parseGenesis({ ...genesis, number: quantity(value) })),
      refused(() => parseGenesis({ ...genesis, timestamp: quantity(value) })),
    ]).toEqual([
      ...["header/malformed", "header/malformed", "rpc-json/bad-field", "rpc-json/bad-field"],
      ...["json/invalid", "json/invalid", "json/invalid", "json/invalid", "json/invalid"],
    ]);
  });

  it("a leading zero in RLP is malformed, whatever the width", () => {
    const encoded = encodedWith(1n, MAX);
    const at = encoded.findIndex((_, i) => encoded.subarray(i, i + 9).every((byte, k) => byte === (k === 0 ? 0x88 : 0xff)));
    const padded = concatBytes(encoded.subarray(0, at), Uint8Array.of(0x88, 0), encoded.subarray(at + 2));
    expect(() => decodeHeader(padded)).toThrow(expect.objectContaining({ code: "header/malformed" }));
  });
});

describe("a copy with other fields", () => {
  const uint64 = fc.oneof(fc.constantFrom(...VALUES), fc.bigInt({ min: 0n, max: MAX }), fc.bigInt({ min: MAX - 5000n, max: MAX }));
  const field = fc.constantFrom("number" as const, "timestamp" as const);
  const encodedOf = (header: Header, name: "number" | "timestamp"): bigint =>
    BigInt((name === "number" ? exactNumber : exactTimestamp)(decodeHeader(encodeHeader(header))));

  it("never encodes the value that it replaced", () => {
    fc.assert(
      fc.property(uint64, uint64, uint64, field, (number, timestamp, given, name) => {
        const before = decodeHeader(encodedWith(number, timestamp));
        const other = name === "number" ? "timestamp" : "number";
        // a field is a number, so the written value is the rounded one
        const value = Math.min(Number(given), 2 ** 64 - 2048);
        fc.pre(value !== before[name]);
        const copy = { ...before, [name]: value };
        expect(encodedOf(copy, name)).toBe(BigInt(value));
        expect(encodedOf(copy, other)).toBe(encodedOf(before, other));
        expect(copy.exact).toEqual(before.exact); // still set, but ignored
      }),
    );
  });

  it("takes the value of the header whose position it takes", () => {
    fc.assert(
      fc.property(uint64, uint64, uint64, uint64, (number, timestamp, otherNumber, otherTimestamp) => {
        const copy = { ...decodeHeader(encodedWith(number, timestamp)), ...positionFields(otherNumber, otherTimestamp) };
        expect(encodeHeader(copy)).toEqual(encodedWith(otherNumber, otherTimestamp));
      }),
    );
  });

  it.each([
    [0n, 1n],
    [2n ** 53n - 2n, 2n ** 53n - 1n],
    [2n ** 53n - 1n, 2n ** 53n],
    [2n ** 53n, 2n ** 53n + 1n],
    [MAX - 1n, MAX],
    [MAX, MAX + 1n], // not possible in a header
  ])("the child of block %i is block %i", (parent, child) => {
    const number = childNumber(headerAt(parent, 0n));
    expect(BigInt(number)).toBe(child);
    expect(typeof number).toBe(child > BigInt(Number.MAX_SAFE_INTEGER) ? "bigint" : "number");
  });
});
