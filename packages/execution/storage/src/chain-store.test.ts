import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keccak256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { openChainStore } from "./lmdb-chain-store.ts";
import { ADDRESSES, dumpSettled, RandomChain, SLOTS } from "./testing/random-chain.ts";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rnode-storage-"));
  return folder;
}

describe("a random chain with reorganisations", () => {
  for (const seed of [1, 2, 3])
    it(`answers as the model does, seed ${seed}`, { tags: seed === 1 ? [] : "long", timeout: 120_000 }, async () => {
      const folder = newFolder();
      const chain = new RandomChain(openChainStore(folder, { sync: "interval" }), seed);
      const rounds = 5;
      for (let round = 0; round < rounds; round++) {
        chain.run(15);
        for (let number = 0; number < chain.blocks.length; number++) {
          if (number % 3 === round % 3 || round === rounds - 1) chain.checkState(number, (number + round) % 4 === 0);
        }
        chain.checkBlocks();
        expect(chain.store.verifyState().problems).toEqual([]);
        if (round === 2) {
          await chain.store.close();
          chain.store = openChainStore(folder, { sync: "interval" });
        }
      }
      await chain.store.close();

      // The same canonical chain without any reorg has the same rows, except for rows that are never removed: codes, and the
      // number of reorgs.
      const straightFolder = newFolder();
      const straight = openChainStore(straightFolder, { sync: "interval" });
      const [genesis, ...later] = chain.blocks;
      straight.writeGenesis(genesis!.commit);
      // Groups are written in one commit, and leave the same rows as single blocks.
      for (let from = 0; from < later.length; from += 9) {
        straight.reorganize(
          straight.head()!.number,
          later.slice(from, from + 9).map(({ commit }) => commit),
        );
      }
      await straight.close();
      const left = await dumpSettled(folder);
      const right = await dumpSettled(straightFolder);
      for (const tables of [left, right]) {
        for (const name of ["codes", "meta"]) tables.delete(name);
      }
      expect(left).toEqual(right);
      expect([...left.keys()]).toContain("nodeHistory");
      expect(left.get("nodeHistory")!.size).toBeGreaterThan(40); // a chunk for nearly every block
    });
});

describe("preimages of the keys of the state", () => {
  it("are those of everything that was written with the option, and none without it", async () => {
    const folder = newFolder();
    const chain = new RandomChain(openChainStore(folder, { preimages: true, sync: "interval" }), 6);
    chain.run(30);
    for (const row of chain.store.stateRows(chain.store.head()!)) {
      const key = chain.store.readPreimage(row.hash)!;
      expect([keccak256(key), key.length]).toEqual([row.hash, row.kind === "account" ? 20 : 32]);
    }
    const rows = (): number => chain.store.storageStats().tables.preimages!.entries;
    expect(rows()).toBeLessThanOrEqual(ADDRESSES.length + SLOTS.length);
    await chain.store.close();

    chain.store = openChainStore(folder, { sync: "interval" });
    const before = rows();
    chain.run(10);
    expect([rows(), chain.store.readPreimage(keccak256(new Uint8Array(19)))]).toEqual([before, undefined]);
    await chain.store.close();
  });
});
