import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, EMPTY_BYTES, EMPTY_KECCAK, equalBytes, type Hex, hexToBytes, keccak256, ZERO_HASH } from "@rnode/primitives";
import { type Block, encodeBlock, encodeReceipts, hashTransaction } from "@rnode/protocol";
import { type ChainDatabase, type ChainStoreOptions, openChainStore, type StateView, UNKNOWN_STORAGE_ROOT } from "@rnode/storage";
import { dumpSettled } from "@rnode/storage/testing";
import { createProof, encodeAccount, encodeStorageValue, type TrieNodeReader, verifyProof } from "@rnode/trie";
import { beforeAll, describe, expect, it } from "vitest";
import type { Chain } from "./api.ts";
import { openChain } from "./chain.ts";
import { runBlock } from "./execute/block-execution.ts";
import { newEngine } from "./execute/engine-module.ts";
import { initGenesis, sealGenesis } from "./genesis/genesis.ts";
import { GenesisState } from "./genesis/genesis-state.ts";
import { ImportPruning } from "./history/history-pruning.ts";
import { describeImportRefusal } from "./import/block-import.ts";
import { fitsGroup } from "./import/group-import.ts";
import { PreparedBlock } from "./prepared-block.ts";
import { createSenderCache } from "./senders/senders.ts";
import { LiveRoots } from "./state-roots/live-roots.ts";
import { rootsHere } from "./state-roots/root-thread.ts";
import { MODEL_KINDS, type ModelBlock, ModelChain, type ModelKind } from "./testing/model-chain.ts";
import { storageRootOf } from "./testing/model-state.ts";
import { RootAnswersHere } from "./testing/root-answers.ts";

/*
 * Random chains are written to the database in every way there is, and compared with a model of their states (testing/model-chain.ts).
 * RNODE_MODEL_SEEDS is the number of chains of each kind.
 */

const SEEDS = Number(process.env.RNODE_MODEL_SEEDS ?? 1);
const LENGTH = 26;
const TIMEOUT_MS = 120_000;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rnode-model-"));
  return folder;
}

interface Opened {
  readonly store: ChainDatabase;
  readonly chain: Chain;
}

interface Given {
  readonly storage?: ChainStoreOptions;
  readonly hasLiveRoots?: boolean;
  readonly maxTreeBlocks?: number;
  readonly maxStateTrieNodes?: number;
  readonly importedBlocks?: number;
  /** which an import keeps in memory after they have been stored */
  readonly maxGroupNodes?: number;
}

function open(
  model: ModelChain,
  folder: string,
  { storage, hasLiveRoots = false, maxTreeBlocks, maxStateTrieNodes, maxGroupNodes }: Given = {},
): Opened {
  const { config, genesis } = model;
  const store = openChainStore(folder, { sync: "interval", ...storage });
  initGenesis(store, sealGenesis(genesis.header, config, GenesisState.of(genesis.alloc)));
  const liveRoots = hasLiveRoots ? new LiveRoots(() => new RootAnswersHere(store, maxStateTrieNodes ?? 1e5), 1) : undefined;
  const chain = openChain(
    { store, config, nowMs: () => 0, liveRoots, startGroupRoots: (...of) => rootsHere(...of, maxGroupNodes) },
    { ...(maxTreeBlocks !== undefined && { tree: { maxBlocks: maxTreeBlocks } }), maxStateTrieNodes },
  );
  return { store, chain };
}

async function feed(
  { chain, store }: Opened,
  blocks: readonly Block[],
  groupBlocks: number,
  pruning?: ImportPruning,
  proofsFrom?: number,
): Promise<string | undefined> {
  const source = (async function* () {
    for (const block of blocks) {
      yield await Promise.resolve({ block });
      pruning?.step();
    }
  })();
  const trustedHead = proofsFrom && proofsFrom - 1 + store.proofWindowBlocks;
  const refusal = await chain.import(source, { groupBlocks, trustedHead });
  return refusal && describeImportRefusal(refusal);
}

