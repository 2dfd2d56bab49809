import { bytesToHex, concatBytes, equalBytes, type Hex, hexToBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { type Block, encodeTransaction, hashHeader, type PayloadAttributes } from "@rnode/protocol";
import type { ChainDatabase } from "@rnode/storage";
import { createProof } from "@rnode/trie";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { LiveRoots, type RootAnswers } from "./live-roots.ts";
import { LiveRootsBuilder, type RootQuestion } from "./live-roots-builder.ts";
import {
  ACCOUNTS,
  attributesDeposit,
  BLOCK_TIME_SEC,
  type DevChain,
  devGenesis,
  forkchoice,
  openDevChain,
  transaction,
} from "./testing/dev-chain.ts";

/** What the thread does, here; it may fail in all the ways that the thread can. */
class Answers implements RootAnswers {
  isReady = true;
  asked = 0;
  answered = 0;
  closed = 0;
  /** it dies with the next question */
  isDying = false;
  readonly #store: ChainDatabase;
  readonly #maxNodes: number;
  #builder: LiveRootsBuilder;
  #answer: Uint8Array | undefined;

  constructor(store: ChainDatabase, maxNodes: number) {
    this.#store = store;
    this.#maxNodes = maxNodes;
    this.#builder = this.#started();
  }

  #started(): LiveRootsBuilder {
    const store = this.#store;
    return new LiveRootsBuilder(
      {
        trieNodesAt: (number) => store.trieNodesAt(number),
        readCanonicalHash: (number) => store.readCanonicalHash(number),
        refresh: () => undefined, // the writer sees what it writes
      },
      this.#maxNodes,
    );
  }

  restart(): void {
    this.#builder = this.#started();
    this.isReady = true;
    this.isDying = false;
  }

  get nodeCount(): number {
    return this.#builder.nodeCount;
  }

  ask(question: RootQuestion): void {
    this.asked++;
    this.#answer = undefined;
    if (this.isDying) {
      this.isReady = false;
      return;
    }
    try {
      this.#answer = this.#builder.update(question);
    } catch {
      // as in the thread
    }
  }

  answer(): Uint8Array | undefined {
    if (this.#answer !== undefined) this.answered++;
    return this.#answer;
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

/** Without calldata it destroys itself, else it writes the second word to the slot of the first. */
const BOMB_CODE = "36600657" + "33ff5b" + "60203" + "55f355500";
/** Writes slot 7 and leaves the code above. */
const BOMB_INIT = `6009600755600e600f5f39600e5ff3${BOMB_CODE}`;
/** CREATE2 of it, with salt 0. */
const FACTORY_CODE = `601d600d5f395f601d5f5ff500${BOMB_INIT}`;
const FACTORY = hexToBytes(`0x${"fac".padStart(40, "0")}`);
const MADE = keccak256(concatBytes(Uint8Array.of(0xff), FACTORY, new Uint8Array(32), keccak256(hexToBytes(BOMB_INIT)))).subarray(
  12,
);
const BOMBS = [0, 1, 2].map((i) => hexToBytes(`0x${`b0b${i}`.padStart(40, "0")}`));
const word = (value: number): Uint8Array => padBytesLeft(Uint8Array.of(value >> 8, value), 32);

function genesis() {
  const dev = devGenesis("canyon");
  const storage = Array.from({ length: 40 }, (_, i) => ({ slot: keccak256(word(i)), value: word(1 + i) }));
  const contract = (address: Uint8Array, code: string, slots: typeof storage) => ({
    address,
    nonce: 1n,
    balance: 5n,
    code: hexToBytes(code),
    storage: slots,
  });
  return {
    ...dev,
    alloc: [...dev.alloc, contract(FACTORY, FACTORY_CODE, []), ...BOMBS.map((address) => contract(address, BOMB_CODE, storage))],
  };
}

type Action =
  | { readonly kind: "pay"; readonly to: number }
  | { readonly kind: "write"; readonly contract: number; readonly slot: number; readonly value: number }
  | { readonly kind: "destroy"; readonly contract: number }
  | { readonly kind: "create" };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant("pay" as const), to: fc.nat(60) }),
  fc.record({ kind: fc.constant("write" as const), contract: fc.nat(3), slot: fc.nat(45), value: fc.nat(2) }),
  fc.record({ kind: fc.constant("destroy" as const), contract: fc.nat(3) }),
  fc.record({ kind: fc.constant("create" as const) }),
);

