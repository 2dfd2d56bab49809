import type { ContractAnswer } from "@rnode/l1";
import { bigintToBytes, equalBytes } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { expect, it } from "vitest";
import { findContract } from "./find-contract.ts";

const PORTAL = new Uint8Array(20).fill(1);
const FACTORY = new Uint8Array(20).fill(2);
const GAME = new Uint8Array(20).fill(3);
const words = (...values: bigint[]): ContractAnswer => ({ kind: "words", words: values.map((value) => bigintToBytes(value, 32)) });

it("makes no games of the wrong kind when an upgrade moves the portal to them", async () => {
  let respected = 1n;
  const reader = {
    read: async (to: Uint8Array, signature: string): Promise<ContractAnswer> => {
      if (equalBytes(to, PORTAL)) return words(signature === "respectedGameType()" ? respected : 0n);
      return words(signature === "gameImpls(uint32)" ? 3n : 0n);
    },
  };
  const options = { l2ooAddress: undefined, gameFactoryAddress: FACTORY, gameType: undefined, proposalIntervalMs: 1000 };
  const deps = { reader, proposer: GAME, portal: PORTAL, rootKind: "output root" as const, clock: new SimClock() };
  const contract = await findContract(options, deps);
  const proposal = {
    root: `0x${"11".repeat(32)}`,
    sequenceNumber: 7,
    timestampSec: 14,
    extraData: bigintToBytes(7n, 32),
    status: { currentL1: { hash: `0x${"00".repeat(32)}`, number: 0 }, safe: 7, finalized: 7 },
  } as const;
  const typeOfNext = async (): Promise<number> => {
    await contract.state();
    return (await contract.transaction(proposal)).data[35]!;
  };
  expect(await typeOfNext()).toBe(1);
  respected = 8n;
  expect(await typeOfNext()).toBe(8);
  respected = 9n;
  await expect(contract.state()).rejects.toThrow(
    "--game-type: 9 does not do; expected a type of games with output roots (0, 1, 8), or --superroot-rpcs",
  );
});
