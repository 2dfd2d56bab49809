import { bytesToHex, concatBytes, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RollupConfig } from "../chains/rollup-config.ts";
import { L1_INFO_LAYOUT_NAMES } from "../params/l1-info-layouts.ts";
import { encodeFeeScalar } from "../params/system-config-scalar.ts";
import { testRollupConfig } from "../testing/rollup-config.ts";
import {
  decodeL1BlockInfo,
  encodeL1BlockInfo,
  type L1BlockInfo,
  l1BlobBaseFee,
  l1BlockInfo,
  l1InfoDeposit,
  l1InfoLayout,
} from "./l1-attributes.ts";

const word = (hex: string) => hex.padStart(64, "0");
const L1_HASH = "22".repeat(32);
const BATCHER = "6887246668a3b87f54deb3b94ba47a6f63f32985";

// docs/protocol/06-testing.md#l1-attributes-vectors
const BEDROCK = `015d8eb9${word("117c4eb")}${word("65280377")}${word("26d05d953")}${L1_HASH}${word("4")}${word(BATCHER)}${word("bc")}${word("a6fe0")}`;
const ECOTONE_BODY = `00000558000c5fc5000000000000000500000000661c277300000000012bec20${word("26e9f1099")}${word("1")}${L1_HASH}${word(BATCHER)}`;
const VECTORS = {
  bedrock: BEDROCK,
  ecotone: `440a5e20${ECOTONE_BODY}`,
  isthmus: `098999be${ECOTONE_BODY}0000abcd000000000000dcba`,
  jovian: `3db6be2b${ECOTONE_BODY}0000abcd000000000000dcba0190`,
} as const;

const origin = {
  number: 19_655_712,
  hash: hexToBytes(L1_HASH),
  timestamp: 1_713_121_139,
  baseFeePerGas: 10_445_852_825n,
  blobBaseFee: 1n,
};

