import type { GossipSub } from "@libp2p/gossipsub";
import { RPC } from "@libp2p/gossipsub/message";
import type { Stream } from "@libp2p/interface";
import { noMetrics, silentLogger } from "@rnode/observe";
import { bytesToHex, type Clock, concatBytes, EMPTY_REQUESTS_HASH, keccak256, signHash, ZERO_ADDRESS } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, type ForkTimes, forksUpTo, hashHeader, payloadToHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { compress } from "snappyjs";
import { afterEach, describe, expect, it } from "vitest";
import { createHost, type Host } from "../host/create-host.ts";
import { connectionLimits } from "../network.ts";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { GossipPart } from "../parts.ts";
import { SAMPLE_CHAIN_ID, SAMPLE_KEY, SAMPLE_MESSAGES, SAMPLE_SIGNER, SAMPLE_TIME } from "../testing/samples.ts";
import { encodeEnvelope } from "../wire/envelope.ts";
import { encodeSignature, gossipSigningHash } from "../wire/gossip-message.ts";
import { blockTopics, publishingTopic } from "../wire/topics.ts";
import { createGossip, type GossipOptions } from "./block-gossip.ts";
import type { GossipMetrics } from "./gossip-metrics.ts";

/** A clock that does not advance: the wall clock and its error; milliseconds. */
const standingClock = (time: { readonly ms: number; readonly offByMs: number } = { ms: 0, offByMs: 0 }): Clock => ({
  unixMs: () => SAMPLE_TIME * 1000 + time.ms + time.offByMs,
  monotonicMs: () => SAMPLE_TIME * 1000 + time.ms,
  sleep: () => Promise.reject(new Error("not expected")),
});

interface Received {
  readonly envelope: ExecutionPayloadEnvelope;
  readonly from: string;
}

interface Node {
  readonly host: Host<{ pubsub: GossipSub }>;
  readonly gossip: GossipPart;
  readonly received: Received[];
  /** counters: `reject wrong-signer`, `dropped peer-over-budget` */
  readonly counts: Map<string, number>;
  /** resolves with the next block that is received */
  next(): Promise<Received>;
  /** resolves when a counter reaches a value */
  counted(what: string, atLeast: number): Promise<void>;
}

const running: Node[] = [];
afterEach(async () => {
  await Promise.all(
    running.splice(0).map(async ({ host, gossip }) => {
      await gossip.close();
      await host.stop();
    }),
  );
});

