import { createMetrics } from "@rnode/observe";
import { bytesToHex, keccak256, ZERO_HASH } from "@rnode/primitives";
import { type Block, encodeBlock, type Header } from "@rnode/protocol";
import { openChainStore } from "@rnode/storage";
import { afterEach, describe, expect, it } from "vitest";
import type { StoredBlock } from "../api.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { rootsHere, type StateRoots } from "../state-roots/root-thread.ts";
import { attributesFor, build, type DevChain, forkchoice, openDevChain } from "../testing/dev-chain.ts";
import { type ModelBlock, ModelChain } from "../testing/model-chain.ts";
import { describeImportRefusal } from "./block-import.ts";

const COUNT = 40;
const opened: DevChain[] = [];
afterEach(async () => {
  for (const dev of opened.splice(0)) await dev.remove();
});

const model = new ModelChain("jovian", 3);
const main = model.extend(model.first, COUNT);
const blocks = main.map(({ block }) => block);
const tip = main.at(-1)!;
/** Branches that fork off at block 20: one is shorter than the chain, one is longer. */
const short = model.extend(main[19]!, 6);
const long = model.extend(main[19]!, 25);
const blocksOf = (branch: readonly ModelBlock[]): Block[] => branch.map(({ block }) => block);

function newChain(given: Parameters<typeof openDevChain>[1] = {}): DevChain {
  const dev = openDevChain("jovian", { genesis: model.genesis, config: model.config, ...given });
  opened.push(dev);
  return dev;
}

/** @returns why a block was refused */
async function importInto({ chain, store }: DevChain, given: readonly Block[], groupBlocks = 7, hasRuns = false) {
  const told = new Set<number>();
  const source = given.map((block) => ({ block }));
  const trustedHead = hasRuns ? 1000 + store.proofWindowBlocks : undefined;
  const refusal = await chain.import(source, { groupBlocks, trustedHead, onStored: ({ header }) => told.add(header.number) });
  if (refusal === undefined) for (const { header } of given) expect(told).toContain(header.number);
  expect(store.verifyState().problems).toEqual([]);
  return refusal && { number: refusal.block.header.number, reason: describeImportRefusal(refusal) };
}

const headOf = ({ store }: DevChain): string => store.head()!.hash;