type Step =
  | { readonly kind: "block"; readonly parent: number; readonly actions: readonly Action[]; readonly alsoBuilds: boolean }
  | {
      readonly kind: "spoiled";
      readonly parent: number;
      readonly actions: readonly Action[];
      readonly field: "stateRoot" | "receiptsRoot";
    }
  | { readonly kind: "choose"; readonly back: number }
  | { readonly kind: "die" | "stop" | "restart" };

const actions = fc.array(action, { maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("block" as const),
      parent: fc.constantFrom(0, 0, 0, 1, 3),
      actions,
      alsoBuilds: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("spoiled" as const),
      parent: fc.constantFrom(0, 1),
      actions,
      field: fc.constantFrom("stateRoot" as const, "receiptsRoot" as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("choose" as const), back: fc.constantFrom(0, 0, 0, 1, 2, 5) }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "die" as const }, { kind: "stop" as const }, { kind: "restart" as const }) },
);

interface Known {
  readonly block: Block;
  readonly hash: Uint8Array;
}

/** Three chains get the same steps: one makes the blocks, one computes all roots itself, one asks. */
class Trio {
  readonly maker: DevChain;
  readonly alone: DevChain;
  readonly asking: DevChain;
  answers!: Answers;
  readonly known: Known[];
  #seed = 0;

  constructor(maxNodes: number, maxBlocks: number) {
    const open = (given: Parameters<typeof openDevChain>[1]): DevChain => {
      const dev = openDevChain("canyon", { genesis: genesis(), ...given });
      opened.push(dev);
      return dev;
    };
    const options = { tree: { maxBlocks }, maxStateTrieNodes: maxNodes };
    this.maker = open({});
    this.alone = open({ options });
    this.asking = open({
      options,
      liveRoots: (store) => {
        this.answers = new Answers(store, maxNodes);
        return new LiveRoots(() => this.answers, 1);
      },
    });
    this.known = [this.maker.chain.genesis];
  }

  #attributes(parent: Known, given: readonly Action[]): PayloadAttributes {
    this.#seed++;
    const { number, timestamp } = parent.block.header;
    const state = this.maker.chain.stateAt({ hash: bytesToHex(parent.hash), number })!;
    const nonce = Number(state.readAccount(ACCOUNTS[0]!)!.nonce);
    const transactions = given.map((each, index) => encodeTransaction(transaction(0, nonce + index, fieldsOf(each))));
    return {
      timestamp: timestamp + BLOCK_TIME_SEC,
      prevRandao: new Uint8Array(32).fill(this.#seed),
      suggestedFeeRecipient: ACCOUNTS[2]!,
      withdrawals: [],
      transactions: [encodeTransaction(attributesDeposit(this.#seed)), ...transactions],
      noTxPool: true,
      gasLimit: 30_000_000n,
    };
  }

  take(next: Step): void {
    switch (next.kind) {
      case "block":
      case "spoiled": {
        const parent = this.known[Math.max(0, this.known.length - 1 - next.parent)]!;
        const attributes = this.#attributes(parent, next.actions);
        const built = this.maker.chain.buildBlock(parent.hash, attributes);
        if (built.kind !== "built") throw new Error(JSON.stringify(built));
        const { block, hash } = built.payload;
        if (next.kind === "spoiled") {
          const header = { ...block.header, [next.field]: keccak256(hash) };
          const status = this.#onBoth((dev) => dev.chain.newPayload({ ...block, header }, hashHeader(header)));
          expect(["INVALID", "SYNCING"]).toContain(status.status);
          return;
        }
        if (next.alsoBuilds) {
          const own = this.#onBoth((dev) => {
            const result = dev.chain.buildBlock(parent.hash, attributes);
            return result.kind === "built" ? bytesToHex(result.payload.hash) : result.kind;
          });
          expect([bytesToHex(hash), "unknown-parent"]).toContain(own);
        }
        expect(this.maker.chain.newPayload(block, hash).status).toBe("VALID");
        this.#onBoth((dev) => dev.chain.newPayload(block, hash));
        this.known.push({ block, hash });
        return;
      }
      case "choose": {
        const { hash } = this.known[Math.max(0, this.known.length - 1 - next.back)]!;
        this.#onBoth((dev) => dev.chain.forkchoiceUpdated(forkchoice(hash), undefined, 3));
        return;
      }
      case "die":
        this.answers.isDying = true;
        return;
      case "stop":
        this.answers.isReady = false;
        return;
      case "restart":
        this.answers.restart();
    }
  }

  #onBoth<T>(act: (dev: DevChain) => T): T {
    const expected = act(this.alone);
    expect(act(this.asking)).toEqual(expected);
    expect(this.asking.chain.head()).toEqual(this.alone.chain.head());
    return expected;
  }

