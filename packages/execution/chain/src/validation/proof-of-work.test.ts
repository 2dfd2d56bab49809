import { asciiToBytes, bytesToHex, EMPTY_OMMERS_HASH, type Hex } from "@rnode/primitives";
import { type Block, type ChainConfig, type Header, hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { describe, expect, it } from "vitest";
import { expectedDifficulty } from "./difficulty.ts";
import { checkHeader } from "./header-validation.ts";
import { checkMerge, TotalDifficulties } from "./merge.ts";
import { checkOmmers } from "./ommers.ts";
import { rulesOfBlock } from "./rules.ts";

const config: ChainConfig = {
  chainId: 1n,
  forkBlocks: { homestead: 0, tangerineWhistle: 0, spuriousDragon: 0, byzantium: 0 },
  evmForkTimes: {},
  blobSchedule: [],
};
const BLOCK_TIME_SEC = 10;

const GENESIS = headerOf({ difficulty: 1_000_000n, gasLimit: 5_000_000n, timestamp: 1000 });

/** A valid child; `mark` makes siblings differ. */
function childOf(parent: Header, mark = 0, chain: ChainConfig = config): Header {
  const timestamp = parent.timestamp + BLOCK_TIME_SEC;
  const child = { ...parent, parentHash: hashHeader(parent), number: parent.number + 1, timestamp };
  const difficulty = expectedDifficulty(chain, rulesOfBlock(chain, child), parent, timestamp);
  return { ...child, difficulty, ommersHash: EMPTY_OMMERS_HASH, extraData: mark === 0 ? new Uint8Array(0) : Uint8Array.of(mark) };
}

const headers: Header[] = [GENESIS];
for (let i = 0; i < 12; i++) headers.push(childOf(headers.at(-1)!));
const at = (number: number): Header => headers[number]!;

describe("checkOmmers", () => {
  const NUMBER = 12;
  const check = (ommers: readonly Header[], included: readonly Header[] = []) => {
    const blocks = new Map<Hex, Pick<Block, "header" | "ommers">>();
    for (const header of headers.slice(0, NUMBER)) {
      blocks.set(bytesToHex(hashHeader(header)), { header, ommers: header.number === NUMBER - 2 ? included : [] });
    }
    const block: Block = { header: at(NUMBER), transactions: [], ommers, withdrawals: undefined };
    const fault = checkOmmers(config, block, (hash) => blocks.get(bytesToHex(hash)));
    return fault?.data.reason;
  };
  const ommerAt = (number: number, mark = 1) => childOf(at(number - 1), mark);

  it.each([11, 10, 9, 8, 7, 6])("takes one of height %d", (number) => {
    expect(check([ommerAt(number)])).toBeUndefined();
  });

  const refused: [string, readonly Header[], readonly Header[], string][] = [
    ["three", [ommerAt(11, 1), ommerAt(11, 2), ommerAt(11, 3)], [], "too-many"],
    ["the same twice", [ommerAt(11), ommerAt(11)], [], "duplicate"],
    ["one that an ancestor included", [ommerAt(9)], [ommerAt(9)], "duplicate"],
    ["an ancestor", [at(11)], [], "is-ancestor"],
    ["a sibling", [ommerAt(12)], [], "is-sibling"],
    ["one too deep", [ommerAt(5)], [], "parent-not-an-ancestor-within-reach"],
    ["one of a branch", [childOf(ommerAt(9))], [], "parent-not-an-ancestor-within-reach"],
    ["a wrong difficulty", [{ ...ommerAt(10), difficulty: 1n }], [], "difficulty-mismatch"],
    ["a time not after its parent", [{ ...ommerAt(10), timestamp: at(9).timestamp }], [], "timestamp-not-after-parent"],
    ["more gas used than allowed", [{ ...ommerAt(10), gasUsed: 5_000_001n }], [], "gas-used-above-limit"],
    ["a leap of the gas limit", [{ ...ommerAt(10), gasLimit: 6_000_000n }], [], "gas-limit-out-of-bounds"],
    ["too much extra data", [{ ...ommerAt(10), extraData: new Uint8Array(33) }], [], "extra-data-too-long"],
  ];
  it.each(refused)("refuses %s", (_name, ommers, included, reason) => {
    expect(check(ommers, included)).toBe(reason);
  });

  it("refuses a proof-of-stake header on a chain that is to merge", () => {
    const merging = { ...config, terminalTotalDifficulty: 10n ** 18n };
    const block: Block = { header: at(3), transactions: [], ommers: [{ ...ommerAt(2), difficulty: 0n }], withdrawals: undefined };
    const fault = checkOmmers(merging, block, (hash) => {
      const header = headers.find((known) => bytesToHex(hashHeader(known)) === bytesToHex(hash));
      return header === undefined ? undefined : { header, ommers: [] };
    });
    expect(fault?.data.reason).toBe("proof-of-stake");
  });
});

describe("checkHeader of proof of work", () => {
  it("wants the difficulty of the formula", () => {
    const rules = rulesOfBlock(config, at(5));
    expect(checkHeader(config, rules, at(4), at(5))).toBeUndefined();
    const wrong = { ...at(5), difficulty: at(5).difficulty + 1n };
    expect(checkHeader(config, rules, at(4), wrong)).toMatchObject({
      rule: "difficulty-mismatch",
      data: { expected: at(5).difficulty, got: wrong.difficulty },
    });
  });

  const MARK = asciiToBytes("dao-hard-fork");
  it.each([
    [true, 4, true, true],
    [true, 5, true, true],
    [true, 5, false, false],
    [true, 14, false, false],
    [true, 15, false, true],
    [false, 5, false, true],
    [false, 5, true, false],
    [false, 15, true, true],
  ] as const)("DAO fork at 5, supported: %s; block %d, marked: %s: valid: %s", (daoForkSupport, number, isMarked, isValid) => {
    const parent = { ...GENESIS, number: number - 1 };
    const dao = { ...config, daoForkBlock: 5, daoForkSupport };
    const header = { ...childOf(parent), extraData: isMarked ? MARK : new Uint8Array(0) };
    const fault = checkHeader(dao, rulesOfBlock(dao, header), parent, header);
    expect(fault?.rule).toBe(isValid ? undefined : "dao-extra-data");
  });
});

describe("checkMerge", () => {
  const totals = new TotalDifficulties((hash) => headers.find((header) => bytesToHex(hashHeader(header)) === bytesToHex(hash)));
  const sum = (number: number) => headers.slice(0, number + 1).reduce((total, { difficulty }) => total + difficulty, 0n);

  it("adds difficulties up", () => {
    expect(totals.of(hashHeader(at(4)))).toBe(sum(4));
    expect(totals.of(hashHeader(at(9)))).toBe(sum(9));
    expect(totals.of(new Uint8Array(32).fill(1))).toBeUndefined();
  });

  const merging = { ...config, terminalTotalDifficulty: sum(5) };
  const ruleOf = (parent: Header, header: Header) => {
    const context = { header: parent, totalDifficulty: () => totals.of(hashHeader(parent)) };
    return checkMerge(merging, rulesOfBlock(merging, header), context, header)?.rule;
  };
  const stake = (header: Header): Header => ({ ...header, difficulty: 0n });

  it("goes over on the first block after the terminal one, and not back", () => {
    expect(ruleOf(at(4), at(5))).toBeUndefined();
    expect(ruleOf(at(4), stake(at(5)))).toBe("terminal-difficulty-not-reached");
    expect(ruleOf(at(5), at(6))).toBe("terminal-difficulty-reached");
    expect(ruleOf(at(5), stake(at(6)))).toBeUndefined();
    expect(ruleOf(stake(at(6)), stake(at(7)))).toBeUndefined();
    expect(ruleOf(stake(at(6)), at(7))).toBe("difficulty-mismatch");
  });

  it("says nothing where proof of stake began with the genesis block", () => {
    const context = { header: at(5), totalDifficulty: () => 0n };
    const always = { ...config, terminalTotalDifficulty: 0n };
    expect(checkMerge(always, rulesOfBlock(always, at(6)), context, at(6))).toBeUndefined();
  });
});
