import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bytesToHex, EMPTY_KECCAK, EMPTY_TRIE_ROOT, equalBytes, type KeccakLanes, keccak256, keccakLanes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAccount, encodeAccount } from "../account-codec.ts";
import type { TrieNodeChange, TrieNodeReader } from "../node-reader.ts";
import { readTrie } from "../proof.ts";
import { type StateTrieChange, type StateTrieUpdate, updateStateTrie } from "../update-state-trie.ts";
import { updateTrie } from "../update-trie.ts";
import { LinearStateTrie } from "./linear-state-trie.ts";
import { PACKED_CLEARS_NODES, PACKED_STORAGE_CLEARED } from "./packed-changes.ts";

const hexOf = (bytes: Uint8Array | undefined): string => (bytes === undefined ? "none" : bytesToHex(bytes));

/** All nodes ever listed, by hash, so every earlier state can be read. */
class Nodes implements TrieNodeReader {
  readonly #byHash: Map<string, Uint8Array>;
  read: string[] = [];
  /** nodes are missing after this many reads */
  readsLeft = Number.POSITIVE_INFINITY;

  constructor(start?: Nodes) {
    this.#byHash = new Map(start === undefined ? [] : start.#byHash);
  }

  readNode(owner: Uint8Array | undefined, path: Uint8Array, hash: Uint8Array): Uint8Array | undefined {
    if (this.readsLeft-- <= 0) return undefined;
    this.read.push([owner, path, hash].map(hexOf).join(" "));
    return this.#byHash.get(bytesToHex(hash))?.slice();
  }

  keep(nodes: readonly TrieNodeChange[]): void {
    for (const { rlp } of nodes) if (rlp !== undefined) this.#byHash.set(bytesToHex(keccak256(rlp)), rlp.slice());
  }

  takeReads(): string[] {
    const read = this.read.sort();
    this.read = [];
    return read;
  }
}

const bytes = (size: number, ...last: number[]): Uint8Array => {
  const word = new Uint8Array(size);
  word.set(last, size - last.length);
  return word;
};
const addressOf = (n: number): Uint8Array => bytes(20, n);
const slotOf = (n: number): Uint8Array => bytes(32, n);

/**
 * A key that differs only in its last nibbles. Hashes never share so long a prefix, and only such keys make nodes below 32 bytes.
 */
function neighbour(key: Uint8Array, nibblesBack: number, by: number): Uint8Array {
  const other = key.slice();
  const at = 31 - (nibblesBack >> 1);
  other[at] = other[at]! ^ ((nibblesBack & 1) === 0 ? by : by << 4);
  return other;
}

/** Accounts and contracts, some with such similar keys of accounts or slots. */
function startState(nodes: Nodes): Uint8Array {
  const build = (owner: Uint8Array | undefined, entries: readonly (readonly [Uint8Array, Uint8Array])[]): Uint8Array => {
    const { root, nodes: made } = updateTrie(
      nodes,
      owner,
      EMPTY_TRIE_ROOT,
      entries.map(([key, value]) => ({ key, value })),
    );
    nodes.keep(made);
    return root;
  };
  const accounts: (readonly [Uint8Array, Uint8Array])[] = [];
  for (let n = 0; n < 8; n++) {
    const owner = keccak256(addressOf(n));
    const slots: (readonly [Uint8Array, Uint8Array])[] = [];
    for (let i = 0; i < n; i++) {
      const key = keccak256(slotOf(i));
      slots.push([key, Uint8Array.of(i + 1)]);
      // similar keys in the last branch, in the one before it, and further up
      if (i % 2 === 0) slots.push([neighbour(key, 0, 1), Uint8Array.of(7)]);
      if (i % 3 === 0) slots.push([neighbour(key, 1, 3), Uint8Array.of(8)]);
      if (i % 4 === 1)
        slots.push([neighbour(key, 5, 1), Uint8Array.of(0x81, 0x99)], [neighbour(key, 5, 2), new Uint8Array(33).fill(0xa0)]);
      if (i % 5 === 2) slots.push([neighbour(key, 12, 1), Uint8Array.of(5)], [neighbour(key, 13, 1), Uint8Array.of(6)]);
    }
    const account = { nonce: 1n, balance: BigInt(n), storageRoot: build(owner, slots), codeHash: EMPTY_KECCAK };
    accounts.push([owner, encodeAccount(account)]);
    if (n % 3 === 1) accounts.push([neighbour(owner, n, 1), encodeAccount({ ...account, storageRoot: EMPTY_TRIE_ROOT })]);
  }
  return build(undefined, accounts);
}