  /** The same nodes lead to the same accounts, in the database and above it. */
  compare(): void {
    expect(this.asking.store.verifyState().problems).toEqual([]);
    for (const { block, hash } of this.known) {
      const id = { hash: bytesToHex(hash), number: block.header.number };
      const proofOf = (dev: DevChain, address: Uint8Array): Hex[] | undefined => {
        const nodes = dev.chain.trieNodesAt(id);
        return nodes && createProof(nodes, undefined, block.header.stateRoot, keccak256(address)).map(bytesToHex);
      };
      for (const address of [ACCOUNTS[0]!, BOMBS[0]!, MADE]) {
        expect(proofOf(this.asking, address)).toEqual(proofOf(this.alone, address));
      }
    }
  }
}

function fieldsOf(given: Action) {
  switch (given.kind) {
    case "pay":
      return { to: keccak256(word(given.to)).subarray(12), value: 1n };
    case "write": {
      const to = BOMBS[given.contract] ?? MADE;
      return { to, value: 0n, data: concatBytes(keccak256(word(given.slot)), word(given.value)) };
    }
    case "destroy":
      return { to: BOMBS[given.contract] ?? MADE, value: 0n };
    case "create":
      return { to: FACTORY, value: 0n, gasLimit: 400_000n };
  }
}

