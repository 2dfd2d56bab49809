import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SortedStateRun } from "@rnode/chain";
import { type BlockPeer, type BlockPeers, encodeSlimAccount, type PeerFault, ServedState, type StatePeer } from "@rnode/devp2p";
import { silentLogger } from "@rnode/observe";
import { type Clock, CodedError, EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import { openChainStore } from "@rnode/storage";
import { RandomChain } from "@rnode/storage/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KeptState } from "./kept-state.ts";
import { StateDownload, type StateRows } from "./state-download.ts";

let served: ServedState;
let chain: RandomChain;
let root: Uint8Array;
beforeAll(() => {
  const store = openChainStore(mkdtempSync(join(tmpdir(), "state-download-")), { sync: "interval" });
  chain = new RandomChain(store, 41);
  chain.extendBy(40);
  root = chain.head.commit.block.header.stateRoot;
  served = new ServedState(store, { monotonicMs: () => 0 });
});
afterAll(async () => {
  await chain.store.close();
});

/** What a peer does with a good answer. */
type Fault = (kind: "accounts" | "slots" | "codes" | "nodes") => "stall" | "empty" | "gone" | "malformed" | "lie" | undefined;
const NOTHING = { accounts: [], slots: [], proof: [] };

const notAsked = (): Promise<never> => Promise.reject(new Error("only states are asked for"));

class FakePeer implements BlockPeer {
  readonly id: string;
  readonly head = { number: 40, hash: new Uint8Array(32) };
  readonly reports: PeerFault[] = [];
  given = 0;
  readonly state: StatePeer;

  constructor(
    id: string,
    clock: Clock,
    { maxBytes = 1 << 20, fault = () => undefined }: { maxBytes?: number; fault?: Fault } = {},
  ) {
    this.id = id;
    const answer = async <T>(kind: Parameters<Fault>[0], signal: AbortSignal, good: () => T, lie: (good: T) => T): Promise<T> => {
      const what = fault(kind);
      await clock.sleep(what === "stall" ? 1e9 : 20, signal);
      if (what === "gone" || what === "stall") throw new CodedError("devp2p/peer-gone");
      if (what === "malformed") throw new CodedError("devp2p/bad-message");
      if (what === "empty") return (kind === "codes" || kind === "nodes" ? [] : NOTHING) as T;
      this.given++;
      return what === "lie" ? lie(good()) : good();
    };
    const limited = <R extends { readonly bytes: number }>(request: R): R => ({ ...request, bytes: maxBytes });
    this.state = {
      accounts: (request, signal) =>
        answer(
          "accounts",
          signal,
          () => served.accountRange(limited(request)),
          ({ accounts, proof }) => ({
            accounts: accounts.length > 0 ? accounts.slice(1) : [{ hash: request.origin, body: encodeSlimAccount(RICH) }],
            proof,
          }),
        ),
      slots: (request, signal) =>
        answer(
          "slots",
          signal,
          () => served.storageRanges(limited(request)),
          ({ slots, proof }) => ({ slots: slots.map((rows) => rows.map((row) => ({ ...row, body: Uint8Array.of(9) }))), proof }),
        ),
      codes: (request, signal) =>
        answer(
          "codes",
          signal,
          () => served.byteCodes(limited(request)),
          (codes) => codes.map((code) => code.with(0, code[0]! ^ 1)),
        ),
      nodes: (request, signal) =>
        answer(
          "nodes",
          signal,
          () => served.trieNodes(limited(request)),
          (nodes) => nodes.map((node) => node.with(-1, node.at(-1)! ^ 1)),
        ),
    };
  }

  readonly headers = notAsked;
  readonly bodies = notAsked;
  readonly receipts = notAsked;
  report(fault: PeerFault): void {
    this.reports.push(fault);
  }
}
const RICH = { nonce: 1n, balance: 10n ** 20n, storageRoot: EMPTY_TRIE_ROOT, codeHash: keccak256(new Uint8Array(0)) };

class FakePeers implements BlockPeers {
  #peers: FakePeer[] = [];
  readonly #listeners = new Set<() => void>();
  list(): readonly FakePeer[] {
    return this.#peers;
  }
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  set(...peers: FakePeer[]): void {
    this.#peers = peers;
    for (const listener of this.#listeners) listener();
  }
}

/** Ignores the rows, whose root is computed. */
const NO_ROWS = { code: () => {}, account: () => {}, slot: () => {}, node: () => {}, preimage: () => {} };

function rootOf(rows: KeptState): Uint8Array {
  let root: Uint8Array | undefined;
  const check = ({ stateRoot }: { readonly stateRoot: Uint8Array }): void => {
    root = stateRoot;
  };
  const run = new SortedStateRun(rows.sorted(), { id: EMPTY_TRIE_ROOT, account: EMPTY_TRIE_ROOT, check });
  Array.from(run.steps(NO_ROWS));
  return root!;
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), "kept-state-"));

