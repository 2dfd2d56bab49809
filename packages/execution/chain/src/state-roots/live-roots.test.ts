import { bytesToHex, concatBytes, equalBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { createProof } from "@rnode/trie";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { PreparedBlock } from "../prepared-block.ts";
import { ACCOUNTS, type DevChain, forkchoice, openDevChain } from "../testing/dev-chain.ts";
import { type ModelBlock, ModelChain } from "../testing/model-chain.ts";
import { RootAnswersHere } from "../testing/root-answers.ts";
import { LiveRoots } from "./live-roots.ts";
import { LiveRootsBuilder } from "./live-roots-builder.ts";

const opened: DevChain[] = [];
afterEach(async () => {
  for (const chain of opened.splice(0)) await chain.remove();
});

const word = (value: number): Uint8Array => padBytesLeft(Uint8Array.of(value >> 8, value), 32);

type Step =
  | { readonly kind: "block"; readonly parent: number; readonly alsoBuilds?: boolean }
  | { readonly kind: "spoiled"; readonly parent: number; readonly field: "stateRoot" | "receiptsRoot" }
  | { readonly kind: "choose"; readonly back: number }
  | { readonly kind: "die" | "stop" | "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("block" as const), parent: fc.constantFrom(0, 0, 0, 1, 3), alsoBuilds: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("spoiled" as const),
      parent: fc.constantFrom(0, 1),
      field: fc.constantFrom("stateRoot" as const, "receiptsRoot" as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("choose" as const), back: fc.constantFrom(0, 0, 0, 1, 2, 5) }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "die" as const }, { kind: "stop" as const }, { kind: "restart" as const }) },
);

/** Two chains take the same steps with random blocks: one computes all roots itself, the other uses the thread. */
class Pair {
  readonly alone: DevChain;
  readonly asking: DevChain;
  answers!: RootAnswersHere;
  readonly known: ModelBlock[];
  readonly #model: ModelChain;

  constructor(maxNodes = 100_000, maxBlocks = 256, seed = 1) {
    this.#model = new ModelChain("canyon", seed);
    const { genesis, config, first } = this.#model;
    this.known = [first];
    const common = { genesis, config, options: { tree: { maxBlocks }, maxStateTrieNodes: maxNodes } };
    this.alone = openDevChain("canyon", common);
    this.asking = openDevChain("canyon", {
      ...common,
      liveRoots: (store) => new LiveRoots(() => (this.answers = new RootAnswersHere(store, maxNodes)), 1),
    });
    opened.push(this.alone, this.asking);
  }

  #back(count: number): ModelBlock {
    return this.known[Math.max(0, this.known.length - 1 - count)]!;
  }

  take(next: Step): void {
    switch (next.kind) {
      case "block": {
        const parent = this.#back(next.parent);
        const made = this.#model.extend(parent, 1)[0]!;
        if (next.alsoBuilds === true) this.#build(parent, made);
        this.#onBoth((dev) => dev.chain.newPayload(new PreparedBlock(made.block)));
        this.known.push(made);
        return;
      }
      case "spoiled": {
        const { block, hash } = this.#model.extend(this.#back(next.parent), 1)[0]!;
        const header = { ...block.header, [next.field]: keccak256(hash) };
        const status = this.#onBoth((dev) => dev.chain.newPayload(new PreparedBlock({ ...block, header })));
        expect(["INVALID", "SYNCING"]).toContain(status.status);
        return;
      }
      case "choose":
        this.#onBoth((dev) => dev.chain.forkchoiceUpdated(forkchoice(this.#back(next.back).hash), undefined, 3));
        return;
      case "die":
        if (this.answers !== undefined) this.answers.isDying = true;
        return;
      case "stop":
        if (this.answers !== undefined) this.answers.isReady = false;
        return;
      case "restart":
        this.answers?.restart();
    }
  }

  /** Building a block from the same transactions gives the same block. */
  #build(parent: ModelBlock, { block, hash }: ModelBlock): void {
    const { timestamp, mixHash, beneficiary, gasLimit } = block.header;
    const attributes = {
      timestamp,
      prevRandao: mixHash,
      suggestedFeeRecipient: beneficiary,
      gasLimit,
      withdrawals: [],
      noTxPool: true,
      transactions: block.transactions.map(encodeTransaction),
    };
    const built = this.#onBoth((dev) => {
      const result = dev.chain.buildBlock(parent.hash, attributes);
      return result.kind === "built" ? bytesToHex(result.payload.hash) : result.kind;
    });
    expect([bytesToHex(hash), "unknown-parent"]).toContain(built);
  }

  #onBoth<T>(act: (dev: DevChain) => T): T {
    const expected = act(this.alone);
    expect(act(this.asking)).toEqual(expected);
    expect(this.asking.chain.head()).toEqual(this.alone.chain.head());
    return expected;
  }

  /** Both have the same trie nodes and accounts, in the database and in the layers above it. */
  compare(): void {
    expect(this.asking.store.verifyState().problems).toEqual([]);
    for (const { block, hash, state } of this.known) {
      const id = { hash: bytesToHex(hash), number: block.header.number };
      const proofOf = (dev: DevChain, key: Uint8Array): string[] | undefined => {
        const nodes = dev.chain.trieNodesAt(id);
        return nodes && createProof(nodes, undefined, block.header.stateRoot, key).map(bytesToHex);
      };
      for (const address of [
        ACCOUNTS[0]!,
        ...[...state.accounts.keys()].slice(-3).map((hex) => Buffer.from(hex.slice(2), "hex")),
      ]) {
        const key = keccak256(address);
        expect(proofOf(this.asking, key)).toEqual(proofOf(this.alone, key));
      }
    }
  }
}