async function startNode(
  key: number,
  forkTimes: ForkTimes,
  scoring: GossipOptions["scoring"] = {},
  clock = standingClock(),
): Promise<Node> {
  const received: Received[] = [];
  let wake: (block: Received) => void = () => {};
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  const count = (what: string): void => {
    counts.set(what, (counts.get(what) ?? 0) + 1);
    for (const check of waiting) check();
  };
  const metrics: GossipMetrics = {
    blocks: { inc: ({ verdict, fault }) => count(`${verdict} ${fault}`), add: () => {} },
    dropped: { inc: ({ reason }) => count(`dropped ${reason}`), add: () => {} },
    equivocations: { inc: () => count("equivocation"), add: () => {} },
    validationSeconds: { observe: () => {}, time: () => () => {} },
  };
  const gossip = createGossip(
    { rollup: { l2ChainId: SAMPLE_CHAIN_ID, forkTimes }, timestampThresholdMs: 60_000, scoring },
    {
      clock,
      log: silentLogger,
      metrics: { ...createP2PMetrics(noMetrics), gossip: metrics },
      sink: {
        accept(envelope, from) {
          received.push({ envelope, from });
          wake({ envelope, from });
        },
      },
    },
  );
  gossip.setUnsafeBlockSigner(SAMPLE_SIGNER);
  const host = await createHost<{ pubsub: GossipSub }>({
    networkKey: new Uint8Array(32).fill(key),
    listen: { ip: "127.0.0.1", tcpPort: 0 },
    userAgent: "rnode/test",
    limits: connectionLimits(10),
    services: { pubsub: gossip.service },
  });
  const node: Node = {
    host,
    gossip,
    received,
    counts,
    next: () => new Promise((resolve) => (wake = resolve)),
    counted: (what, atLeast) =>
      new Promise((resolve) => {
        const check = (): void => {
          if ((counts.get(what) ?? 0) < atLeast) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
  running.push(node);
  await host.start();
  gossip.start();
  return node;
}

/** Connects, and waits until both have the other's subscription to the topic. */
async function connect(from: Node, to: Node, topic: string): Promise<void> {
  const ready = Promise.all([subscribed(from, to, topic), subscribed(to, from, topic)]);
  await from.host.dial(to.host.getMultiaddrs());
  await ready;
}

function subscribed(node: Node, peer: Node, topic: string): Promise<void> {
  const { pubsub } = node.host.services;
  const isThere = () => pubsub.getSubscribers(topic).some((each) => each.equals(peer.host.peerId));
  return new Promise((resolve) => {
    const check = () => {
      if (!isThere()) return;
      pubsub.removeEventListener("subscription-change", check);
      resolve();
    };
    pubsub.addEventListener("subscription-change", check);
    check();
  });
}

const signatureOf = (body: Uint8Array): Uint8Array =>
  encodeSignature(signHash(gossipSigningHash(body, SAMPLE_CHAIN_ID), SAMPLE_KEY));

const FORKS = { 1: "regolith", 2: "delta", 3: "holocene", 4: "jovian" } as const;

describe("nodes that gossip over real sockets", () => {
  it.each(SAMPLE_MESSAGES.map((sample) => [sample.version, sample.envelope] as const))(
    "a block of V%i reaches a node behind another, each time from the one it is connected to",
    async (version, envelope) => {
      const forkTimes = forksUpTo(FORKS[version]);
      const { topic } = publishingTopic(SAMPLE_CHAIN_ID, forkTimes, SAMPLE_TIME);
      expect(topic).toBe(blockTopics(SAMPLE_CHAIN_ID)[version - 1]!.topic);
      const [a, b, c] = [await startNode(1, forkTimes), await startNode(2, forkTimes), await startNode(3, forkTimes)];
      await connect(a, b, topic);
      await connect(b, c, topic);
      const [atB, atC] = [b.next(), c.next()];

      expect(await a.gossip.publish(envelope, signatureOf(encodeEnvelope(envelope, version)))).toEqual({
        kind: "published",
        peers: 1,
      });
      expect(await atB).toEqual({ envelope, from: a.host.peerId.toString() });
      expect(await atC).toEqual({ envelope, from: b.host.peerId.toString() });
      // own blocks are not received as blocks of a peer
      expect(a.received).toEqual([]);
    },
  );
});

const JOVIAN = forksUpTo("jovian");
const TOPIC = blockTopics(SAMPLE_CHAIN_ID)[3]!.topic;

/** The sample of V4 at another height, with an incompressible transaction of this size. */
function blockAt(blockNumber: number, transactionBytes = 0): ExecutionPayloadEnvelope {
  const { executionPayload, parentBeaconBlockRoot } = SAMPLE_MESSAGES[3]!.envelope;
  let state = 1;
  const next = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff) >> 16;
  const transactions = transactionBytes === 0 ? [] : [Uint8Array.from({ length: transactionBytes }, next)];
  const payload = { ...executionPayload, blockNumber, transactions };
  const header = payloadToHeader({ executionPayload: payload, parentBeaconBlockRoot }, EMPTY_REQUESTS_HASH, orderedTrieRoot);
  return { executionPayload: { ...payload, blockHash: hashHeader(header) }, parentBeaconBlockRoot };
}
const signedBlock = (envelope: ExecutionPayloadEnvelope) => {
  const body = encodeEnvelope(envelope, 4);
  return { body, signature: signatureOf(body) };
};
const publish = (node: Node, envelope: ExecutionPayloadEnvelope) => node.gossip.publish(envelope, signedBlock(envelope).signature);

describe("publishing", () => {
  it("carries a block of 3 MB", async () => {
    const [a, b] = [await startNode(1, JOVIAN), await startNode(2, JOVIAN)];
    await connect(a, b, TOPIC);
    const [large, atB] = [blockAt(1, 3_000_000), b.next()];
    expect(await publish(a, large)).toEqual({ kind: "published", peers: 1 });
    expect((await atB).envelope.executionPayload.blockHash).toEqual(large.executionPayload.blockHash);
  });

  it("a second time changes nothing", async () => {
    const a = await startNode(1, JOVIAN);
    expect(await publish(a, blockAt(1))).toEqual({ kind: "published", peers: 0 });
    expect(await publish(a, blockAt(1))).toEqual({ kind: "published", peers: 0 });
  });

  it.each([
    ["is far behind and catches up", 61_000],
    ["has a clock that is a day fast", 86_400_000],
    ["has a clock that is 20 s slow", -20_000],
  ])("goes out whatever its age is: the node %s", async (_, offByMs) => {
    const a = await startNode(1, JOVIAN, {}, standingClock({ ms: 0, offByMs }));
    expect(await publish(a, blockAt(1))).toEqual({ kind: "published", peers: 0 });
  });

  it("is refused where no peer would take the block", async () => {
    const a = await startNode(1, JOVIAN);
    const { executionPayload } = blockAt(1);
    const { signature } = signedBlock(blockAt(1));
    const refused = async (envelope: ExecutionPayloadEnvelope, signed: Uint8Array) => {
      const published = await a.gossip.publish(envelope, signed);
      return published.kind === "refused" ? published.reason : published.kind;
    };
    expect(await refused(blockAt(2), signature)).toMatch(/^wrong-signer: /);
    expect(await refused({ executionPayload }, signature)).toMatch(/parentBeaconBlockRoot/);
    expect(await refused(blockAt(1), signature.subarray(1))).toMatch(/bad.signature/);
    a.gossip.setUnsafeBlockSigner(ZERO_ADDRESS);
    expect(await refused(blockAt(1), signature)).toBe("unknown-signer");
    const huge = blockAt(3, 10 * 1024 * 1024 - 800);
    a.gossip.setUnsafeBlockSigner(SAMPLE_SIGNER);
    expect(await refused(huge, signedBlock(huge).signature)).toMatch(/larger than a message may be/);
    await a.gossip.close();
    expect(await refused(blockAt(1), signature)).toBe("the network is not running");
  });
});

/** A peer that sends arbitrary data. */
async function connectRaw(key: number, to: Node, protocol = "/meshsub/1.1.0"): Promise<Stream> {
  const host = await createHost({ networkKey: new Uint8Array(32).fill(key), userAgent: "raw", limits: connectionLimits(10) });
  stops.push(async () => host.stop());
  await host.start();
  return (await host.dial(to.host.getMultiaddrs())).newStream(protocol);
}
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
const frame = (rpc: RPC): Uint8Array => {
  const bytes = RPC.encode(rpc);
  return concatBytes(varint(bytes.length), bytes);
};
const messageFrame = (data: Uint8Array, fields: Partial<RPC.Message> = {}, topic = TOPIC): Uint8Array =>
  frame({ subscriptions: [], messages: [{ topic, data, ...fields }] });
const compressedBlock = (envelope: ExecutionPayloadEnvelope): Uint8Array => {
  const { body, signature } = signedBlock(envelope);
  return compress(concatBytes(signature, body));
};
const withWrongSignature = (n: number): Uint8Array =>
  compress(concatBytes(signatureOf(Uint8Array.of(n)), encodeEnvelope(blockAt(n), 4)));

/** Penalties for invalid messages as with `--p2p.scoring=light`. */
const PUNISHING: GossipOptions["scoring"] = {
  scoreParams: {
    topics: {
      [TOPIC]: {
        topicWeight: 0.8,
        timeInMeshWeight: 0,
        timeInMeshQuantum: 1000,
        timeInMeshCap: 1,
        firstMessageDeliveriesWeight: 0,
        firstMessageDeliveriesDecay: 0.5,
        firstMessageDeliveriesCap: 1,
        meshMessageDeliveriesWeight: 0,
        meshMessageDeliveriesDecay: 0.5,
        meshMessageDeliveriesCap: 1,
        meshMessageDeliveriesThreshold: 1,
        meshMessageDeliveriesWindow: 2000,
        meshMessageDeliveriesActivation: 1000,
        meshFailurePenaltyWeight: 0,
        meshFailurePenaltyDecay: 0.5,
        invalidMessageDeliveriesWeight: -140,
        invalidMessageDeliveriesDecay: 0.9,
      },
    },
  },
  scoreThresholds: { gossipThreshold: -10, publishThreshold: -40, graylistThreshold: -40 },
};

describe("a peer that misbehaves", () => {
  it("is not read any more after some invalid blocks, while others are", async () => {
    const [node, honest] = [await startNode(1, JOVIAN), await startNode(2, JOVIAN)];
    await connect(honest, node, TOPIC);
    const raw = await connectRaw(3, node);
    for (let n = 1; n <= 50; n++) raw.send(messageFrame(withWrongSignature(n)));
    await node.counted("dropped peer-over-budget", 40);
    expect(node.counts.get("reject wrong-signer")).toBeLessThan(10);
    const atNode = node.next();
    await publish(honest, blockAt(1));
    expect((await atNode).from).toBe(honest.host.peerId.toString());
  });

  it("is read again when the key has changed under which its blocks were invalid", async () => {
    const node = await startNode(1, JOVIAN);
    // twice: blocks of the signer before the last one are accepted for a time
    for (const byte of [8, 9]) node.gossip.setUnsafeBlockSigner(new Uint8Array(20).fill(byte));
    const raw = await connectRaw(3, node);
    for (let n = 1; n <= 20; n++) raw.send(messageFrame(compressedBlock(blockAt(n))));
    await node.counted("dropped peer-over-budget", 5);
    node.gossip.setUnsafeBlockSigner(SAMPLE_SIGNER);
    const atNode = node.next();
    raw.send(messageFrame(compressedBlock(blockAt(100))));
    await atNode;
  });

  it("is graylisted by its score, with the parameters that were given", async () => {
    const node = await startNode(1, JOVIAN, PUNISHING);
    const raw = await connectRaw(3, node);
    raw.send(messageFrame(withWrongSignature(1)));
    await node.counted("reject wrong-signer", 1);
    // gossipsub caches a peer's score for a second, and computes it at each heartbeat
    for (let beats = 0; beats < 4; beats++) await heartbeat(node);
    raw.send(concatBytes(messageFrame(compressedBlock(blockAt(1))), messageFrame(compressedBlock(blockAt(2)))));
    const other = await connectRaw(4, node);
    const atNode = node.next();
    other.send(messageFrame(compressedBlock(blockAt(3))));
    expect((await atNode).envelope).toEqual(blockAt(3));
    expect(node.received).toHaveLength(1);
  });

  it.each<[string, Uint8Array, string]>([
    ["data that are no snappy", messageFrame(new Uint8Array(100)), "reject bad-length"],
    ["a bomb", messageFrame(compress(new Uint8Array(10 * 1024 * 1024 + 1))), "reject bad-length"],
    ["ten mebibytes of nothing", messageFrame(compress(new Uint8Array(10 * 1024 * 1024))), "reject bad-signature"],
    ["no data", frame({ subscriptions: [], messages: [{ topic: TOPIC }] }), "reject bad-length"],
  ])("sends %s", async (_, bytes, expected) => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    raw.send(bytes);
    await node.counted(expected, 1);
    const other = await connectRaw(4, node);
    const atNode = node.next();
    other.send(messageFrame(compressedBlock(blockAt(1))));
    await atNode;
  });

  it("cannot have a block taken for known by sending it on another topic first", async () => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    const data = compressedBlock(blockAt(1));
    raw.send(messageFrame(data, {}, blockTopics(SAMPLE_CHAIN_ID)[0]!.topic));
    await node.counted("reject bad-ssz", 1);
    const atNode = node.next();
    raw.send(messageFrame(data));
    await atNode;
  });

  it("cannot send messages with an author, nor on other topics", async () => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    const data = compressedBlock(blockAt(1));
    raw.send(messageFrame(data, { seqno: new Uint8Array(8) }));
    raw.send(messageFrame(data, { signature: new Uint8Array(64) }));
    raw.send(messageFrame(data, {}, "/optimism/11/3/blocks"));
    raw.send(frame({ subscriptions: [{ subscribe: true, topic: "/optimism/11/3/blocks" }], messages: [] }));
    const atNode = node.next();
    raw.send(messageFrame(compressedBlock(blockAt(2))));
    expect((await atNode).envelope).toEqual(blockAt(2));
    expect(node.received).toHaveLength(1);
    expect(node.host.services.pubsub.getSubscribers("/optimism/11/3/blocks")).toEqual([]);
  });

  it("is charged for a known block that it compresses in ever new ways", async () => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    const { body, signature } = signedBlock(blockAt(1));
    const message = concatBytes(signature, body);
    // literals of other lengths each time
    const variant = (n: number): Uint8Array => {
      const parts = [varint(message.length)];
      for (let at = 0; at < message.length; at += n) {
        const piece = message.subarray(at, at + n);
        parts.push(Uint8Array.of(0xf0, piece.length - 1), piece);
      }
      return concatBytes(...parts);
    };
    for (let n = 1; n <= 150; n++) raw.send(messageFrame(variant(n)));
    await node.counted("dropped peer-over-budget", 1);
    expect(node.counts.get("accept ")).toBe(1);
  });

  it("is held back while it sends faster than its blocks are judged, and nothing is lost", async () => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    for (let n = 1; n <= 20; n++) raw.send(messageFrame(compressedBlock(blockAt(n, 200_000))));
    await node.counted("accept ", 20);
    expect(node.received.map(({ envelope }) => envelope.executionPayload.blockNumber)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  it("is offered no other protocol than the mesh's", async () => {
    const node = await startNode(1, JOVIAN);
    await connectRaw(3, node, "/meshsub/1.0.0");
    await expect(connectRaw(4, node, "/meshsub/1.2.0")).rejects.toThrow();
    await expect(connectRaw(5, node, "/floodsub/1.0.0")).rejects.toThrow();
  });
});

const heartbeat = (node: Node): Promise<void> =>
  new Promise((resolve) => node.host.services.pubsub.addEventListener("gossipsub:heartbeat", () => resolve(), { once: true }));

describe("a node whose own clock or process was off", () => {
  const scoreOf = (node: Node, peer: Node): number =>
    (node.host.services.pubsub as unknown as { getScore(peer: string): number }).getScore(peer.host.peerId.toString());

  describe.each<[string, { ms?: number; offByMs?: number }, string, string[]]>([
    ["stopped for 75 s", { ms: 75_000 }, "ignore too-old", []],
    ["stopped for 90 s", { ms: 90_000 }, "ignore too-old", ["long"]],
    ["15 s slow", { offByMs: -15_000 }, "ignore from-the-future", []],
    ["ten minutes slow", { offByMs: -600_000 }, "ignore from-the-future", ["long"]],
    ["ten minutes fast", { offByMs: 600_000 }, "ignore too-old", ["long"]],
    ["a day slow", { offByMs: -86_400_000 }, "ignore from-the-future", ["long"]],
    ["a day fast", { offByMs: 86_400_000 }, "ignore too-old", ["long"]],
  ])("%s", (_, fault, verdict, tags) => {
    it("blames nobody for the backlog, and takes the next block", { tags }, async () => {
      const time = { ms: 0, offByMs: 0 };
      const [node, honest] = [await startNode(1, JOVIAN, PUNISHING, standingClock(time)), await startNode(2, JOVIAN)];
      await connect(honest, node, TOPIC);
      let atNode = node.next();
      await publish(honest, blockAt(1));
      await atNode;
      Object.assign(time, fault);
      for (let n = 2; n <= 50; n++) await publish(honest, blockAt(n));
      await node.counted(verdict, 49);
      for (let beats = 0; beats < 3; beats++) await heartbeat(node);
      expect(scoreOf(node, honest)).toBe(0);
      expect([...node.counts.keys()]).toEqual(["accept ", verdict]);
      Object.assign(time, { ms: 0, offByMs: 0 });
      atNode = node.next();
      await publish(honest, blockAt(51));
      await atNode;
    });
  });
});

describe("two signed blocks of one height", () => {
  const sibling = (number: number, salt: number): ExecutionPayloadEnvelope => blockAt(number, 50 + salt);

  it("are kept as a proof and counted, and blame nobody, six or more of them neither", async () => {
    const [node, honest] = [await startNode(1, JOVIAN, PUNISHING), await startNode(2, JOVIAN)];
    await connect(honest, node, TOPIC);
    const raw = await connectRaw(3, node);
    for (let salt = 0; salt < 6; salt++) raw.send(messageFrame(compressedBlock(sibling(1, salt))));
    await node.counted("accept ", 6);
    await publish(honest, blockAt(1));
    await node.counted("ignore too-many-of-height", 1);
    for (let beats = 0; beats < 3; beats++) await heartbeat(node);
    const { pubsub } = node.host.services;
    const peers = node.host.getPeers().map(String);
    expect(peers.length).toBeGreaterThan(1);
    for (const peer of peers) expect((pubsub as unknown as { getScore(id: string): number }).getScore(peer)).toBe(0);
    expect(node.counts.get("equivocation")).toBe(5);

    const [found, ...others] = node.gossip.equivocations();
    expect(others).toEqual([]);
    expect(found?.number).toBe(1);
    const pair = [0, 1].map((salt) => {
      const envelope = sibling(1, salt);
      const { body, signature } = signedBlock(envelope);
      return {
        hash: bytesToHex(envelope.executionPayload.blockHash),
        from: expect.any(String),
        signature: bytesToHex(signature),
        payloadHash: bytesToHex(keccak256(body)),
        message: bytesToHex(concatBytes(signature, body)),
      };
    });
    expect(found?.blocks).toEqual(pair);
    const atNode = node.next();
    await publish(honest, blockAt(2));
    await atNode;
  });

  it("do not keep the sequencer's own block from those who have fewer of them", async () => {
    const [sequencer, follower] = [await startNode(1, JOVIAN), await startNode(2, JOVIAN)];
    await connect(sequencer, follower, TOPIC);
    const raw = await connectRaw(3, sequencer);
    for (let salt = 0; salt < 6; salt++) raw.send(messageFrame(compressedBlock(sibling(1, salt))));
    await sequencer.counted("accept ", 6);
    expect(await publish(sequencer, blockAt(1))).toMatchObject({ kind: "published" });
  });

  it("are kept if one of them is our own", async () => {
    const node = await startNode(1, JOVIAN);
    const raw = await connectRaw(3, node);
    await publish(node, blockAt(1));
    raw.send(messageFrame(compressedBlock(sibling(1, 1))));
    await node.counted("equivocation", 1);
    expect(node.gossip.equivocations()[0]?.blocks.map(({ from }) => from === "self")).toEqual([true, false]);
  });
});