describe("L1 attributes calldata", () => {
  it.each(L1_INFO_LAYOUT_NAMES)("is the published vector: %s", (layout) => {
    const info = decodeL1BlockInfo(hexToBytes(VECTORS[layout]));
    expect(info.layout).toBe(layout);
    expect(bytesToHex(info.blockHash)).toBe(`0x${L1_HASH}`);
    expect(bytesToHex(info.batcherHash)).toBe(`0x${word(BATCHER)}`);
    expect(bytesToHex(encodeL1BlockInfo(info))).toBe(`0x${VECTORS[layout]}`);
    if (layout === "bedrock") {
      expect(info).toMatchObject({ number: 0x117c4eb, timestamp: 0x65280377, baseFee: 0x26d05d953n, sequenceNumber: 4 });
      expect(bytesToHex(info.overhead)).toBe(`0x${word("bc")}`);
      expect(bytesToHex(info.scalar)).toBe(`0x${word("a6fe0")}`);
      return;
    }
    expect(info).toMatchObject({
      number: origin.number,
      timestamp: origin.timestamp,
      baseFee: origin.baseFeePerGas,
      blobBaseFee: 1n,
      baseFeeScalar: 1368,
      blobBaseFeeScalar: 810_949,
      sequenceNumber: 5,
      operatorFeeScalar: layout === "ecotone" ? 0 : 0xabcd,
      operatorFeeConstant: layout === "ecotone" ? 0n : 0xdcban,
      daFootprintGasScalar: layout === "jovian" ? 400 : 0,
    });
  });

  it("round-trips", () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
    const big = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n });
    const zero = new Uint8Array(32);
    const record = fc.record({
      number: uint(53),
      timestamp: uint(53),
      baseFee: big(256n),
      blockHash: bytes(32),
      sequenceNumber: uint(53),
      batcherHash: bytes(20).map((address) => concatBytes(new Uint8Array(12), address)),
      overhead: bytes(32),
      scalar: bytes(32),
      blobBaseFee: big(256n),
      baseFeeScalar: uint(32),
      blobBaseFeeScalar: uint(32),
      operatorFeeScalar: uint(32),
      operatorFeeConstant: big(64n),
      daFootprintGasScalar: uint(16),
    });
    fc.assert(
      fc.property(fc.constantFrom(...L1_INFO_LAYOUT_NAMES), record, (layout, fields) => {
        const later = layout === "isthmus" || layout === "jovian";
        const info: L1BlockInfo = {
          ...fields,
          layout,
          ...(layout === "bedrock"
            ? { blobBaseFee: 0n, baseFeeScalar: 0, blobBaseFeeScalar: 0 }
            : { overhead: zero, scalar: zero }),
          ...(later ? {} : { operatorFeeScalar: 0, operatorFeeConstant: 0n }),
          ...(layout === "jovian" ? {} : { daFootprintGasScalar: 0 }),
        };
        expect(decodeL1BlockInfo(encodeL1BlockInfo(info))).toEqual(info);
      }),
    );
  });

  const patched = (hex: string, at: number, byte: number) => {
    const data = hexToBytes(hex);
    data[at] = byte;
    return data;
  };
  it.each<[string, Uint8Array, string]>([
    ["nothing", new Uint8Array(), "l1-info/unknown-selector"],
    ["another selector", patched(VECTORS.ecotone, 0, 0), "l1-info/unknown-selector"],
    ["a byte too much", hexToBytes(`${VECTORS.jovian}00`), "l1-info/wrong-length"],
    ["a byte too few", hexToBytes(VECTORS.bedrock.slice(0, -2)), "l1-info/wrong-length"],
    ["Isthmus data with Ecotone's length", hexToBytes(`098999be${ECOTONE_BODY}`), "l1-info/wrong-length"],
    ["a number above 64 bits", patched(VECTORS.bedrock, 4 + 23, 1), "l1-info/bad-padding"],
    ["a time above 64 bits", patched(VECTORS.bedrock, 36, 1), "l1-info/bad-padding"],
    ["a sequence number above 64 bits", patched(VECTORS.bedrock, 4 + 32 * 4, 1), "l1-info/bad-padding"],
    ["an address above 20 bytes", patched(VECTORS.bedrock, 4 + 32 * 5 + 11, 1), "l1-info/bad-padding"],
    ["an address above 20 bytes from Ecotone on", patched(VECTORS.ecotone, 132 + 11, 1), "l1-info/bad-padding"],
    ["a number above 2^53", patched(VECTORS.ecotone, 28, 0xff), "l1-info/number-too-large"],
  ])("refuses %s", (_, data, code) => {
    expect(() => decodeL1BlockInfo(data)).toThrow(expect.objectContaining({ code }));
  });
});

describe("layout of a block", () => {
  const at = (forkTimes: RollupConfig["forkTimes"]) => (time: number) => l1InfoLayout({ forkTimes, blockTimeSec: 2 }, time);
  it("changes one block after the fork's activation", () => {
    const layout = at({ ecotone: 100, isthmus: 200, jovian: 300 });
    expect([98, 100, 102, 198, 200, 202, 298, 300, 302].map(layout)).toEqual([
      "bedrock",
      "bedrock",
      "ecotone",
      "ecotone",
      "ecotone",
      "isthmus",
      "isthmus",
      "isthmus",
      "jovian",
    ]);
  });
  it("is the newest from the first block when the fork is active at genesis", () => {
    expect(at({ ecotone: 0, isthmus: 0, jovian: 0 })(1002)).toBe("jovian");
  });
  it("of several forks at once is the newest that is not being activated, and Bedrock's in Ecotone's", () => {
    expect(at({ ecotone: 0, isthmus: 100, jovian: 100 })(100)).toBe("ecotone");
    expect(at({ ecotone: 100, isthmus: 100, jovian: 100 })(100)).toBe("bedrock");
    expect(at({ ecotone: 100, isthmus: 100, jovian: 100 })(102)).toBe("jovian");
  });
});

