import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, concatBytes, equalBytes, keccak256, uint64ToBytes } from "@rnode/primitives";
import { type Block, encodeTransaction, hashHeader } from "@rnode/protocol";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { afterEach, describe, expect, it } from "vitest";
import { describeImportRefusal, type ImportRefusal, importBlocks } from "./block-import.ts";
import { openChain } from "./chain.ts";
import { initGenesis, sealGenesis } from "./genesis.ts";
import { GenesisState } from "./genesis-state.ts";
import { createSenderCache } from "./senders.ts";
import { attributesDeposit, devConfig, devGenesis, LOGGER, openDevChain, produce } from "./testing/dev-chain.ts";

const COUNT = 40;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Creation code that destroys itself: an account that is made and gone, and one that is made over. */
const SELF_DESTRUCT = Uint8Array.of(0x33, 0xff);

/** Blocks of deposits: payments to old and new accounts, writes to a contract's slot, creations. */
async function makeBlocks(): Promise<Block[]> {
  const dev = openDevChain("jovian");
  const blocks: Block[] = [];
  for (let number = 1; number <= COUNT; number++) {
    const deposits = Array.from({ length: 12 }, (_, i) => {
      const id = keccak256(concatBytes(uint64ToBytes(number), uint64ToBytes(i)));
      const common = { ...attributesDeposit(1), sourceHash: id, from: id.subarray(12), mint: 9n, value: 0n };
      if (i % 4 === 0) return { ...common, to: LOGGER, data: i === 0 && number % 3 === 0 ? new Uint8Array(32) : id };
      if (i % 4 === 1) return { ...common, to: undefined, data: SELF_DESTRUCT };
      return { ...common, to: keccak256(Uint8Array.of((number * i) % 50)).subarray(12), value: 3n, data: new Uint8Array(0) };
    });
    const transactions = [encodeTransaction(attributesDeposit(number)), ...deposits.map(encodeTransaction)];
    blocks.push(produce(dev, number, { transactions }).block);
  }
  await dev.remove();
  return blocks;
}

async function importInto(store: ChainDatabase, blocks: readonly Block[], groupBlocks: number): Promise<ImportRefusal | undefined> {
  const config = devConfig("jovian");
  const { header, alloc } = devGenesis("jovian");
  initGenesis(store, sealGenesis(header, config, GenesisState.of(alloc)));
  const senders = createSenderCache();
  const chain = openChain({ store, config, senders, nowMs: () => 0 });
  const stored: number[] = [];
  const source = (async function* () {
    for (const block of blocks) yield await Promise.resolve({ block });
  })();
  const refusal = await importBlocks({ chain, store, senders }, source, {
    groupBlocks,
    onStored: ({ header }) => stored.push(header.number),
  });
  const { number } = store.head()!;
  expect(stored).toEqual(Array.from({ length: number }, (_, i) => i + 1));
  expect(store.verifyState().problems).toEqual([]);
  return refusal;
}

function newStore(): ChainDatabase {
  const folder = mkdtempSync(join(tmpdir(), "rnode-import-"));
  folders.push(folder);
  return openChainStore(folder, { sync: "interval" });
}

describe("importBlocks", async () => {
  const blocks = await makeBlocks();

  it.each([1, 7, 64])("in groups of %i leaves the chain that was made, and every state of it", async (groupBlocks) => {
    const store = newStore();
    expect(await importInto(store, blocks, groupBlocks)).toBeUndefined();
    expect(store.head()!.hash).toBe(bytesToHex(hashHeader(blocks.at(-1)!.header)));
    const single = newStore();
    await importInto(single, blocks, 1);
    for (let number = 0; number <= COUNT; number++) {
      const [view, expected] = [store.stateAt(number)!, single.stateAt(number)!];
      for (let i = 0; i < 50; i++) {
        const address = keccak256(Uint8Array.of(i)).subarray(12);
        expect(view.readAccount(address)).toEqual(expected.readAccount(address));
      }
      expect(view.readStorage(LOGGER, new Uint8Array(32))).toEqual(expected.readStorage(LOGGER, new Uint8Array(32)));
      const root = new Uint8Array(0);
      const { stateRoot } = store.readHeader(store.readCanonicalHash(number)!)!;
      expect(store.trieNodesAt(number)!.readNode(undefined, root, stateRoot)).toEqual(
        single.trieNodesAt(number)!.readNode(undefined, root, stateRoot),
      );
    }
    await Promise.all([store.close(), single.close()]);
  });

  it.each([
    ["state root", 23, { stateRoot: keccak256(Uint8Array.of(1)) }, "state-root-mismatch"],
    ["withdrawals root", 23, { withdrawalsRoot: keccak256(Uint8Array.of(1)) }, "withdrawals-root-mismatch"],
    ["gas used", 30, { gasUsed: 1n }, "gas-used-mismatch"],
  ])("refuses a wrong %s, names the block and keeps those before it", async (_, number, fields, rule) => {
    const store = newStore();
    const bad = blocks.map((block) =>
      block.header.number === number ? { ...block, header: { ...block.header, ...fields } } : block,
    );
    const refusal = await importInto(store, bad, 7);
    expect(refusal?.block.header.number).toBe(number);
    expect(describeImportRefusal(refusal!)).toContain(rule);
    expect(store.head()!.number).toBe(number - 1);
    // What was refused is mended, and the rest follows.
    expect(await importAfter(store)).toBeUndefined();
    expect(equalBytes(store.readCanonicalHash(COUNT)!, hashHeader(blocks.at(-1)!.header))).toBe(true);
    await store.close();
  });

  async function importAfter(store: ChainDatabase): Promise<ImportRefusal | undefined> {
    return await importInto(store, blocks, 5);
  }

  it("says so when a parent is missing", async () => {
    const store = newStore();
    const refusal = await importInto(store, [...blocks.slice(0, 9), ...blocks.slice(12)], 4);
    expect(describeImportRefusal(refusal!)).toContain("is not in the database");
    expect(store.head()!.number).toBe(9);
    await store.close();
  });
});
