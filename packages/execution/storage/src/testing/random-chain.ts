import assert from "node:assert/strict";
import type { AccountChange, AccountRecord, StateChanges } from "@rnode/evm";
import {
  bytesToHex,
  compareBytes,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  isZeroBytes,
  keccak256,
} from "@rnode/primitives";
import { createRandom, type Random } from "@rnode/primitives/testing";
import {
  type Block,
  type DepositTransaction,
  hashHeader,
  hashTransaction,
  type Log,
  logsBloom,
  type Receipt,
} from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import {
  createProof,
  decodeAccount,
  encodeAccount,
  encodeStorageValue,
  SortedTrieBuilder,
  type TrieNodeReader,
  updateStateTrie,
  verifyProof,
} from "@rnode/trie";
import { open } from "lmdb";
import type { BlockCommit, ChainDatabase, CommitOptions, StateView } from "../api.ts";
import { openChainStore } from "../lmdb-chain-store.ts";

interface ModelAccount extends AccountRecord {
  readonly storage: ReadonlyMap<Hex, Uint8Array>;
}
type Model = ReadonlyMap<Hex, ModelAccount>;

export const ADDRESSES = Array.from({ length: 24 }, (_, i) => keccak256(Uint8Array.of(i)).subarray(12));
export const SLOTS = Array.from({ length: 20 }, (_, i) => (i < 10 ? word(BigInt(i)) : keccak256(Uint8Array.of(i, 1))));
export const TOPICS = Array.from({ length: 6 }, (_, i) => keccak256(Uint8Array.of(i, 2)));
const CODES = Array.from({ length: 3 }, (_, i) => new Uint8Array(100 + i).fill(i));

function word(value: bigint): Uint8Array {
  return hexToBytes(value.toString(16).padStart(64, "0"));
}

const storageRoots = new WeakMap<ModelAccount, Uint8Array>();

function storageRootOf(account: ModelAccount): Uint8Array {
  let root = storageRoots.get(account);
  if (root === undefined) {
    root = rootOf(
      [...account.storage].map(([slot, value]) => ({ key: keccak256(hexToBytes(slot)), value: encodeStorageValue(value) })),
    );
    storageRoots.set(account, root);
  }
  return root;
}

function rootOf(leaves: { key: Uint8Array; value: Uint8Array }[]): Uint8Array {
  const builder = new SortedTrieBuilder();
  for (const { key, value } of leaves.sort((a, b) => compareBytes(a.key, b.key))) builder.add(key, value);
  return builder.finish();
}

function stateRootOf(model: Model): Uint8Array {
  return rootOf(
    [...model].map(([address, account]) => ({
      key: keccak256(hexToBytes(address)),
      value: encodeAccount({ ...account, storageRoot: storageRootOf(account) }),
    })),
  );
}

/** Random changes to a few accounts: creation, payment, storage, destruction, and destruction with re-creation in the same block. */
function randomChanges(random: Random, model: Model): { changes: StateChanges; after: Model } {
  const after = new Map(model);
  const accounts: AccountChange[] = [];
  const codes: { codeHash: Uint8Array; code: Uint8Array }[] = [];
  const chosen = new Set(Array.from({ length: 1 + random(8) }, () => random(ADDRESSES.length)));
  for (const index of chosen) {
    const address = ADDRESSES[index]!;
    const old = model.get(bytesToHex(address));
    const before = old && { nonce: old.nonce, balance: old.balance, codeHash: old.codeHash };
    const dice = random(10);
    if (old !== undefined && dice === 0) {
      accounts.push({ address, before, after: undefined, storageCleared: true, storage: [] });
      after.delete(bytesToHex(address));
      continue;
    }
    const storageCleared = dice === 1;
    const code = random(4) === 0 ? CODES[random(CODES.length)] : undefined;
    if (code !== undefined) codes.push({ codeHash: keccak256(code), code });
    const record: AccountRecord = {
      nonce: (old?.nonce ?? 0n) + BigInt(random(3)),
      balance: BigInt(random(1 << 30)) ** BigInt(random(4)),
      codeHash: code === undefined ? (old?.codeHash ?? EMPTY_KECCAK) : keccak256(code),
    };
    const stored = new Map(storageCleared ? [] : old?.storage);
    const storage: { slot: Uint8Array; before: Uint8Array; after: Uint8Array }[] = [];
    for (const slotIndex of new Set(Array.from({ length: random(6) }, () => random(SLOTS.length)))) {
      const slot = SLOTS[slotIndex]!;
      const value =
        random(3) === 0 ? word(0n) : random(2) === 0 ? keccak256(Uint8Array.of(random(256))) : word(BigInt(1 + random(1000)));
      storage.push({ slot, before: stored.get(bytesToHex(slot)) ?? word(0n), after: value });
      if (isZeroBytes(value)) stored.delete(bytesToHex(slot));
      else stored.set(bytesToHex(slot), value);
    }
    accounts.push({ address, before, after: record, storageCleared, storage });
    after.set(bytesToHex(address), { ...record, storage: stored });
  }
  return { changes: { accounts, codes }, after };
}

