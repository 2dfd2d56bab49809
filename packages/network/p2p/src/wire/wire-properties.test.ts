import { compressSnappyBlock, decompressSnappyBlock, SnappyError, snappyBlockLength } from "@rnode/peering";
import { equalBytes, hexToBytes } from "@rnode/primitives";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "@rnode/protocol";
import fc from "fast-check";
import { compress } from "snappyjs";
import { describe, expect, it } from "vitest";
import { SAMPLE_MESSAGES } from "../testing/samples.ts";
import { decodeEnvelope, encodeEnvelope } from "./envelope.ts";
import { decodePayload, encodePayload, type PayloadVersion } from "./payload-ssz.ts";
import { WireError } from "./wire-error.ts";

const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4];
const RUNS = { seed: 13, numRuns: 300 };

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const time = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const envelopeOf = (version: PayloadVersion): fc.Arbitrary<ExecutionPayloadEnvelope> =>
  fc.record({
    executionPayload: fc.record({
      parentHash: bytes(32),
      feeRecipient: bytes(20),
      stateRoot: bytes(32),
      receiptsRoot: bytes(32),
      logsBloom: bytes(256),
      prevRandao: bytes(32),
      blockNumber: time,
      gasLimit: uint64,
      gasUsed: uint64,
      timestamp: time,
      extraData: fc.uint8Array({ maxLength: 32 }),
      baseFeePerGas: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      blockHash: bytes(32),
      transactions: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
      withdrawals:
        version < 2
          ? fc.constant(undefined)
          : fc.array(fc.record({ index: uint64, validatorIndex: uint64, address: bytes(20), amount: uint64 }), { maxLength: 16 }),
      blobGasUsed: version < 3 ? fc.constant(undefined) : uint64,
      excessBlobGas: version < 3 ? fc.constant(undefined) : uint64,
      withdrawalsRoot: version < 4 ? fc.constant(undefined) : bytes(32),
    }),
    parentBeaconBlockRoot: version < 3 ? fc.constant(undefined) : bytes(32),
  });

/** The value, or the error if it is one that a caller expects. */
function attempt<T>(action: () => T): T | WireError | SnappyError {
  try {
    return action();
  } catch (error) {
    if (error instanceof WireError || error instanceof SnappyError) return error;
    throw error;
  }
}

describe.each(VERSIONS)("SSZ of V%i", (version) => {
  it("reads what it wrote", () => {
    const property = fc.property(envelopeOf(version), (envelope) => {
      expect(decodeEnvelope(encodeEnvelope(envelope, version), version)).toEqual(envelope);
    });
    fc.assert(property, { ...RUNS, numRuns: 100 });
  });

  it("refuses altered bytes, or reads a payload that has exactly these bytes", () => {
    // the parts that decide: offsets, lengths, and the lists behind the fixed part
    const start = version >= 3 ? 32 : 0;
    const places = fc.oneof(
      fc.constantFrom(436, 504, 508).map((at) => start + at),
      fc.nat({ max: 400 }).map((at) => start + 504 + at),
    );
    const edits = fc.array(fc.tuple(places, fc.oneof(fc.constantFrom(0, 1, 4, 255), fc.nat({ max: 255 }))), {
      minLength: 1,
      maxLength: 4,
    });
    const cut = fc.oneof(fc.constant(undefined), fc.nat({ max: 800 }));
    const property = fc.property(envelopeOf(version), edits, cut, (envelope, changes, length) => {
      const altered = encodeEnvelope(envelope, version);
      for (const [at, value] of changes) if (at < altered.length) altered[at] = value;
      const input = altered.slice(0, length);
      const decoded = attempt(() => decodeEnvelope(input, version));
      if (!(decoded instanceof Error)) expect(equalBytes(encodeEnvelope(decoded, version), input)).toBe(true);
    });
    fc.assert(property, RUNS);
  });

  it("reads nothing outside of the bytes it was given", () => {
    const envelope = SAMPLE_MESSAGES[version - 1]!.envelope;
    const payload = { ...envelope.executionPayload, transactions: [Uint8Array.of(1, 2), Uint8Array.of(3)] };
    const encoded = encodePayload(payload, version);
    const around = new Uint8Array(encoded.length + 200).fill(0xee);
    around.set(encoded, 100);
    expect(decodePayload(around.subarray(100, 100 + encoded.length), version)).toEqual(payload);
    for (let length = 0; length < encoded.length; length++) {
      const decoded = attempt(() => decodePayload(around.subarray(100, 100 + length), version));
      if (!(decoded instanceof Error)) expect(encodePayload(decoded, version).length).toBe(length);
    }
  });
});