/** Runs a download in simulated time. @returns the root of its rows */
async function download(
  peers: (clock: SimClock) => FakePeer[],
  wanted = root,
  onTime: (peers: FakePeers, clock: SimClock) => void = () => {},
  folder = newFolder(),
): Promise<{ stateRoot: Uint8Array; peers: readonly FakePeer[]; accounts: number }> {
  const clock = new SimClock();
  const list = new FakePeers();
  const all = peers(clock);
  list.set(...all);
  onTime(list, clock);
  const rows = KeptState.open(folder);
  try {
    const running = new StateDownload(wanted, rows, { peers: list, clock, log: silentLogger }).run();
    let isEnded = false;
    const end = (): void => {
      isEnded = true;
    };
    running.then(end, end);
    while (!isEnded) await clock.advance(1_000);
    const { accounts } = await running;
    return { stateRoot: rootOf(rows), peers: all, accounts };
  } finally {
    await rows.close();
  }
}

describe("a state", () => {
  it("comes from one peer, and from several that share the work, however small their answers are", async () => {
    for (const maxBytes of [1, 90, 400, 1 << 20]) {
      const one = await download((clock) => [new FakePeer("a", clock, { maxBytes })]);
      expect(one.stateRoot).toEqual(root);
      expect(one.accounts).toBe(chain.head.model.size);
      const three = await download((clock) => ["a", "b", "c"].map((id) => new FakePeer(id, clock, { maxBytes })));
      expect(three.stateRoot).toEqual(root);
      if (maxBytes === 1) for (const peer of three.peers) expect(peer.given).toBeGreaterThan(10);
    }
  });

  it("is empty if its root says so", async () => {
    expect((await download(() => [], EMPTY_TRIE_ROOT)).stateRoot).toEqual(EMPTY_TRIE_ROOT);
  });

  for (const kind of ["accounts", "slots", "codes"] as const) {
    it.each(["stall", "empty", "gone", "malformed", "lie"] as const)(
      `comes from an honest peer if ${kind} of another: %s`,
      async (what) => {
        const fault: Fault = (asked) => (asked === kind ? what : undefined);
        const { stateRoot, peers } = await download(
          (clock) => [new FakePeer("bad", clock, { maxBytes: 200, fault }), new FakePeer("good", clock, { maxBytes: 200 })],
          root,
          (list, clock) => {
            const all = list.list();
            list.set(all[0]!);
            clock.after(1_000, () => list.set(...all));
          },
        );
        expect(stateRoot).toEqual(root);
        const wanted = { lie: "lied", malformed: "lied", stall: "slow", empty: undefined, gone: undefined }[what];
        expect(new Set(peers[0]!.reports)).toEqual(new Set(wanted === undefined ? [] : [wanted]));
        expect(peers[1]!.reports).toEqual([]);
      },
    );
  }

  it("is finished by a peer that comes when the others have left", async () => {
    const { stateRoot } = await download(
      (clock) => [new FakePeer("first", clock, { maxBytes: 60 })],
      root,
      (peers, clock) => {
        clock.after(90, () => peers.set());
        clock.after(40_000, () => peers.set(new FakePeer("second", clock)));
      },
    );
    expect(stateRoot).toEqual(root);
  });

  it.each<[string, (clock: SimClock) => FakePeer[], RegExp]>([
    ["there are no peers", () => [], /no peer serves states/],
    ["no peer has it", (clock) => [new FakePeer("a", clock, { fault: () => "empty" })], /a: it does not have the state/],
    ["all peers lie", (clock) => [new FakePeer("a", clock, { fault: () => "lie" })], /a: trie\/bad-proof|a: /],
  ])("cannot be had if %s", async (_, peers, reason) => {
    await expect(download(peers)).rejects.toMatchObject({ code: "sync/no-state", data: { reason: expect.stringMatching(reason) } });
  });

  it("goes on from the last commit after a kill at any time", { tags: "long" }, async () => {
    const folder = newFolder();
    const rows = KeptState.open(folder, 1);
    const copies: string[] = [];
    const clock = new SimClock();
    const peers = new FakePeers();
    const peer = new FakePeer("a", clock, { maxBytes: 300 });
    peers.set(peer);
    const onProgress = (): void => {
      const copy = newFolder();
      cpSync(join(folder, "data.mdb"), join(copy, "data.mdb"));
      copies.push(copy);
    };
    const running = new StateDownload(root, rows, { peers, clock, log: silentLogger, onProgress }).run();
    await clock.advance(60_000);
    await running;
    await rows.close();
    expect(copies.length).toBeGreaterThan(20);
    const given: number[] = [];
    for (const copy of copies) {
      const rest = await download((own) => [new FakePeer("b", own, { maxBytes: 300 })], root, undefined, copy);
      expect(rest.stateRoot).toEqual(root);
      given.push(rest.peers[0]!.given);
    }
    const inLastQuarter = given.slice(-given.length / 4);
    expect(Math.max(...inLastQuarter)).toBeLessThan(peer.given / 2);
    expect(given.at(-1)).toBe(0);
  });

  describe("that moves on", () => {
    const rootAt = (number: number): Uint8Array => chain.blocks[number]!.commit.block.header.stateRoot;

    /** Downloads the states after some blocks, each wanted for some answers. @returns whether the last one is there */
    async function follow(
      numbers: readonly number[],
      answers: number,
      maxBytes: number,
      fault?: Fault,
      folder = newFolder(),
    ): Promise<{ readonly found: Uint8Array; readonly bad: FakePeer | undefined }> {
      const clock = new SimClock();
      const peers = new FakePeers();
      const good = new FakePeer("good", clock, { maxBytes });
      const bad = fault && new FakePeer("bad", clock, { maxBytes, fault });
      peers.set(good, ...(bad === undefined ? [] : [bad]));
      const rows = KeptState.open(folder, 2_000);
      const wanted = (): Uint8Array => rootAt(numbers[Math.min(numbers.length - 1, Math.floor(good.given / answers))]!);
      const running = new StateDownload(wanted(), rows, { peers, clock, log: silentLogger, root: wanted }).run();
      let isEnded = false;
      const end = (): void => {
        isEnded = true;
      };
      running.then(end, end);
      while (!isEnded) await clock.advance(1_000);
      const { root: got } = await running;
      const found = rootOf(rows);
      await rows.close();
      expect(found).toEqual(got);
      return { found, bad };
    }

    describe.each([
      [1, ["long"]],
      [90, []],
      [400, ["long"]],
    ])("with answers of %i bytes", (maxBytes, tags) => {
      it("becomes the last one", { tags }, async () => {
        const many = Array.from({ length: 36 }, (_, i) => 5 + i);
        for (const answers of [1, 3, 8, 40, 50, 60, 70, 80, 100, 120]) {
          for (const numbers of [[5, 40], many]) {
            const { found } = await follow(numbers, answers, maxBytes);
            if (answers === 1) expect(found).toEqual(rootAt(40));
          }
        }
      });
    });

    it("is healed from the rows of any earlier one", async () => {
      for (const number of [3, 20, 39]) {
        const folder = newFolder();
        expect((await follow([number], 1, 400, undefined, folder)).found).toEqual(rootAt(number));
        expect((await follow([40], 1, 400, undefined, folder)).found).toEqual(rootAt(40));
        expect((await follow([10], 1, 400, undefined, folder)).found).toEqual(rootAt(10)); // also back
      }
    });

    it("is healed after a kill at any time while it is healed, also as another one", { tags: "long" }, async () => {
      const folder = newFolder();
      await follow([3], 1, 400, undefined, folder);
      const clock = new SimClock();
      const peers = new FakePeers();
      peers.set(new FakePeer("a", clock, { maxBytes: 400 }));
      const rows = KeptState.open(folder);
      const copies: string[] = [];
      const onProgress = (): void => {
        const copy = newFolder();
        cpSync(join(folder, "data.mdb"), join(copy, "data.mdb"));
        copies.push(copy);
      };
      const running = new StateDownload(rootAt(40), rows, { peers, clock, log: silentLogger, onProgress }).run();
      await clock.advance(60_000);
      await running;
      await rows.close();
      expect(copies.length).toBeGreaterThan(10);
      for (const [index, copy] of copies.entries()) {
        const number = index % 2 === 0 ? 40 : 30;
        expect((await follow([number], 1, 400, undefined, copy)).found).toEqual(rootAt(number));
      }
    });

    it.each(["stall", "empty", "gone", "malformed", "lie"] as const)(
      "is healed by an honest peer if nodes of another: %s",
      async (what) => {
        const folder = newFolder();
        await follow([3], 1, 400, undefined, folder);
        const { found, bad } = await follow([40], 1, 400, (kind) => (kind === "nodes" ? what : undefined), folder);
        expect(found).toEqual(rootAt(40));
        if (what === "lie" || what === "malformed") for (const report of bad!.reports) expect(report).toBe("lied");
      },
    );
  });

  it("does not go on from a damaged file, or with rows if the state is empty", async () => {
    const folder = newFolder();
    await download((clock) => [new FakePeer("a", clock)], root, undefined, folder);
    expect((await download(() => [], EMPTY_TRIE_ROOT, undefined, folder)).stateRoot).toEqual(EMPTY_TRIE_ROOT);
    writeFileSync(join(folder, "data.mdb"), new Uint8Array(16_384).fill(7));
    expect((await download((clock) => [new FakePeer("a", clock)], root, undefined, folder)).stateRoot).toEqual(root);
  });

  it("is given up if its rows cannot be kept", async () => {
    const clock = new SimClock();
    const peers = new FakePeers();
    peers.set(new FakePeer("a", clock));
    const full = (): never => {
      throw new CodedError("storage/disk-full");
    };
    const rows: StateRows = {
      addAccount: () => {},
      addSlot: () => {},
      addCode: () => {},
      hasCode: () => false,
      account: () => undefined,
      below: () => [],
      hashAt: () => undefined,
      remember: () => {},
      changeAccount: () => {},
      changeSlot: () => {},
      markClean: () => {},
      removeAccount: () => {},
      removeSlot: () => {},
      removeSlots: () => {},
      markDirty: () => {},
      dirty: () => [],
      clear: () => {},
      progress: () => undefined,
      counts: { accounts: 0, slots: 0 },
      isCommitDue: true,
      commit: full,
    };
    const running = new StateDownload(root, rows, { peers, clock, log: silentLogger }).run();
    running.catch(() => {});
    await clock.advance(1_000);
    await expect(running).rejects.toMatchObject({ code: "storage/disk-full" });
  });
});