function add({ chain }: Opened, { block, hash }: ModelBlock): void {
  expect(chain.newPayload(new PreparedBlock(block))).toEqual({ status: "VALID", latestValidHash: bytesToHex(hash) });
}

function choose({ chain }: Opened, { hash }: ModelBlock): void {
  const result = chain.forkchoiceUpdated(
    { headBlockHash: hash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH },
    undefined,
    3,
  );
  expect(result).toMatchObject({ kind: "updated", status: { status: "VALID" } });
}

/** All addresses and slots that any block of the chain contains, and one that none contains. */
class World {
  readonly accounts: { readonly hex: Hex; readonly address: Uint8Array; readonly key: Uint8Array; readonly slots: Slot[] }[];

  constructor(blocks: Iterable<ModelBlock>) {
    const found = new Map<Hex, Set<Hex>>([[`0x${"77".repeat(20)}`, new Set([bytesToHex(ZERO_HASH)])]]);
    for (const { state } of blocks) {
      for (const [address, { storage }] of state.accounts) {
        const slots = found.get(address) ?? new Set();
        for (const slot of storage.keys()) slots.add(slot);
        found.set(address, slots);
      }
    }
    this.accounts = Array.from(found, ([hex, slots]) => {
      const address = hexToBytes(hex);
      const all = Array.from(
        slots,
        (slotHex): Slot => ({ hex: slotHex, slot: hexToBytes(slotHex), key: keccak256(hexToBytes(slotHex)) }),
      );
      return { hex, address, key: keccak256(address), slots: all };
    });
  }
}

interface Slot {
  readonly hex: Hex;
  readonly slot: Uint8Array;
  readonly key: Uint8Array;
}

const hexOf = (bytes: Uint8Array | undefined): Hex | undefined => bytes && bytesToHex(bytes);

/** Compares accounts, codes and slots after a block, and proves one in `proofs` of them. PERF: an `expect` for each would take most of the time. */
function checkState(
  world: World,
  view: StateView,
  nodes: TrieNodeReader | undefined,
  { block, state }: ModelBlock,
  proofs: number,
): void {
  const { number, stateRoot } = block.header;
  const same = (what: string, found: Hex | undefined, wanted: Hex | undefined): void => {
    if (found !== wanted) expect({ number, what, found }).toEqual({ number, what, found: wanted });
  };
  const proven = (owner: Uint8Array | undefined, root: Uint8Array, key: Uint8Array): Hex | undefined =>
    hexOf(verifyProof(root, key, createProof(nodes!, owner, root, key)));
  for (const { hex, address, key, slots } of world.accounts) {
    const wanted = state.accounts.get(hex);
    const storageRoot = wanted && storageRootOf(wanted);
    const leaf = wanted && hexOf(encodeAccount({ ...wanted, storageRoot: storageRoot! }));
    const found = view.readAccount(address);
    const isUnknown = nodes === undefined && found !== undefined && equalBytes(found.storageRoot, UNKNOWN_STORAGE_ROOT);
    same(hex, found && hexOf(encodeAccount(isUnknown ? { ...found, storageRoot: storageRoot! } : found)), leaf);
    if (wanted !== undefined && !equalBytes(wanted.codeHash, EMPTY_KECCAK)) {
      same(`code of ${hex}`, hexOf(view.readCode(wanted.codeHash)), hexOf(state.readCode(wanted.codeHash)));
    }
    const isProven = nodes !== undefined && (number + address[19]!) % proofs === 0;
    if (isProven) same(`proof of ${hex}`, proven(undefined, stateRoot, key), leaf);
    for (const slot of slots) {
      const value = wanted?.storage.get(slot.hex);
      same(`${hex} ${slot.hex}`, bytesToHex(view.readStorage(address, slot.slot) ?? ZERO_HASH), bytesToHex(value ?? ZERO_HASH));
      if (!isProven || storageRoot === undefined) continue;
      same(`proof of ${hex} ${slot.hex}`, proven(key, storageRoot, slot.key), value && hexOf(encodeStorageValue(value)));
    }
  }
}

