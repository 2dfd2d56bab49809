import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlockPeer, type BlockPeers, encodeSlimAccount, nibblesOfPath, type StatePeer } from "@rnode/devp2p";
import { silentLogger } from "@rnode/observe";
import {
  bytesToHex,
  compareBytes,
  concatBytes,
  EMPTY_KECCAK,
  EMPTY_TRIE_ROOT,
  encodeRlp,
  equalBytes,
  type Hex,
  hexToBytes,
  keccak256,
} from "@rnode/primitives";
import { createRandom } from "@rnode/primitives/testing";
import { SimClock } from "@rnode/program/testing";
import { createProof, decodeAccount, encodeAccount, SortedTrieBuilder, type TrieEntry, witnessNodeReader } from "@rnode/trie";
import { expect, it } from "vitest";
import { KeptState } from "./kept-state.ts";
import { StateDownload } from "./state-download.ts";

const ACCOUNTS = 1_500;
const SLOTS = 1_200;
/** accounts with storage */
const OWNERS = [1, 2, 3, 4].map((n) => keccak256(Uint8Array.of(n, 1)));

type Rows = Map<Hex, Uint8Array>;

class Trie {
  readonly entries: readonly TrieEntry[];
  readonly nodes = new Map<string, Uint8Array>();
  readonly root: Uint8Array;
  readonly #proofs: ReturnType<typeof witnessNodeReader>;

  constructor(rows: Rows) {
    this.entries = [...rows]
      .map(([key, value]) => ({ key: hexToBytes(key), value }))
      .toSorted((a, b) => compareBytes(a.key, b.key));
    const builder = new SortedTrieBuilder((path, rlp) => this.nodes.set(path.join(), rlp.slice()));
    for (const { key, value } of this.entries) builder.add(key, value);
    this.root = builder.finish();
    this.#proofs = witnessNodeReader([...this.nodes.values()]);
  }

  range(origin: Uint8Array, count: number): { readonly rows: readonly TrieEntry[]; readonly proof: readonly Uint8Array[] } {
    const rows = this.entries.filter(({ key }) => compareBytes(key, origin) >= 0).slice(0, count);
    const keys = [origin, ...rows.slice(-1).map(({ key }) => key)];
    return { rows, proof: keys.flatMap((key) => createProof(this.#proofs, undefined, this.root, key)) };
  }
}

/** A state, and those that follow it. */
class World {
  readonly accounts: Rows = new Map();
  readonly slots = new Map<Hex, Rows>(OWNERS.map((owner) => [bytesToHex(owner), new Map()]));
  readonly random: (below: number) => number;

  constructor(seed: number) {
    this.random = createRandom(seed);
    for (let i = 0; i < ACCOUNTS; i++) this.#setAccount(keccak256(Uint8Array.of(i >> 8, i)));
    for (let i = 0; i < SLOTS; i++) this.#setSlot(OWNERS[0]!, i);
    for (let i = 0; i < 30; i++) this.#setSlot(OWNERS[1]!, i);
  }

  #setAccount(hash: Uint8Array): void {
    const account = { nonce: BigInt(this.random(9)), balance: BigInt(1 + this.random(1e9)), codeHash: EMPTY_KECCAK };
    this.accounts.set(bytesToHex(hash), encodeAccount({ ...account, storageRoot: EMPTY_TRIE_ROOT }));
  }

  #setSlot(owner: Uint8Array, index: number): void {
    const value = encodeRlp(Uint8Array.of(1 + this.random(255), this.random(256)));
    this.slots.get(bytesToHex(owner))!.set(bytesToHex(keccak256(Uint8Array.of(index >> 8, index, 7))), value);
  }

  /** Some rows are changed, added and removed. */
  change(count: number): void {
    for (let i = 0; i < count; i++) {
      const hash = keccak256(Uint8Array.of(this.random(7), this.random(256)));
      if (this.random(4) === 0) this.accounts.delete(bytesToHex(hash));
      else this.#setAccount(hash);
      const owner = OWNERS[this.random(OWNERS.length)]!;
      const slot = bytesToHex(keccak256(Uint8Array.of(this.random(5), this.random(256), 7)));
      if (this.random(4) === 0) this.slots.get(bytesToHex(owner))!.delete(slot);
      else this.#setSlot(owner, this.random(SLOTS));
    }
    const emptied = OWNERS[this.random(12)];
    if (emptied !== undefined) this.slots.get(bytesToHex(emptied))!.clear();
  }

  /** As it is now. */
  state(): { readonly accounts: Trie; readonly storage: ReadonlyMap<Hex, Trie> } {
    const storage = new Map([...this.slots].map(([owner, rows]) => [owner, new Trie(rows)] as const));
    const accounts = new Map(this.accounts);
    for (const [owner, { entries, root }] of storage) {
      if (entries.length === 0) continue;
      accounts.set(owner, encodeAccount({ nonce: 1n, balance: 0n, codeHash: EMPTY_KECCAK, storageRoot: root }));
    }
    return { accounts: new Trie(accounts), storage };
  }
}
type State = ReturnType<World["state"]>;

/** Has some states, gives a few rows an answer. */
class Peer {
  states: readonly State[] = [];
  answers = 0;
  nodes = 0;
  readonly rowsAnAnswer: number;

  constructor(rowsAnAnswer: number) {
    this.rowsAnAnswer = rowsAnAnswer;
  }

  #has(root: Uint8Array): State | undefined {
    this.answers++;
    return this.states.find(({ accounts }) => equalBytes(accounts.root, root));
  }