describe("state roots of live blocks", () => {
  it.each([
    ["plenty of memory", 100_000, 256],
    ["few nodes and blocks in memory", 30, 3],
  ])(
    "are those made in line, whatever comes, with %s",
    (_, maxNodes, maxBlocks) => {
      let answered = 0;
      fc.assert(
        fc.property(fc.array(step, { minLength: 15, maxLength: 30 }), (steps) => {
          const trio = new Trio(maxNodes, maxBlocks);
          for (const next of steps) trio.take(next);
          trio.compare();
          ({ answered } = trio.answers);
        }),
        { seed: 1, numRuns: 8 },
      );
      expect(answered).toBeGreaterThan(0);
    },
    120_000,
  );

  const block = (given: readonly Action[], parent = 0): Step => ({ kind: "block", parent, actions: given, alsoBuilds: false });
  const pay: Action = { kind: "pay", to: 1 };

  it("come from the thread while blocks follow each other, before and after the head moves", () => {
    const trio = new Trio(100_000, 256);
    for (let i = 0; i < 4; i++) trio.take(block([pay, { kind: "write", contract: i, slot: i, value: 1 }]));
    trio.take({ kind: "choose", back: 0 });
    trio.take(block([{ kind: "destroy", contract: 0 }]));
    trio.take(block([{ kind: "create" }]));
    expect(trio.answers).toMatchObject({ asked: 6, answered: 6 });
    expect(trio.answers.nodeCount).toBeGreaterThan(10);
    trio.compare();
  });

  it("are made here for a block on a side branch that is not in the database, and by the thread again afterwards", () => {
    const trio = new Trio(100_000, 256);
    for (let i = 0; i < 3; i++) trio.take(block([pay]));
    trio.take(block([{ kind: "pay", to: 2 }], 1));
    expect(trio.answers).toMatchObject({ asked: 4, answered: 3 });
    trio.take({ kind: "choose", back: 0 });
    trio.take(block([pay]));
    expect(trio.answers).toMatchObject({ asked: 5, answered: 4 });
    trio.compare();
  });

  it("are made here when the thread ends while it is asked, and from then on", () => {
    const trio = new Trio(100_000, 256);
    trio.take(block([pay]));
    trio.take({ kind: "die" });
    trio.take(block([pay]));
    trio.take(block([pay]));
    trio.take({ kind: "choose", back: 0 });
    expect(trio.answers).toMatchObject({ asked: 2, answered: 1 });
    trio.compare();
  });

  it("are not asked for of small blocks, until a larger one comes", () => {
    const answers = { isReady: true, nodeCount: 7, ask: () => undefined, answer: () => undefined, close: () => Promise.resolve() };
    let started = 0;
    const roots = new LiveRoots(() => {
      started++;
      return answers;
    }, 3);
    const changed = (slots: number) => ({
      accounts: [
        {
          address: ACCOUNTS[0]!,
          before: undefined,
          after: undefined,
          storageCleared: false,
          storage: Array.from({ length: slots }, () => ({ slot: word(0), before: word(0), after: word(1) })),
        },
      ],
      codes: [],
    });
    const question = { base: { number: 0, hash: word(0), stateRoot: word(0) }, parentStateRoot: word(0) };
    expect(roots.begin(question, changed(1))).toBeUndefined();
    expect(started).toBe(0);
    expect(roots.nodeCount).toBe(0);
    expect(roots.begin(question, changed(2))).toBeDefined();
    for (let i = 0; i < 63; i++) expect(roots.begin(question, changed(1))).toBeDefined();
    expect(roots.begin(question, changed(1))).toBeUndefined();
    answers.isReady = false;
    expect(roots.begin(question, changed(2))).toBeUndefined();
    expect(started).toBe(1);
    expect(roots.nodeCount).toBe(7);
  });

  it("are no longer made in the thread once the chain is closed", async () => {
    const trio = new Trio(100_000, 256);
    trio.take(block([pay]));
    await trio.asking.chain.close();
    expect(trio.answers.closed).toBe(1);
  });

  it("are not told from nodes of another state", () => {
    const trio = new Trio(100_000, 256);
    const { header } = trio.maker.chain.genesis.block;
    const builder = new LiveRootsBuilder(
      {
        trieNodesAt: () => ({
          readNode(...of) {
            const rlp = trio.maker.store
              .trieNodesAt(0)!
              .readNode(...of)!
              .slice();
            rlp[rlp.length - 2] = rlp[rlp.length - 2]! ^ 1;
            return rlp;
          },
        }),
        readCanonicalHash: () => trio.maker.chain.genesis.hash,
        refresh: () => undefined,
      },
      100,
    );
    const base = { number: 0, hash: trio.maker.chain.genesis.hash, stateRoot: header.stateRoot };
    const changes = concatBytes(ACCOUNTS[0]!, new Uint8Array(6)); // it is gone
    expect(() => builder.update({ base, parentStateRoot: header.stateRoot, changes })).toThrow("trie/missing-node");
    expect(equalBytes(base.hash, trio.maker.chain.genesis.hash)).toBe(true);
  });
});