/** Compares all blocks that the database keeps, and each of `every` states. */
function check({ store }: Opened, model: ModelChain, blocks: readonly ModelBlock[], every = 1): void {
  const world = new World(blocks.filter((_, number) => number % every === 0));
  const { oldestState, oldestProof, oldestReceipts } = store.retainedHistory()!;
  expect(hexToBytes(store.head()!.hash)).toEqual(blocks.at(-1)!.hash);
  expect(store.verifyState().problems).toEqual([]);
  const { config } = model;
  const context = { config, engine: newEngine(), senders: createSenderCache(), create2DeployerCode: () => EMPTY_BYTES };
  for (const [number, each] of blocks.entries()) {
    const { block, hash, receipts, senders } = each;
    const hasReceipts = number === 0 || number >= oldestReceipts;
    const keptReceipts = store.readReceipts(hash);
    const found = {
      hash: hexOf(store.readCanonicalHash(number)),
      block: hexOf(encodeBlock(store.readBlock(hash)!)),
      receipts: keptReceipts && encodeReceipts(keptReceipts).map(bytesToHex),
      senders: store.readSenders(hash)?.map(bytesToHex),
      places: block.transactions.map((transaction) => {
        const { blockNumber, index } = store.readTransactionLocation(hashTransaction(transaction)) ?? {};
        return [blockNumber, index];
      }),
    };
    expect(found).toEqual({
      hash: bytesToHex(hash),
      block: bytesToHex(encodeBlock(block)),
      receipts: hasReceipts ? encodeReceipts(receipts).map(bytesToHex) : undefined,
      senders: hasReceipts ? senders.map(bytesToHex) : undefined,
      places: block.transactions.map((_, index) => (hasReceipts ? [number, index] : [undefined, undefined])),
    });
    const view = store.stateAt(number);
    const nodes = store.trieNodesAt(number);
    expect([number, view !== undefined, nodes !== undefined]).toEqual([number, number >= oldestState, number >= oldestProof]);
    if (view === undefined || (number % every !== 0 && number !== oldestState)) continue;
    checkState(world, view, nodes, each, 4);
    // Executes the next block on the state that the database has for this one.
    const next = blocks[number + 1]?.block;
    if (next === undefined || number % 4 !== 0 || !fitsGroup(config, hash, next)) continue;
    const unasked = { trie: undefined, ancestorOf: () => undefined, totalDifficulty: () => undefined };
    expect(runBlock(context, { header: block.header, hash, reader: view, ...unasked }, new PreparedBlock(next)).kind).toBe("run");
  }
}

/** Every block is chosen as the head at once or some blocks later. Branches come when the chain is already longer, and are left again, sooner or later. */
function drive(
  opened: Opened,
  { random }: ModelChain,
  blocks: readonly ModelBlock[],
  sides: readonly (readonly ModelBlock[])[],
): void {
  const { chain } = opened;
  const addAndCheck = (added: ModelBlock, world: World): void => {
    const { block, hash } = added;
    add(opened, added);
    if (random(4) > 0) return;
    const id = { hash: bytesToHex(hash), number: block.header.number };
    checkState(world, chain.stateAt(id)!, chain.trieNodesAt(id), added, 16);
  };
  for (const block of blocks) {
    const world = new World([block]);
    addAndCheck(block, world);
    if (random(3) > 0) choose(opened, block);
    for (const side of sides) {
      if (side.at(-1)!.block.header.number !== block.block.header.number + 1) continue;
      for (const each of side) addAndCheck(each, world);
      choose(opened, side[random(side.length)]!);
      if (random(2) === 0) choose(opened, block);
    }
  }
  choose(opened, blocks.at(-1)!);
}

/** Rows of all tables, except for what reorganisations leave behind: the codes that were deployed on branches, and their count. */
async function rowsOf(folder: string) {
  const tables = await dumpSettled(folder);
  tables.delete("codes");
  tables.delete("meta");
  return tables;
}

function expectSameRows(found: Awaited<ReturnType<typeof rowsOf>>, wanted: Awaited<ReturnType<typeof rowsOf>>): void {
  for (const [name, rows] of wanted) {
    const other = found.get(name)!;
    const different = [...rows].filter(([key, value]) => other.get(key) !== value).map(([key]) => key);
    const surplus = [...other.keys()].filter((key) => !rows.has(key));
    expect({ name, different: different.slice(0, 3), surplus: surplus.slice(0, 3) }).toEqual({ name, different: [], surplus: [] });
  }
}