  readonly state: StatePeer = {
    accounts: async ({ root, origin }) => {
      const range = this.#has(root)?.accounts.range(origin, this.rowsAnAnswer);
      const rows = range?.rows ?? [];
      return {
        accounts: rows.map(({ key, value }) => ({ hash: key, body: encodeSlimAccount(decodeAccount(value)) })),
        proof: range?.proof ?? [],
      };
    },
    slots: async ({ root, accounts, origin }) => {
      const trie = this.#has(root)?.storage.get(bytesToHex(accounts[0]!));
      if (trie === undefined) return { slots: [], proof: [] };
      const { rows, proof } = trie.range(origin, this.rowsAnAnswer);
      return { slots: [rows.map(({ key, value }) => ({ hash: key, body: value }))], proof };
    },
    codes: async () => [],
    nodes: async ({ root, paths }) => {
      const state = this.#has(root);
      if (state === undefined) return [];
      const found = paths.flatMap(([first, ...rest]) => {
        const [trie, of] = rest.length === 0 ? [state.accounts, [first!]] : [state.storage.get(bytesToHex(first!)), rest];
        return of.flatMap((path) => trie?.nodes.get([...(nibblesOfPath(path) ?? [])].join()) ?? []);
      });
      const given = found.slice(0, 40);
      this.nodes += given.length;
      return given;
    },
  };
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "state-heal-"));

/** Downloads the state that is wanted at each time. @returns how many rows were read to be compared */
async function download(folder: string, peer: Peer, wanted: () => State, onProgress: () => void = () => {}): Promise<number> {
  const clock = new SimClock();
  const from = { id: "a", state: peer.state, report: (_: unknown, reason: string) => expect.unreachable(reason) };
  const peers: BlockPeers = { list: () => [from as unknown as BlockPeer], onChange: () => () => {} };
  const rows = KeptState.open(folder, 4_000);
  let read = 0;
  const below = rows.below.bind(rows);
  rows.below = function* (owner, path) {
    for (const entry of below(owner, path)) {
      read++;
      yield entry;
    }
  };
  try {
    const root = (): Uint8Array => wanted().accounts.root;
    const running = new StateDownload(root(), rows, { peers, clock, log: silentLogger, root, onProgress }).run();
    let isEnded = false;
    const end = (): void => {
      isEnded = true;
    };
    running.then(end, end);
    while (!isEnded) await clock.advance(1_000);
    const { root: got } = await running;
    const state = peer.states.find(({ accounts }) => equalBytes(accounts.root, got))!;
    expectRows(rows, state);
  } finally {
    await rows.close();
  }
  return read;
}

function expectRows(rows: KeptState, { accounts, storage }: State): void {
  const sorted = rows.sorted();
  const found = new Trie(
    new Map([...sorted.accounts()].map(({ addressHash }) => [bytesToHex(addressHash), encodeAccount(rows.account(addressHash)!)])),
  );
  expect(found.root).toEqual(accounts.root);
  const slots = (all: Iterable<readonly [Uint8Array, Uint8Array]>): string[] =>
    [...all].map(([key, value]) => `${bytesToHex(key)} ${bytesToHex(value)}`).toSorted();
  const theirs = [...storage].flatMap(([owner, { entries }]) =>
    entries.map(({ key, value }) => [concatBytes(hexToBytes(owner), key), value] as const),
  );
  const ours = [...sorted.slots()].map((row) => [concatBytes(row.addressHash, row.slotHash), encodeRlp(row.value)] as const);
  expect(slots(ours)).toEqual(slots(theirs));
}

/** @param kills at most, each after another answer */
async function mix(seed: number, rowsAnAnswer: number, answersAState: number, kills: number): Promise<void> {
  const world = new World(seed);
  const peer = new Peer(rowsAnAnswer);
  const states = Array.from({ length: 8 }, () => {
    world.change(20);
    return world.state();
  });
  peer.states = states;
  const folder = newFolder();
  const copies: string[] = [];
  const wanted = (): State => states[Math.min(states.length - 1, Math.floor(peer.answers / answersAState))]!;
  await download(folder, peer, wanted, () => {
    if (copies.length === kills || world.random(3) === 0) return;
    const copy = newFolder();
    cpSync(join(folder, "data.mdb"), join(copy, "data.mdb"));
    copies.push(copy);
  });
  expect(copies.length).toBeGreaterThanOrEqual(Math.min(kills, 10));
  for (const copy of copies) {
    const last = states[world.random(states.length)]!;
    await download(copy, peer, () => last);
  }
}

it("rows of many states become those of the last one, also after a kill", () => mix(1, 200, 8, 10));

it("rows of many states become those of the last one, after a kill at a hundred times", { tags: "long" }, async () => {
  for (const seed of [1, 2]) await mix(seed, 40, 40, 100);
});

it("a heal costs what has changed since the last one", async () => {
  const world = new World(3);
  const peer = new Peer(300);
  const folder = newFolder();
  let state = world.state();
  peer.states = [state];
  await download(folder, peer, () => state);
  for (const round of [1, 2, 3]) {
    world.change(4);
    state = world.state();
    peer.states = [state];
    peer.nodes = 0;
    const read = await download(folder, peer, () => state);
    if (round > 1) {
      expect(peer.nodes).toBeLessThan(100);
      expect(read).toBeLessThan(500);
    }
  }
  peer.nodes = 0;
  expect(await download(folder, peer, () => state)).toBe(0); // as after a kill while the state is written
  expect(peer.nodes).toBe(0);
});
