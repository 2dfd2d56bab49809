import type { GossipSub } from "@libp2p/gossipsub";
import { noMetrics, silentLogger } from "@rnode/observe";
import { type Clock, signHash } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, type ForkTimes, forksUpTo } from "@rnode/protocol";
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

const clock: Clock = { nowMs: () => SAMPLE_TIME * 1000, sleep: () => Promise.reject(new Error("not expected")) };

interface Received {
  readonly envelope: ExecutionPayloadEnvelope;
  readonly from: string;
}

interface Node {
  readonly host: Host<{ pubsub: GossipSub }>;
  readonly gossip: GossipPart;
  readonly received: Received[];
  /** resolves with the next block that is received */
  next(): Promise<Received>;
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

async function startNode(key: number, forkTimes: ForkTimes, scoring: GossipOptions["scoring"] = {}): Promise<Node> {
  const received: Received[] = [];
  let wake: (block: Received) => void = () => {};
  const gossip = createGossip(
    { rollup: { l2ChainId: SAMPLE_CHAIN_ID, forkTimes }, timestampThresholdMs: 60_000, scoring },
    {
      clock,
      log: silentLogger,
      metrics: createP2PMetrics(noMetrics),
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
  const node: Node = { host, gossip, received, next: () => new Promise((resolve) => (wake = resolve)) };
  running.push(node);
  await host.start();
  gossip.start();
  return node;
}

/** Connects, and waits until both know that the other is on the topic. */
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
      // what we published ourselves does not come in as a block of a peer
      expect(a.received).toEqual([]);
    },
  );
});
