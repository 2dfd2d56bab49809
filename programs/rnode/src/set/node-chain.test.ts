import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageBlock } from "@rnode/interop";
import { silentLogger } from "@rnode/observe";
import { hexToBytes } from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import type { RollupConfig } from "@rnode/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RollupNode } from "../node.ts";
import { hashOf } from "../testing/sim-set.ts";
import { NodeChain } from "./node-chain.ts";
import { SetDatabase } from "./set-database.ts";

const CHAIN = 901n;
const config = { l2ChainId: CHAIN, genesis: { l2: { number: 0 } } } as RollupConfig;

/** A chain of `length` blocks that leaves `trunk` after a number. */
function branch(name: string, length: number, trunk: readonly MessageBlock[] = [], after = -1): MessageBlock[] {
  const blocks = trunk.slice(0, after + 1);
  for (let number = blocks.length; number < length; number++) {
    const parentHash = blocks.at(-1)?.hash ?? hashOf("none");
    blocks.push({ number, hash: hashOf(name, number), parentHash, timestamp: number });
  }
  return blocks;
}

function chainOn(engine: readonly MessageBlock[]) {
  const database = SetDatabase.open(mkdtempSync(join(tmpdir(), "chain-")), [CHAIN], silentLogger);
  onTestFinished(() => database.close());
  const log = database.messageLog(CHAIN);
  const state = { engine, tip: engine.at(-1)!, asked: 0, detours: 0, detourAt: Number.NaN };
  const l2 = {
    headerBy: async (number: number) => {
      state.asked++;
      const block = state.engine[number];
      if (number === state.detourAt) state.detours++;
      return block && { hash: block.hash, header: { parentHash: hexToBytes(block.parentHash), timestamp: block.timestamp } };
    },
    hashByNumber: async (number: number) => {
      state.asked++;
      return state.engine[number]?.hash;
    },
  };
  const node = {
    get heads() {
      return { pendingSafe: state.tip };
    },
    safeHeads: { knownSafeBy: () => ({ number: 1, hash: hashOf("l1") }) },
    l2,
    detours: () => state.detours,
  };
  const read = (blocks: readonly MessageBlock[]): void =>
    database.atomically(
      () => {
        log.rewind(0);
        for (const block of blocks.slice((log.last?.number ?? -1) + 1)) log.append({ block, checksums: [], executing: [] });
      },
      { isFlushed: false },
    );
  const chain = new NodeChain(node as unknown as RollupNode, config, log);
  return { state, read, at: async (number: number) => (await chain.localSafe(number))?.block };
}

describe("a block that L1 makes safe", () => {
  const main = branch("main", 40);

  it("comes from the log where that has the tip, and with one question to the engine where it is behind", async () => {
    const { state, read, at } = chainOn(main);
    read(main);
    for (let number = 0; number < 40; number++) expect(await at(number)).toEqual(main[number]);
    expect(state.asked).toBe(0);
    read(main.slice(0, 30));
    for (let number = 10; number < 30; number++) expect(await at(number)).toEqual(main[number]);
    expect(state.asked).toBe(2);
    const longer = branch("main", 41, main, 39);
    Object.assign(state, { engine: longer, tip: longer[40] });
    expect(await at(29)).toEqual(main[29]); // the tip's child has the same ancestors
    expect(state.asked).toBe(2);
    for (const again of [35, 35, 35]) expect(await at(again)).toEqual(main[again]);
    expect(state.asked).toBe(4);
    expect(await at(41)).toBeUndefined();
  });

  it("is none while the engine is or was on another chain than the tip's", async () => {
    const other = branch("other", 50, main, 20);
    const { state, at } = chainOn(main);
    state.engine = other;
    expect(await at(10)).toBeUndefined();
    Object.assign(state, { engine: main, detourAt: 10 });
    expect(await at(10)).toBeUndefined();
    state.detourAt = Number.NaN;
    expect(await at(10)).toEqual(main[10]);
  });

  it("is one of the tip's ancestors, whatever log and engine have, and moves with each reorganisation", async () => {
    const random = createRandom(7);
    const { state, read, at } = chainOn(main);
    let branches = [main];
    let found = 0;
    for (let round = 0; round < 400; round++) {
      const from = branches[random(branches.length)]!;
      if (random(4) === 0) branches = [...branches.slice(-4), branch(`fork ${round}`, 30 + random(30), from, random(from.length))];
      if (random(3) === 0) state.engine = branches[random(branches.length)]!;
      const ours = random(5) === 0 ? branches[random(branches.length)]! : state.engine;
      if (random(2) === 0) state.tip = ours[20 + random(10)]!;
      if (random(3) === 0) read(branches[random(branches.length)]!.slice(0, 1 + random(40)));
      const number = random(state.tip.number + 1);
      const block = await at(number);
      const whole = [...branches, from].find((blocks) => blocks[state.tip.number]?.hash === state.tip.hash);
      if (block === undefined || whole === undefined) continue;
      expect(block).toEqual(whole[number]);
      found++;
    }
    expect(found).toBeGreaterThan(150);
  });
});