describe("L1 attributes deposit", () => {
  const config = (forkTimes: RollupConfig["forkTimes"]) => testRollupConfig({ forkTimes });
  const systemConfig = {
    ...config({}).genesis.systemConfig,
    batcherAddress: hexToBytes(BATCHER),
    scalar: encodeFeeScalar({ baseFeeScalar: 1368, blobBaseFeeScalar: 810_949 }),
    operatorFeeScalar: 0xabcd,
    operatorFeeConstant: 0xdcban,
  };

  it.each(["ecotone", "isthmus", "jovian"] as const)("encodes the vector: %s", (layout) => {
    const forks = { regolith: 0, canyon: 0, ecotone: 0, ...(layout === "ecotone" ? {} : { isthmus: 0 }) };
    const deposit = l1InfoDeposit(config(layout === "jovian" ? { ...forks, jovian: 0 } : forks), origin, systemConfig, 5, 2000);
    expect(bytesToHex(deposit.data)).toBe(`0x${VECTORS[layout]}`);
    expect(deposit).toMatchObject({ gasLimit: 1_000_000n, isSystemTx: false, mint: 0n, value: 0n });
    expect(bytesToHex(deposit.from)).toBe("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001");
    expect(bytesToHex(deposit.to!)).toBe("0x4200000000000000000000000000000000000015");
  });

  it("is a system transaction before Regolith", () => {
    const deposit = l1InfoDeposit(config({ regolith: 3000 }), origin, systemConfig, 0, 2000);
    expect(deposit).toMatchObject({ gasLimit: 150_000_000n, isSystemTx: true });
  });

  it("reads a Bedrock scalar as the base fee scalar, or as the largest when it does not fit", () => {
    const scalar = (hex: string) => ({ ...systemConfig, scalar: hexToBytes(hex) });
    const info = (hex: string) => l1BlockInfo(config({ ecotone: 0 }), origin, scalar(hex), 0, 2000);
    expect(info(word("a6fe0"))).toMatchObject({ baseFeeScalar: 0xa6fe0, blobBaseFeeScalar: 0 });
    expect(info(word("1000a6fe0"))).toMatchObject({ baseFeeScalar: 0xffff_ffff, blobBaseFeeScalar: 0 });
    for (const version of ["01ff", "02", "ff"]) {
      expect(info(version.padEnd(64, "0"))).toMatchObject({ baseFeeScalar: 0xffff_ffff, blobBaseFeeScalar: 0 });
    }
  });
});

describe("L1 blob base fee", () => {
  const schedule = [
    { timeSec: 100, baseFeeUpdateFraction: 3_338_477n },
    { timeSec: 200, baseFeeUpdateFraction: 5_007_716n },
  ];
  const fee = (timestamp: number, excessBlobGas: bigint | undefined, pectraBlobScheduleTime?: number) =>
    l1BlobBaseFee({ pectraBlobScheduleTime }, schedule, { timestamp, excessBlobGas });
  it("is 1 before Cancun", () => expect(fee(50, undefined)).toBe(1n));
  it("follows the L1 fork at the origin", () => {
    expect(fee(150, 10_000_000n)).toBe(19n);
    expect(fee(200, 10_000_000n)).toBe(7n);
  });
  it("is the largest that fits when it would not fit, whatever the excess", () => {
    const largest = 2n ** 256n - 1n;
    expect(fee(150, 177n * 3_338_477n)).toBeLessThan(largest);
    for (const excess of [178n * 3_338_477n, 2n ** 40n, 2n ** 64n - 1n, 2n ** 256n - 1n]) expect(fee(150, excess)).toBe(largest);
  });
  it("keeps Cancun's fraction until the Pectra blob schedule", () => {
    expect(fee(250, 10_000_000n, 300)).toBe(19n);
    expect(fee(300, 10_000_000n, 300)).toBe(7n);
  });
});
