import { createDecompressor } from "@rnode/compression";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { decodeBlock, encodeBlock, hashHeader, headerFromRpc } from "@rnode/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { type SampleBlock, sampleBlock, sampleEngine } from "../testing/sample-block.ts";
import { type CheckRequest, type CheckResult, runCheck } from "./run-check.ts";
import type { Step } from "./steps.ts";

let sample: SampleBlock;
beforeAll(async () => {
  sample = await sampleBlock();
});

async function check(request: Partial<CheckRequest>): Promise<{ result: CheckResult; steps: Step[]; titles: string[] }> {
  const steps: Step[] = [];
  const result = await runCheck(
    { witness: "", data: "", origin: "", rollup: "", expectedHash: "", l1Time: "", ...request },
    {
      engine: sampleEngine,
      decompressor: async () => createDecompressor(),
      now: () => 0,
      onStep: (step) => steps.push(step),
    },
  );
  return { result, steps, titles: steps.map(({ title, state }) => `${state}: ${title}`) };
}

const hashed = (block: object): { readonly hash: string } => ({ hash: bytesToHex(hashHeader(headerFromRpc(block))) });

describe("a check", () => {
  it("executes a finished block and compares its hash and its batch", async () => {
    const { result, titles } = await check({
      witness: JSON.stringify(sample.finished),
      data: sample.data,
      rollup: sample.rollup,
      expectedHash: sample.hash,
    });
    expect(titles).toEqual([
      "good: Block and witness are decoded",
      "good: Every rule of the block holds",
      "good: 1 frame",
      "good: 1 channel",
      "good: 1 batch",
      "good: The block has the batch's transactions",
      "good: The hash is the expected one",
    ]);
    expect(result).toEqual({ isGood: true, number: 1, hash: sample.hash, expectedHash: sample.hash });
  });

  it("builds the block of a file of the vectors' form", async () => {
    const { result, titles } = await check({ witness: JSON.stringify(sample.built) });
    expect(titles.at(-1)).toBe("good: The hash is the expected one");
    expect(result).toMatchObject({ isGood: true, hash: sample.hash });
  });

  it("reads L1 data alone", async () => {
    const { result, titles } = await check({ data: `${sample.data}\n`, rollup: sample.rollup, l1Time: "2000" });
    expect(titles).toEqual(["good: 1 frame", "good: 1 channel", "good: 1 batch"]);
    expect(result).toEqual({ isGood: true, number: undefined, hash: undefined, expectedHash: undefined });
  });

  it("derives the deposits of an L1 block, and compares them with those of the block that names it", async () => {
    const { witness, rollup, origin } = {
      witness: JSON.stringify(sample.finished),
      rollup: sample.rollup,
      origin: JSON.stringify(sample.origin),
    };
    const alone = await check({ rollup, origin });
    expect(alone.titles).toEqual(["good: The L1 block and its receipts fit its hash", "good: 1 deposit"]);
    expect(alone.steps[1]!.facts.join()).toMatch(/^0x.{40} to 0x.{40}: mint 5 wei, value 5 wei, gas 100000, source 0x.{64}$/);
    const both = await check({ witness, rollup, origin, data: sample.data });
    expect(both.result.isGood).toBe(true);
    expect(both.titles).toContain("good: The block has the deposits of its L1 origin");
    expect(both.steps.flatMap(({ facts }) => facts).join()).not.toContain("not compared");
    expect(both.steps[0]!.facts).toContain(`L1 origin 77 ${(sample.origin.block as { hash: string }).hash}`);
  });

  const altered = (change: (block: ReturnType<typeof decodeBlock>) => ReturnType<typeof decodeBlock>) =>
    JSON.stringify({ ...sample.finished, block: bytesToHex(encodeBlock(change(decodeBlock(hexToBytes(sample.finished.block))))) });

  it.each<[string, () => Partial<CheckRequest>, RegExp]>([
    [
      "another state root",
      () => ({ witness: altered((block) => ({ ...block, header: { ...block.header, stateRoot: new Uint8Array(32) } })) }),
      /state-root-mismatch/,
    ],
    [
      "more gas",
      () => ({ witness: altered((block) => ({ ...block, header: { ...block.header, gasUsed: 5n } })) }),
      /gas-used-mismatch/,
    ],
    [
      "a transaction less",
      () => ({ witness: altered((block) => ({ ...block, transactions: block.transactions.slice(0, -1) })) }),
      /transactions-root-mismatch/,
    ],
    [
      "no trie nodes",
      () => ({ witness: JSON.stringify({ ...sample.finished, witness: { ...sample.finished.witness, state: [] } }) }),
      /missing/,
    ],
    [
      "no parent",
      () => ({ witness: JSON.stringify({ ...sample.finished, witness: { ...sample.finished.witness, headers: [] } }) }),
      /has no header/,
    ],
    ["another hash", () => ({ witness: JSON.stringify(sample.finished), expectedHash: `0x${"12".repeat(32)}` }), /expected 0x1212/],
    [
      "an L1 block with another time",
      () => ({
        rollup: sample.rollup,
        origin: JSON.stringify({ ...sample.origin, block: { ...sample.origin.block, timestamp: "0x1" } }),
      }),
      /calls itself 0x/,
    ],
    [
      "receipts of another L1 block",
      () => ({ rollup: sample.rollup, origin: JSON.stringify({ ...sample.origin, receipts: [] }) }),
      /the receipts have the root/,
    ],
    [
      "another L1 origin than that of the block",
      () => {
        const block = { ...sample.origin.block, timestamp: "0x1", hash: "" };
        const { hash } = hashed(block);
        return {
          witness: JSON.stringify(sample.finished),
          rollup: sample.rollup,
          origin: JSON.stringify({ ...sample.origin, block: { ...block, hash } }),
        };
      },
      /it names L1 block 77/,
    ],
    [
      "a block without the deposits of its origin",
      () => {
        const built = structuredClone(sample.built) as {
          payloadAttributes: { transactions: string[] };
          expectedBlockHash?: string;
        };
        built.payloadAttributes.transactions.splice(1, 1);
        delete built.expectedBlockHash;
        return { witness: JSON.stringify(built), rollup: sample.rollup, origin: JSON.stringify(sample.origin) };
      },
      /one of them is missing, or differs/,
    ],
    [
      "a deposit that L1 does not have",
      () => {
        const built = structuredClone(sample.built) as {
          payloadAttributes: { transactions: string[] };
          expectedBlockHash?: string;
        };
        const { transactions } = built.payloadAttributes;
        transactions.splice(1, 0, transactions[1]!);
        delete built.expectedBlockHash;
        return { witness: JSON.stringify(built), rollup: sample.rollup, origin: JSON.stringify(sample.origin) };
      },
      /1 more than L1 says/,
    ],
    ["data of nobody", () => ({ data: "0x0011", rollup: sample.rollup, l1Time: "2000" }), /dropped/],
  ])("finds %s", async (_, request, words) => {
    const { result, steps } = await check(request());
    expect(result.isGood).toBe(false);
    expect(
      steps
        .filter(({ state }) => state === "bad")
        .flatMap(({ facts }) => facts)
        .join("\n"),
    ).toMatch(words);
  });

  it("finds a batch that is not the block's", async () => {
    const other = await sampleBlock();
    const request = { witness: JSON.stringify(other.built), data: other.data, rollup: other.rollup };
    const without = JSON.parse(request.witness) as { payloadAttributes: { transactions: string[] }; expectedBlockHash?: string };
    without.payloadAttributes.transactions.pop();
    delete without.expectedBlockHash;
    const { result, titles } = await check({ ...request, witness: JSON.stringify(without) });
    expect(result.isGood).toBe(false);
    expect(titles).toContain("bad: The block has other transactions than the batch");
  });

  it.each<[Partial<CheckRequest>, RegExp]>([
    [{}, /give a block with its witness, L1 data, or both/],
    [{ origin: "[]", rollup: "op-mainnet" }, /the L1 origin is \{block, receipts\}/],
    [{ origin: "{" }, /the L1 origin is not JSON/],
    [{ witness: "{" }, /the block with its witness is not JSON/],
    [{ witness: "{}" }, /parentHeader or parentHeaderRlp is required/],
    [{ data: "0x00", rollup: "op-mainnet" }, /need the time of their L1 block/],
    [{ data: "0x00", rollup: "op-mainnet", l1Time: "soon" }, /is in seconds, "soon" is no such number/],
    [{ data: "0x00" }, /L1 data need the name of a network/],
    [{ data: "0x00", rollup: "nowhere" }, /nowhere/],
    [{ data: "xyz", rollup: "op-mainnet" }, /hex/],
  ])("says what is wrong with %o", async (request, words) => {
    await expect(check(request)).rejects.toThrow(words);
  });
});
