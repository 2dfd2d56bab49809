import { bytesToHex } from "@rnode/primitives";
import { expectNetwork, hashHeader } from "@rnode/protocol";
import { expect, it } from "vitest";
import { knownFirstBlock } from "./bedrock.ts";

it("has the first block of OP Mainnet", () => {
  const { number, hash } = expectNetwork("op-mainnet").genesis.l2;
  const { header } = knownFirstBlock(hash)!;
  expect({ number: header.number, hash: bytesToHex(hashHeader(header)) }).toEqual({ number, hash });
  expect(knownFirstBlock(`0x${"12".repeat(32)}`)).toBeUndefined();
});
