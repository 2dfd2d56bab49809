import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AccountChange, AccountRecord } from "@rnode/evm";
import { bigintToBytes, bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, type Hex, keccak256 } from "@rnode/primitives";
import { type Block, hashHeader } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BlockCommit, ChainDatabase } from "./api.ts";
import { BufferedGroup } from "./block-group.ts";
import { openChainStore } from "./lmdb-chain-store.ts";
import { dump } from "./testing/random-chain.ts";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rnode-storage-"));
  return folder;
}

const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);
const ADDRESSES = Array.from({ length: 5 }, (_, i) => keccak256(Uint8Array.of(i)).subarray(12));
/** some with common prefixes */
const SLOTS = [0n, 1n, 256n, 2n ** 255n, 2n ** 255n + 1n, 2n ** 200n].map(word);

interface Write {
  readonly account: number;
  readonly nonce: number;
  readonly slots: readonly { readonly slot: number; readonly value: number }[];
}

/** A small set of values, so a slot is often set to an earlier value. */
const blocksOf = fc.array(
  fc.uniqueArray(
    fc.record<Write>({
      account: fc.nat(ADDRESSES.length - 1),
      nonce: fc.nat(2),
      slots: fc.uniqueArray(fc.record({ slot: fc.nat(SLOTS.length - 1), value: fc.nat(3) }), { selector: ({ slot }) => slot }),
    }),
    { selector: ({ account }) => account },
  ),
  { minLength: 2, maxLength: 12 },
);

type Model = Map<number, { readonly record: AccountRecord; readonly slots: Map<number, number> }>;

/** The changes of a block as execution reports them. Afterwards, `model` is the state. */
function changesOf(writes: readonly Write[], model: Model): { accounts: AccountChange[]; roots: Map<Hex, Uint8Array> } {
  const roots = new Map<Hex, Uint8Array>();
  const accounts = writes.map(({ account, nonce, slots }): AccountChange => {
    const known = model.get(account);
    const codeHash = account === 0 ? keccak256(Uint8Array.of(nonce)) : EMPTY_KECCAK;
    const after: AccountRecord = { nonce: BigInt(nonce), balance: BigInt(nonce) << 130n, codeHash };
    const values = new Map(known?.slots);
    const storage = slots
      .filter(({ slot, value }) => (values.get(slot) ?? 0) !== value)
      .map(({ slot, value }) => {
        const before = word(BigInt(values.get(slot) ?? 0) << 8n);
        values.set(slot, value);
        return { slot: SLOTS[slot]!, before, after: word(BigInt(value) << 8n) };
      });
    if (storage.length > 0) {
      const isEmpty = [...values.values()].every((value) => value === 0);
      const root = keccak256(Uint8Array.from([...values].flat()));
      roots.set(bytesToHex(ADDRESSES[account]!), isEmpty ? EMPTY_TRIE_ROOT : root);
    }
    model.set(account, { record: after, slots: values });
    return { address: ADDRESSES[account]!, before: known?.record, after, storageCleared: false, storage };
  });
  return { accounts, roots };
}

function commitOf(number: number, parentHash: Uint8Array, { accounts, roots }: ReturnType<typeof changesOf>): BlockCommit {
  const block: Block = {
    header: headerOf({ parentHash, number }),
    transactions: [],
    ommers: [],
  };
  const changes = { accounts, codes: [] };
  return { block, hash: hashHeader(block.header), receipts: [], senders: [], changes, storageRoots: roots, nodes: [] };
}

function newStore(): { store: ChainDatabase; folder: string; genesis: BlockCommit } {
  const folder = newFolder();
  const store = openChainStore(folder, { sync: "interval" });
  const genesis = commitOf(0, new Uint8Array(32), { accounts: [], roots: new Map() });
  store.writeGenesis(genesis);
  return { store, folder, genesis };
}

describe("a group of blocks", () => {
  it("leaves the rows that its blocks leave one by one, and tells the state after them", { tags: "long" }, async () => {
    await fc.assert(
      fc.asyncProperty(blocksOf, fc.nat(3), async (blocks, single) => {
        const one = newStore();
        const grouped = newStore();
        const model: Model = new Map();
        const group = new BufferedGroup();
        const commits: BlockCommit[] = [];
        let parentHash = one.genesis.hash;
        for (const [index, writes] of blocks.entries()) {
          const commit = commitOf(index + 1, parentHash, changesOf(writes, model));
          parentHash = commit.hash;
          commits.push(commit);
          one.store.commitBlock(commit);
        }
        // The first blocks one by one, the rest as two groups that use the same buffers.
        for (const commit of commits.slice(0, single)) grouped.store.commitBlock(commit);
        const half = single + ((commits.length - single) >> 1);
        for (const part of [commits.slice(single, half), commits.slice(half)]) {
          group.clear();
          for (const commit of part) group.add(commit);
          if (part.length > 0) {
            grouped.store.commitGroup(
              group,
              part.map(({ storageRoots }) => storageRoots),
              new Uint8Array(0),
            );
          }
        }
        // The last group has only its own changes.
        const view = grouped.store.stateAt(commits.length)!;
        for (const [account, { record, slots }] of model) {
          const address = ADDRESSES[account]!;
          const told = group.account(address);
          if (told !== undefined) expect({ ...told, storageRoot: undefined }).toEqual({ ...record, storageRoot: undefined });
          const { nonce, balance, codeHash } = view.readAccount(address)!;
          expect({ nonce, balance, codeHash }).toEqual(record);
          for (const [slot, value] of slots) {
            const expected = word(BigInt(value) << 8n);
            expect(group.slot(address, SLOTS[slot]!) ?? expected).toEqual(expected);
            expect(view.readStorage(address, SLOTS[slot]!) ?? word(0n)).toEqual(expected);
          }
        }
        for (const { address, storage } of commits.slice(half).flatMap(({ changes }) => changes.accounts)) {
          expect(group.account(address)).toBeDefined();
          for (const { slot } of storage) expect(group.slot(address, slot)).toBeDefined();
        }
        await one.store.close();
        await grouped.store.close();
        expect(await dump(grouped.folder)).toEqual(await dump(one.folder));
      }),
      { numRuns: 25, seed: 5 },
    );
  });

  it("takes a block that clears storage only alone", () => {
    const record: AccountRecord = { nonce: 1n, balance: 1n, codeHash: EMPTY_KECCAK };
    const account = (fields: Partial<AccountChange>): AccountChange => ({
      address: ADDRESSES[1]!,
      before: record,
      after: record,
      storageCleared: false,
      storage: [],
      ...fields,
    });
    const block = (number: number, change: AccountChange): BlockCommit =>
      commitOf(number, new Uint8Array(32), { accounts: [change], roots: new Map() });
    for (const clearing of [account({ after: undefined }), account({ storageCleared: true })]) {
      const group = new BufferedGroup();
      group.add(block(1, account({})));
      expect(() => group.add(block(2, clearing))).toThrow("alone");
      group.clear();
      group.add(block(2, clearing));
      expect(() => group.add(block(3, account({})))).toThrow("alone");
    }
  });
});
