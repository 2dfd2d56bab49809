import { bytesToHex, keccak256, ZERO_HASH } from "@rnode/primitives";
import { type Block, encodeBlock, type Header } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { PreparedBlock } from "../prepared-block.ts";
import { createSenderCache } from "../senders/senders.ts";
import { rootsHere, type StateRoots } from "../state-roots/root-thread.ts";
import { type DevChain, forkchoice, openDevChain } from "../testing/dev-chain.ts";
import { type ModelBlock, ModelChain } from "../testing/model-chain.ts";
import { describeImportRefusal, importBlocks } from "./block-import.ts";

const COUNT = 40;
const opened: DevChain[] = [];
afterEach(async () => {
  for (const dev of opened.splice(0)) await dev.remove();
});

const model = new ModelChain("jovian", 3);
const main = model.extend(model.first, COUNT);
const blocks = main.map(({ block }) => block);
const tip = main.at(-1)!;
/** Branches off block 20: shorter than the chain, and longer. */
const short = model.extend(main[19]!, 6);
const long = model.extend(main[19]!, 25);
const blocksOf = (branch: readonly ModelBlock[]): Block[] => branch.map(({ block }) => block);

function newChain(given: Parameters<typeof openDevChain>[1] = {}): DevChain {
  const dev = openDevChain("jovian", { genesis: model.genesis, config: model.config, ...given });
  opened.push(dev);
  return dev;
}

interface ImportGiven {
  readonly groupBlocks?: number;
  readonly startRoots?: Parameters<typeof importBlocks>[0]["startRoots"];
}

/** @returns why a block was refused */
async function importInto(dev: DevChain, given: readonly Block[], { groupBlocks = 7, startRoots }: ImportGiven = {}) {
  const { chain, store } = dev;
  const told = new Set<number>();
  const source = (async function* () {
    for (const block of given) yield await Promise.resolve({ block });
  })();
  const parts = { chain, store, senders: createSenderCache(), startRoots };
  const refusal = await importBlocks(parts, source, { groupBlocks, onStored: ({ header }) => told.add(header.number) });
  if (refusal === undefined) for (const { header } of given) expect(told).toContain(header.number);
  expect(store.verifyState().problems).toEqual([]);
  return refusal && { number: refusal.block.header.number, reason: describeImportRefusal(refusal) };
}

const headOf = ({ store }: DevChain): string => store.head()!.hash;