/** Branches of up to 12 blocks that fork off the chain at random blocks. */
function branchesOf(model: ModelChain, blocks: readonly ModelBlock[]): ModelBlock[][] {
  const sides: ModelBlock[][] = [];
  for (let at = 3 + model.random(4); at < blocks.length - 13; at += 2 + model.random(4))
    sides.push(model.extend(blocks[at]!, 1 + model.random(12)));
  return sides;
}

const cases = Array.from({ length: SEEDS }, (_, index) => index + 1).flatMap((seed) =>
  MODEL_KINDS.map((kind): [ModelKind, number] => [kind, seed]),
);

describe.each(cases)("a chain of the kind %s, seed %i", { timeout: TIMEOUT_MS }, (kind, seed) => {
  const model = new ModelChain(kind, seed);
  const main = [model.first, ...model.extend(model.first, LENGTH)];
  const sides = branchesOf(model, main);
  const blocks = main.slice(1).map(({ block }) => block);
  let rows: Awaited<ReturnType<typeof rowsOf>>;

  beforeAll(async () => {
    const folder = newFolder();
    const opened = open(model, folder);
    for (const block of main.slice(1)) {
      add(opened, block);
      choose(opened, block);
    }
    await opened.store.close();
    rows = await rowsOf(folder);
  });

  const importInGroups = async (groupBlocks: number): Promise<void> => {
    const folder = newFolder();
    const opened = open(model, folder, groupBlocks === 7 ? { maxGroupNodes: 20 } : {});
    expect(await feed(opened, blocks, groupBlocks)).toBeUndefined();
    if (groupBlocks === 7) check(opened, model, main);
    await opened.store.close();
    expectSameRows(await rowsOf(folder), rows);
  };
  it("leaves the same rows when it is imported in groups of 7", () => importInGroups(7));
  it("leaves the same rows when it is imported in one group", { tags: "long" }, () => importInGroups(1000));

  it("leaves the same rows when the import begins anew in between, with all that it had", { tags: "long" }, async () => {
    const folder = newFolder();
    for (let to = 0, opened: Opened; to < blocks.length; ) {
      to += 1 + model.random(20);
      opened = open(model, folder, { maxGroupNodes: 20 });
      expect(await feed(opened, blocks.slice(0, to), 1 + model.random(9))).toBeUndefined();
      await opened.store.close();
    }
    expectSameRows(await rowsOf(folder), rows);
  });

  it.each([
    [0, LENGTH + 1],
    [0, LENGTH / 2],
    [LENGTH / 3, (2 * LENGTH) / 3],
  ])("is the same when the blocks from %i to %i are imported in runs, but for their tries", async (from, to) => {
    const folder = newFolder();
    let opened = open(model, folder, { maxGroupNodes: 20 });
    const [first, end] = [Math.floor(from), Math.floor(to)];
    expect(await feed(opened, blocks.slice(0, first), 7)).toBeUndefined();
    for (let given = first; given < blocks.length; ) {
      given += 1 + model.random(12);
      expect(await feed(opened, blocks.slice(0, given), 7, undefined, end)).toBeUndefined();
      if (model.random(2) === 0) {
        await opened.store.close();
        opened = open(model, folder, { maxGroupNodes: 20 });
      }
    }
    if (kind !== "work") expect(opened.store.retainedHistory()!.oldestProof).toBe(Math.min(end - 1, LENGTH));
    check(opened, model, main);
    await opened.store.close();
    const found = await rowsOf(folder);
    for (const [name, wanted] of rows) {
      if (name === "changes" || name === "nodeEpochs") continue;
      const isOfRuns = (key: string): boolean => name === "nodeHistory" && Number.parseInt(key.slice(2, 14), 16) < end;
      const without = (all: ReadonlyMap<string, string>) => new Map([...all].filter(([key]) => !isOfRuns(key)));
      expectSameRows(new Map([[name, without(found.get(name)!)]]), new Map([[name, without(wanted)]]));
    }
  });

  const importLive = async (given: Given): Promise<void> => {
    const folder = newFolder();
    const opened = open(model, folder, given);
    const { importedBlocks = 0 } = given;
    expect(await feed(opened, blocks.slice(0, importedBlocks), 1000)).toBeUndefined();
    drive(opened, model, main.slice(1 + importedBlocks), sides);
    await opened.store.close();
    expectSameRows(await rowsOf(folder), rows);
  };
  const LIVE = "leaves the same rows after reorganisations, live";
  it(`${LIVE} with its roots made elsewhere, with hardly any memory`, () =>
    importLive({ hasLiveRoots: true, maxTreeBlocks: 20, maxStateTrieNodes: 20 }));
  it.each<[string, Given]>([
    ["", {}],
    [" on blocks that were imported in one group", { importedBlocks: LENGTH / 2 }],
    [" with hardly any memory", { maxTreeBlocks: 16, maxStateTrieNodes: 20 }],
  ])(`${LIVE}%s`, { tags: "long" }, (_, given) => importLive(given));
});