const START_NODES = new Nodes();
const START_ROOT = startState(START_NODES);

/** Packs the changes of a block as the chain does. */
function pack(changes: readonly StateTrieChange[]): Uint8Array {
  const parts: number[] = [];
  for (const { address, after, storageCleared, storage } of changes) {
    const rlp = after && encodeAccount({ ...after, storageRoot: EMPTY_TRIE_ROOT });
    const flags = (storageCleared ? PACKED_STORAGE_CLEARED : 0) | (storageCleared || rlp === undefined ? PACKED_CLEARS_NODES : 0);
    parts.push(...address, flags, rlp?.length ?? 0, ...(rlp ?? []), 0, 0, storage.length >> 8, storage.length & 0xff);
    for (const { slot, after: value } of storage) parts.push(...slot, ...value);
  }
  return Uint8Array.from(parts);
}

/** Without unchanged nodes: a node in memory is encoded again if its parent needs its reference. */
const changedIn = (nodes: readonly TrieNodeChange[]): TrieNodeChange[] =>
  nodes.filter(({ rlp, before }) => rlp === undefined || before === undefined || !equalBytes(rlp, before));

const textOf = ({ stateRoot, storageRoots, nodes }: StateTrieUpdate): string =>
  [
    hexOf(stateRoot),
    ...[...storageRoots].map(([addressHex, root]) => `${addressHex} ${hexOf(root)}`),
    ...changedIn(nodes).map(({ owner, path, rlp, before }) => [owner, path, rlp, before].map(hexOf).join(" ")),
  ].join("\n");

/** Compares both tries, update by update: one keeps nodes in memory, the other reads all nodes. */
class Pair {
  readonly nodes = new Nodes(START_NODES);
  readonly roots = [START_ROOT];
  readonly linear: LinearStateTrie;
  /** the last listing of each path, and a copy of its bytes */
  readonly #listed = new Map<string, { readonly view: Uint8Array; readonly copy: Uint8Array; readonly update: number }>();

  constructor(lanes: KeccakLanes | undefined) {
    this.linear = new LinearStateTrie({ lanes });
  }

  update(parent: Uint8Array, block: readonly StateTrieChange[]): void {
    if (parent !== this.roots.at(-1)) this.#listed.clear();
    const expected = updateStateTrie(this.nodes, parent, block, (address) => {
      const leaf = readTrie(this.nodes, undefined, parent, keccak256(address));
      return leaf && decodeAccount(leaf).storageRoot;
    });
    const text = textOf(expected);
    const expectedReads = new Set(this.nodes.takeReads());
    const packed = pack(block);
    const found = this.linear.update(this.nodes, parent, packed);
    packed.fill(0x55);
    expect(textOf(found)).toBe(text);
    for (const read of this.nodes.takeReads()) {
      expect(expectedReads).toContain(read);
      const [owner, path, hash] = read.split(" ");
      const listed = this.#listed.get(`${owner} ${path}`);
      expect(listed && hexOf(keccak256(listed.copy))).not.toBe(hash); // the node is in memory
    }
    expect(found.clearedOwners).toEqual(
      block.filter(({ after, storageCleared }) => after === undefined || storageCleared).map(({ address }) => keccak256(address)),
    );
    this.#compareRanges(found.nodes);
    this.#compareViews(found.nodes);
    this.nodes.keep(found.nodes);
    this.roots.push(expected.stateRoot);
  }