describe("state roots of live blocks", () => {
  describe.each([
    ["plenty of memory", 100_000, 256],
    ["few nodes and blocks in memory", 30, 3],
  ])("are those made in line, whatever comes, with %s", (_, maxNodes, maxBlocks) => {
    const compare = (numRuns: number): void => {
      let answered = 0;
      fc.assert(
        fc.property(fc.array(step, { minLength: 15, maxLength: 30 }), fc.nat(1000), (steps, seed) => {
          const pair = new Pair(maxNodes, maxBlocks, seed);
          for (const next of steps) pair.take(next);
          pair.compare();
          answered += pair.answers?.answered ?? 0;
        }),
        { seed: 1, numRuns },
      );
      expect(answered).toBeGreaterThan(2 * numRuns);
    };
    it("in two runs", () => compare(2));
    it("in many runs", { tags: "long", timeout: 240_000 }, () => compare(16));
  });

  const block = (parent = 0): Step => ({ kind: "block", parent });

  it("come from the thread while blocks follow each other, before and after the head moves", () => {
    const pair = new Pair();
    for (let i = 0; i < 4; i++) pair.take(block());
    pair.take({ kind: "choose", back: 0 });
    for (let i = 0; i < 2; i++) pair.take(block());
    expect(pair.answers).toMatchObject({ asked: 6, answered: 6 });
    expect(pair.answers.nodeCount).toBeGreaterThan(10);
    pair.compare();
  });

  it("are made here for a block on a side branch that is not in the database, and by the thread again afterwards", () => {
    const pair = new Pair();
    for (let i = 0; i < 3; i++) pair.take(block());
    pair.take(block(1));
    expect(pair.answers).toMatchObject({ asked: 4, answered: 3 });
    pair.take({ kind: "choose", back: 0 });
    pair.take(block());
    expect(pair.answers).toMatchObject({ asked: 5, answered: 4 });
    pair.compare();
  });

  it("are made here when the thread ends while it is asked, and from then on", () => {
    const pair = new Pair();
    pair.take(block());
    pair.take({ kind: "die" });
    pair.take(block());
    pair.take(block());
    pair.take({ kind: "choose", back: 0 });
    expect(pair.answers).toMatchObject({ asked: 2, answered: 1 });
    pair.compare();
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
    const pair = new Pair();
    pair.take(block());
    await pair.asking.chain.close();
    expect(pair.answers.closed).toBe(1);
  });

  it("are not told from nodes of another state", () => {
    const { alone } = new Pair();
    const { header } = alone.chain.genesis.block;
    const builder = new LiveRootsBuilder(
      {
        trieNodesAt: () => ({
          readNode(...of) {
            const rlp = alone.store
              .trieNodesAt(0)!
              .readNode(...of)!
              .slice();
            rlp[rlp.length - 2] = rlp[rlp.length - 2]! ^ 1;
            return rlp;
          },
        }),
        readCanonicalHash: () => alone.chain.genesis.hash,
        refresh: () => undefined,
      },
      100,
    );
    const base = { number: 0, hash: alone.chain.genesis.hash, stateRoot: header.stateRoot };
    const changes = concatBytes(ACCOUNTS[0]!, new Uint8Array(6)); // the account was removed
    expect(() => builder.update({ base, parentStateRoot: header.stateRoot, changes })).toThrow(
      expect.objectContaining({ code: "trie/missing-node" }),
    );
    expect(equalBytes(base.hash, alone.chain.genesis.hash)).toBe(true);
  });
});