describe("history", { timeout: TIMEOUT_MS }, () => {
  const storage = { proofWindowBlocks: 128 };
  const model = new ModelChain("canyon", 100);
  const main = [model.first, ...model.extend(model.first, 175)];
  const blocks = main.slice(1).map(({ block }) => block);

  it("ends at the proof window alike, in groups and one by one", { tags: "long" }, async () => {
    const folders = [newFolder(), newFolder()];
    for (const [index, folder] of folders.entries()) {
      const opened = open(model, folder, { storage });
      for (const block of index === 0 ? main.slice(1) : []) {
        add(opened, block);
        choose(opened, block);
      }
      expect(await feed(opened, blocks, 60)).toBeUndefined();
      await opened.store.close();
    }
    expectSameRows(await rowsOf(folders[1]!), await rowsOf(folders[0]!));
  });

  it.each([0, 20])(
    "of tries begins after the runs of an import, and before them is removed, with %i blocks before",
    { tags: "long" },
    async (before) => {
      const opened = open(model, newFolder(), { storage });
      expect(await feed(opened, blocks.slice(0, before), 60)).toBeUndefined();
      expect(await feed(opened, blocks.slice(0, 100), 60, undefined, 41)).toBeUndefined();
      expect(opened.store.retainedHistory()).toMatchObject({ oldestState: 0, oldestProof: 40 });
      check(opened, model, main.slice(0, 101), 9);
      const branch = model.extend(main[40]!, 10);
      for (const block of branch) add(opened, block);
      choose(opened, branch.at(-1)!);
      check(opened, model, [...main.slice(0, 41), ...branch], 9);
      const tooDeep = model.extend(main[39]!, 1)[0]!;
      expect(opened.chain.newPayload(new PreparedBlock(tooDeep.block)).status).toBe("SYNCING");
      await opened.store.close();
    },
  );

  it("is removed while blocks come in, and chains reorganise above", { tags: "long" }, async () => {
    const opened = open(model, newFolder(), { storage });
    const pruning = new ImportPruning(150, opened.store);
    expect(await feed(opened, blocks, 60, pruning)).toBeUndefined();
    pruning.finish();
    expect(opened.store.retainedHistory()).toMatchObject({ oldestState: 25, oldestProof: 47, oldestReceipts: 26 });
    check(opened, model, main, 9);
    const branch = model.extend(main[60]!, 10);
    for (const block of branch) add(opened, block);
    choose(opened, branch.at(-1)!);
    const left = [...main.slice(0, 61), ...branch];
    check(opened, model, left, 9);
    const longer = model.extend(left[65]!, 110);
    expect(
      await feed(
        opened,
        longer.map(({ block }) => block),
        60,
        new ImportPruning(128, opened.store),
      ),
    ).toBeUndefined();
    check(opened, model, [...left.slice(0, 66), ...longer], 9);
    await opened.store.close();
  });
});