/** A block with its state, according to the model. */
interface ModelBlock {
  readonly commit: BlockCommit;
  readonly model: Model;
}

function randomReceipts(random: Random, count: number): Receipt[] {
  return Array.from({ length: count }, (_, i) => {
    const logs: Log[] = Array.from({ length: random(3) }, () => ({
      address: ADDRESSES[random(6)]!,
      topics: Array.from({ length: random(4) }, () => TOPICS[random(TOPICS.length)]!),
      data: new Uint8Array(random(40)),
    }));
    const isDeposit = i === 0;
    return {
      type: 0x7e,
      status: random(5) === 0 ? 0 : 1,
      cumulativeGasUsed: BigInt((i + 1) * 21000),
      bloom: logsBloom(logs),
      logs,
      ...(isDeposit && { depositNonce: BigInt(random(1000)) }),
      ...(isDeposit && random(2) === 0 && { depositReceiptVersion: 1n }),
    };
  });
}

function makeBlock(random: Random, parent: ModelBlock | undefined, nodes: TrieNodeReader): ModelBlock {
  const parentModel = parent?.model ?? new Map<Hex, ModelAccount>();
  const { changes, after } = randomChanges(random, parentModel);
  const parentStateRoot = parent?.commit.block.header.stateRoot ?? EMPTY_TRIE_ROOT;
  const update = updateStateTrie(nodes, parentStateRoot, changes.accounts, (address) => {
    const account = parentModel.get(bytesToHex(address));
    return account && storageRootOf(account);
  });
  const number = parent === undefined ? 0 : parent.commit.block.header.number + 1;
  const transactions = Array.from(
    { length: parent === undefined ? 0 : 1 + random(3) },
    (): DepositTransaction => ({
      type: 0x7e,
      sourceHash: keccak256(Uint8Array.of(random(256), random(256), random(256), number)),
      from: ADDRESSES[random(ADDRESSES.length)]!,
      to: random(4) === 0 ? undefined : ADDRESSES[0],
      mint: BigInt(random(100)),
      value: 0n,
      gasLimit: 21000n,
      isSystemTx: false,
      data: new Uint8Array(random(20)),
    }),
  );
  const receipts = randomReceipts(random, transactions.length);
  const block: Block = {
    header: headerOf({
      ...(parent !== undefined && { parentHash: parent.commit.hash }),
      stateRoot: update.stateRoot,
      number,
      timestamp: 1_700_000_000 + 2 * number,
      extraData: Uint8Array.of(random(256), random(256)),
      baseFeePerGas: 7n,
      withdrawalsRoot: EMPTY_TRIE_ROOT,
    }),
    transactions,
    ommers: [],
    withdrawals: [],
  };
  const commit: BlockCommit = {
    block,
    hash: hashHeader(block.header),
    receipts,
    senders: transactions.map((tx) => tx.from),
    changes,
    storageRoots: update.storageRoots,
    nodes: update.nodes,
  };
  return { commit, model: after };
}

const NO_NODES: TrieNodeReader = { readNode: () => undefined };