describe("importBlocks", { timeout: 120_000 }, () => {
  it.each<[string, number, Partial<Header>, string]>([
    ["state root", 23, { stateRoot: keccak256(Uint8Array.of(1)) }, "state-root-mismatch"],
    ["withdrawals root", 23, { withdrawalsRoot: keccak256(Uint8Array.of(1)) }, "withdrawals-root-mismatch"],
    ["gas used", 30, { gasUsed: 1n }, "gas-used-mismatch"],
  ])("refuses a wrong %s, names the block and keeps those before it", async (_, number, fields, rule) => {
    for (const groupBlocks of [1, 7, 64]) {
      const dev = newChain();
      const bad = blocks.map((block) =>
        block.header.number === number ? { ...block, header: { ...block.header, ...fields } } : block,
      );
      const refused = await importInto(dev, bad, { groupBlocks });
      expect(refused).toEqual({ number, reason: expect.stringContaining(rule) as string });
      expect(dev.store.head()!.number).toBe(number - 1);
      // What was refused is mended, and the rest follows.
      expect(await importInto(dev, blocks, { groupBlocks: 5 })).toBeUndefined();
      expect(headOf(dev)).toBe(bytesToHex(tip.hash));
    }
  });

  it("says so when a parent is missing", async () => {
    const dev = newChain();
    const refused = await importInto(dev, [...blocks.slice(0, 9), ...blocks.slice(12)]);
    expect(refused).toEqual({ number: 13, reason: expect.stringContaining("is not in the database") as string });
    expect(dev.store.head()!.number).toBe(9);
  });

  it.each<[string, readonly Block[], ModelBlock]>([
    ["a block twice", [...blocks.slice(0, 30), blocks[29]!, ...blocks.slice(30)], tip],
    ["blocks from before at the end", [...blocks, ...blocks.slice(30, 38)], tip],
    ["blocks from before in the middle", [...blocks.slice(0, 30), ...blocks.slice(20, 24), ...blocks.slice(30)], tip],
    ["a branch before the chain goes on", [...blocks.slice(0, 22), ...blocksOf(short), ...blocks.slice(22)], tip],
    ["a branch before blocks that were there", [...blocks.slice(0, 30), ...blocksOf(short), ...blocks.slice(20)], tip],
    ["a branch at the end", [...blocks, ...blocksOf(long)], long.at(-1)!],
    ["a branch twice", [...blocks, ...blocksOf(long), ...blocksOf(long)], long.at(-1)!],
    ["a branch with blocks from before it", [...blocks.slice(0, 25), ...blocksOf(long), ...blocks.slice(3, 9)], long.at(-1)!],
    ["a branch with a block of its own twice", [...blocks.slice(0, 25), ...blocksOf(long), long[3]!.block], long.at(-1)!],
  ])("takes a file with %s", async (_, given, head) => {
    for (const groupBlocks of [7, 64]) {
      const dev = newChain();
      expect(await importInto(dev, given, { groupBlocks })).toBeUndefined();
      expect({ groupBlocks, head: headOf(dev) }).toEqual({ groupBlocks, head: bytesToHex(head.hash) });
    }
  });

  it("goes to the heaviest branch of a chain of proof of work, wherever it is in the file", async () => {
    const work = new ModelChain("work", 4);
    const chain = work.extend(work.first, 16);
    const lighter = work.extend(chain[11]!, 4);
    const heavier = work.extend(chain[10]!, 7);
    for (const groupBlocks of [1, 3, 64]) {
      const dev = newChain({ genesis: work.genesis, config: work.config });
      const importAll = async (...branches: ModelBlock[][]) => {
        for (const branch of branches) {
          const source = (async function* () {
            for (const { block } of branch) yield await Promise.resolve({ block });
          })();
          const parts = { chain: dev.chain, store: dev.store, senders: createSenderCache() };
          expect(await importBlocks(parts, source, { groupBlocks, onStored: () => undefined })).toBeUndefined();
        }
        return headOf(dev);
      };
      expect(await importAll(chain, lighter)).toBe(bytesToHex(chain.at(-1)!.hash));
      expect(await importAll(heavier)).toBe(bytesToHex(heavier.at(-1)!.hash));
      expect(await importAll(chain, lighter)).toBe(bytesToHex(heavier.at(-1)!.hash));
      const heaviest = work.extend(lighter.at(-1)!, 3);
      expect(await importAll(heaviest)).toBe(bytesToHex(heaviest.at(-1)!.hash));
      expect(dev.store.verifyState().problems).toEqual([]);
    }
  });

  it("takes a branch that is longer than what the chain keeps of blocks it has not chosen", async () => {
    const branch = model.extend(main[19]!, 150);
    const dev = newChain({ options: { tree: { maxBlocks: 140 } } });
    expect(await importInto(dev, [...blocks, ...blocksOf(branch)], { groupBlocks: 1000 })).toBeUndefined();
    expect(headOf(dev)).toBe(bytesToHex(branch.at(-1)!.hash));
  });

  it("refuses a branch that the chain cannot go to, and keeps the chain", async () => {
    const dev = newChain();
    const branch = model.extend(tip, 130);
    await importInto(dev, [...blocks, ...blocksOf(branch)], { groupBlocks: 64 });
    while (dev.store.pruneHistory(128, 10_000).remainingBlocks > 0);
    const floor = dev.store.retainedHistory()!.oldestState;
    expect(floor).toBe(42);
    const other = model.extend(branch[1]!, 2);
    expect(await importInto(dev, blocksOf(other))).toEqual({
      number: 43,
      reason: expect.stringContaining("reorganisation-too-deep") as string,
    });
    expect(headOf(dev)).toBe(bytesToHex(branch.at(-1)!.hash));
  });

  it("goes on block by block where the thread of state roots ends, or is wrong", async () => {
    let started = 0;
    const failing =
      (groups: number, fault: "ends" | "is wrong") =>
      (...of: Parameters<typeof rootsHere>): StateRoots => {
        started++;
        const roots = rootsHere(...of);
        let left = groups;
        return {
          ...roots,
          async seal() {
            const sealed = await roots.seal();
            if (left-- > 0 || sealed === undefined) return sealed;
            const blocks = sealed.blocks.map((block) => ({ ...block, stateRoot: ZERO_HASH }));
            return fault === "ends" ? undefined : { ...sealed, blocks };
          },
        };
      };
    for (const fault of ["ends", "is wrong"] as const) {
      for (const groups of [0, 1, 2]) {
        const dev = newChain();
        started = 0;
        expect(await importInto(dev, blocks, { groupBlocks: 3, startRoots: failing(groups, fault) })).toBeUndefined();
        expect(started).toBeGreaterThan(1);
        expect(headOf(dev)).toBe(bytesToHex(tip.hash));
      }
    }
  });

  it("keeps all before a source that fails", async () => {
    const dev = newChain();
    const source = (async function* () {
      for (const block of blocks.slice(0, 23)) yield await Promise.resolve({ block });
      throw new Error("cut off");
    })();
    const parts = { chain: dev.chain, store: dev.store, senders: createSenderCache() };
    await expect(importBlocks(parts, source, { groupBlocks: 7, onStored: () => undefined })).rejects.toThrow("cut off");
    expect(dev.store.head()!.number).toBe(23);
  });

  it("leaves blocks that are what they were in the file", async () => {
    const dev = newChain();
    await importInto(dev, blocks);
    for (const { block, hash } of main) expect(encodeBlock(dev.store.readBlock(hash)!)).toEqual(encodeBlock(block));
    // Fork choice goes on from there.
    const [next] = model.extend(tip, 1);
    expect(dev.chain.newPayload(new PreparedBlock(next!.block)).status).toBe("VALID");
    expect(dev.chain.forkchoiceUpdated(forkchoice(next!.hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
  });
});
