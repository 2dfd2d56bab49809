import { expect, it } from "vitest";
import { inWords } from "./format.ts";

it.each([
  ["pendingTransactions", "Pending transactions"],
  ["lastInclusionL1Block", "Last inclusion L1 block"],
  ["l1Head", "L1 head"],
  ["balanceEther", "Balance"],
])("writes %s in words", (name, words) => {
  expect(inWords(name)).toBe(words);
});