  #compareRanges(nodes: readonly TrieNodeChange[]): void {
    for (const { rlp, before, differsFrom = 0, differsTo } of nodes) {
      if (rlp === undefined || before?.length !== rlp.length) continue;
      const isSame = (from: number, to?: number): boolean => equalBytes(rlp.subarray(from, to), before.subarray(from, to));
      expect(isSame(0, differsFrom) && isSame(differsTo ?? rlp.length)).toBe(true);
    }
  }

  /**
   * A listed RLP does not change until its path is listed with another RLP or the node is evicted. A listing without a change
   * does not count, because the storage ignores it.
   */
  #compareViews(nodes: readonly TrieNodeChange[]): void {
    for (const { owner, path, rlp, before } of nodes) {
      if (rlp !== undefined && before !== undefined && equalBytes(rlp, before)) continue;
      const key = `${hexOf(owner)} ${hexOf(path)}`;
      if (rlp === undefined) this.#listed.delete(key);
      else this.#listed.set(key, { view: rlp, copy: rlp.slice(), update: this.roots.length });
    }
    for (const [key, { view, copy }] of this.#listed) if (!equalBytes(view, copy)) throw new Error(`${key} was overwritten`);
  }

  forgetOwners(): void {
    this.#listed.clear();
  }

  /** @param pinned updates whose nodes stay in memory */
  evict(pinned: number): void {
    expect(this.linear.evict(0, pinned)).toBeGreaterThanOrEqual(pinned);
    for (const [key, { update }] of this.#listed) if (update < this.roots.length - pinned) this.#listed.delete(key);
  }

  /** Only the linear trie fails, and restarts empty. */
  fail(block: readonly StateTrieChange[], reads: number): void {
    this.nodes.readsLeft = reads;
    try {
      this.linear.update(this.nodes, this.roots.at(-1)!, pack(block));
      this.linear.clear();
    } catch (error) {
      expect(error).toMatchObject({ code: "trie/missing-node" });
    }
    this.nodes.readsLeft = Number.POSITIVE_INFINITY;
    expect(this.linear.nodeCount).toBe(0);
    this.#listed.clear();
    this.nodes.takeReads();
  }
}

const slotChange = fc.record({
  slot: fc.nat(9).map(slotOf),
  after: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 0x7f, 0x80, 0xff).map((last) => bytes(32, last)) },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 32, maxLength: 32 }) },
  ),
});
const account = fc.record({
  nonce: fc.constantFrom(0n, 1n, 127n, 128n, 300n),
  balance: fc.constantFrom(0n, 1n, 1n << 80n),
  codeHash: fc.constant(EMPTY_KECCAK),
});
const change: fc.Arbitrary<StateTrieChange> = fc.record({
  address: fc.nat(11).map(addressOf),
  after: fc.oneof({ weight: 5, arbitrary: account }, { weight: 1, arbitrary: fc.constant(undefined) }),
  storageCleared: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  storage: fc.uniqueArray(slotChange, { maxLength: 10, selector: ({ slot }) => slot[31] }),
});
const block = fc.uniqueArray(change, { maxLength: 8, selector: ({ address }) => address[19] });

type Step =
  | { readonly kind: "block"; readonly block: readonly StateTrieChange[] }
  | { readonly kind: "back"; readonly by: number; readonly block: readonly StateTrieChange[] }
  | { readonly kind: "evict"; readonly pinned: number }
  | { readonly kind: "fail"; readonly reads: number; readonly block: readonly StateTrieChange[] };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("block" as const), block }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("back" as const), by: fc.integer({ min: 2, max: 4 }), block }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("evict" as const), pinned: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const), reads: fc.nat(12), block }) },
);

/** Replaces native code, which needs a suitable processor. Records how many messages are hashed together. */
class LanesHere implements KeccakLanes {
  readonly counts: number[] = [];

  hashAll(messages: Uint8Array, ends: Uint32Array, digests: Uint8Array): void {
    this.counts.push(ends.length);
    expect(messages.length).toBe(ends.at(-1));
    expect(digests.length).toBe(32 * ends.length);
    for (const [i, end] of ends.entries()) digests.set(keccak256(messages.subarray(i === 0 ? 0 : ends[i - 1], end)), 32 * i);
  }
}

