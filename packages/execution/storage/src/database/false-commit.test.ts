import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "@rnode/primitives";
import { beforeEach, describe, expect, it } from "vitest";
import type { BlockCommit } from "../api.ts";
import { openChainStore } from "../lmdb-chain-store.ts";
import { dump, RandomChain } from "../testing/index.ts";
import { isFalseCommitError, withSecondTry } from "./false-commit.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-false-commit-"));
});

const falseError = (): Error =>
  Object.assign(new Error("MDB_BAD_TXN: reserved freelist had a data entry with zero-size"), { code: -30782 });

describe("an action whose commit LMDB refuses without a reason", () => {
  it.each<[string, Error, boolean]>([
    ["the false error", falseError(), true],
    ["the same without its number", new Error(falseError().message), true],
    [
      "another reason for the same number",
      Object.assign(new Error("MDB_BAD_TXN: Transaction must abort"), { code: -30782 }),
      false,
    ],
    ["a full disk", Object.assign(new Error("No space left on device"), { code: 28 }), false],
  ])("is known by number and words: %s", (_, error, expected) => {
    expect(isFalseCommitError(error)).toBe(expected);
  });

  it("runs once more, and only once more, if it can be repeated", () => {
    let runs = 0;
    let prepared = 0;
    const failing = (times: number) => () => {
      if (++runs <= times) throw falseError();
      return runs;
    };
    const prepare = () => void prepared++;
    expect(withSecondTry(failing(1), prepare)).toBe(2);
    expect(prepared).toBe(1);
    runs = 0;
    expect(() => withSecondTry(failing(2), prepare)).toThrow("reserved freelist");
    expect([runs, prepared]).toEqual([2, 2]);
    runs = 0;
    expect(() => withSecondTry(failing(1), undefined)).toThrow("reserved freelist");
    expect(runs).toBe(1);
  });
});

/** Throws in the midst of the first transaction that reads it. */
class FaultyRoots extends Map<Hex, Uint8Array> {
  faults = 1;

  override [Symbol.iterator]() {
    if (this.faults-- > 0) throw falseError();
    return super[Symbol.iterator]();
  }
}

it("blocks are then written as without the fault, groups and reorganisations included", async () => {
  const built = join(folder, "built");
  const chain = new RandomChain(openChainStore(built, { sync: "interval" }), 5);
  chain.run(40); // more than an epoch of trie nodes
  await chain.store.close();
  const commits = chain.blocks.map(({ commit }) => commit);
  const fill = async (name: string, of: (commit: BlockCommit) => BlockCommit): Promise<unknown> => {
    const store = openChainStore(join(folder, name), { sync: "interval" });
    store.writeGenesis(commits[0]!);
    for (const commit of commits.slice(1)) store.commitBlock(of(commit));
    const last = commits.slice(-3);
    store.reorganize(
      commits.length - 4,
      last.map((commit, index) => (index === 1 ? of(commit) : commit)),
    );
    await store.close();
    return await dump(join(folder, name));
  };
  let faults = 0;
  const faulty = (commit: BlockCommit): BlockCommit => {
    faults++;
    return { ...commit, storageRoots: new FaultyRoots(commit.storageRoots) };
  };
  expect(await fill("faulty", faulty)).toEqual(await fill("right", (commit) => commit));
  expect(faults).toBeGreaterThan(30);
});
