import { expect, it } from "vitest";
import { decimal, inWords } from "./format.ts";

it.each([
  ["pendingTransactions", "Pending transactions"],
  ["lastInclusionL1Block", "Last inclusion L1 block"],
  ["l1Head", "L1 head"],
  ["balanceEther", "Balance"],
])("writes %s in words", (name, words) => {
  expect(inWords(name)).toBe(words);
});

it("writes no minus before zero", () => {
  expect([-0.02, 0, -0.06, 12].map(decimal)).toEqual(["0.0", "0.0", "-0.1", "12.0"]);
});