/** The nodes of uncommitted blocks, on top of those in the store. */
class Overlay implements TrieNodeReader {
  readonly #below: TrieNodeReader;
  readonly #byPath = new Map<string, Uint8Array | undefined>();

  constructor(below: TrieNodeReader) {
    this.#below = below;
  }

  readNode(owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array): Uint8Array | undefined {
    const key = `${owner === undefined ? "" : bytesToHex(owner)} ${bytesToHex(path)}`;
    return this.#byPath.has(key) ? this.#byPath.get(key) : this.#below.readNode(owner, path, hash);
  }

  add(commit: BlockCommit): void {
    for (const { owner, path, rlp } of commit.nodes) {
      this.#byPath.set(`${owner === undefined ? "" : bytesToHex(owner)} ${bytesToHex(path)}`, rlp);
    }
  }
}

/** A store and a model of its canonical chain, driven by random operations. */
export class RandomChain {
  readonly blocks: ModelBlock[] = [];
  readonly #random: Random;
  store: ChainDatabase;

  constructor(store: ChainDatabase, seed: number) {
    this.store = store;
    this.#random = createRandom(seed);
    const genesis = makeBlock(this.#random, undefined, NO_NODES);
    store.writeGenesis(genesis.commit);
    this.blocks.push(genesis);
  }

  get head(): ModelBlock {
    return this.blocks.at(-1)!;
  }

  extend(options?: CommitOptions): void {
    const block = makeBlock(this.#random, this.head, this.store.trieNodesAt(this.blocks.length - 1)!);
    assert.equal(bytesToHex(block.commit.block.header.stateRoot), bytesToHex(stateRootOf(block.model)));
    this.store.commitBlock(block.commit, undefined, options);
    this.blocks.push(block);
  }

  extendBy(blocks: number): void {
    for (let i = 0; i < blocks; i++) this.extend();
  }

  reorganize(depth: number, length: number): void {
    const target = this.blocks.length - 1 - depth;
    const overlay = new Overlay(this.store.trieNodesAt(target)!);
    this.blocks.length = target + 1;
    const added: ModelBlock[] = [];
    for (let i = 0; i < length; i++) {
      const block = makeBlock(this.#random, added.at(-1) ?? this.head, overlay);
      overlay.add(block.commit);
      added.push(block);
    }
    this.store.reorganize(
      target,
      added.map(({ commit }) => commit),
    );
    this.blocks.push(...added);
  }

  run(steps: number): void {
    for (let i = 0; i < steps; i++) {
      if (this.#random(7) === 0) this.reorganize(this.#random(Math.min(6, this.blocks.length)), this.#random(4));
      else this.extend();
    }
  }

  /** Compares the state after a block with the model, for all addresses and slots, through both kinds of views and through proofs. */
  checkState(number: number, withProofs: boolean): void {
    const view = this.store.stateAt(number)!;
    this.#checkView(number, view, withProofs);
    this.#checkView(number, view.forNextBlock!(), false);
  }

  #checkView(number: number, view: StateView, withProofs: boolean): void {
    const { model, commit } = this.blocks[number]!;
    const nodes = this.store.trieNodesAt(number)!;
    const { stateRoot } = commit.block.header;
    assert.deepEqual(view.block, { number, hash: bytesToHex(commit.hash) });
    for (const address of ADDRESSES) {
      const expected = model.get(bytesToHex(address));
      const account = view.readAccount(address);
      if (expected === undefined) {
        assert.equal(account, undefined);
      } else {
        const { nonce, balance, codeHash } = expected;
        assert.deepEqual(account, { nonce, balance, codeHash, storageRoot: storageRootOf(expected) });
        if (bytesToHex(codeHash) !== bytesToHex(EMPTY_KECCAK)) assert.deepEqual(keccak256(view.readCode(codeHash)), codeHash);
      }
      for (const slot of SLOTS) {
        const value = view.readStorage(address, slot);
        const wanted = expected?.storage.get(bytesToHex(slot));
        // Calling `expect` for each of some hundred thousand reads would take most of the test's time.
        if ((value && bytesToHex(value)) !== (wanted && bytesToHex(wanted)))
          assert.deepEqual({ number, address, slot, value }, wanted);
      }
      if (!withProofs) continue;
      const proven = verifyProof(stateRoot, keccak256(address), createProof(nodes, undefined, stateRoot, keccak256(address)));
      assert.deepEqual(proven && decodeAccount(proven), account);
      if (account === undefined) continue;
      const slot = SLOTS[number % SLOTS.length]!;
      const proof = createProof(nodes, keccak256(address), account.storageRoot, keccak256(slot));
      const value = expected!.storage.get(bytesToHex(slot));
      assert.deepEqual(verifyProof(account.storageRoot, keccak256(slot), proof), value && encodeStorageValue(value));
    }
  }

  /** Compares blocks and all ways to find them. For pruned blocks, checks the remaining parts and that the rest was removed. */
  checkBlocks(): void {
    const { oldestReceipts, oldestState, oldestProof } = this.store.retainedHistory()!;
    assert.deepEqual(this.store.head(), { number: this.blocks.length - 1, hash: bytesToHex(this.head.commit.hash) });
    for (const [number, { commit }] of this.blocks.entries()) {
      const { hash, block, receipts, senders } = commit;
      assert.deepEqual(this.store.readCanonicalHash(number), hash);
      assert.deepEqual(this.store.readHeader(hash), block.header);
      assert.deepEqual(this.store.readBlock(hash), block);
      assert.equal(this.store.stateAt(number) !== undefined, number >= oldestState);
      assert.equal(this.store.trieNodesAt(number) !== undefined, number >= oldestProof);
      if (number > 0 && number < oldestReceipts) {
        assert.equal(this.store.readReceipts(hash), undefined);
        assert.equal(this.store.readSenders(hash), undefined);
        for (const tx of block.transactions) assert.equal(this.store.readTransactionLocation(hashTransaction(tx)), undefined);
        continue;
      }
      assert.deepEqual(this.store.readReceipts(hash), receipts);
      assert.deepEqual(this.store.readSenders(hash), senders);
      for (const [index, tx] of block.transactions.entries()) {
        assert.deepEqual(this.store.readTransactionLocation(hashTransaction(tx)), { blockNumber: number, blockHash: hash, index });
      }
    }
    assert.equal(this.store.readCanonicalHash(this.blocks.length), undefined);
    for (const address of ADDRESSES) {
      const expected = this.blocks.flatMap(({ commit: { block, receipts } }) =>
        block.header.number >= oldestReceipts &&
        receipts.some(({ logs }) => logs.some((log) => bytesToHex(log.address) === bytesToHex(address)))
          ? [block.header.number]
          : [],
      );
      assert.deepEqual([...this.store.blocksWithLogs({ addresses: [address] }, 0, this.blocks.length)], expected);
    }
  }
}

/** Every row of every table, as hex. */
/** The same with all trie nodes in their tables, so the result does not depend on the commits in which they were written. */
export async function dumpSettled(folder: string): Promise<Map<string, Map<string, string>>> {
  const store = openChainStore(folder);
  store.beginGroups();
  await store.close();
  const tables = await dump(folder);
  tables.delete("nodeJournal");
  return tables;
}

export async function dump(folder: string): Promise<Map<string, Map<string, string>>> {
  const root = open<Uint8Array, Uint8Array>({
    path: folder,
    noSubdir: false,
    encoding: "binary",
    keyEncoding: "binary",
    maxDbs: 64,
    readOnly: true,
  });
  const tables = new Map<string, Map<string, string>>();
  for (const key of [...root.getKeys({})]) {
    const name = Buffer.from(key).toString().replace(/\0$/, "");
    const rows = new Map<string, string>();
    for (const entry of root.openDB<Uint8Array, Uint8Array>({ name, encoding: "binary", keyEncoding: "binary" }).getRange({})) {
      rows.set(bytesToHex(entry.key), bytesToHex(entry.value));
    }
    tables.set(name, rows);
  }
  await root.close();
  return tables;
}