const HASHERS: (readonly [string, KeccakLanes | undefined])[] = [
  ["one by one", undefined],
  ["level by level", new LanesHere()],
];
if (keccakLanes !== undefined) HASHERS.push(["in the processor's lanes", keccakLanes]);

describe("LinearStateTrie", () => {
  it.each(HASHERS)("lists what is listed without memory, and reads nothing else, whatever happens, hashing %s", (_, lanes) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 3, maxLength: 14 }), (steps) => {
        const pair = new Pair(lanes);
        for (const next of steps) {
          switch (next.kind) {
            case "block":
              // Clearing a storage discards its nodes without listing them.
              if (next.block.some(({ after, storageCleared }) => after === undefined || storageCleared)) pair.forgetOwners();
              pair.update(pair.roots.at(-1)!, next.block);
              break;
            case "back":
              pair.forgetOwners();
              pair.update(pair.roots.at(-next.by) ?? pair.roots[0]!, next.block);
              break;
            case "evict":
              pair.evict(next.pinned);
              break;
            case "fail":
              pair.fail(next.block, next.reads);
          }
        }
      }),
      { numRuns: Number(process.env.RNODE_TRIE_RUNS ?? 60), seed: Number(process.env.RNODE_TRIE_SEED ?? 23) },
    );
  });

  it("keeps the row of a node that is encoded again only for its parent", () => {
    const created = (address: Uint8Array): StateTrieChange => ({
      address,
      after: { nonce: 1n, balance: 1n, codeHash: EMPTY_KECCAK },
      storageCleared: false,
      storage: [],
    });
    /** Two accounts whose keys begin with the nibble, and differ in the next one. */
    const pairAt = (nibble: number): StateTrieChange[] => {
      const all = Array.from({ length: 200 }, (_, n) => addressOf(n)).filter((address) => keccak256(address)[0]! >> 4 === nibble);
      return [all[0]!, all.find((address) => keccak256(address)[0] !== keccak256(all[0]!)[0])!].map(created);
    };
    const alone = pairAt(7)[0]!;
    const linear = new LinearStateTrie();
    const none: TrieNodeReader = { readNode: () => undefined };
    const made = linear.update(none, EMPTY_TRIE_ROOT, pack([...pairAt(3), alone]));
    const view = made.nodes.find(({ path }) => path.length === 1 && path[0] === 3)!.rlp!;
    const copy = view.slice();
    // The root has one child left, and becomes an extension. The child stays a branch below it, with the same row.
    const { stateRoot, nodes } = linear.update(none, made.stateRoot, pack([{ ...alone, after: undefined }]));
    const same = nodes.find(({ path }) => path.length === 1 && path[0] === 3);
    expect([same?.rlp, same?.before]).toEqual([copy, copy]);
    linear.update(none, stateRoot, pack([...pairAt(5), ...pairAt(9)]));
    expect(view).toEqual(copy);
  });

  it.each(HASHERS)("is right while its memory grows, and bounded by eviction, hashing %s", (_, lanes) => {
    const nodes = new Nodes();
    const linear = new LinearStateTrie({ lanes });
    let root = EMPTY_TRIE_ROOT;
    let listed: readonly TrieNodeChange[] = [];
    let copies: string[] = [];
    for (let number = 0; number < 3; number++) {
      const changes = Array.from({ length: 2500 }, (_, i) => ({
        address: bytes(20, number, i >> 8, i & 0xff),
        after: { nonce: 1n, balance: BigInt(i), codeHash: EMPTY_KECCAK },
        storageCleared: false,
        storage:
          i % 1250 === 0
            ? Array.from({ length: 600 }, (_, slot) => ({ slot: bytes(32, slot >> 8, slot & 0xff), after: bytes(32, 1 + i) }))
            : [],
      }));
      const expected = updateStateTrie(nodes, root, changes, () => undefined);
      const found = linear.update(nodes, root, pack(changes));
      expect(found.stateRoot).toEqual(expected.stateRoot);
      expect(found.storageRoots).toEqual(expected.storageRoots);
      expect(changedIn(found.nodes).length).toBe(expected.nodes.length);
      const again = new Set(found.nodes.map(({ owner, path }) => `${hexOf(owner)} ${hexOf(path)}`));
      for (const [index, copy] of copies.entries())
        if (!again.has(copy.split("=")[0]!)) expect(copy.split("=")[1]).toBe(hexOf(listed[index]!.rlp));
      listed = found.nodes.map(({ owner, path, rlp, before }) => ({ owner, path, rlp, before }));
      copies = listed.map(({ owner, path, rlp }) => `${hexOf(owner)} ${hexOf(path)}=${hexOf(rlp)}`);
      nodes.keep(found.nodes);
      root = found.stateRoot;
    }
    expect(linear.nodeCount).toBeGreaterThan(9000);
    expect(linear.evict(5000, 1)).toBe(1);
    expect(linear.nodeCount).toBeLessThan(7500);
    linear.evict(0);
    expect(linear.nodeCount).toBe(0);
  });

  it("hashes what is on one level of any tries together, and a few nodes one by one", () => {
    const lanes = new LanesHere();
    const pair = new Pair(lanes);
    const take = (block: readonly StateTrieChange[]): number[] => {
      lanes.counts.length = 0;
      pair.update(pair.roots.at(-1)!, block);
      return lanes.counts;
    };
    const contract = (n: number, slots: number): StateTrieChange => ({
      address: bytes(20, 1, n),
      after: { nonce: 1n, balance: BigInt(n), codeHash: EMPTY_KECCAK },
      storageCleared: false,
      storage: Array.from({ length: slots }, (_, i) => ({ slot: slotOf(i), after: bytes(32, 1 + n, i) })),
    });
    // 40 tries with a root and its three leaves each
    expect(take(Array.from({ length: 40 }, (_, n) => contract(n, 3))).slice(0, 3)).toEqual([160, 120, 40]);
    const hashed = take([contract(0, 4), contract(1, 1)]);
    expect(hashed.every((count) => count >= 3)).toBe(true);
    expect(take([contract(0, 0)])).toEqual([]);
    expect(take([])).toEqual([]);
  });

  it.each([
    ["no list", "0x83aabbcc"],
    ["an empty list", "0xc0"],
    ["one item", "0xc101"],
    ["an extension without a path", "0xc20080"],
    ["flags that do not exist", "0xc34080c0"],
    ["padding that is not zero", "0xc32180ff"],
    ["a branch of 18 items", `0xd2${"80".repeat(18)}`],
    ["a branch with a value", `0xd1${"80".repeat(16)}05`],
    ["a length that is not minimal", "0xf80180"],
    ["bytes after the node", `0xd1${"80".repeat(17)}00`],
    ["less than its length", "0xd18080"],
    ["a leaf with another path", "0xc22005"],
    ["nothing", "0x"],
    ["too much", `0x${"80".repeat(2000)}`],
  ])("refuses %s", (_, hex) => {
    const row = Uint8Array.from(Buffer.from(hex.slice(2), "hex"));
    const linear = new LinearStateTrie();
    const alice = pack([
      { address: addressOf(1), after: { nonce: 1n, balance: 1n, codeHash: EMPTY_KECCAK }, storageCleared: false, storage: [] },
    ]);
    expect(() => linear.update({ readNode: () => row }, keccak256(row), alice)).toThrow(
      expect.objectContaining({ code: "trie/bad-node" }),
    );
    expect(linear.update({ readNode: () => undefined }, EMPTY_TRIE_ROOT, alice).nodes).toHaveLength(1);
  });

  it("is what scripts/build-state-trie.mjs writes", { tags: "long" }, () => {
    const script = fileURLToPath(new URL("../../scripts/build-state-trie.mjs", import.meta.url));
    expect(execFileSync(process.execPath, [script, "--check"], { encoding: "utf8" })).toBe("");
  });
});
