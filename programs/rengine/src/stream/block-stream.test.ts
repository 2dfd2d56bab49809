import { bytesToHex, type Hex } from "@rnode/primitives";
import { createRandom, type Random } from "@rnode/primitives/testing";
import { UserError } from "@rnode/program";
import { describe, expect, it } from "vitest";
import { AppliedStream } from "../testing/applied-stream.ts";
import { BlockStream, runStream } from "./block-stream.ts";
import type { BlockNode, Broker, NodeBlock, StoredEntry, StreamEntry } from "./stream-entry.ts";

const PART_BYTES = 100;

/** A chain of a node that reorganises, and lags as one of several behind a balancer. */
class FakeNode implements BlockNode {
  readonly chain: NodeBlock[] = [];
  readonly #random: Random;
  genesis: Hex;
  lag = 0;
  #made = 0;

  constructor(random: Random) {
    this.#random = random;
    this.genesis = this.mine().hash;
  }

  mine(): NodeBlock {
    const id = ++this.#made;
    const hash: Hex = `0x${id.toString(16).padStart(64, "0")}`;
    const body = new Uint8Array(this.#random(3 * PART_BYTES)).fill(id);
    const block = { number: this.chain.length, hash, parentHash: this.chain.at(-1)?.hash ?? "0x", body } as const;
    this.chain.push(block);
    return block;
  }

  /** Removes blocks above the first one. */
  unwind(count: number): NodeBlock[] {
    return this.chain.splice(Math.max(1, this.chain.length - count));
  }

  get #seen(): readonly NodeBlock[] {
    return this.chain.slice(0, Math.max(1, this.chain.length - this.lag));
  }
  genesisHash = async (): Promise<Hex> => this.genesis;
  headNumber = async (): Promise<number> => this.#seen.length - 1;
  hashAt = async (number: number): Promise<Hex | undefined> => this.#seen[number]?.hash;
  block = async (number: number): Promise<NodeBlock | undefined> => this.#seen[number];
}

/** Loses messages and answers, as a broker does that is killed. */
class FakeBroker implements Broker {
  readonly messages: { readonly entry: StoredEntry; readonly body: Uint8Array }[] = [];
  /** fails one in so many requests; 0: none */
  faults = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  maxBodyBytes = async (): Promise<number> => PART_BYTES;
  last = async (): Promise<StoredEntry | undefined> => this.#answer(this.messages.at(-1)?.entry);
  before = async (sequence: number): Promise<StoredEntry | undefined> =>
    this.#answer(this.messages.findLast(({ entry }) => entry.sequence < sequence)?.entry);

  async publish(entry: StreamEntry, body: Uint8Array, after: number): Promise<number> {
    this.#answer(undefined);
    if ((this.messages.at(-1)?.entry.sequence ?? 0) !== after) throw new Error("wrong last sequence");
    const sequence = after + 1 + this.#random(3); // others publish other subjects
    this.messages.push({ entry: { ...entry, sequence }, body });
    return this.#answer(sequence);
  }

  #answer<T>(answer: T): T {
    if (this.faults > 0 && this.#random(this.faults) === 0) throw new Error("lost");
    return answer;
  }
}

const applied = ({ messages }: FakeBroker): AppliedStream => {
  const stream = new AppliedStream();
  for (const { entry, body } of messages) stream.apply(entry, body);
  return stream;
};

/** Runs a stream until it has nothing to do, or for a number of steps, after which it is killed. */
async function runFor(
  node: BlockNode,
  broker: Broker,
  { from, steps = 1000 }: { readonly from?: number | undefined; readonly steps?: number } = {},
): Promise<void> {
  const end = new AbortController();
  let left = steps;
  const counted = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name) {
        if (left-- < 0) end.abort();
        const found = Reflect.get(target, name, target) as unknown;
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
  let idle = 0;
  const sleep = async (): Promise<void> => void (++idle > 20 && end.abort());
  await runStream(new BlockStream(counted(node), counted(broker), from), {
    pollMs: 1,
    signal: end.signal,
    sleep,
    onTrouble: () => {},
  });
}

describe("a stream of blocks", () => {
  it.each(Array.from({ length: 60 }, (_, seed) => seed))(
    "has every canonical block once after faults, kills and reorganisations (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const [node, broker] = [new FakeNode(random), new FakeBroker(random)];
      const from = random(2) === 0 ? 0 : undefined;
      for (let round = 0; round < 30; round++) {
        const old = random(3) === 0 ? node.unwind(1 + random(6)) : [];
        if (old.length > 0 && random(3) === 0) node.chain.push(...old); // and back
        for (let i = random(5); i > 0; i--) node.mine();
        node.lag = random(4) === 0 ? random(5) : 0;
        broker.faults = random(2) === 0 ? 0 : 2 + random(8);
        const streams = random(4) === 0 ? 2 : 1;
        await Promise.all(Array.from({ length: streams }, () => runFor(node, broker, { from, steps: 1 + random(60) })));
        applied(broker); // consistent at any time
      }
      Object.assign(node, { lag: 0 });
      broker.faults = 0;
      while (node.chain.length <= applied(broker).top) node.mine();
      await runFor(node, broker, { from });
      const { blocks } = applied(broker);
      expect(blocks.map(({ hash }) => hash)).toEqual(node.chain.slice(blocks[0]!.number).map(({ hash }) => hash));
      for (const { number, body } of blocks) expect(bytesToHex(body)).toBe(bytesToHex(node.chain[number]!.body));
    },
  );

  it("retracts newest first", async () => {
    const random = createRandom(1);
    const [node, broker] = [new FakeNode(() => 0), new FakeBroker(random)];
    for (let i = 0; i < 3; i++) node.mine();
    await runFor(node, broker, { from: 0 });
    node.unwind(2);
    for (let i = 0; i < 3; i++) node.mine();
    await runFor(node, broker);
    expect(broker.messages.map(({ entry: { kind, number } }) => `${kind} ${number}`)).toEqual(
      "block 0,block 1,block 2,block 3,retract 3,retract 2,block 2,block 3,block 4".split(","),
    );
  });

  it("retracts nothing while the node is behind", async () => {
    const [node, broker] = [new FakeNode(() => 0), new FakeBroker(createRandom(1))];
    for (let i = 0; i < 5; i++) node.mine();
    await runFor(node, broker, { from: 0 });
    node.lag = 3;
    await runFor(node, broker);
    expect(broker.messages).toHaveLength(6);
  });

  it("refuses messages of another chain, and a reorganisation below what the broker still has", async () => {
    const random = createRandom(1);
    const [node, broker] = [new FakeNode(() => 0), new FakeBroker(random)];
    for (let i = 0; i < 5; i++) node.mine();
    await runFor(node, broker, { from: 0 });
    const own = node.genesis;
    node.genesis = "0x01";
    await expect(runFor(node, broker)).rejects.toThrow(
      `the stream has blocks of the chain that begins with ${own}, but the node's chain begins with 0x01`,
    );
    node.genesis = own;
    broker.messages.splice(0, 4);
    const [oldest] = node.unwind(3);
    for (let i = 0; i < 4; i++) node.mine();
    const failed = runFor(node, broker);
    await expect(failed).rejects.toThrow(
      `a reorganisation has replaced block 3 ${oldest!.hash}, whose message the broker has dropped`,
    );
    await expect(failed).rejects.toThrow(UserError);
  });
});
