// @module-tag long
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMetrics, type Metrics } from "@rnode/observe";
import { bytesToHex, concatBytes, hexToBytes, keccak256, uint64ToBytes } from "@rnode/primitives";
import { type Block, decodeBlock, encodeBlock, encodeTransaction, hashHeader } from "@rnode/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ChainDependencies } from "./chain.ts";
import type { BlockTreeLimits } from "./fork-choice/block-tree.ts";
import { RemovedBlocks } from "./fork-choice/removed-blocks.ts";
import { IMPORT_LIMITS } from "./import/block-import.ts";
import { PreparedBlock } from "./prepared-block.ts";
import { GroupRootsBuilder } from "./state-roots/group-roots.ts";
import { MAX_STATE_TRIE_NODES } from "./state-roots/live-state-trie.ts";
import type { RootStore } from "./state-roots/root-thread.ts";
import { attributesDeposit, build, type DevChain, forkchoice, openDevChain, produce } from "./testing/dev-chain.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const MIB = 1024 * 1024;
const TRANSACTIONS = 150;

function usedBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

let opened: DevChain | undefined;
afterEach(async () => {
  await opened?.remove();
  opened = undefined;
});

function open(
  tree: Partial<BlockTreeLimits>,
  startGroupRoots?: ChainDependencies["startGroupRoots"],
): { dev: DevChain; metrics: Metrics } {
  const metrics = createMetrics({ prefix: "test_" });
  const options = { tree, codeCacheBytes: 4 * MIB, maxStateTrieNodes: 2000 };
  opened = openDevChain("jovian", { options, metrics, startGroupRoots });
  return { dev: opened, metrics };
}

async function gauge(metrics: Metrics, name: string): Promise<number> {
  const { body } = await metrics.expose();
  return Number(new RegExp(`^test_${name} (\\S+)$`, "m").exec(body)![1]);
}

let seed = 0;

/** A block of deposits to new accounts. */
function produceFresh(dev: DevChain): Block {
  const deposits = Array.from({ length: TRANSACTIONS }, (_, i) => {
    const id = keccak256(concatBytes(uint64ToBytes(++seed), uint64ToBytes(i)));
    return encodeTransaction({
      ...attributesDeposit(1),
      sourceHash: id,
      from: id.subarray(12),
      to: id.subarray(0, 20),
      mint: 5n,
      value: 3n,
    });
  });
  const payload = build(dev, seed, { transactions: [encodeTransaction(attributesDeposit(seed)), ...deposits] });
  const block = decodeBlock(encodeBlock(payload.block)); // as it arrives over the Engine API
  dev.chain.newPayload(new PreparedBlock(block));
  dev.chain.forkchoiceUpdated(forkchoice(payload.hash), undefined, 3);
  expect(dev.chain.head().hash).toBe(bytesToHex(payload.hash));
  return block;
}

