import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bigintToBytes, bytesToHex, isCodedError, keccak256 } from "@rnode/primitives";
import { type GenesisAccount, hashHeader, PREDEPLOYS, parseGenesisHead } from "@rnode/protocol";
import { type ChainDatabase, openChainStore, type StateView } from "@rnode/storage";
import { dump } from "@rnode/storage/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { devConfig } from "../testing/dev-chain.ts";
import { genesisBlock, initGenesis, sealGenesis, storedGenesisHash } from "./genesis.ts";
import { GenesisState } from "./genesis-state.ts";

let folder: string;
let store: ChainDatabase;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-genesis-"));
  store = openChainStore(folder, { sync: "interval" });
});
afterEach(async () => {
  await store.close();
});

const config = devConfig("jovian");
const { header } = parseGenesisHead({ config: null, gasLimit: "0x1c9c380", timestamp: "0x64" });
const word = (value: number): Uint8Array => bigintToBytes(BigInt(value), 32);
const NO_CODE = new Uint8Array(0);

function account(address: Uint8Array, index: number, slots = 0): GenesisAccount {
  return {
    address,
    nonce: BigInt(index % 3),
    balance: BigInt(index) ** 9n,
    code: index % 5 === 0 ? Uint8Array.of(0x60, index % 11) : NO_CODE,
    // Every fourth value is zero, and some slots have a common prefix.
    storage: Array.from({ length: slots }, (_, i) => ({ slot: i % 2 === 0 ? word(i) : keccak256(word(i)), value: word(i % 4) })),
  };
}

/** Some are spread over all addresses, others are neighbours. */
const addressOf = (index: number): Uint8Array =>
  index % 2 === 0 ? keccak256(word(index)).subarray(12) : bigintToBytes(BigInt(index), 20);

const accounts = (count: number, slotsOf: (index: number) => number): GenesisAccount[] => [
  ...Array.from({ length: count }, (_, index) => account(addressOf(index), index, slotsOf(index))),
  account(PREDEPLOYS.l2ToL1MessagePasser, 7, 9),
];

const seal = (alloc: readonly GenesisAccount[]) => sealGenesis(header, config, GenesisState.of(alloc));

/** Sorted in pieces of the least size. */
function sealOnDisk(alloc: readonly GenesisAccount[]) {
  const state = new GenesisState({ folder, memoryBytes: 1 });
  for (const each of alloc) state.add(each);
  return sealGenesis(header, config, state);
}

describe("a genesis", () => {
  it("of accounts, codes and slots is the same in memory and packed", () => {
    for (const count of [0, 1, 17, 600]) {
      const alloc = accounts(count, (index) => (index % 7 === 0 ? index : 0));
      const expected = genesisBlock({ config: undefined, header, alloc }, config);
      const { block, hash } = seal(alloc);
      expect(block).toEqual(expected.block);
      expect(bytesToHex(hash)).toBe(bytesToHex(expected.hash));
    }
  });

  it("is written as one of the same accounts in memory is", async () => {
    const alloc = accounts(600, (index) => (index % 7 === 0 ? index : 0));
    expect(initGenesis(store, seal(alloc))).toBe("written");
    expect(initGenesis(store, seal(alloc))).toBe("present");
    expect(store.verifyState().problems).toEqual([]);
    const other = openChainStore(join(folder, "other"), { sync: "interval" });
    const commit = genesisBlock({ config: undefined, header, alloc }, config);
    other.writeGenesis(commit);
    const rowsOf = ({ tables }: ReturnType<ChainDatabase["storageStats"]>) =>
      Object.fromEntries(Object.entries(tables).map(([name, { entries }]) => [name, entries]));
    const { meta, ...written } = rowsOf(store.storageStats());
    expect(rowsOf(other.storageStats())).toEqual({ ...written, meta: meta! - 1 }); // without the row of the genesis hash
    const [view, otherView] = [store.stateAt(0)!, other.stateAt(0)!];
    for (const { address, storage } of alloc) {
      expect(view.readAccount(address)).toEqual(otherView.readAccount(address));
      const valuesIn = (state: StateView): string =>
        storage.map(({ slot }) => bytesToHex(state.readStorage(address, slot) ?? NO_CODE)).join();
      expect(valuesIn(view)).toBe(valuesIn(otherView));
    }
    expect(store.readBlock(commit.hash)).toEqual(commit.block);
    expect(store.readTotalDifficulty(commit.hash)).toBe(other.readTotalDifficulty(commit.hash));
    await other.close();
  });

  it("larger than the memory for it is written as one that fits is", { tags: "long" }, async () => {
    const alloc = accounts(3000, (index) => (index % 500 === 0 ? index : 0));
    const onDisk = sealOnDisk(alloc);
    expect(initGenesis(store, onDisk)).toBe("written");
    onDisk.state.close();
    const folders = [folder, join(folder, "other")] as const;
    const other = openChainStore(folders[1], { sync: "interval" });
    expect(initGenesis(other, seal(alloc))).toBe("written");
    await Promise.all([store.close(), other.close()]);
    expect(await dump(folders[0])).toEqual(await dump(folders[1]));
    store = openChainStore(folder, { sync: "interval" });
    expect(store.verifyState().problems).toEqual([]);
    const twice = [alloc[5]!, ...alloc, alloc[5]!];
    expect(() => sealOnDisk(twice)).toThrow("genesis: duplicate account");
  });

  it("that takes several commits counts with the last one, and is begun anew after an interruption", { tags: "long" }, () => {
    const { block, hash, state } = seal(accounts(20_000, (index) => (index === 5 ? 60_000 : 0)));
    const other = seal(accounts(9, () => 3));
    const half = function* (rows: Parameters<typeof state.rowsInto>[0]) {
      let steps = 0;
      for (const step of state.rowsInto(rows)) {
        if (++steps > 60_000) throw new Error("interrupted");
        yield step;
      }
    };
    expect(() => store.writeLargeGenesis(block, hash, half)).toThrow("interrupted");
    expect(store.head()).toBeUndefined();
    expect(storedGenesisHash(store)).toBeUndefined();
    expect(store.storageStats().tables.accounts!.entries).toBeGreaterThan(10_000);
    // Nothing of it is left when another genesis is written.
    expect(initGenesis(store, other)).toBe("again");
    expect(store.head()?.hash).toBe(bytesToHex(hashHeader(other.block.header)));
    expect(store.storageStats().tables.accounts!.entries).toBe(10);
    expect(store.verifyState().problems).toEqual([]);
  });

  it("may be large", { tags: "long" }, () => {
    const sealed = seal(accounts(20_000, (index) => (index === 5 ? 12_000 : 0)));
    expect(initGenesis(store, sealed)).toBe("written");
    const { problems, stateRoot } = store.verifyState();
    expect(problems).toEqual([]);
    expect(stateRoot).toEqual(sealed.block.header.stateRoot);
  });

  it.each<[string, GenesisAccount[], string]>([
    [
      "an account",
      [account(word(1).subarray(12), 1), account(word(2).subarray(12), 2), account(word(1).subarray(12), 3)],
      "account",
    ],
    [
      "a slot",
      [{ ...account(word(1).subarray(12), 1), storage: [1, 2, 1].map((i) => ({ slot: word(i), value: word(i) })) }],
      "slot",
    ],
  ])("with %s twice is refused", (_, alloc, what) => {
    const thrown = () => seal(alloc);
    expect(thrown).toThrow(`genesis: duplicate ${what} (address 0x0000000000000000000000000000000000000001`);
    try {
      thrown();
    } catch (error) {
      expect(isCodedError(error)).toBe(true);
    }
  });
});