/** A payload of V4 with one transaction, and functions that alter a number in it. */
function sampleBytes(fields: Partial<ExecutionPayload> = {}) {
  const payload = { ...SAMPLE_MESSAGES[3]!.envelope.executionPayload, transactions: [new Uint8Array(100)], ...fields };
  const encoded = encodePayload(payload, 4);
  const view = new DataView(encoded.buffer);
  const transactionsAt = view.getUint32(504, true);
  return { encoded, view, transactionsAt };
}

describe("bounds of SSZ", () => {
  it.each<[string, string, (sample: ReturnType<typeof sampleBytes>) => Uint8Array]>([
    ["less than the fixed part", "ssz/truncated", ({ encoded }) => encoded.subarray(0, 559)],
    ["a first offset that is not the fixed part's end", "ssz/bad-offset", (s) => put(s, 436, 561)],
    ["transactions before extraData", "ssz/bad-offset", (s) => put(s, 504, 559)],
    ["withdrawals before transactions", "ssz/bad-offset", (s) => put(s, 508, s.transactionsAt - 1)],
    ["withdrawals behind the end", "ssz/bad-offset", (s) => put(s, 508, s.encoded.length + 1)],
    ["withdrawals far behind the end", "ssz/bad-offset", (s) => put(s, 508, 0xffff_ffff)],
    ["extraData of 33 bytes", "ssz/bad-length", (s) => put(s, 504, 560 + 33, 508, s.encoded.length)],
    [
      "a list of transactions shorter than an offset",
      "ssz/truncated",
      (s) => put(s, 508, s.transactionsAt + 3).subarray(0, s.transactionsAt + 3),
    ],
    ["an offset of transactions of 0", "ssz/bad-offset", (s) => put(s, s.transactionsAt, 0)],
    ["an offset of transactions that is no multiple of 4", "ssz/bad-offset", (s) => put(s, s.transactionsAt, 5)],
    ["an offset of transactions behind the end", "ssz/bad-offset", (s) => put(s, s.transactionsAt, 0xffff_fffc)],
    ["transactions that overlap", "ssz/bad-offset", (s) => put(s, s.transactionsAt, 8, s.transactionsAt + 4, 7)],
    ["a transaction behind the end", "ssz/bad-offset", (s) => put(s, s.transactionsAt, 8, s.transactionsAt + 4, 105)],
    ["withdrawals of 43 bytes", "ssz/bad-length", (s) => put(s, 508, s.encoded.length - 43)],
    ["a block number of 2^53", "ssz/bad-number", (s) => putUint64(s, 404, 2n ** 53n)],
    ["a time of 2^64 − 1", "ssz/bad-number", (s) => putUint64(s, 428, 2n ** 64n - 1n)],
  ])("refuses %s", (_, code, alter) => {
    expect(() => decodePayload(alter(sampleBytes()), 4)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses more than 16 withdrawals, and more than 2^20 transactions", () => {
    const withdrawals = new Uint8Array(17 * 44);
    const { encoded, view } = sampleBytes({ transactions: [] });
    view.setUint32(508, encoded.length, true);
    const tooMany = new Uint8Array(encoded.length + withdrawals.length);
    tooMany.set(encoded);
    expect(() => decodePayload(tooMany, 4)).toThrow(expect.objectContaining({ code: "ssz/bad-length" }));
    expect(decodePayload(tooMany.subarray(0, tooMany.length - 44), 4).withdrawals).toHaveLength(16);

    const offsets = new Uint8Array(encoded.length + 4 * (2 ** 20 + 1));
    offsets.set(encoded);
    const offsetsView = new DataView(offsets.buffer);
    offsetsView.setUint32(508, offsets.length, true);
    offsetsView.setUint32(encoded.length, 4 * (2 ** 20 + 1), true);
    expect(() => decodePayload(offsets, 4)).toThrow("bad length (field transactions, length 1048577)");
  });

  it.each<[string, Partial<ExecutionPayload>]>([
    ["extraData of 33 bytes", { extraData: new Uint8Array(33) }],
    ["a hash of 31 bytes", { blockHash: new Uint8Array(31) }],
    ["an address of 32 bytes", { feeRecipient: new Uint8Array(32) }],
    ["a base fee of 257 bits", { baseFeePerGas: 2n ** 256n }],
    ["a gas limit of 65 bits", { gasLimit: 2n ** 64n }],
    ["a negative number", { gasUsed: -1n }],
    ["no withdrawals", { withdrawals: undefined }],
    ["no withdrawals root", { withdrawalsRoot: undefined }],
    ["no blob gas", { blobGasUsed: undefined }],
  ])("does not encode %s", (_, fields) => {
    expect(() => sampleBytes(fields)).toThrow(WireError);
  });

  it("does not encode fields that the version has not", () => {
    const { envelope } = SAMPLE_MESSAGES[3]!;
    for (const version of [1, 2, 3] as const) {
      expect(() => encodePayload(envelope.executionPayload, version)).toThrow(
        expect.objectContaining({ code: "ssz/wrong-version" }),
      );
      expect(() => encodeEnvelope(envelope, version)).toThrow(expect.objectContaining({ code: "ssz/wrong-version" }));
    }
    expect(() => encodeEnvelope({ executionPayload: envelope.executionPayload }, 4)).toThrow(
      expect.objectContaining({ code: "ssz/wrong-version" }),
    );
  });
});

describe("snappy blocks", () => {
  it("reads what our library compressed, up to the length that is allowed", () => {
    const texts = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat({ max: 30_000 })).map(([part, length]) => {
        return Uint8Array.from({ length }, (_, i) => part[i % part.length]! + (i >> 9));
      }),
    );
    const property = fc.property(texts, (data) => {
      const compressed = compressSnappyBlock(data);
      expect(snappyBlockLength(compressed)).toBe(data.length);
      expect(equalBytes(decompressSnappyBlock(compressed, data.length), data)).toBe(true);
      if (data.length > 0)
        expect(() => decompressSnappyBlock(compressed, data.length - 1)).toThrow(
          expect.objectContaining({ code: "snappy/too-long" }),
        );
    });
    fc.assert(property, RUNS);
  });

  it("refuses altered data, or fills the stated length", () => {
    const source = compress(Uint8Array.from({ length: 3000 }, (_, i) => (i * i) >> 7));
    const edits = fc.array(fc.tuple(fc.nat({ max: source.length - 1 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 5 });
    const property = fc.property(edits, fc.nat({ max: source.length }), (changes, length) => {
      const altered = source.slice(0, length);
      for (const [at, value] of changes) if (at < length) altered[at] = value;
      const result = attempt(() => decompressSnappyBlock(altered, 100_000));
      if (!(result instanceof Error)) expect(result.length).toBe(snappyBlockLength(altered));
    });
    fc.assert(property, { ...RUNS, numRuns: 1000 });
  });

  it.each<[string, string, string]>([
    ["nothing", "", "snappy/bad-length"],
    ["a length without end", "ffffffffffffffffffffff", "snappy/bad-length"],
    ["a length of 33 bits", "8080808010", "snappy/bad-length"],
    ["a length that is larger than allowed", "81f0ffff0f", "snappy/too-long"],
    ["a length that the data cannot fill", "8007", "snappy/corrupt"],
    ["a literal that ends early", "0510010203", "snappy/corrupt"],
    ["a literal longer than the length", "0310010203040500", "snappy/corrupt"],
    ["a copy from before the start", "0a0001ee05", "snappy/corrupt"],
    ["a copy from no distance", "0a0001ee0000", "snappy/corrupt"],
    ["a copy beyond the length", "0400011e0100", "snappy/corrupt"],
    ["data that end before the length", "06100102030405", "snappy/corrupt"],
    ["data behind the length", "0510010203040500ff", "snappy/corrupt"],
    ["a copy of four bytes without its bytes", "050001ff0100", "snappy/corrupt"],
  ])("refuses %s", (_, data, code) => {
    expect(() => decompressSnappyBlock(hexToBytes(data), 1000)).toThrow(expect.objectContaining({ code }));
  });

  it.each<[string, string, string]>([
    ["an over-long varint", "858000100102030405", "0102030405"],
    ["a copy that overlaps what it writes", "0600aa120100", "aaaaaaaaaaaa"],
    ["a copy with a distance of four bytes", "0600aa1301000000", "aaaaaaaaaaaa"],
    ["a literal with a length of four bytes", "05fc040000000102030405", "0102030405"],
  ])("reads %s, as the Go library does", (_, data, expected) => {
    expect(decompressSnappyBlock(hexToBytes(data), 1000)).toEqual(hexToBytes(expected));
  });

  it("writes no more than the length that was checked, whatever the data say", () => {
    // a bomb: 64 bytes for every three, and a stated length of one literal
    const copies = new Uint8Array(3 + 3 * 100_000);
    copies.set([1, 0, 0xaa]);
    for (let at = 3; at < copies.length; at += 3) copies.set([0xfe, 1, 0], at);
    const error = attempt(() => decompressSnappyBlock(copies, 10_485_760)) as SnappyError;
    expect([error.code, error.data.position]).toEqual(["snappy/corrupt", 6]);
  });
});

/** Writes numbers of 32 bits into the sample: position, value, position, value… */
function put(sample: ReturnType<typeof sampleBytes>, ...edits: readonly number[]): Uint8Array {
  for (let i = 0; i < edits.length; i += 2) sample.view.setUint32(edits[i]!, edits[i + 1]!, true);
  return sample.encoded;
}
function putUint64(sample: ReturnType<typeof sampleBytes>, at: number, value: bigint): Uint8Array {
  sample.view.setBigUint64(at, value, true);
  return sample.encoded;
}
