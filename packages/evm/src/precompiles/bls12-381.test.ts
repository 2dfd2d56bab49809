import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { expect, it } from "vitest";
import { bls12381Precompiles } from "./bls12-381.ts";

/** Position in the table: addresses begin at 0x0b. */
const MAP_FP_TO_G1 = 0x10 - 0x0b;

const limits = { g1MsmBytes: 1_000_000, g2MsmBytes: 1_000_000, pairingBytes: 1_000_000 };
const field = (hex: string): string => hex.padStart(128, "0");

it("maps a field element to G1", () => {
  const input = field("156c8a6a2c184569d69a76be144b5cdc5141d2d2ca4fe341f011e25e3969c55ad9e9b9ce2eb833c81a908e5fa4ac5f03");
  const x = field("184bb665c37ff561a89ec2122dd343f20e0f4cbcaec84e3c3052ea81d1834e192c426074b02ed3dca4e7676ce4ce48ba");
  const y = field("04407b8d35af4dacc809927071fc0405218f1401a6d15af775810e4e460064bcc9468beeba82fdc751be70476c888bf3");
  const output = bls12381Precompiles(limits)[MAP_FP_TO_G1]!.run(hexToBytes(`0x${input}`));
  expect(output === undefined ? undefined : bytesToHex(output)).toBe(`0x${x}${y}`);
});