describe("memory of a chain", () => {
  it("does not grow with a long run of new accounts", async () => {
    const { dev, metrics } = open({ maxStoredBytes: 3 * MIB });
    for (let i = 0; i < 20; i++) produceFresh(dev);
    const before = usedBytes();
    const engines = await gauge(metrics, "memory_chain_engines_bytes");
    for (let i = 0; i < 50; i++) produceFresh(dev);
    const grownBytes = usedBytes() - before;
    expect(grownBytes).toBeLessThan(8 * MIB); // 50 blocks take 35
    expect(await gauge(metrics, "memory_executed_blocks_bytes")).toBeLessThan(4 * MIB);
    expect(await gauge(metrics, "memory_chain_engines_bytes")).toBe(engines);
  });

  it("is counted as what it is, within a half", async () => {
    const { dev, metrics } = open({ maxStoredBytes: 1000 * MIB });
    for (let i = 0; i < 5; i++) produceFresh(dev);
    const [before, countedBefore] = [usedBytes(), await gauge(metrics, "memory_executed_blocks_bytes")];
    for (let i = 0; i < 20; i++) produceFresh(dev);
    const counted = (await gauge(metrics, "memory_executed_blocks_bytes")) - countedBefore;
    const used = usedBytes() - before;
    expect(counted / used).toBeGreaterThan(0.5);
    expect(counted / used).toBeLessThan(1.5);
  });

  it("keeps what is not stored yet, whatever it takes", async () => {
    const { dev } = open({ maxStoredBytes: MIB });
    const start = dev.chain.head();
    const blocks = Array.from({ length: 12 }, () => produceFresh(dev));
    const parent = hexToBytes(start.hash);
    dev.chain.forkchoiceUpdated(forkchoice(parent), undefined, 3); // back to the genesis: all blocks are removed
    for (const block of blocks) expect(dev.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
    const last = hashHeader(blocks.at(-1)!.header);
    expect(dev.chain.forkchoiceUpdated(forkchoice(last), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
    expect(dev.chain.head().number).toBe(12);
  });
});

/** Rows are compressed, so bytes must be as if random to take room. */
function incompressible(size: number, seed: number): Uint8Array {
  let state = 0x9e3779b9 ^ seed;
  return Uint8Array.from({ length: size }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5;
    return (state ^ (state >>> 12)) & 0xff;
  });
}

describe("memory of an import", () => {
  const COUNT = 80;
  const LARGE = 16 * 1024;
  const LIMITS = { groupBytes: 16 * LARGE, aheadBytes: 4 * LARGE };

  async function largeBlocks(): Promise<Block[]> {
    const dev = openDevChain("jovian");
    const blocks = Array.from({ length: COUNT }, (_, i) => {
      const large = { ...attributesDeposit(i + 1), data: incompressible(LARGE, i) };
      return produce(dev, i + 1, { transactions: [encodeTransaction(large)] }).block;
    });
    await dev.remove();
    return blocks;
  }

  it("is bounded in bytes, in groups of however many blocks", async () => {
    const blocks = await largeBlocks();
    const { store, chain } = open({}).dev;
    const groups: number[] = [];
    const commitGroup = store.commitGroup.bind(store);
    store.commitGroup = (group, ...rest) => {
      groups.push(group.rowBytes);
      commitGroup(group, ...rest);
    };
    let taken = 0;
    let stored = 0;
    let waiting = 0;
    const source = (async function* () {
      for (const block of blocks) {
        taken++;
        waiting = Math.max(waiting, taken - stored);
        yield await Promise.resolve({ block });
      }
    })();
    const clock = vi.spyOn(performance, "now").mockReturnValue(0); // the clock is stopped, because a group also ends after some time
    const options = { groupBlocks: 1000, limits: LIMITS, onStored: () => stored++ };
    expect(await chain.import(source, options)).toBeUndefined();
    clock.mockRestore();
    expect([stored, chain.head().number]).toEqual([COUNT, COUNT]);
    expect(Math.max(...groups)).toBeGreaterThanOrEqual(LIMITS.groupBytes);
    expect(Math.max(...groups)).toBeLessThan(LIMITS.groupBytes + 1.1 * LARGE);
    // One group that waits for its roots, one that is being filled, the blocks prepared ahead, and the block being executed.
    expect(waiting * LARGE).toBeLessThanOrEqual(2 * LIMITS.groupBytes + LIMITS.aheadBytes + 2 * LARGE);
    expect(IMPORT_LIMITS).toEqual({ groupBytes: 16 * MIB, aheadBytes: 8 * MIB });
  });

  it("forgets trie nodes of blocks that are stored", async () => {
    const maker = openDevChain("jovian");
    const blocks = Array.from({ length: 16 }, () => produceFresh(maker));
    await maker.remove();
    const counts: number[] = [];
    const maxNodes = 2000; // all blocks have 6000 nodes, those of two groups 1500
    const startRoots = (store: RootStore, stateRoot: Uint8Array) => {
      const roots = new GroupRootsBuilder(store, stateRoot, maxNodes);
      return {
        add: (number: number, packed: Uint8Array) => roots.add(number, packed),
        seal: () => Promise.resolve(roots.seal()),
        committed: () => {
          roots.committed();
          counts.push(roots.nodeCount);
        },
        close: () => Promise.resolve(),
      };
    };
    const { chain } = open({}, startRoots).dev;
    const source = blocks.map((block) => ({ block }));
    expect(await chain.import(source, { groupBlocks: 2 })).toBeUndefined();
    expect(chain.head().number).toBe(16);
    expect(Math.max(...counts)).toBeGreaterThan(1000);
    expect(Math.max(...counts)).toBeLessThanOrEqual(maxNodes);
    expect(MAX_STATE_TRIE_NODES).toBe(100_000);
  });
});

describe("RemovedBlocks", () => {
  it("forgets the oldest beyond its bytes", () => {
    const removed = new RemovedBlocks();
    const header = { number: 1 } as Block["header"];
    for (let i = 0; i < 100; i++) {
      const transactions = [{ ...attributesDeposit(i), data: new Uint8Array(MIB) }];
      removed.add(`0x${i}`, new PreparedBlock({ header, transactions, ommers: [] }));
    }
    expect(removed.bytes).toBeLessThanOrEqual(64 * MIB);
    expect(removed.bytes).toBeGreaterThan(60 * MIB);
    expect(removed.get("0x0")).toBeUndefined();
    expect(removed.get("0x99")).toBeDefined();
  });
});