describe("Chain.import", () => {
  it.each<[string, number, Partial<Header>, string]>([
    ["state root", 23, { stateRoot: keccak256(Uint8Array.of(1)) }, "state-root-mismatch"],
    ["withdrawals root", 23, { withdrawalsRoot: keccak256(Uint8Array.of(1)) }, "withdrawals-root-mismatch"],
    ["gas used", 30, { gasUsed: 1n }, "gas-used-mismatch"],
  ])("refuses a wrong %s, names the block and keeps those before it", async (_, number, fields, rule) => {
    for (const groupBlocks of [1, 7, 64, "runs"] as const) {
      const dev = newChain();
      const bad = blocks.map((block) =>
        block.header.number === number ? { ...block, header: { ...block.header, ...fields } } : block,
      );
      const refused = await (groupBlocks === "runs" ? importInto(dev, bad, 7, true) : importInto(dev, bad, groupBlocks));
      expect(refused).toEqual({ number, reason: expect.stringContaining(rule) as string });
      expect(dev.store.head()!.number).toBe(number - 1);
      // The refused block is replaced by the right one, and the rest follows.
      expect(await importInto(dev, blocks, 5)).toBeUndefined();
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
      expect(await importInto(dev, given, groupBlocks)).toBeUndefined();
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
          expect(await dev.chain.import(branch, { groupBlocks })).toBeUndefined();
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
    expect(await importInto(dev, [...blocks, ...blocksOf(branch)], 1000)).toBeUndefined();
    expect(headOf(dev)).toBe(bytesToHex(branch.at(-1)!.hash));
  });

  it("refuses a branch that the chain cannot go to, and keeps the chain", async () => {
    const dev = newChain();
    const branch = model.extend(tip, 130);
    await importInto(dev, [...blocks, ...blocksOf(branch)], 64);
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
        const dev = newChain({ startGroupRoots: failing(groups, fault) });
        started = 0;
        expect(await importInto(dev, blocks, 3)).toBeUndefined();
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
    await expect(dev.chain.import(source, { groupBlocks: 7 })).rejects.toThrow("cut off");
    expect(dev.store.head()!.number).toBe(23);
  });

  it("leaves blocks that are what they were in the file", async () => {
    const dev = newChain();
    await importInto(dev, blocks);
    for (const { block, hash } of main) expect(encodeBlock(dev.store.readBlock(hash)!)).toEqual(encodeBlock(block));
    // Fork choice continues from there.
    const [next] = model.extend(tip, 1);
    expect(dev.chain.newPayload(new PreparedBlock(next!.block)).status).toBe("VALID");
    expect(dev.chain.forkchoiceUpdated(forkchoice(next!.hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
  });
});

describe("a chain that imports", () => {
  const SYNCING = { status: "SYNCING", latestValidHash: null };
  const choose = ({ chain }: DevChain, { hash }: ModelBlock) => chain.forkchoiceUpdated(forkchoice(hash), undefined, 3);
  const addAll = ({ chain }: DevChain, branch: readonly ModelBlock[]): void => {
    for (const { block } of branch) expect(chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
  };
  /** The block numbers at which groups end. A block that clears an account's storage is a separate group. */
  const groupEndsOf = ({ store }: DevChain): number[] => {
    const ends: number[] = [];
    const commitGroup = store.commitGroup.bind(store);
    store.commitGroup = (...group) => {
      commitGroup(...group);
      ends.push(store.head()!.number);
    };
    return ends;
  };
  const numbersOf = (stored: readonly StoredBlock[]): number[] => stored.map(({ block }) => block.header.number);

  it("tells its listeners of each group", async () => {
    const dev = newChain();
    const ends = groupEndsOf(dev);
    const told: { readonly head: number; readonly headOfChain: number; readonly added: readonly StoredBlock[] }[] = [];
    dev.chain.onHeadChange(({ head, removed, added }) => {
      expect(removed).toEqual([]);
      told.push({ head: head.block.header.number, headOfChain: dev.chain.head().number, added });
    });
    await importInto(dev, blocks, 7);
    expect(ends.length).toBeGreaterThanOrEqual(COUNT / 7);
    expect(told.map(({ head }) => head)).toEqual(ends);
    expect(told.map(({ headOfChain }) => headOfChain)).toEqual(ends);
    const added = told.flatMap((change) => change.added);
    expect(numbersOf(added)).toEqual(main.map(({ block }) => block.header.number));
    for (const [index, { hash, receipts, senders }] of added.entries()) {
      expect(hash).toEqual(main[index]!.hash);
      expect({ receipts, senders }).toEqual({ receipts: dev.store.readReceipts(hash), senders: dev.store.readSenders(hash) });
    }
  });

  it("goes on from what it imported, and reorganises across it and back", async () => {
    const dev = newChain();
    addAll(dev, main.slice(0, 12));
    choose(dev, main[9]!); // there are also two executed blocks in memory
    await importInto(dev, blocks, 7);
    expect(dev.chain.newPayload(new PreparedBlock(tip.block))).toEqual({ status: "VALID", latestValidHash: bytesToHex(tip.hash) });
    const removed: number[] = [];
    dev.chain.onHeadChange((change) => removed.push(...numbersOf(change.removed)));
    addAll(dev, short);
    choose(dev, short.at(-1)!);
    expect(headOf(dev)).toBe(bytesToHex(short.at(-1)!.hash));
    expect(removed).toEqual(Array.from({ length: 20 }, (_, index) => COUNT - index));
    choose(dev, tip);
    expect(headOf(dev)).toBe(bytesToHex(tip.hash));
    const next = model.extend(tip, 2);
    addAll(dev, next);
    choose(dev, next[1]!);
    expect(headOf(dev)).toBe(bytesToHex(next[1]!.hash));
    expect(dev.store.verifyState().problems).toEqual([]);
  });

  it("keeps the groups before an invalid block, and remembers that one", async () => {
    const metrics = createMetrics({ prefix: "test_" });
    const dev = newChain({ metrics });
    const ends = groupEndsOf(dev);
    const [wrong, child] = [main[22]!.block, main[23]!.block];
    const bad: Block = { ...wrong, header: { ...wrong.header, gasUsed: 1n } };
    const badHash = new PreparedBlock(bad).hash;
    const heads: number[] = [];
    dev.chain.onHeadChange(({ head }) => heads.push(head.block.header.number));
    const refused = await importInto(dev, [...blocks.slice(0, 22), bad, child], 7);
    expect(refused).toEqual({ number: 23, reason: expect.stringContaining("gas-used-mismatch") as string });
    expect(heads).toEqual(ends);
    expect(headOf(dev)).toBe(bytesToHex(main[21]!.hash));
    expect(dev.chain.badBlocks().map(({ hash }) => hash)).toEqual([badHash]);
    const orphan = new PreparedBlock({ ...child, header: { ...child.header, parentHash: badHash } });
    expect(dev.chain.newPayload(orphan)).toMatchObject({ status: "INVALID", latestValidHash: bytesToHex(main[21]!.hash) });
    const { body } = await metrics.expose();
    expect(body).toContain('test_chain_execute_seconds_count{verdict="valid"} 22');
    expect(body).toContain(`test_chain_commit_seconds_count ${ends.length}`);
  });

  it("moves its head by the import alone until that has ended, and takes no second one", async () => {
    const dev = newChain();
    const { chain } = dev;
    const payload = build(dev, 1);
    const [other] = model.extend(model.first, 1);
    const attributes = attributesFor(dev, 2);
    let asked = 0;
    const source = (async function* () {
      for (const [index, block] of blocks.entries()) {
        yield await Promise.resolve({ block });
        if (index !== 20) continue;
        asked++;
        const head = headOf(dev);
        expect(chain.newPayload(new PreparedBlock(other!.block))).toEqual(SYNCING);
        expect(chain.newPayload(new PreparedBlock(payload.block)).status).toBe("VALID"); // the block is known already
        const choice = chain.forkchoiceUpdated(forkchoice(payload.hash), attributes, 3);
        expect(choice).toEqual({ kind: "updated", status: SYNCING, payloadId: undefined });
        await expect(chain.import([], { groupBlocks: 1 })).rejects.toThrow(expect.objectContaining({ code: "chain/importing" }));
        expect(headOf(dev)).toBe(head);
      }
    })();
    expect(await chain.import(source, { groupBlocks: 7 })).toBeUndefined();
    expect([asked, headOf(dev)]).toEqual([1, bytesToHex(tip.hash)]);
    expect(choose(dev, main[9]!)).toMatchObject({ status: { status: "VALID" } });
    addAll(dev, [other!]);
    choose(dev, other!);
    expect(headOf(dev)).toBe(bytesToHex(other!.hash));
  });

  it("has what was being built when an import began", async () => {
    const dev = newChain();
    const started = dev.chain.forkchoiceUpdated(forkchoice(model.first.hash), attributesFor(dev, 1, { noTxPool: false }), 3);
    if (started.kind !== "updated" || started.payloadId === undefined) throw new Error("no payload");
    await importInto(dev, blocks, 7);
    const payload = dev.chain.getPayload(started.payloadId)!;
    expect(payload.block.header.parentHash).toEqual(model.first.hash);
    dev.chain.newPayload(new PreparedBlock(payload.block));
    expect(dev.chain.forkchoiceUpdated(forkchoice(payload.hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
    expect(headOf(dev)).toBe(bytesToHex(payload.hash));
    expect(dev.store.verifyState().problems).toEqual([]);
  });

  it("ends an import when it closes, with what was executed stored", async () => {
    const dev = newChain();
    let closed: Promise<void> | undefined;
    const stored: number[] = [];
    const onStored = ({ header }: { header: Header }): void => {
      stored.push(header.number);
      if (stored.length === 11) closed = dev.chain.close();
    };
    await expect(
      dev.chain.import(
        blocks.map((block) => ({ block })),
        { groupBlocks: 7, onStored },
      ),
    ).rejects.toThrow(expect.objectContaining({ code: "chain/closed" }));
    await closed;
    const store = openChainStore(dev.folder);
    expect(stored.length).toBeGreaterThan(10);
    expect(store.head()!.number).toBe(stored.at(-1));
    expect(store.verifyState().problems).toEqual([]);
    await store.close();
  });
});
